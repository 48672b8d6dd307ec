// Search, history and connect: results as they arrive, who did not answer and why, what it cost, what to paste.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';

import { open, session, visit } from './support/browser.js';
import { indexer, section } from './support/indexer.js';
import * as rules from './support/rules.js';
import { WAYS } from './support/ways.js';
import { directory, start } from './support/weir.js';

const HOSTILE = `"><script>alert(1)</script>'{{7*7}}&<b>`;

const NETINST = { title: 'Example Linux 13.1 netinst amd64', seeders: 412, peers: 421, hours: 2 };
const LIVE = { title: 'Example Linux 13.1 live desktop amd64', size: 3.4e9, seeders: 288, peers: 302, hours: 5, free: true };
const SOURCE = { title: 'Example Linux 13.1 source packages, set 1 of 3', size: 12.9e9, seeders: 61, peers: 64, hours: 30, files: 3 };
const MAPS = { title: 'Open Map Tiles 2026-11, Europe', size: 41.7e9, seeders: 37, peers: 43, hours: 29, files: 214 };
const MUSIC = { title: 'Public Domain Chamber Music, volume 7 (FLAC)', size: 2.1e9, seeders: 25, peers: 26, hours: 75, files: 48, category: 3040 };
const LATE = { title: 'Field Guide to River Plants, second edition (EPUB)', size: 38e6, seeders: 19, peers: 19, hours: 140 };

/** Asks by the form of the page. */
async function ask(page, words) {
  await page.goto('/search');
  await page.getByRole('searchbox', { name: 'What to search for' }).fill(words);
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  await page.waitForURL('**/search?id=*');
}

async function begin(t) {
  const meadow = await indexer(t, 'meadow.example', { releases: [NETINST, LIVE, SOURCE] });
  const quarry = await indexer(t, 'quarry.example', { releases: [{ ...NETINST, seeders: 398 }, MAPS, MUSIC] });
  const beacon = await indexer(t, 'beacon.example', { releases: [LATE], delay: 2_500 });
  const harbor = await indexer(t, 'harbor.example', { status: 429, retryAfter: '900' });
  const all = [meadow, quarry, beacon, harbor];
  const more = { 'meadow.example': { per_hour: 100, grabs_per_day: 50 } };
  const config = section(all, { more });
  const weir = await start(t, { data: await directory(t), config });
  const browser = await open();
  const storageState = await session(weir);
  const at = (options = {}) => visit(browser, weir.origin, { storageState, ...options });
  const searched = () => all.map((one) => one.searched);
  return { weir, at, searched, meadow, beacon, harbor };
}

test('search', async (t) => {
  const { weir, at, searched, beacon } = await begin(t);

  await t.test('before a search there is a form and nothing else', async () => {
    const page = await at();
    await page.goto('/search');
    assert.equal(await page.locator('table').count(), 0);
    await page.getByText('All 4 indexers', { exact: true }).click();
    assert.equal(await page.getByRole('checkbox').count(), 4);
    await rules.picture(page, 'search-before-1280');
    await page.context().close();
  });

  await t.test('first rows come before the slow indexer ends, and the rest by themselves', async () => {
    const page = await at();
    const release = beacon.hold();
    await ask(page, 'example linux 13');
    await page.getByText('Example Linux 13.1 netinst').waitFor();
    const slow = page.locator('li[data-indexer="beacon.example"]');
    assert.match(await slow.innerText(), /asking, \d of 6 s/);
    await rules.picture(page, 'search-running-1280-light');
    const fill = slow.locator('.fill');
    const before = Number(await fill.getAttribute('width'));
    await wait(600);
    assert.ok(Number(await fill.getAttribute('width')) > before, 'the bar moves');
    release();
    await page.getByText('Field Guide to River Plants').waitFor();
    await page.getByText(/^Finished /).waitFor();
    assert.match(await page.locator('h1').innerText(), /^6 results from 3 of 4 indexers\.$/);
    assert.match(await slow.innerText(), /1 result · [2-5]\.\d s/);
    // Who did not answer is named, with the reason and the time.
    const refused = await page.locator('li[data-indexer="harbor.example"]').innerText();
    assert.match(refused, /failed/);
    assert.match(refused, /we ask too often/);
    assert.match(refused, /\d\d:\d\d\.$/);
    assert.equal(await page.locator('tbody tr').count(), 6);
    assert.equal(await page.getByRole('button', { name: 'Search again' }).isVisible(), true);
    assert.equal(await page.getByRole('button', { name: 'Stop' }).isVisible(), false);
    rules.quiet(page);

    const cost = searched();
    await page.reload();
    await page.reload();
    assert.match(await page.locator('h1').innerText(), /^6 results/);
    assert.deepEqual(searched(), cost, 'a reload asks nobody');
    await page.context().close();
  });

  await t.test('after a key press rows wait behind the button', async () => {
    const page = await at();
    const release = beacon.hold();
    await ask(page, 'example after a key');
    // All that the two quick indexers have; the slow one answers after the key.
    await page.locator('tbody tr').nth(4).waitFor();
    await page.keyboard.press('j');
    release();
    const more = page.getByRole('button', { name: '1 more has arrived, show' });
    await more.waitFor();
    assert.equal(await page.getByText('Field Guide to River Plants').count(), 0);
    await rules.picture(page, 'search-more-1280-light');
    await more.click();
    await page.getByText('Field Guide to River Plants').waitFor();
    assert.equal(await more.count(), 0);
    // The one that rests was not asked again.
    const rests = await page.locator('li[data-indexer="harbor.example"]').innerText();
    assert.match(rests, /skipped/);
    assert.match(rests, /Not asked: .*we ask too often.*, at (\w+ \d+ \w+, )?\d\d:\d\d\./s);
    rules.quiet(page);
    await page.context().close();
  });

  await t.test('sources open, and order and filter stand in the address', async () => {
    const page = await at();
    await ask(page, 'example linux 13');
    await page.getByText(/^Finished /).waitFor();
    const row = page.locator('tbody tr').filter({ hasText: 'netinst' });
    await row.getByText('meadow.example and 1 more').click();
    const sources = row.locator('.sources li');
    assert.equal(await sources.count(), 2);
    assert.match(await sources.first().innerText(), /meadow\.example[\s\S]*seeds 412[\s\S]*from cache[\s\S]*Download/);
    await rules.picture(page, 'search-sources-1280-light');
    assert.match(await row.getByRole('link', { name: 'Magnet' }).getAttribute('href'), /^magnet:\?xt=urn:btih:/);
    assert.match(await row.locator('.act').getByRole('link', { name: 'Download' }).getAttribute('href'), /^\/dl\//);

    await page.getByRole('link', { name: 'Size' }).click();
    await page.waitForURL('**sort=size*');
    assert.match(await page.locator('tbody tr').first().innerText(), /Open Map Tiles/);
    await page.getByRole('searchbox', { name: 'Filter these results' }).fill('live');
    await page.keyboard.press('Enter');
    await page.waitForURL('**filter=live*');
    assert.equal(await page.locator('tbody tr').count(), 1);
    await page.context().close();
  });

  for (const { how, options, press, write } of WAYS) {
    await t.test(`hostile words are searched, stopped and asked again, ${how}`, async () => {
      const page = await at(options);
      const words = `${HOSTILE} ${how}`;
      const box = page.getByRole('searchbox', { name: 'What to search for' });
      const release = beacon.hold();
      await page.goto('/search');
      await write(page, box, words);
      await press(page, page.getByRole('button', { name: 'Search', exact: true }));
      await page.waitForURL('**/search?id=*');
      await press(page, page.getByRole('button', { name: 'Stop' }));
      await page.getByText('Stopped after').waitFor();
      assert.match(await page.locator('li[data-indexer="beacon.example"]').innerText(), /the search was stopped/);
      assert.equal(await box.inputValue(), words, 'they are text');
      release();
      const before = searched()[0];
      await press(page, page.getByRole('button', { name: 'Search again' }));
      await page.getByText(/^Finished /).waitFor();
      assert.equal(searched()[0], before + 1, 'the cache is passed by');
      rules.quiet(page);
      await page.context().close();
    });
  }

  await t.test('without script it finishes on one search id', async () => {
    beacon.delay = 4_500;
    const page = await at({ javaScriptEnabled: false });
    const began = Date.now();
    await ask(page, 'example without script');
    const waited = Date.now() - began;
    assert.ok(waited > 2_500 && waited < 4_500, `${waited} ms for a first look`);
    const address = page.url();
    assert.match(await page.locator('main').innerText(), /1 still to answer/);
    assert.equal(await page.locator('tbody tr').count(), 5);
    await page.getByText(/^Finished /).waitFor();
    assert.equal(page.url(), address);
    assert.match(await page.locator('main').innerText(), /Field Guide to River Plants/);
    await rules.picture(page, 'search-1280-no-script');
    rules.quiet(page);
    await page.context().close();
    beacon.delay = 0;
  });

  const page = await at();
  await ask(page, 'example linux 13');
  const found = page.url().slice(weir.origin.length);
  await page.context().close();
  await rules.walk(t, at, [
    { name: 'search', path: found, prepare: (opened) => opened.locator('tbody details > summary').first().click() },
    { name: 'search-before', path: '/search' },
    { name: 'search-none', path: `${found}&filter=nothing` },
    { name: 'history', path: '/history' },
    { name: 'history-grabs', path: '/history?kind=grabs' },
    { name: 'connect', path: '/connect' },
  ]);

  await t.test('the upstreams page shows what is used of each limit', async () => {
    const page = await at();
    await page.goto('/upstreams?front=search');
    const row = page.locator('tr').filter({ hasText: 'meadow.example' });
    const meters = await row.locator('.meter').allInnerTexts();
    assert.ok(meters.some((text) => /hour[\s\S]*\d+ of 100/.test(text)), meters.join());
    assert.ok(meters.some((text) => /of 50/.test(text)), meters.join());
    await rules.picture(page, 'upstreams-search-1280');
    await page.context().close();
  });
});

test('history and connect', async (t) => {
  const { weir, at, searched, beacon } = await begin(t);
  beacon.delay = 0;

  await t.test('without anything the history leads to connect', async () => {
    const page = await at();
    await page.goto('/history');
    await page.getByRole('link', { name: 'Connect one' }).click();
    await page.waitForURL('**/connect');
    await page.context().close();
  });

  await t.test('every copy button puts the shown text on the clipboard', async () => {
    const page = await at({ permissions: ['clipboard-read', 'clipboard-write'] });
    await page.goto('/connect');
    await page.getByText('Show the first key').click();
    assert.equal(await page.getByRole('textbox', { name: 'API key', exact: true }).inputValue(), weir.key);
    await page.locator('details.program').evaluateAll((all) => all.forEach((one) => (one.open = true)));
    const buttons = page.locator('button[data-copy]');
    const count = await buttons.count();
    assert.ok(count > 9);
    for (let place = 0; place < count; place += 1) {
      const button = buttons.nth(place);
      const shown = await page.locator(`#${await button.getAttribute('data-copy')}`).inputValue();
      await button.click();
      assert.equal(await page.evaluate(() => navigator.clipboard.readText()), shown);
    }
    await page.getByText('These addresses work on this machine only').waitFor();
    rules.quiet(page);
    await page.context().close();
  });

  await t.test('the pasted address answers caps, and who asked is heard', async () => {
    const page = await at();
    await page.goto('/connect');
    const sonarr = page.locator('section', { has: page.getByRole('heading', { name: 'Sonarr', exact: true }) });
    assert.match(await sonarr.innerText(), /Not heard from Sonarr yet/);
    const url = await sonarr.getByLabel('URL', { exact: true }).inputValue();
    const path = await sonarr.getByLabel('API path', { exact: true }).inputValue();
    const headers = { 'user-agent': 'Sonarr/4.0.1 (linux)' };
    const caps = await fetch(`${url}${path}?t=caps`, { headers });
    assert.equal(caps.status, 200);
    assert.match(await caps.text(), /<caps>[\s\S]*<searching>/);
    const feed = await fetch(`${url}${path}?t=search&q=example&apikey=${weir.key}`, { headers });
    assert.equal(feed.status, 200);
    assert.match(await feed.text(), /netinst/);
    // It turns up by itself.
    await sonarr.getByText('Weir heard from Sonarr').waitFor();
    await page.reload();
    assert.match(await sonarr.innerText(), /Weir heard from Sonarr \d+ s ago\. It works\./);
    await page.context().close();
  });

  for (const javaScriptEnabled of [true, false]) {
    await t.test(`the search just made is there with its cost, script ${javaScriptEnabled ? 'on' : 'off'}`, async () => {
      const page = await at({ javaScriptEnabled });
      const show = async (day) => {
        await page.goto('/history');
        await page.getByLabel('Program', { exact: true }).selectOption('Sonarr');
        await page.getByLabel('Indexer', { exact: true }).selectOption('meadow.example');
        await page.getByLabel('Day', { exact: true }).fill(day);
        await page.getByRole('button', { name: 'Show', exact: true }).click();
        await page.waitForURL('**/history?program=Sonarr&indexer=meadow.example&*');
      };
      await show('2001-01-01');
      await page.getByText('Nothing matches.').waitFor();
      assert.equal(await page.getByLabel('Day', { exact: true }).inputValue(), '2001-01-01');
      await show('');
      assert.equal(await page.getByLabel('Program', { exact: true }).inputValue(), 'Sonarr');
      const row = page.locator('tbody tr').first();
      const text = await row.innerText();
      assert.match(text, /Sonarr/);
      assert.match(text, /"example"/);
      assert.match(text, /3 of 4/);
      await row.getByText('What each indexer did').click();
      assert.match(await row.innerText(), /meadow\.example[\s\S]*Answered: 3 results/);
      assert.match(await row.innerText(), /harbor\.example[\s\S]*Failed: .*we ask too often/);
      await rules.picture(page, `history-open-1280-${javaScriptEnabled ? '' : 'no-'}script`);
      const cost = searched()[0];
      await row.getByRole('button', { name: 'Search again' }).click();
      await page.waitForURL('**/search?id=*');
      await page.getByText('from cache').first().waitFor();
      assert.equal(searched()[0], cost);
      rules.quiet(page);
      await page.context().close();
    });
  }

  await t.test('a shared call costs nothing and is told with whose it was', async () => {
    beacon.delay = 1_500;
    const as = (program) => fetch(`${weir.origin}/torznab/api?t=search&q=linux&apikey=${weir.key}`, { headers: { 'user-agent': `${program}/1.0` } });
    const first = as('Sonarr');
    await wait(500);
    await Promise.all([first, as('Radarr')]);
    const page = await at();
    await page.goto('/history?program=Radarr');
    const row = page.locator('tbody tr').first();
    await row.getByText('0, shared with Sonarr').waitFor();
    await row.getByText('What each indexer did').click();
    assert.match(await row.innerText(), /beacon\.example[\s\S]*Shared a call that Sonarr had under way: 1 result/);
    await rules.everywhere(page, 'history-shared');
    await page.context().close();
  });

  await t.test('keys lead to the pages', async () => {
    const page = await at();
    for (const [key, path] of [['s', '/search'], ['h', '/history'], ['c', '/connect']]) {
      await page.goto('/');
      await page.keyboard.press('g');
      await page.keyboard.press(key);
      await page.waitForURL(`**${path}`);
    }
    await page.context().close();
  });
});
