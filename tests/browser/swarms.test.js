// The page of swarms: what is announced is there, found and shown, wide and on a phone.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { PHONE, open, session, visit } from './support/browser.js';
import * as rules from './support/rules.js';
import { directory, start } from './support/weir.js';

const hash = (number) => number.toString(16).padStart(2, '0').repeat(20);
const BUSY = hash(0x4b);

// Fifty-five swarms, and one with peers of every kind.
async function fill(weir) {
  for (let number = 1; number <= 54; number += 1) {
    await weir.announce({ hash: hash(number), ip: '10.0.0.1', left: number % 2 });
  }
  for (let port = 1; port <= 8; port += 1) {
    await weir.announce({ hash: BUSY, ip: `10.0.1.${port}`, port, left: port % 3 });
  }
  await weir.announce({ hash: BUSY, ip: '2001:db8:1234:5678:9abc:def0:1234:5678', event: 'completed' });
}

test('swarms', async (t) => {
  const weir = await start(t, { data: await directory(t) });
  const browser = await open();
  const storageState = await session(weir);
  const at = (options = {}) => visit(browser, weir.origin, { storageState, ...options });

  await t.test('without swarms the addresses to announce to are there to copy', async () => {
    const page = await at({ permissions: ['clipboard-read', 'clipboard-write'] });
    await page.goto('/swarms');
    const field = page.getByLabel('HTTP', { exact: true });
    assert.equal(await field.inputValue(), `${weir.tracker}/announce`);
    assert.match(await page.getByLabel('UDP', { exact: true }).inputValue(), /^udp:\/\/127\.0\.0\.1:\d+\/announce$/);
    await page.getByRole('button', { name: 'Copy the HTTP address' }).click();
    await page.getByRole('status').getByText('Copied', { exact: true }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `${weir.tracker}/announce`);
    await page.context().close();
  });

  await fill(weir);
  await rules.walk(t, at, [
    { name: 'swarms', path: '/swarms' },
    { name: 'swarm', path: `/swarms/${BUSY}` },
    { name: 'swarms-none', path: '/swarms?q=ff' },
  ]);

  for (const javaScriptEnabled of [true, false]) {
    await t.test(`pages, search and one swarm, script ${javaScriptEnabled ? 'on' : 'off'}`, async () => {
      const page = await at({ javaScriptEnabled });
      await page.goto('/swarms');
      const rows = page.locator('tbody tr');
      assert.equal(await rows.count(), 50);
      assert.match(await rows.first().innerText(), new RegExp(BUSY), 'the largest stands first');
      await page.getByRole('link', { name: 'Next' }).click();
      await page.getByText('51–55 of 55, largest first').waitFor();
      assert.equal(await rows.count(), 5);
      await page.getByRole('link', { name: 'Previous' }).click();
      await page.getByText('1–50 of 55, largest first').waitFor();

      await page.getByRole('searchbox').fill('4b'.repeat(19));
      await page.getByRole('button', { name: 'Find' }).click();
      await page.getByText('1–1 of 1').waitFor();
      await page.getByRole('searchbox').fill('5c'.repeat(19));
      await page.getByRole('button', { name: 'Find' }).click();
      await page.getByText('A hash is 40 hex digits; this has 38.').waitFor();
      await page.getByRole('searchbox').fill('4b4');
      await page.getByRole('button', { name: 'Find' }).click();
      await page.getByText('1–1 of 1').waitFor();
      await page.getByRole('link', { name: BUSY }).click();
      await page.getByRole('heading', { level: 1, name: BUSY }).waitFor();
      assert.equal(await rows.count(), 9);
      assert.match(await page.locator('main').innerText(), /9 peers are here/);

      await page.goto('/swarms');
      await page.getByRole('searchbox').fill(BUSY);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: BUSY }).waitFor();
      rules.quiet(page);
      await page.context().close();
    });
  }

  await t.test('what is no hash gets a sentence and keeps what was written', async () => {
    const page = await at({ viewport: PHONE });
    await page.goto('/swarms');
    await page.getByRole('searchbox').fill('ubuntu');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    assert.match(await page.getByRole('alert').innerText(), /not “u”/);
    assert.equal(await page.getByRole('searchbox').inputValue(), 'ubuntu');
    await rules.picture(page, 'swarms-mistake-390');
    await rules.fits(page);
    await rules.accessible(page);
    await page.context().close();
  });

  await t.test('totals are live, rows wait for a reload', async () => {
    const page = await at();
    await page.goto('/swarms');
    await page.getByText('55 swarms with 63 peers here').waitFor();
    await page.locator('#live').getByText('Live', { exact: true }).waitFor();
    const first = await page.locator('tbody tr').first().innerText();
    await weir.announce({ hash: BUSY, ip: '10.0.9.9', port: 9, left: 0 });
    await page.getByText('55 swarms with 64 peers here').waitFor();
    assert.equal(await page.locator('tbody tr').first().innerText(), first);
    rules.quiet(page);
    await page.context().close();
  });

  await t.test('j k o u go through swarms', async () => {
    const page = await at();
    await page.goto('/swarms');
    for (const key of ['j', 'j', 'k', 'o']) await page.keyboard.press(key);
    await page.getByRole('heading', { level: 1, name: BUSY }).waitFor();
    await page.keyboard.press('u');
    await page.waitForURL('**/swarms');
    await page.context().close();
  });

  await t.test('the key g w leads here', async () => {
    const page = await at();
    await page.goto('/');
    await page.keyboard.press('g');
    await page.keyboard.press('w');
    await page.waitForURL('**/swarms');
    await page.context().close();
  });
});
