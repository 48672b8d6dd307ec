// Every page, wide and on a phone, light and dark: the rules that hold everywhere.

import { test } from 'node:test';

import { open, session, visit } from './support/browser.js';
import * as rules from './support/rules.js';
import { directory, start } from './support/weir.js';

// A new page is one line here; public pages show without a session.
const PAGES = [
  { name: 'overview', path: '/' },
  { name: 'more', path: '/more' },
  { name: 'decisions-empty', path: '/decisions' },
  { name: 'swarms-empty', path: '/swarms' },
  { name: 'search-empty', path: '/search' },
  { name: 'history-empty', path: '/history' },
  { name: 'connect-empty', path: '/connect' },
  { name: 'settings', path: '/settings' },
];
const PUBLIC = [{ name: 'sign-in', path: '/sign-in' }];

test('every page keeps the rules', async (t) => {
  const weir = await start(t, { data: await directory(t) });
  const browser = await open();
  const storageState = await session(weir);
  await rules.walk(t, (options) => visit(browser, weir.origin, { storageState, ...options }), PAGES);
  await rules.walk(t, (options) => visit(browser, weir.origin, options), PUBLIC);
});
