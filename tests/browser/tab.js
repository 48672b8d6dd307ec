// What an open tab costs over time: the overview of a busy Weir, followed in a real browser. `cargo xtask tab [MINUTES]`
// runs it; the tests do not, for it takes half an hour. Each minute the browser collects its garbage, and what is left is
// noted. It fails if the last third of the time has more of anything than the middle third: by then charts, lists and
// caches are as they will be for the rest of the day.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';

import { open, session, visit } from './support/browser.js';
import { indexer, section } from './support/indexer.js';
import { directory, start } from './support/weir.js';

const MINUTES = Number(process.env.WEIR_MINUTES ?? 30);
const INDEXERS = 10;
const TRACKERS = 10;
/** Searches of all indexers and first announces to all trackers, each second. */
const SEARCHES = 2;
const ANNOUNCES = 2;
/** How much more the last third may have than the middle third. */
const GROWTH = 1.1;

const releases = Array.from({ length: 5 }, (_, place) => ({ title: `Example ${place}` }));

/** A tracker that answers every announce: nobody else is there. */
async function tracker(t) {
  const server = createServer((_, response) => response.end('d8:completei0e10:incompletei0e8:intervali1800e5:peers0:e'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}/announce`;
}

/** Work for Weir each second, until `ended`: searches, announces, and an indexer that refuses and is healed by turns. */
async function keepBusy(weir, trouble, ended) {
  const headers = { 'x-api-key': weir.key };
  const search = async (words) => {
    const answer = await fetch(`${weir.origin}/torznab/api?t=search&q=${encodeURIComponent(words)}`, { headers });
    await answer.text();
  };
  const waiting = new Set();
  // What is not answered, because Weir stops, is no reason to end.
  const go = (work) => {
    const asked = work.catch(() => {}).then(() => waiting.delete(asked));
    waiting.add(asked);
  };
  for (let second = 0; !ended.aborted; second += 1) {
    if (second % 20 === 10) Object.assign(trouble, { status: 429, retryAfter: '5' });
    if (second % 20 === 0) Object.assign(trouble, { status: 200, retryAfter: undefined });
    // A machine that cannot keep up is not asked for more.
    for (let each = 0; each < SEARCHES && waiting.size < 100; each += 1) go(search(`example ${second} ${each}`));
    for (let each = 0; each < ANNOUNCES; each += 1) {
      const hash = (second * ANNOUNCES + each + 1).toString(16).padStart(40, '0');
      go(weir.announce({ hash, ip: `10.${(second >> 8) & 255}.${second & 255}.${each + 1}`, left: 1, event: 'started' }));
    }
    await wait(1_000);
  }
  await Promise.all(waiting);
}

/** Counts the events that the page's stream brings. */
function countEvents(devtools) {
  const seen = { events: 0 };
  devtools.on('Network.eventSourceMessageReceived', () => (seen.events += 1));
  return seen;
}

/** What the page holds after its garbage was collected. */
async function held(devtools) {
  await devtools.send('HeapProfiler.collectGarbage');
  const { metrics } = await devtools.send('Performance.getMetrics');
  const figure = (name) => metrics.find((one) => one.name === name).value;
  const { nodes, jsEventListeners, documents } = await devtools.send('Memory.getDOMCounters');
  return { heap: figure('JSHeapUsedSize'), nodes, listeners: jsEventListeners, documents };
}

const mean = (all, of) => all.reduce((sum, one) => sum + one[of], 0) / all.length;

test(`an open tab over ${MINUTES} minutes`, { timeout: (MINUTES + 5) * 60_000 }, async (t) => {
  const indexers = [];
  for (let place = 0; place < INDEXERS; place += 1) indexers.push(await indexer(t, `indexer-${place}.example`, { releases }));
  const trackers = [];
  for (let place = 0; place < TRACKERS; place += 1) trackers.push(await tracker(t));
  const forwarders = trackers.map((uri, place) => `    - { name: tracker-${place}.example, uri: "${uri}" }`);
  const config = `${section(indexers)}tracker:\n  forwarders:\n${forwarders.join('\n')}\n`;
  const weir = await start(t, { data: await directory(t), config });
  const browser = await open({ whole: true });
  const page = await visit(browser, weir.origin, { storageState: await session(weir) });
  await page.goto('/');
  await page.locator('#live').getByText('Live', { exact: true }).waitFor();
  const devtools = await page.context().newCDPSession(page);
  for (const domain of ['Performance', 'Network', 'HeapProfiler']) await devtools.send(`${domain}.enable`);
  const seen = countEvents(devtools);

  const ends = new AbortController();
  const busy = keepBusy(weir, indexers[0], ends.signal);
  const decisions = () => page.locator('#decided li').first().getAttribute('id');
  const rows = [];
  console.log('minute   heap kB   nodes   listeners   documents   events');
  let newest = await decisions();
  for (let minute = 1; minute <= MINUTES; minute += 1) {
    await wait(60_000);
    const row = await held(devtools);
    rows.push(row);
    const cells = [minute, Math.round(row.heap / 1000), row.nodes, row.listeners, row.documents, seen.events];
    console.log(cells.map((cell, place) => String(cell).padStart([6, 9, 7, 11, 11, 8][place])).join(' '));
    const now = await decisions();
    assert.notEqual(now, newest, 'decisions go on');
    newest = now;
  }
  ends.abort();
  await busy;
  assert.deepEqual(page.complaints, []);
  const { fronts } = await (await page.request.get('/stats?format=json')).json();
  const sent = fronts.tracker.counters.sent + fronts.search.counters.sent;
  console.log(`${sent} calls and ${seen.events} events in ${MINUTES} minutes`);
  assert.ok(sent > MINUTES * 60 * 10, 'ten calls a second at least');
  assert.ok(seen.events > MINUTES * 60, `${seen.events} events, fewer than one a second`);
  const third = Math.floor(rows.length / 3);
  assert.ok(third > 0, 'three minutes at least');
  const [middle, last] = [rows.slice(third, rows.length - third), rows.slice(rows.length - third)];
  for (const what of ['heap', 'nodes', 'listeners', 'documents']) {
    const [before, after] = [mean(middle, what), mean(last, what)];
    console.log(`${what}: ${before.toFixed(0)} in the middle third, ${after.toFixed(0)} in the last (${(after / before).toFixed(3)} ×)`);
    assert.ok(after <= before * GROWTH, `${what} grows: ${before.toFixed(0)}, then ${after.toFixed(0)}`);
  }
});
