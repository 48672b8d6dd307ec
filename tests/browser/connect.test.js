// Connect: what is pasted where, a key for each program, and when it was heard.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { enterKey, open, session, visit } from './support/browser.js';
import * as rules from './support/rules.js';
import { directory, start } from './support/weir.js';

const PROGRAMS = [
  'qBittorrent', 'Transmission', 'Deluge', 'rTorrent', 'aria2', 'Sonarr', 'Radarr', 'Lidarr', 'Readarr', 'Prowlarr', 'qui',
  'autobrr', 'cross-seed', 'FlexGet', 'Newsreaders', 'Thunderbird', 'Pan', 'tin', 'slrn',
];

async function begin(t, options) {
  const weir = await start(t, { data: await directory(t) });
  const storageState = await session(weir);
  const page = await visit(await open(), weir.origin, { storageState, ...options });
  await page.goto('/connect');
  return { weir, page };
}

// That every button copies what is shown is tested with the search front.
test('every program has its steps, by the name that the visitor used', async (t) => {
  const { weir, page } = await begin(t);
  for (const name of PROGRAMS) await page.getByRole('heading', { name, level: 2, exact: true }).waitFor();
  await page.getByText('A site that needs a definition stays behind Prowlarr or Jackett').waitFor();
  const tracker = await page.locator('#qbittorrent-0').inputValue();
  assert.ok(tracker.includes(`${weir.tracker}/announce`), tracker);
  assert.equal(await page.locator('#sonarr-0').inputValue(), `${weir.origin}/torznab`);
  await rules.everywhere(page, 'connect');
  // A link to a program opens its steps.
  await page.getByRole('navigation', { name: 'Programs' }).getByRole('link', { name: 'Transmission' }).click();
  await page.getByLabel('settings.json', { exact: true }).waitFor();
});

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? 'with script' : 'without script';

  test(`a key is made for Sonarr, and Sonarr is heard, ${how}`, async (t) => {
    const { weir, page } = await begin(t, { javaScriptEnabled });
    await page.getByText('Not heard from Sonarr yet.').waitFor();
    await page.getByRole('heading', { name: 'Sonarr', exact: true }).click();
    await page.getByRole('button', { name: 'Make a key for Sonarr' }).click();
    const key = await page.getByLabel('Key', { exact: true }).inputValue();
    await page.getByRole('link', { name: 'I have copied it' }).click();
    assert.equal(new URL(page.url()).hash, '#sonarr', 'back to where one was');
    await page.getByText('the one called Sonarr').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Make a key for Sonarr' }).count(), 0);

    const base = await page.locator('#sonarr-0').inputValue();
    const agent = { 'user-agent': 'Sonarr/4.0.9 (linux)' };
    const caps = await fetch(`${base}/api?t=caps&apikey=${key}`, { headers: agent });
    assert.match(await caps.text(), /<caps/);
    await page.goto('/connect');
    await page.getByText(/Weir heard from Sonarr .* ago\. It works\./).waitFor();
    rules.quiet(page);
  });

  test(`a client that announces is heard, ${how}`, async (t) => {
    const { weir, page } = await begin(t, { javaScriptEnabled });
    await page.getByText('Not heard from qBittorrent yet.').waitFor();
    const said = new URLSearchParams({ peer_id: '-qB5040-000000000000', port: 6881, left: 1, compact: 1 });
    const answer = await fetch(`${weir.tracker}/announce?info_hash=${'%61'.repeat(20)}&${said}`);
    assert.match(await answer.text(), /8:interval/);
    // With script the page finds out by itself.
    if (!javaScriptEnabled) await page.goto('/connect');
    await page.getByText(/Weir heard from qBittorrent .* ago\. It works\./).waitFor();
    rules.quiet(page);
  });
}

test('somebody with a lesser key sees neither the first key nor a way to make one', async (t) => {
  const { weir, page } = await begin(t);
  await page.getByRole('heading', { name: 'tin', exact: true }).click();
  await page.getByRole('button', { name: 'Make a key for tin', exact: true }).click();
  const key = await page.getByLabel('Key', { exact: true }).inputValue();
  const other = await visit(await open(), weir.origin);
  await other.goto('/sign-in');
  await enterKey(other, key);
  await other.waitForURL((url) => url.pathname === '/');
  await other.goto('/connect');
  assert.equal(await other.getByText('Show the first key').count(), 0);
  assert.ok(!(await other.content()).includes(weir.key));
  assert.equal(await other.getByRole('button', { name: /^Make a key/ }).count(), 0);
  rules.quiet(other);
});
