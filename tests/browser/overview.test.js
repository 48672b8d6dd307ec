// The overview: is everything fine, and if not, what and until when?

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { open, session, visit } from './support/browser.js';
import { indexer, section } from './support/indexer.js';
import * as preview from './support/preview.js';
import * as rules from './support/rules.js';
import { directory, start } from './support/weir.js';

// The boxes of the charts, but not how far down they are: what is above them differs between two looks.
const boxes = (page) =>
  page.locator('.box').evaluateAll((all) =>
    all.map((box) => box.getBoundingClientRect()).map(({ x, width, height }) => ({ x, width, height })),
  );

// Searches through the form, as a person does.
async function search(page, words) {
  await page.goto('/search');
  await page.getByRole('searchbox', { name: 'What to search for' }).fill(words);
  await page.getByRole('button', { name: 'Search', exact: true }).click();
}

test('the overview of upstreams in every state', async (t) => {
  const weir = await preview.start(t);
  const browser = await open();
  const storageState = await session(weir);
  const at = (options = {}) => visit(browser, weir.origin, { storageState, ...options });

  await rules.walk(t, at, [
    { name: 'overview-full', path: '/?window=24h', prepare: (page) => page.locator('.box canvas').nth(2).waitFor() },
  ]);

  await t.test('charts are pictures without script, in the same boxes', async () => {
    const still = await at({ javaScriptEnabled: false });
    await still.goto('/?window=24h');
    assert.equal(await still.locator('.box svg').count(), 3);
    await rules.picture(still, 'overview-full-1280-no-script');
    const live = await at();
    await live.goto('/?window=24h');
    await live.locator('.box canvas').nth(2).waitFor();
    assert.equal(await live.locator('.box svg').count(), 0);
    assert.deepEqual(await boxes(live), await boxes(still));
    rules.quiet(live);
    await still.context().close();
    await live.context().close();
  });

  await t.test('a chart is drawn in the colours of the theme, also of another one', async () => {
    const page = await at({ colorScheme: 'light' });
    await page.goto('/?window=24h');
    await page.locator('.box canvas').nth(2).waitFor();
    const picture = () => page.locator('.box canvas').first().evaluate((canvas) => canvas.toDataURL());
    const before = await picture();
    await page.keyboard.press('t');
    await page.waitForFunction(
      (old) => document.querySelector('.box canvas').toDataURL() !== old,
      before,
    );
    await page.context().close();
  });

  await t.test('windows are links, and the table opens', async () => {
    const page = await at({ javaScriptEnabled: false });
    await page.goto('/');
    await page.getByRole('link', { name: '7 d', exact: true }).click();
    assert.equal(new URL(page.url()).search, '?window=7d');
    assert.match(await page.locator('#front-search .asked').innerText(), /last 7 days/);
    await page.getByText('Queue fill as a table').click();
    assert.ok((await page.locator('#fill-table tbody tr').count()) > 1);
    await page.getByRole('link', { name: 'Refresh every 10 s' }).click();
    assert.equal(new URL(page.url()).search, '?window=7d&refresh=10');
    await page.context().close();
  });
});

test('the overview of a Weir at work', async (t) => {
  const harbor = await indexer(t, 'harbor', { releases: [{ title: 'example one' }] });
  const data = await directory(t);
  const config = section([harbor]);
  let weir = await start(t, { data, config });
  const browser = await open();
  const storageState = await session(weir);
  const page = await visit(browser, weir.origin, { storageState });
  const other = await visit(browser, weir.origin, { storageState });

  await t.test('figures are those of /stats', async () => {
    await search(page, 'example');
    await page.getByText('example one').first().waitFor();
    await page.goto('/');
    const stats = await (await page.request.get('/stats?format=json')).json();
    const { asked, sent } = stats.fronts.search.counters;
    assert.equal(await page.locator('#front-search [data-figure=asked]').innerText(), String(asked));
    assert.equal(await page.locator('#front-search [data-figure=sent]').innerText(), String(sent));
    assert.match(await page.locator('h1').innerText(), /answering/);
    assert.equal(await page.getByText('Nothing needs attention.').count(), 1);
  });

  await t.test('a failing upstream is named, and gone again when it is healed', async () => {
    Object.assign(harbor, { status: 429, retryAfter: '900' });
    await search(page, 'another');
    await page.getByText(/we ask too often/).first().waitFor();
    await page.goto('/');
    const attention = page.locator('#attention-list');
    assert.match(await attention.innerText(), /harbor\s+Cooldown until \d\d:\d\d/);
    assert.match(await page.locator('h1').innerText(), /Search is answering from cache only: its only indexer is cooling down\. Its cooldown ends at \d\d:\d\d/);
    Object.assign(harbor, { status: 200, retryAfter: undefined });
    await attention.getByRole('button', { name: 'Clear cooldown' }).click();
    await page.getByText('harbor: cooldown cleared.').waitFor();
    assert.equal(await page.getByText('Nothing needs attention.').count(), 1);
  });

  await t.test('figures, decisions and attention arrive by themselves, and Pause holds the rows back', async () => {
    await page.goto('/');
    const pill = page.locator('#live');
    await page.waitForFunction(() => document.getElementById('live')?.textContent === 'Live');
    const figure = page.locator('#front-search [data-figure=asked]');
    const before = Number(await figure.innerText());
    await search(other, 'third');
    await page.waitForFunction(
      (old) => Number(document.querySelector('#front-search [data-figure=asked]').textContent) > old,
      before,
    );
    const first = () => page.locator('#decided li').first().getAttribute('id');
    await page.getByRole('button', { name: 'Pause' }).click();
    assert.equal(await pill.innerText(), 'Paused');
    const held = await first();
    Object.assign(harbor, { status: 429, retryAfter: '900' });
    await search(other, 'fourth');
    await page.locator('#attention-list').getByText('Cooldown until').waitFor();
    await page.waitForFunction(() => document.querySelector('h1').textContent.includes('from cache only'));
    assert.equal(await first(), held, 'no row was added');
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.waitForFunction((old) => document.querySelector('#decided li').id !== old, held);
    assert.equal(await pill.innerText(), 'Live');
    assert.ok((await page.locator('#decided li').count()) <= 10);
    rules.quiet(page);
  });

  await t.test('a stop shows, and the page comes back by itself', async () => {
    const port = Number(new URL(weir.origin).port);
    await weir.stop();
    await page.locator('#live.lost').waitFor();
    assert.match(await page.locator('#live').innerText(), /^Reconnecting, data from \d\d:\d\d:\d\d$/);
    weir = await start(t, { data, config, port });
    await page.locator('#live.on').waitFor({ timeout: 30_000 });
    page.complaints.length = 0; // the browser complains about the server that was away
  });

  await t.test('the series are there after a restart', async () => {
    const before = await (await page.request.get('/api/v1/series?window=6h')).json();
    await weir.stop();
    weir = await start(t, { data, config, port: Number(new URL(weir.origin).port) });
    await page.goto('/?window=6h');
    const asked = await page.locator('#front-search [data-figure=asked]').innerText();
    assert.ok(Number(asked) >= 2, `${asked} asked before and after`);
    const after = await (await page.request.get('/api/v1/series?window=6h')).json();
    assert.ok(after.series.length >= before.series.length);
    const sum = (all) => all.series.find((one) => one.front === 'search').answered.reduce((a, b) => a + b, 0);
    assert.ok(sum(after) >= 1, 'the calls of the earlier run');
    rules.quiet(page);
  });
});

test('first steps', async (t) => {
  const harbor = await indexer(t, 'harbor', { releases: [{ title: 'example one' }] });
  const weir = await start(t, { data: await directory(t) });
  const browser = await open();
  const storageState = await session(weir);

  await t.test('each is ticked while somebody watches, without a reload', async () => {
    const page = await visit(browser, weir.origin, { storageState });
    await page.goto('/');
    await page.evaluate(() => (window.watched = true));
    const ticks = () => page.locator('.first-run .tick').allInnerTexts();
    const ticked = (name) => page.locator(`#first-${name}.done`).waitFor();
    assert.deepEqual(await ticks(), ['Not yet', 'Not yet', 'Not yet']);
    await weir.announce({ hash: '0b'.repeat(20), ip: '127.0.0.1' });
    await ticked('client');
    assert.deepEqual(await ticks(), ['✓ Done', 'Not yet', 'Not yet']);
    await weir.add('search', { name: 'harbor', url: harbor.url, min_request_interval: '0s' });
    await ticked('upstream');
    assert.deepEqual(await ticks(), ['✓ Done', '✓ Done', 'Not yet']);
    await fetch(`${weir.origin}/torznab/api?t=search&q=one&apikey=${weir.key}`);
    await ticked('decision');
    assert.deepEqual(await ticks(), ['✓ Done', '✓ Done', '✓ Done']);
    await page.locator('#first-decision').getByRole('link', { name: 'Done' }).click();
    assert.equal(new URL(page.url()).hash, '#decisions');
    assert.equal(await page.evaluate(() => window.watched), true, 'it is the same page');
    rules.quiet(page);
    await page.context().close();
  });
});
