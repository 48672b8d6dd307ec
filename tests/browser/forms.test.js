// The forms that add, change, try, remove and import upstreams: with and without script, by keyboard alone, by two people.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { PHONE, open, session, visit } from './support/browser.js';
import { indexer } from './support/indexer.js';
import * as rules from './support/rules.js';
import { directory, start } from './support/weir.js';

const HOSTILE = `"><script>alert(1)</script>'{{7*7}}&<b>`;

/** Presses Tab until what has this id, or says this, has the focus. */
const keys = (page) => async (name) => {
  for (let step = 0; step < 80; step += 1) {
    const focused = await page.evaluate(() => [document.activeElement.id, document.activeElement.innerText?.trim()]);
    if (focused.includes(name)) return;
    await page.keyboard.press('Tab');
  }
  assert.fail(`Tab does not reach ${name}`);
};

test('forms of upstreams', async (t) => {
  const data = await directory(t);
  const config = 'search:\n  indexers:\n    - { name: own, url: "http://127.0.0.1:9/own" }\n';
  const weir = await start(t, { data, config });
  const good = await indexer(t, 'good', { releases: [{ title: 'A release' }] });
  const browser = await open();
  const storageState = await session(weir);
  const at = (options = {}) => visit(browser, weir.origin, { storageState, ...options });
  const file = () => readFile(join(data, 'upstreams.yaml'), 'utf8').catch(() => '');
  const button = (page, name) => page.getByRole('button', { name, exact: true });
  const field = (page, name) => page.getByLabel(name, { exact: true });

  await t.test('the largest form keeps the rules', async () => {
    const page = await at();
    assert.equal((await page.goto('/upstreams/add')).status(), 200);
    await rules.everywhere(page, 'add-indexer');
    await page.context().close();
  });

  // The others are made of the same parts.
  await t.test('the other forms are named, fit and can be read by all', async () => {
    const page = await at({ viewport: PHONE });
    for (const [name, path] of [
      ['add-tracker', '/upstreams/add?front=tracker'],
      ['add-news', '/upstreams/add?front=news'],
      ['import', '/upstreams/import'],
      ['edit-own', '/upstreams/search/own/edit'],
    ]) {
      assert.equal((await page.goto(path)).status(), 200);
      await rules.named(page);
      await rules.fits(page);
      await rules.accessible(page);
      await rules.picture(page, `${name}-390`);
    }
    rules.quiet(page);
    await page.context().close();
  });

  for (const javaScriptEnabled of [true, false]) {
    const script = javaScriptEnabled ? 'on' : 'off';

    await t.test(`an indexer is tried, added, changed and removed, script ${script}`, async () => {
      const page = await at({ javaScriptEnabled });
      await page.goto('/upstreams');
      await page.getByRole('link', { name: 'Add an upstream' }).click();
      await field(page, 'Name').fill(`harbor-${script}`);
      await field(page, 'Address').fill(good.url);
      await field(page, 'API key').fill('the-s3cret');
      await button(page, 'Try it').click();
      await page.getByText(/^It answered in .*: 2 categories, 1 kind of search, 1 recent release\.$/).waitFor();
      assert.equal(await field(page, 'Name').inputValue(), `harbor-${script}`);
      assert.equal(await field(page, 'API key').inputValue(), '', 'a secret is not sent back');
      assert.ok(!(await page.content()).includes('the-s3cret'));
      await button(page, 'Save').click();
      await page.getByText(`harbor-${script} was added to ${data}/upstreams.yaml and is in use.`).waitFor();
      assert.ok((await file()).includes('api_key: the-s3cret'), 'though it was typed before the tryout');

      await page.getByRole('link', { name: 'Edit' }).click();
      assert.equal(await field(page, 'Address').inputValue(), good.url);
      await field(page, 'Priority').fill('7');
      await button(page, 'Save').click();
      await page.getByText('The change is in use.').waitFor();
      assert.match(await file(), /api_key: the-s3cret\n\s+priority: 7/);

      await page.getByRole('link', { name: 'Edit' }).click();
      await page.getByRole('link', { name: 'Remove' }).click();
      await button(page, 'Remove').click();
      await page.locator('p.mistake').waitFor();
      await page.getByLabel(/^Type harbor-/).fill(`harbor-${script}`);
      await button(page, 'Remove').click();
      await page.getByText('The upstream was removed').waitFor();
      assert.ok(!(await file()).includes('harbor'));
      await page.context().close();
    });

    await t.test(`limits that an indexer tells fill what is empty, script ${script}`, async () => {
      const telling = await indexer(t, 'telling', { releases: [{ title: 'A release' }], limits: { calls: 1000, grabs: 50 } });
      const page = await at({ javaScriptEnabled });
      await page.goto('/upstreams/add');
      await field(page, 'Name').fill(`telling-${script}`);
      await field(page, 'Address').fill(telling.url);
      await field(page, 'Download limits').fill('7/1d');
      await button(page, 'Try it').click();
      await page.getByText(/1,000 calls a day \(told by it\), 50 downloads a day \(told by it\)\.$/).waitFor();
      assert.equal(await field(page, 'Call limits').inputValue(), '1000/1d');
      assert.match(await page.locator('#hint-limits').innerText(), /^Filled in with what it told\. /);
      assert.equal(await field(page, 'Download limits').inputValue(), '7/1d', 'what was typed stands');
      assert.doesNotMatch(await page.locator('#hint-grab_limits').innerText(), /Filled in/);
      await button(page, 'Save').click();
      await page.getByText(`telling-${script} was added`).waitFor();
      assert.match(await file(), new RegExp(`name: telling-${script}\\n[^-]*limits: \\[1000/24h\\]\\n\\s+grab_limits: \\[7/24h\\]`));
      // A limit under another key is a limit too.
      await page.goto('/upstreams/add');
      await field(page, 'Name').fill('slower');
      await field(page, 'Address').fill(telling.url);
      await page.locator('.entry details > summary').click();
      await field(page, 'Calls per hour').fill('20');
      await button(page, 'Try it').click();
      await page.getByText(/told by it/).waitFor();
      assert.equal(await field(page, 'Call limits').inputValue(), '');
      assert.equal(await field(page, 'Download limits').inputValue(), '50/1d');
      await page.context().close();
    });

    await t.test(`what is wrong is said beside its field and keeps what was typed, script ${script}`, async () => {
      const page = await at({ javaScriptEnabled });
      for (const front of ['tracker', 'search', 'news']) {
        const before = await file();
        await page.goto(`/upstreams/add?front=${front}`);
        const inputs = page.locator('.entry input[type="text"], .entry input[type="password"]');
        await page.locator('.entry details > summary').click();
        const names = await inputs.evaluateAll((all) => all.map((one) => one.name));
        for (const name of names) await page.locator(`.entry [name="${name}"]`).fill(HOSTILE);
        const [answer] = await Promise.all([page.waitForResponse((one) => one.request().method() === 'POST'), button(page, 'Save').click()]);
        assert.equal(answer.status(), 422);
        await page.locator('#mistakes').waitFor();
        const wrong = await page.locator('[aria-invalid="true"]').count();
        assert.ok(wrong >= 2, `${wrong} fields of ${front}`);
        for (const one of await page.locator('[aria-invalid="true"]').all()) {
          const id = (await one.getAttribute('aria-describedby')).split(' ')[0];
          assert.match(await page.locator(`#${id}`).innerText(), /^[A-Z].*\.$/s);
        }
        for (const name of names) {
          const input = page.locator(`.entry [name="${name}"]`);
          const secret = (await input.getAttribute('type')) === 'password';
          assert.equal(await input.inputValue(), secret ? '' : HOSTILE, name);
        }
        assert.equal(await file(), before);
      }
      assert.deepEqual(page.complaints.filter((one) => !one.includes('422')), []);
      await page.context().close();
    });
  }

  await t.test('a mistake keeps the rules, and a tryout that fails says which field to change', async () => {
    const page = await at();
    await page.goto('/upstreams/add');
    await field(page, 'Name').fill('nobody');
    await field(page, 'Address').fill('http://127.0.0.1:1/api');
    await button(page, 'Try it').click();
    await page.locator('#mistake-url').waitFor();
    assert.match(await page.locator('#mistake-url').innerText(), /^It cannot be reached: connection refused\. Check host and port/);
    await rules.everywhere(page, 'add-failed', { sent: false });
    assert.ok(!(await file()).includes('nobody'));
    await page.context().close();
  });

  await t.test('by keyboard alone', async () => {
    const page = await at();
    await page.goto('/upstreams/add?front=tracker');
    const to = keys(page);
    await to('name');
    await page.keyboard.type('typed');
    await to('uri');
    await page.keyboard.type('nonsense');
    await page.keyboard.press('Enter');
    await page.locator('#mistakes').waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.id), 'mistakes', 'the summary has the focus');
    await to('Announce URL');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate(() => location.hash), '#uri');
    await to('uri');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('udp://127.0.0.1:9/announce');
    await to('Save');
    await page.keyboard.press('Enter');
    await page.getByText('typed was added').waitFor();
    await page.context().close();
  });

  await t.test('edited and removed by keyboard alone', async () => {
    await weir.add('tracker', { name: 'keyed', uri: 'udp://127.0.0.1:9/announce' });
    const page = await at();
    const to = keys(page);
    await page.goto('/upstreams/tracker/keyed');
    await to('Edit');
    await page.keyboard.press('Enter');
    await page.waitForURL(/keyed\/edit$/);
    await to('More settings');
    await page.keyboard.press('Enter');
    await to('host');
    await page.keyboard.type('keyed.example');
    await to('uri');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('nonsense');
    await page.keyboard.press('Enter');
    await page.locator('#mistakes').waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.id), 'mistakes', 'the summary has the focus');
    assert.equal(await page.locator('#host').inputValue(), 'keyed.example');
    await to('uri');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('udp://127.0.0.1:9/announce');
    await to('Save');
    await page.keyboard.press('Space');
    await page.getByText('The change is in use.').waitFor();
    assert.match(await file(), /host: keyed\.example/);

    await to('Edit');
    await page.keyboard.press('Enter');
    await page.waitForURL(/keyed\/edit$/);
    await to('Remove');
    await page.keyboard.press('Enter');
    await page.waitForURL(/keyed\/remove$/);
    await to('Remove');
    await page.keyboard.press('Enter');
    await page.locator('#mistakes').waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.id), 'mistakes');
    await to('confirm');
    await page.keyboard.type('keyed');
    await page.keyboard.press('Enter');
    await page.getByText('The upstream was removed').waitFor();
    assert.ok(!(await file()).includes('keyed'));
    await page.context().close();
  });

  await t.test('imported by keyboard alone', async () => {
    const theirs = await directory(t);
    const list = ['one-typed', 'two-typed'].map((name) => `    - { name: ${name}, url: "${good.url}" }`);
    const other = await start(t, { data: theirs, config: `search:\n  indexers:\n${list.join('\n')}\n` });
    const page = await at();
    const to = keys(page);
    await page.goto('/upstreams');
    await to('Add an upstream');
    await page.keyboard.press('Enter');
    await page.waitForURL(/upstreams\/add$/);
    await to('Import from Prowlarr or Jackett');
    await page.keyboard.press('Enter');
    await page.waitForURL(/upstreams\/import$/);
    await to('program');
    await page.keyboard.press('J');
    await to('url');
    await page.keyboard.type(`${other.origin}/jackett`);
    await page.keyboard.press('Enter');
    await page.locator('#mistakes').waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.id), 'mistakes');
    await to('key');
    await page.keyboard.type(other.key);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: '2 indexers of Jackett' }).waitFor();
    for (;;) {
      await page.keyboard.press('Tab');
      const label = await page.evaluate(() => document.activeElement.closest('label')?.innerText ?? '');
      if (label.includes('two-typed')) break;
      assert.notEqual(await page.evaluate(() => document.activeElement.innerText), 'Add those ticked');
    }
    await page.keyboard.press('Space');
    await to('Add those ticked');
    await page.keyboard.press('Enter');
    await page.getByText('1 indexer was added').waitFor();
    assert.match(await file(), /one-typed/);
    assert.doesNotMatch(await file(), /two-typed/);
    await page.context().close();
    await other.kill();
  });

  await t.test('the second of two people is told, and loses nothing', async () => {
    const [one, two] = [await at(), await at({ javaScriptEnabled: false })];
    await one.goto('/upstreams/tracker/typed/edit');
    await two.goto('/upstreams/tracker/typed/edit');
    for (const page of [one, two]) await page.locator('.entry details > summary').click();
    await field(one, 'Host header').fill('first.example');
    await button(one, 'Save').click();
    await one.getByText('The change is in use.').waitFor();
    await field(two, 'Host header').fill('second.example');
    await button(two, 'Save').click();
    await two.getByText('Somebody has changed this entry').waitFor();
    assert.equal(await field(two, 'Host header').inputValue(), 'second.example');
    await two.getByText('Saved meanwhile: first.example.').waitFor();
    assert.match(await file(), /host: first\.example/);
    await button(two, 'Save').click();
    await two.getByText('The change is in use.').waitFor();
    assert.match(await file(), /host: second\.example/);
    await one.goto('/upstreams/tracker/typed/edit');
    await two.goto('/upstreams/tracker/typed/remove');
    await two.getByLabel(/^Type typed/).fill('typed');
    await button(two, 'Remove').click();
    await two.getByText('The upstream was removed').waitFor();
    await button(one, 'Save').click();
    await one.getByText('This entry was removed after you opened the form.').waitFor();
    await button(one, 'Save').click();
    await one.getByText('typed was added').waitFor();
    await one.context().close();
    await two.context().close();
  });

  for (const [program, javaScriptEnabled] of ['Prowlarr', 'Jackett'].flatMap((one) => [[one, true], [one, false]])) {
    const place = program.toLowerCase();
    await t.test(`import from ${program}, script ${javaScriptEnabled ? 'on' : 'off'}`, async () => {
      // A Weir answers as both do.
      const theirs = await directory(t);
      const list = ['first', 'second'].map((name) => `    - { name: ${name}, url: "${good.url}" }`);
      const other = await start(t, { data: theirs, config: `search:\n  indexers:\n${list.join('\n')}\n` });
      const page = await at({ javaScriptEnabled });
      const choose = async () => {
        await page.goto('/upstreams/import');
        await field(page, 'Program').selectOption(program);
      };
      await choose();
      await field(page, 'Address').fill('nowhere');
      await button(page, 'List its indexers').click();
      await page.locator('p.mistake').waitFor();
      assert.equal(await field(page, 'Address').inputValue(), 'nowhere');
      assert.equal(await field(page, 'Program').inputValue(), place);
      await field(page, 'Address').fill(`${other.origin}/${place}`);
      await field(page, 'API key').fill('not-the-right-one');
      await button(page, 'List its indexers').click();
      await page.getByText(/rejected the key/).first().waitFor();
      await field(page, 'API key').fill(other.key);
      await button(page, 'List its indexers').click();
      await page.getByRole('heading', { name: '2 indexers of ' + program }).waitFor();
      assert.ok(!(await page.content()).includes(other.key));
      // A browser complains of every form that is refused.
      page.complaints.length = 0;
      if (javaScriptEnabled && program === 'Prowlarr') await rules.everywhere(page, 'import-list', { sent: false });
      await page.getByRole('checkbox', { name: /^second/ }).uncheck();
      await button(page, 'Add those ticked').click();
      await page.getByText('1 indexer was added').waitFor();
      const written = program === 'Jackett' ? `url: ${other.origin}/jackett/api/v2.0/indexers/first/results/torznab/api` : `url: ${other.origin}/prowlarr/1/api`;
      assert.ok((await file()).includes(written), await file());
      await choose();
      await field(page, 'Address').fill(`${other.origin}/${place}`);
      await field(page, 'API key').fill(other.key);
      await button(page, 'List its indexers').click();
      await page.getByText(/Already here as first/).waitFor();
      assert.equal(await page.getByRole('checkbox', { name: /^first/ }).isChecked(), false);
      assert.equal(await page.getByRole('checkbox', { name: /^second/ }).isChecked(), true);
      await page.context().close();
      await other.kill();
    });
  }
});
