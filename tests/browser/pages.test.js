// Every page, wide and on a phone, light and dark: the rules that hold everywhere.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { mainLines, open, session, visit } from './support/browser.js';
import * as rules from './support/rules.js';
import { directory, start } from './support/weir.js';

// A new page is one line here; `open` pages show without a session.
const PAGES = [
  { name: 'overview', path: '/' },
  { name: 'more', path: '/more' },
  { name: 'swarms-empty', path: '/swarms' },
  { name: 'search-empty', path: '/search' },
  { name: 'history-empty', path: '/history' },
  { name: 'connect-empty', path: '/connect' },
  { name: 'settings', path: '/settings' },
  { name: 'sign-in', path: '/sign-in', open: true },
];

test('every page keeps the rules', async (t) => {
  const weir = await start(t, { data: await directory(t) });
  const browser = await open();
  const storageState = await session(browser, weir);

  for (const { name, path, open: isOpen } of PAGES) {
    const state = isOpen ? {} : { storageState };

    await t.test(name, async () => {
      const page = await visit(browser, weir.origin, state);
      const response = await page.goto(path);
      assert.equal(response.status(), 200);
      assert.equal(new URL(page.url()).pathname, path);
      await rules.everywhere(page, name);
      await page.context().close();
    });

    await t.test(`${name} says the same without script`, async () => {
      const live = await visit(browser, weir.origin, state);
      const still = await visit(browser, weir.origin, { javaScriptEnabled: false, ...state });
      await live.goto(path);
      await still.goto(path);
      const there = new Set(await mainLines(still));
      const lines = await mainLines(live);
      assert.ok(lines.length > 0, 'there is a main text');
      assert.deepEqual(lines.filter((line) => !there.has(line)), []);
      rules.quiet(still);
      await rules.picture(still, `${name}-1280-no-script`);
      await live.context().close();
      await still.context().close();
    });
  }
});
