// Keys and sessions, and what a reload would change: made, used, revoked and ended by people, with and without script.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { enterKey, open, visit } from './support/browser.js';
import * as rules from './support/rules.js';
import { directory, start } from './support/weir.js';

const HOSTILE = '"><img src=x onerror=alert(1)>';

async function begin(t, options = {}) {
  const data = await directory(t);
  const weir = await start(t, { data, ...options });
  return { weir, data, browser: await open() };
}

async function operator(browser, weir, options) {
  const page = await visit(browser, weir.origin, options);
  await page.goto('/sign-in');
  await enterKey(page, weir.key);
  await page.waitForURL((url) => url.pathname === '/');
  await page.goto('/settings/access');
  return page;
}

/** All rules, for a page opened afresh by the same visitor. */
async function holdsRules(page, name, path) {
  const storageState = await page.context().storageState();
  const fresh = await visit(await open(), new URL(page.url()).origin, { storageState });
  await fresh.goto(path);
  await rules.everywhere(fresh, name);
  await fresh.context().close();
}

async function makeKey(page, name, right) {
  await page.getByLabel('Name of the program or person').fill(name);
  await page.locator(`#right-${right}`).check();
  await page.getByRole('button', { name: 'Make a key' }).click();
  return page.getByLabel('Key', { exact: true }).inputValue();
}

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? 'with script' : 'without script';

  test(`a key is made, opens what it may, and is revoked, ${how}`, async (t) => {
    const { weir, browser } = await begin(t);
    const page = await operator(browser, weir, { javaScriptEnabled });
    const key = await makeKey(page, HOSTILE, 'read');
    assert.match(key, /^[a-z2-7]{32}$/);
    await page.getByRole('heading', { name: `The key for ${HOSTILE}` }).waitFor();
    if (javaScriptEnabled) await rules.everywhere(page, 'access-made', { sent: false });
    await page.getByRole('link', { name: 'I have copied it' }).click();
    assert.equal(await page.getByText(key).count(), 0, 'it is shown once');

    // The same name again: said beside the field, kept, and nothing is made.
    await page.getByLabel('Name of the program or person').fill(HOSTILE);
    await page.getByRole('button', { name: 'Make a key' }).click();
    await page.locator('#name-mistake').filter({ hasText: 'is taken' }).waitFor();
    assert.equal(await page.getByLabel('Name of the program or person').inputValue(), HOSTILE);
    assert.equal(await page.locator('td bdi', { hasText: HOSTILE }).count(), 1);
    // The browser complains of the status, which is right.
    page.complaints.length = 0;

    const reader = await visit(browser, weir.origin, { javaScriptEnabled });
    await reader.goto('/sign-in');
    await enterKey(reader, key);
    await reader.waitForURL((url) => url.pathname === '/');
    await reader.goto('/upstreams');
    assert.equal(await reader.getByRole('link', { name: 'Search', exact: true }).count(), 0);
    const refused = await reader.goto('/search');
    assert.equal(refused.status(), 403);
    await reader.getByText('needs a key with the right “search and download”; yours has “read”').waitFor();

    await page.goto('/settings/access');
    const row = page.getByRole('row').filter({ hasText: HOSTILE }).filter({ hasText: 'End' });
    await row.waitFor();
    await page.getByText('This one').waitFor();
    await page.getByRole('link', { name: `Revoke ${HOSTILE}` }).click();
    if (javaScriptEnabled) await holdsRules(page, 'access-revoke', page.url());
    await page.getByRole('button', { name: 'Revoke the key' }).click();
    await page.getByText('The key was revoked, and its 1 session ended.').waitFor();
    await reader.goto('/upstreams');
    assert.equal(new URL(reader.url()).pathname, '/sign-in', 'signed out at once');
    rules.quiet(page);
  });

  test(`sessions are ended, one and all others, ${how}`, async (t) => {
    const { weir, browser } = await begin(t);
    const others = [await operator(browser, weir, {}), await operator(browser, weir, {})];
    const page = await operator(browser, weir, { javaScriptEnabled });
    await page.goto('/settings/access');
    const ends = page.getByRole('button', { name: /^End the session/ });
    assert.equal(await ends.count(), 3);
    await page.getByText('Chrome on Linux').first().waitFor();
    const other = page.getByRole('row').filter({ hasText: '127.0.0.1' }).filter({ hasNotText: 'This one' });
    await other.first().getByRole('button').click();
    await page.getByText('1 session ended.').waitFor();
    await page.getByRole('button', { name: 'End all others' }).click();
    await page.getByText('1 session ended.').waitFor();
    assert.equal(await ends.count(), 1);
    for (const one of others) {
      await one.goto('/upstreams');
      assert.equal(new URL(one.url()).pathname, '/sign-in');
    }
    rules.quiet(page);
  });

  test(`a reload shows the difference first, ${how}`, async (t) => {
    const config = 'web: { sign_in_tries: 6 }\n';
    const { weir, data, browser } = await begin(t, { config });
    const page = await operator(browser, weir, { javaScriptEnabled });
    await writeFile(join(data, 'weir.yaml'), 'web: { sign_in_tries: 7 }\n');
    await page.goto('/settings');
    await page.getByText(join(data, 'weir.yaml')).first().waitFor();
    await page.getByRole('link', { name: 'Reload file' }).click();
    const row = page.getByRole('row').filter({ hasText: 'web.sign_in_tries' });
    await row.filter({ hasText: '6' }).filter({ hasText: '7' }).filter({ hasText: 'at once' }).waitFor();
    if (javaScriptEnabled) await holdsRules(page, 'reload', '/settings/reload');

    // Somebody else saves the file meanwhile: nothing is applied that nobody looked at.
    await writeFile(join(data, 'weir.yaml'), 'web: { sign_in_tries: 8 }\n');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('changed after this page was opened, so nothing was applied').waitFor();
    page.complaints.length = 0;
    await row.filter({ hasText: '8' }).waitFor();
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('Now in use: web.sign_in_tries.').waitFor();

    await writeFile(join(data, 'weir.yaml'), 'web: { sign_in_trys: 8 }\n');
    const refused = await page.goto('/settings/reload');
    assert.equal(refused.status(), 422);
    await page.getByText('sign_in_tries').first().waitFor();
    page.complaints.length = 0;
    rules.quiet(page);
  });
}

test('the pages of keys and settings hold the rules', async (t) => {
  const { weir, browser } = await begin(t);
  const page = await operator(browser, weir);
  await makeKey(page, 'Sonarr', 'search');
  await holdsRules(page, 'access', '/settings/access');
  await page.goto('/settings?filter=web.sign');
  assert.match(await page.getByRole('textbox', { name: 'Command' }).inputValue(), /^weir backup --data \//);
  await holdsRules(page, 'settings-access', '/settings?filter=web.sign');
});

test('a key is made by keyboard alone', async (t) => {
  const { weir, browser } = await begin(t);
  const page = await operator(browser, weir);
  const focused = () => page.evaluate(() => document.activeElement?.id ?? '');
  for (let steps = 0; steps < 80 && (await focused()) !== 'name'; steps += 1) await page.keyboard.press('Tab');
  await page.keyboard.type('tin');
  await page.keyboard.press('Tab');
  assert.equal(await focused(), 'right-search', 'the chosen one');
  await page.keyboard.press('ArrowDown');
  assert.equal(await focused(), 'right-post');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'The key for tin' }).waitFor();
  assert.equal(await focused(), 'made-key', 'ready to be copied');
  await page.getByRole('row').filter({ hasText: 'tin' }).filter({ hasText: 'post' }).waitFor();
  rules.quiet(page);
});
