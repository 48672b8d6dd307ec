// `weir demo` as a visitor meets it, and the picture of it in the README (docs/overview.png is demo-overview.png).

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';

import { DESKTOP, NARROW, open, visit } from './support/browser.js';
import * as rules from './support/rules.js';
import { directory } from './support/weir.js';

// Starts it; resolves with the link that it prints.
async function demo(t) {
  const home = await directory(t);
  const child = spawn(process.env.WEIR_BIN, ['demo'], {
    cwd: home,
    env: { PATH: process.env.PATH, HOME: home, TZ: 'UTC' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const exit = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGTERM');
    const [code] = await exit;
    assert.equal(code, 0);
  });
  const lines = createInterface({ input: child.stdout });
  for await (const line of lines) {
    const link = /http:\/\/\S+\/sign-in\?link=\S+/.exec(line);
    if (link) return new URL(link[0]);
  }
  throw new Error('it printed no link');
}

test('the demo, as a visitor meets it', async (t) => {
  const link = await demo(t);
  const page = await visit(await open(), link.origin);
  await page.goto(link.href);

  await t.test('the overview is live, says what it is and names what fails', async () => {
    await page.getByRole('note').getByText('Demo: upstreams and clients are made up.').waitFor();
    const attention = page.getByRole('region', { name: 'Needs attention' });
    for (const name of ['orchard', 'harbor', 'floodgate', 'lantern', 'marsh']) {
      await attention.getByRole('link', { name, exact: true }).waitFor();
    }
    await page.locator('#live', { hasText: 'Live' }).waitFor();
    await page.getByRole('region', { name: 'Last decisions' }).getByRole('listitem').nth(5).waitFor();
    // Two points make a line, and each takes 10 s.
    await page.locator('.box canvas').nth(2).waitFor({ timeout: 60_000 });
    await rules.named(page);
    await rules.accessible(page);
    const pictures = process.env.WEIR_PICTURES;
    const clip = { x: 0, y: 0, width: 1280, height: 760 };
    if (pictures) await page.screenshot({ path: join(pictures, 'demo-overview.png'), clip });
    await page.setViewportSize(NARROW);
    await rules.fits(page);
    await page.setViewportSize(DESKTOP);
  });

  await t.test('a search finds releases', async () => {
    await page.goto('/search');
    await page.getByRole('searchbox', { name: 'What to search for' }).fill('example linux 13.2');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByText('Example Linux 13.2 amd64 netinst').first().waitFor();
  });

  await t.test('a thread can be read', async () => {
    await page.goto('/news/rivers.weirs');
    await page.getByRole('link', { name: 'Broad-crested or sharp-crested?' }).first().click();
    await page.getByText('Canoeists will thank you, and so will the fish.').first().waitFor();
  });
  rules.quiet(page);
  await page.context().close();
});
