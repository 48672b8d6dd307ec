// Several nodes on the overview: who is there, how far each is behind, and what it means when the store is away.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';

import { open, session, visit } from './support/browser.js';
import { redis } from './support/redis.js';
import * as rules from './support/rules.js';
import { WAYS } from './support/ways.js';
import { directory, start } from './support/weir.js';

const KEY = 'k3y-of-all-the-nodes';
const NAMES = ['attic', 'cellar', '"><img src=x onerror=alert(1)>'];

async function node(t, store, name, key = KEY) {
  const data = await directory(t);
  const config = `web: { api_key: ${key} }
store: { redis: "${store.url}", secret: a secret that all nodes of this test share }
node: { name: '${name}' }
`;
  return start(t, { data, config });
}

test('three nodes and their store', async (t) => {
  const store = await redis(t);
  const weirs = await Promise.all(NAMES.map((name) => node(t, store, name)));
  const [attic] = weirs;
  const browser = await open();
  // The link of one node signs in at another.
  const storageState = await session({ link: weirs[1].link.replace(weirs[1].origin, attic.origin), origin: attic.origin });
  const at = (options = {}) => visit(browser, attic.origin, { storageState, ...options });
  const page = await at();
  const panel = page.getByRole('region', { name: 'Nodes' });
  const row = (name) => panel.getByRole('row').filter({ hasText: name });

  await t.test('the page names them, with version and how far each is behind', async () => {
    await page.goto('/');
    await page.evaluate(() => (window.watched = true));
    await panel.getByText('All 3 nodes are here.').waitFor({ timeout: 30_000 });
    const { nodes } = await (await page.request.get('/api/v1/nodes')).json();
    assert.deepEqual(nodes.map((one) => one.name).sort(), [...NAMES].sort());
    for (const { name, version } of nodes) {
      assert.match(await row(name).innerText(), /Here/);
      assert.match(await row(name).innerText(), /under 1 s|\d+ s/);
      assert.ok((await row(name).innerText()).includes(version), version);
    }
    assert.equal(await panel.getByText('This one').count(), 1);
    assert.match(await row('attic').innerText(), /This one/);
    assert.equal(await panel.getByRole('row').nth(1).locator('bdi').innerText(), 'attic', 'itself first');
    rules.quiet(page);
  });

  await rules.walk(t, at, [{ name: 'nodes-together', path: '/' }]);

  await t.test('the store stops, and the page says so by itself', async () => {
    store.freeze();
    const notice = panel.locator('.notice.warn');
    await notice.waitFor({ timeout: 30_000 });
    const said = await notice.innerText();
    assert.match(said, /^This node has been alone since \d\d:\d\d/, 'since when');
    assert.match(said, /this node uses only its own share until the store is back/, 'what it means');
    assert.match(await page.locator('h1').innerText(), /This node has been alone since \d\d:\d\d\.$/);
    assert.match(await row('cellar').innerText(), /Not known/);
    assert.match(await row('attic').innerText(), /Here/);
    assert.equal(await page.evaluate(() => window.watched), true, 'it is the same page');
    rules.quiet(page);
  });

  await rules.walk(t, at, [{ name: 'nodes-alone', path: '/' }]);

  await t.test('it is back, and the page says that too', async () => {
    store.thaw();
    await panel.getByText('All 3 nodes are here.').waitFor({ timeout: 30_000 });
    assert.equal(await panel.locator('.notice.warn').count(), 0);
    assert.equal(await page.evaluate(() => window.watched), true, 'it is the same page');
    rules.quiet(page);
  });
});

for (const { how, options, press } of WAYS.slice(1)) {
  test(`the first key of a node that has gone is revoked, ${how}`, async (t) => {
    const store = await redis(t);
    const [attic, cellar] = [await node(t, store, 'attic'), await node(t, store, 'cellar', 'the-k3y-of-a-node-that-goes')];
    const opens = async () => (await fetch(`${attic.origin}/api/v1/status`, { headers: { 'x-api-key': 'the-k3y-of-a-node-that-goes' } })).status;
    const page = await visit(await open(), attic.origin, { ...options, storageState: await session(attic) });
    const row = page.getByRole('row').filter({ hasText: 'The first key of cellar' });
    const settled = async (what, isSo) => {
      for (let tries = 0; tries < 300; tries += 1) {
        await page.goto('/settings/access');
        if (await isSo()) return;
        await wait(100);
      }
      assert.fail(`never ${what}`);
    };
    await settled('in use', async () => (await row.innerText().catch(() => '')).includes('in use while the node runs'));
    assert.equal(await opens(), 200);
    await cellar.stop();
    await settled('gone', () => row.getByRole('button').count());
    await press(page, row.getByRole('button', { name: 'Revoke the first key of cellar' }));
    await page.getByText('The key was revoked').waitFor();
    assert.equal(await row.count(), 0);
    assert.equal(await opens(), 401);
    rules.quiet(page);
  });
}
