// Keys: from row to row, into one and out again, and the switch that turns all of them off.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { open, session, visit } from './support/browser.js';
import { start } from './support/preview.js';
import * as rules from './support/rules.js';

const current = (page) => page.locator('main [data-item].current');
const press = async (page, ...keys) => {
  for (const key of keys) await page.keyboard.press(key);
};
/** The keys that the help lists, each line as one word. */
const listed = (page) => page.locator('dialog#keys dt:visible').evaluateAll((all) => all.map((term) => term.innerText.replaceAll(/\s/g, '')));

test('keys', async (t) => {
  const weir = await start(t);
  const browser = await open();
  const storageState = await session(weir);
  const at = (options = {}) => visit(browser, weir.origin, { storageState, ...options });

  await t.test('j k go from row to row, n p to those needing attention, o opens, u goes up', async () => {
    const page = await at();
    await page.goto('/upstreams?sort=name');
    const names = await page.locator('td.who bdi').allInnerTexts();
    const needing = await page.locator('tr:has([data-attention]) td.who bdi').allInnerTexts();
    const here = () => current(page).locator('td.who bdi').innerText();
    await press(page, 'j');
    assert.equal(await here(), names[0]);
    await press(page, 'j', 'j', 'k');
    assert.equal(await here(), names[1]);
    assert.equal(await current(page).count(), 1);
    assert.equal(await page.evaluate(() => document.activeElement?.closest('tr')?.classList.contains('current')), true, 'the focus goes along');
    await page.goto('/upstreams?sort=name');
    for (const name of needing) {
      await press(page, 'n');
      assert.equal(await here(), name);
    }
    await press(page, 'n');
    assert.equal(await here(), needing.at(-1), 'there is no other');
    await press(page, 'p');
    assert.equal(await here(), needing.at(-2));
    await press(page, 'o');
    await page.waitForURL('**/upstreams/*/*');
    assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), needing.at(-2));
    await press(page, 'u');
    await page.waitForURL('**/upstreams');
    rules.quiet(page);
    await page.context().close();
  });

  await t.test('x opens and closes a run, [ and ] turn pages, a link to one decision finds it', async () => {
    const page = await at();
    await page.goto('/upstreams/tracker/tracker-one.example');
    const run = page.locator('details.run').first();
    assert.match(await run.locator('summary').innerText(), /^×\d+, .*\d\d:\d\d:\d\d to .*\d\d:\d\d:\d\d$/);
    await press(page, 'j', 'x');
    assert.equal(await run.evaluate((details) => details.open), true);
    await rules.picture(page, 'upstream-run-1280');
    await rules.accessible(page);
    await press(page, 'x');
    assert.equal(await run.evaluate((details) => details.open), false);
    const last = await run.locator('li').last().getAttribute('id');
    const number = Number(last.slice(2));
    // One in a run that is closed, and one that is on no first page.
    await page.goto(`/upstreams/tracker/tracker-one.example#${last}`);
    await page.locator(`#${last}`).waitFor({ state: 'visible' });
    await page.goto('about:blank');
    await page.goto(`/upstreams/tracker/tracker-one.example#d-${number - 20}`);
    await page.waitForURL(`**/tracker-one.example?before=${number - 19}#d-${number - 20}`);
    await page.locator(`#d-${number - 20}`).waitFor({ state: 'visible' });
    await page.goto('/upstreams/tracker/tracker-one.example?each=1');
    await press(page, ']');
    await page.waitForURL('**before=*');
    await press(page, '[');
    await page.waitForURL(/tracker-one\.example\?each=1$/);
    rules.quiet(page);
    await page.context().close();
  });

  await t.test('the help lists what acts on this page, and one switch turns all of it off', async () => {
    const page = await at();
    await page.goto('/upstreams');
    await press(page, '?');
    await page.getByRole('dialog').waitFor();
    const rows = await listed(page);
    for (const keys of ['?', '/', 'gu', 't', 'jk', 'np', 'o']) assert.ok(rows.includes(keys), `${keys} in ${rows}`);
    for (const keys of ['u', 'x', 'r', '[]']) assert.ok(!rows.includes(keys), `${keys} in ${rows}`);
    await rules.picture(page, 'keys-1280');
    await rules.accessible(page);
    await page.getByRole('button', { name: 'Close' }).click();
    await page.goto('/more');
    await press(page, '?');
    const few = await listed(page);
    assert.ok(!few.includes('/') && !few.includes('jk') && few.includes('gu'), `${few}`);
    await page.getByLabel('Enable keyboard shortcuts').uncheck();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.goto('/upstreams');
    await press(page, 'j', 'g', 'o', '?', '/', 't');
    assert.equal(await current(page).count(), 0);
    assert.equal(new URL(page.url()).pathname, '/upstreams');
    assert.equal(await page.getByRole('dialog').count(), 0);
    assert.equal(await page.evaluate(() => document.activeElement?.tagName), 'BODY');
    await page.getByRole('button', { name: 'keys' }).click();
    await page.getByLabel('Enable keyboard shortcuts').check();
    await page.getByRole('button', { name: 'Close' }).click();
    await press(page, 'j');
    assert.equal(await current(page).count(), 1);
    // A field takes its letters itself.
    await page.getByRole('searchbox').fill('');
    await page.getByRole('searchbox').press('j');
    assert.equal(await page.getByRole('searchbox').inputValue(), 'j');
    rules.quiet(page);
    await page.context().close();
  });
});
