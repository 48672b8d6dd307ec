// Getting in and out: by link, by key, with and without script, and when it is refused.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { PHONE, enterKey, open, openAccount, visit } from './support/browser.js';
import * as rules from './support/rules.js';
import { WAYS } from './support/ways.js';
import { directory, start } from './support/weir.js';

const WRONG = 'not-the-key-not-the-key-not-the-key';

async function begin(t) {
  const weir = await start(t, { data: await directory(t) });
  return { weir, browser: await open() };
}

function at(page) {
  const { pathname, search } = new URL(page.url());
  return pathname + search;
}

async function assertSignedOut(page) {
  assert.equal(new URL(page.url()).pathname, '/sign-in');
  await page.getByLabel('Key', { exact: true }).waitFor();
}

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? 'with script' : 'without script';

  test(`the printed link signs in once, ${how}`, async (t) => {
    const { weir, browser } = await begin(t);
    const first = await visit(browser, weir.origin, { javaScriptEnabled });
    await first.goto(weir.link);
    assert.equal(at(first), '/');
    assert.ok(!first.url().includes('link='), 'the link leaves the address bar');
    rules.quiet(first);

    const cookies = await first.context().cookies();
    assert.ok(cookies.length > 0);
    assert.ok(cookies.some((cookie) => cookie.httpOnly && cookie.sameSite !== 'None'));

    const second = await visit(browser, weir.origin, { javaScriptEnabled });
    await second.goto(weir.link);
    await assertSignedOut(second);
    await second.goto('/');
    await assertSignedOut(second);
  });

  test(`the key signs in and leads on, ${how}`, async (t) => {
    const { weir, browser } = await begin(t);
    assert.ok(weir.key, `no key in the output of a first start:\n${weir.output}`);
    const page = await visit(browser, weir.origin, { javaScriptEnabled });
    await page.goto('/?refresh=10');
    await assertSignedOut(page);
    await enterKey(page, WRONG);
    await page.getByText('That is not the key.').waitFor();
    await rules.picture(page, `sign-in-wrong-key${javaScriptEnabled ? '' : '-no-script'}`);
    await enterKey(page, weir.key);
    await page.waitForURL((url) => url.pathname === '/');
    assert.equal(at(page), '/?refresh=10', 'back to where one was going');
  });

  test(`signing out ends the session, ${how}`, async (t) => {
    const { weir, browser } = await begin(t);
    const page = await visit(browser, weir.origin, { javaScriptEnabled });
    await page.goto(weir.link);
    const held = await page.context().storageState();
    await openAccount(page);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await assertSignedOut(page);
    await page.goto('/');
    await assertSignedOut(page);
    rules.quiet(page);

    const copy = await visit(browser, weir.origin, { storageState: held });
    await copy.goto('/');
    await assertSignedOut(copy);
  });

  test(`the theme can be chosen and stays, ${how}`, async (t) => {
    const { weir, browser } = await begin(t);
    const options = { javaScriptEnabled, colorScheme: 'light' };
    const page = await visit(browser, weir.origin, options);
    await page.goto(weir.link);
    await rules.looks(page, 'light');
    for (const theme of ['dark', 'light']) {
      await openAccount(page);
      await page.getByRole('button', { name: theme === 'dark' ? 'Dark' : 'Light' }).click();
      await page.locator(`html[data-theme="${theme}"]`).waitFor({ state: 'attached' });
      await page.goto('/');
      assert.equal(await page.locator('html').getAttribute('data-theme'), theme, 'after a reload');
      await rules.looks(page, theme);
    }
    rules.quiet(page);
  });
}

test('theme and sign-out by keyboard alone', async (t) => {
  const { weir, browser } = await begin(t);
  const { press } = WAYS.find(({ how }) => how === 'by keyboard alone');
  const page = await visit(browser, weir.origin, { colorScheme: 'light' });
  await page.goto(weir.link);
  const account = () => press(page, page.locator('header details:not([open]) > summary'));
  await account();
  await press(page, page.getByRole('button', { name: 'Dark' }));
  await page.locator('html[data-theme="dark"]').waitFor({ state: 'attached' });
  await page.goto('/');
  await account();
  await press(page, page.getByRole('button', { name: 'Sign out' }));
  await page.waitForURL('**/sign-in');
  await page.goto('/');
  await assertSignedOut(page);
  rules.quiet(page);
});

test('on a phone theme and sign-out are under More', async (t) => {
  const { weir, browser } = await begin(t);
  const page = await visit(browser, weir.origin, { viewport: PHONE, colorScheme: 'light' });
  await page.goto(weir.link);
  await page.getByRole('link', { name: 'More' }).click();
  const main = page.getByRole('main');
  await main.getByRole('button', { name: 'Dark' }).click();
  await page.locator('html[data-theme="dark"]').waitFor({ state: 'attached' });
  await rules.looks(page, 'dark');
  await main.getByRole('button', { name: 'Sign out' }).click();
  await assertSignedOut(page);
  rules.quiet(page);
});

async function isShutOut(browser, weir) {
  const page = await visit(browser, weir.origin);
  await page.goto('/sign-in');
  for (let tries = 0; tries < 5; tries += 1) {
    await enterKey(page, WRONG);
    await page.getByText('That is not the key.').waitFor();
  }
  const answer = page.waitForResponse((response) => response.request().method() === 'POST');
  await enterKey(page, WRONG);
  assert.equal((await answer).status(), 429);
  await page.getByText('Too many tries. Next one at').waitFor();
  await rules.picture(page, 'sign-in-throttled');
  return page;
}

test('five wrong keys in a minute are enough', async (t) => {
  const key = 'a-key-of-the-operators-own';
  const weir = await start(t, { data: await directory(t), config: `web: { api_key: ${key} }\n` });
  const page = await isShutOut(await open(), weir);
  // The right key must wait as well, or guessing would go on behind the message.
  await enterKey(page, key);
  await page.getByText('Too many tries. Next one at').waitFor();
});

test('a key that Weir made signs in after any number of wrong ones', async (t) => {
  const { weir, browser } = await begin(t);
  const page = await isShutOut(browser, weir);
  await enterKey(page, weir.key);
  await page.waitForURL((url) => url.pathname === '/');
});

test('without a session only the public pages open', async (t) => {
  const { weir, browser } = await begin(t);
  const { request } = (await visit(browser, weir.origin)).context();
  const closed = await request.get('/', { maxRedirects: 0 });
  assert.equal(closed.status(), 303);
  assert.match(closed.headers().location, /^\/sign-in(\?|$)/);
  assert.equal((await request.get('/healthz')).status(), 200);
  assert.equal((await request.get('/readyz')).status(), 200);
  const keyed = await request.get('/', { headers: { authorization: `Bearer ${weir.key}` } });
  assert.equal(keyed.status(), 200);
  assert.doesNotMatch(keyed.url(), /sign-in/);
});

test('a form without its token changes nothing', async (t) => {
  const { weir, browser } = await begin(t);
  const page = await visit(browser, weir.origin);
  await page.goto(weir.link);
  await openAccount(page);
  const button = page.getByRole('button', { name: 'Sign out' });
  const action = await button.evaluate((element) => element.formAction);
  const answer = await page.request.post(action, { form: {}, maxRedirects: 0 });
  assert.ok(answer.status() >= 400 && answer.status() < 500, `status ${answer.status()}`);
  await page.goto('/');
  assert.equal(at(page), '/', 'still signed in');
});
