// Connect: what is pasted where, a key for each program, and when it was heard.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';

import { elsewhere, enterKey, open, session, visit } from './support/browser.js';
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

  test(`the page with a new key has the lines of its program, ${how}`, async (t) => {
    const { weir, page } = await begin(t, { javaScriptEnabled });
    const made = async (name) => {
      await page.goto('/connect');
      await page.getByRole('heading', { name, exact: true }).click();
      await page.getByRole('button', { name: `Make a key for ${name}`, exact: true }).click();
      const key = await page.getByLabel('Key', { exact: true }).inputValue();
      return (line) => line.replace('KEY', key).replace('ORIGIN', weir.origin);
    };
    let filled = await made('cross-seed');
    const line = page.getByLabel('config.js', { exact: true });
    assert.equal(await line.inputValue(), filled('torznab: ["ORIGIN/torznab/api?apikey=KEY"],'));
    if (javaScriptEnabled) {
      await page.getByRole('button', { name: 'Copy config.js', exact: true }).click();
      await page.getByRole('status').getByText('Copied', { exact: true }).waitFor();
    }
    filled = await made('FlexGet');
    const feed = filled('ORIGIN/torznab/api?t=search&apikey=KEY');
    assert.equal(await page.getByLabel('rss', { exact: true }).inputValue(), feed);
    const config = filled('- torznab: { url: "ORIGIN/torznab", apikey: "KEY", searcher: tvsearch }');
    assert.equal(await page.getByLabel('config.yml', { exact: true }).inputValue(), config);
    assert.match(await (await fetch(feed)).text(), /No torznab indexer is configured/, 'the key is the right one');
    filled = await made('qBittorrent');
    const rss = filled('ORIGIN/torznab/api?t=search&apikey=KEY');
    assert.equal(await page.getByLabel('RSS', { exact: true }).inputValue(), rss);
    if (javaScriptEnabled) await rules.everywhere(page, 'made-key', { sent: false });
    // A program that has a field for the key needs nothing else.
    await made('Sonarr');
    assert.equal(await page.locator('.made .copy').count(), 1);
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

test('from another machine, an address for this one alone is called so', async (t) => {
  const data = await directory(t);
  const weir = await start(t, { data });
  const storageState = await session(weir);
  const page = await visit(await open(), elsewhere(weir), { storageState });
  const says = (key) => new RegExp(`works only on the machine that runs Weir\\. .* set ${key} in ${join(data, 'weir.yaml')}`);
  await page.goto('/connect');
  for (const [name, key] of [['Thunderbird', 'news.nntp_listen'], ['Transmission', 'tracker.http_listen']]) {
    await page.getByRole('heading', { name, exact: true }).click();
    await page.locator(`#${name.toLowerCase()} .notice.warn`).getByText(says(key)).waitFor();
  }
  await page.locator('section', { has: page.locator('#nntp') }).getByText(says('news.nntp_listen')).waitFor();
  await page.goto('/');
  await page.locator('.first-run').getByText(/only on the machine that runs Weir; for others set news\.nntp_listen in /).waitFor();

  // Whoever is on this machine is told once, at the top.
  const here = await visit(await open(), weir.origin, { storageState });
  await here.goto('/connect');
  assert.equal(await here.locator('.program .notice.warn').count(), 0);
  await here.getByText('These addresses work on this machine only').waitFor();
  await here.goto('/');
  assert.doesNotMatch(await here.locator('.first-run').innerText(), /only on the machine/);
});

test('copying works over plain HTTP from another machine', async (t) => {
  const weir = await start(t, { data: await directory(t) });
  const storageState = await session(weir);
  const page = await visit(await open(), elsewhere(weir), { storageState });
  await page.goto('/connect');
  assert.equal(await page.evaluate(() => isSecureContext), false);
  await page.getByRole('heading', { name: 'Sonarr', exact: true }).click();
  const field = page.locator('#sonarr-0');
  const said = page.getByRole('status').getByText('Copied', { exact: true });
  const button = page.getByRole('button', { name: 'Copy URL for Sonarr', exact: true });
  await button.click();
  await said.waitFor();
  assert.ok(await button.evaluate((one) => one === document.activeElement), 'the focus stays');
  await said.waitFor({ state: 'hidden' });
  const shown = await field.inputValue();
  assert.equal(shown, `${elsewhere(weir)}/torznab`);

  // Where the browser does not copy, people do.
  await page.evaluate(() => (document.execCommand = () => false));
  await button.click();
  await page.getByRole('status').getByText('Selected: press Ctrl+C', { exact: true }).waitFor();
  const selected = await field.evaluate((one) => one === document.activeElement && [one.selectionStart, one.selectionEnd]);
  assert.deepEqual(selected, [0, shown.length]);
  rules.quiet(page);

  await page.goto('/settings');
  await page.getByRole('searchbox').first().focus();
  await page.keyboard.press('Control+V');
  assert.equal(await page.getByRole('searchbox').first().inputValue(), shown);
});

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
