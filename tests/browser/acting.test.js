// Every form that changes something and has no test elsewhere in all three ways: with script, without, by keyboard alone. What
// is typed into them is as hostile as it gets.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';

import { open, session, visit } from './support/browser.js';
import { indexer, section as searching } from './support/indexer.js';
import { article, newsServer, section } from './support/news.js';
import { start as preview } from './support/preview.js';
import * as rules from './support/rules.js';
import { WAYS } from './support/ways.js';
import { directory, start } from './support/weir.js';

const HOSTILE = '"><img src=x onerror=alert(1)>{{7*7}}\'';

const button = (page, name) => page.getByRole('button', { name, exact: true });
const link = (page, name) => page.getByRole('link', { name, exact: true });

/** What was typed is text: no element came of it, and no script ran. */
async function harmless(page) {
  assert.equal(await page.locator('img[src="x"]').count(), 0, 'it is no element');
  rules.quiet(page);
}

/** A hook that takes every message. */
async function hook(t) {
  const server = createServer((request, response) => request.resume().on('end', () => response.end()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return `http://127.0.0.1:${server.address().port}/`;
}

for (const { how, options, press, write, choose, tick, date } of WAYS) {
  test(`signing in, keys and sessions, ${how}`, async (t) => {
    const weir = await start(t, { data: await directory(t) });
    const browser = await open();
    const page = await visit(browser, weir.origin, options);
    const signIn = async (key) => {
      await write(page, page.getByLabel('Key', { exact: true }), key);
      await press(page, button(page, 'Sign in'));
    };
    await page.goto('/sign-in?next=/settings/access');
    await signIn(HOSTILE);
    await page.getByText('That is not the key.').waitFor();
    page.complaints.length = 0;
    await harmless(page);
    await signIn(weir.key);
    await page.waitForURL('**/settings/access');

    await write(page, page.getByLabel('Name of the program or person'), HOSTILE);
    await press(page, button(page, 'Make a key'));
    await page.getByRole('heading', { name: `The key for ${HOSTILE}` }).waitFor();
    await press(page, link(page, 'I have copied it'));
    await page.getByText('Copy it now').waitFor({ state: 'detached' });
    // The same name again: what is wrong has the focus, and leads to the field.
    await write(page, page.getByLabel('Name of the program or person'), HOSTILE);
    await press(page, button(page, 'Make a key'));
    const mistakes = page.locator('#mistakes');
    await mistakes.getByText('is taken').waitFor();
    assert.ok(await mistakes.evaluate((one) => one === document.activeElement), 'it has the focus');
    await press(page, mistakes.getByRole('link'));
    await page.waitForURL((url) => url.hash === '#name');
    page.complaints.length = 0;
    await page.goto('/settings/access');
    await press(page, page.getByRole('link', { name: `Revoke ${HOSTILE}` }));
    await harmless(page);
    await press(page, button(page, 'Revoke the key'));
    await page.getByText('The key was revoked.').waitFor();

    const other = await visit(browser, weir.origin, { storageState: await session(weir) });
    await page.goto('/settings/access');
    const row = page.getByRole('row').filter({ hasText: '127.0.0.1' }).filter({ hasNotText: 'This one' });
    await press(page, row.getByRole('button'));
    await page.getByText('1 session ended.').waitFor();
    await other.goto('/');
    assert.equal(new URL(other.url()).pathname, '/sign-in');
    await press(page, button(page, 'End all'));
    await page.waitForURL('**/sign-in**');
    await harmless(page);
  });

  test(`settings, connect and the first steps, ${how}`, async (t) => {
    const data = await directory(t);
    const config = `notify: { hooks: [{ name: home, url: "${await hook(t)}" }] }\n`;
    const weir = await start(t, { data, config });
    const page = await visit(await open(), weir.origin, { storageState: await session(weir), ...options });
    await page.goto('/settings');
    await press(page, button(page, 'Send a test to home'));
    await page.locator('.notice').getByText(/^Test of home: /).waitFor();

    await writeFile(join(data, 'weir.yaml'), `${config}web: { sign_in_tries: 7 }\n`);
    await press(page, link(page, 'Reload file'));
    await page.getByRole('row').filter({ hasText: 'web.sign_in_tries' }).waitFor();
    // Somebody else saves the file meanwhile.
    await writeFile(join(data, 'weir.yaml'), `${config}web: { sign_in_tries: 8 }\n`);
    await press(page, button(page, 'Apply'));
    const mistakes = page.locator('#mistakes');
    await mistakes.getByText('nothing was applied').waitFor();
    assert.ok(await mistakes.evaluate((one) => one === document.activeElement), 'it has the focus');
    page.complaints.length = 0;
    await press(page, button(page, 'Apply'));
    await page.getByText('Now in use: web.sign_in_tries.').waitFor();

    await page.goto('/connect');
    await press(page, page.locator('summary', { has: page.getByRole('heading', { name: 'Radarr', exact: true }) }));
    await press(page, button(page, 'Make a key for Radarr'));
    await page.getByRole('heading', { name: 'The key for Radarr' }).waitFor();
    await press(page, link(page, 'I have copied it'));
    await page.getByText('the one called Radarr').waitFor();

    await page.goto('/');
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    await press(page, button(page, 'Close the first steps'));
    await page.getByRole('heading', { name: 'First steps' }).waitFor({ state: 'detached' });
    await page.goto('/');
    assert.equal(await page.getByRole('heading', { name: 'First steps' }).count(), 0);
    rules.quiet(page);
  });

  test(`upstreams are switched, probed and cleared, ${how}`, async (t) => {
    const weir = await preview(t);
    const page = await visit(await open(), weir.origin, { storageState: await session(weir), ...options });
    await page.goto('/upstreams/tracker/idle');
    await press(page, link(page, 'Switch off'));
    const reason = page.getByLabel('Reason (required; shown to other operators)');
    await write(page, reason, HOSTILE);
    await press(page, button(page, 'Switch off'));
    await page.getByText('idle is off until it is switched on.').waitFor();
    await page.locator('section.answer').getByText(`“${HOSTILE}”`).waitFor();
    await harmless(page);
    await press(page, button(page, 'Switch on'));
    await page.getByText('idle is switched on.').waitFor();

    // A reason of nothing but spaces gets past the browser.
    await page.goto('/upstreams/tracker/idle/disable');
    await write(page, reason, '   ');
    await press(page, button(page, 'Switch off'));
    const mistakes = page.locator('#mistakes');
    await mistakes.waitFor();
    assert.ok(await mistakes.evaluate((one) => one === document.activeElement), 'it has the focus');
    await press(page, mistakes.getByRole('link'));
    await page.waitForURL((url) => url.hash === '#reason');
    page.complaints.length = 0;

    await page.goto('/upstreams/tracker/tracker-four.example');
    await press(page, button(page, 'Probe now'));
    await page.getByText('tracker-four.example: the probe failed: no such host.').waitFor();
    await page.goto('/upstreams?q=harbor');
    await press(page, button(page, 'Clear cooldown: harbor.example'));
    await page.getByText('harbor.example: cooldown cleared. It is open.').waitFor();
    await page.goto('/upstreams');
    await press(page, button(page, 'Probe all failing'));
    await page.getByText(/upstreams? (is|are) being probed/).waitFor();
    rules.quiet(page);
  });

  test(`an article is written, replaced, cancelled, and a draft discarded, ${how}`, async (t) => {
    const server = await newsServer(t, [['example.rivers', 'All of them', 'y']], []);
    const weir = await start(t, { data: await directory(t), config: section(server) });
    const page = await visit(await open(), weir.origin, { storageState: await session(weir), ...options });
    const fields = { '#name': 'Jörg', '#address': 'joerg@rivers.example', '#subject': HOSTILE, '#text': HOSTILE };
    await page.goto('/news/compose?group=example.rivers');
    for (const [field, text] of Object.entries(fields)) await write(page, page.locator(field), text);
    await press(page, button(page, 'Preview article'));
    await page.locator('.preview').getByText(HOSTILE).first().waitFor();
    await harmless(page);
    // What is wrong has the focus, and is kept.
    await write(page, page.locator('#address'), HOSTILE);
    await press(page, button(page, 'Send article'));
    const mistakes = page.locator('#mistakes');
    await mistakes.waitFor();
    assert.ok(await mistakes.evaluate((one) => one === document.activeElement), 'it has the focus');
    assert.equal(await page.locator('#address').inputValue(), HOSTILE);
    page.complaints.length = 0;
    await harmless(page);
    await write(page, page.locator('#address'), fields['#address']);
    // After a mistake there is no preview to send from.
    await press(page, page.getByRole('button', { name: /^Send (article|without preview)$/ }));
    await page.waitForURL('**/news/posts/**');
    await press(page, link(page, 'Read article'));
    await press(page, link(page, 'Replace'));
    await write(page, page.locator('#text'), 'Better so.');
    await press(page, button(page, 'Send without preview'));
    await page.waitForURL('**/news/posts/**');
    assert.match(server.posted.at(-1).text, /^Supersedes: </m);
    await press(page, link(page, 'Cancel article'));
    await press(page, button(page, 'Cancel article'));
    await page.getByRole('heading', { name: 'Cancelled' }).waitFor();
    assert.match(server.posted.at(-1).text, /^Control: cancel </m);

    await page.goto('/news/compose?group=example.rivers');
    await write(page, page.locator('#subject'), HOSTILE);
    await press(page, button(page, 'Keep as draft'));
    await page.waitForURL((url) => !url.search.includes('group='));
    await page.goto('/news/posts');
    await press(page, button(page, `Discard the draft ${HOSTILE}`));
    await page.getByRole('heading', { name: 'Drafts', exact: true }).waitFor({ state: 'detached' });
    await harmless(page);
  });

  test(`filters keep what was typed and take it for text, ${how}`, async (t) => {
    const server = await newsServer(t, [['example.rivers', 'All of them', 'y']], []);
    const data = await directory(t);
    const weir = await start(t, { data, config: `${section(server)}search: { indexers: [{ name: a, url: "http://127.0.0.1:9/api" }] }\n` });
    await weir.announce({ hash: 'ab'.repeat(20), ip: '10.0.0.1' });
    const page = await visit(await open(), weir.origin, { storageState: await session(weir), ...options });
    for (const [path, field, name] of [
      ['/upstreams', '#q', 'Show'],
      ['/settings', '#filter', 'Show'],
      ['/news', '#q', /^(Show|Filter)/],
      ['/news', '#words', /^Search/],
      ['/swarms', '#q', /^(Show|Find|Search)/],
    ]) {
      await page.goto(path);
      const form = page.locator('form', { has: page.locator(field) });
      await write(page, page.locator(field), HOSTILE);
      await press(page, form.getByRole('button', { name }));
      await page.waitForURL((url) => url.search !== '');
      assert.equal(await page.locator(field).inputValue(), HOSTILE, path);
      page.complaints = page.complaints.filter((words) => !/status of 4\d\d/.test(words));
      await harmless(page);
    }
    // What no browser sends by itself.
    for (const path of ['/history?program=HOSTILE&indexer=HOSTILE&outcome=HOSTILE&day=HOSTILE', '/upstreams?front=HOSTILE&state=HOSTILE&sort=HOSTILE']) {
      const answer = await page.goto(path.replaceAll('HOSTILE', encodeURIComponent(HOSTILE)));
      assert.ok(answer.status() < 500, `${path}: ${answer.status()}`);
      page.complaints = page.complaints.filter((words) => !/status of 4\d\d/.test(words));
      await harmless(page);
    }
  });

  test(`settings say where each value comes from, ${how}`, async (t) => {
    // Weir is started with a flag for the one and a variable for the other.
    const weir = await start(t, { data: await directory(t), config: 'web: { sign_in_tries: 7 }\n' });
    const page = await visit(await open(), weir.origin, { storageState: await session(weir), ...options });
    const show = button(page, 'Show');
    for (const [key, source] of [
      ['web.listen', 'flag --web'],
      ['news.nntp_listen', 'environment WEIR_NEWS__NNTP_LISTEN'],
      ['web.sign_in_tries', /weir\.yaml:1:\d+/],
      ['search.deadline', 'default'],
    ]) {
      await page.goto('/settings');
      await write(page, page.getByLabel('Filter by key'), key);
      await press(page, show);
      await page.waitForURL(`**/settings?filter=${key}`);
      await page.getByRole('row').filter({ hasText: key }).getByText(source).first().waitFor();
    }
    await page.goto('/settings');
    const keys = async () => new Set(await page.locator('[aria-labelledby="values"] tbody td:first-child code').allInnerTexts());
    const all = await keys();
    await tick(page, page.getByLabel('Only changed'));
    await press(page, show);
    await page.waitForURL('**/settings?*changed=1');
    assert.ok(await page.getByLabel('Only changed').isChecked());
    const changed = await keys();
    for (const key of ['web.listen', 'news.nntp_listen', 'web.sign_in_tries', 'data']) assert.ok(changed.has(key), `${key}: ${[...changed]}`);
    assert.ok(all.has('search.deadline') && !changed.has('search.deadline') && changed.size < all.size);
    assert.equal(await page.locator('[aria-labelledby="values"] tbody').getByText('default', { exact: true }).count(), 0);
    await page.getByRole('heading', { name: `${changed.size} of ${all.size} values` }).waitFor();
    await write(page, page.getByLabel('Filter by key'), 'search.deadline');
    await press(page, show);
    await page.getByText('No key matches.').waitFor();
    rules.quiet(page);
  });

  test(`a search is narrowed down, and the history finds it and asks again, ${how}`, async (t) => {
    const both = [];
    for (const name of ['meadow', 'quarry']) both.push(await indexer(t, name, { releases: [{ title: `A map of the ${name}` }] }));
    const weir = await start(t, { data: await directory(t), config: searching(both) });
    const page = await visit(await open(), weir.origin, { storageState: await session(weir), ...options });
    await page.goto('/search');
    await write(page, page.getByRole('searchbox', { name: 'What to search for' }), 'map');
    const category = page.getByLabel('Category', { exact: true });
    const iso = await category.evaluate((one) => [...one.options].find((option) => option.value === '4020').label);
    await choose(page, category, iso);
    await press(page, page.locator('details.pick > summary'));
    await tick(page, page.getByRole('checkbox', { name: /^quarry/ }));
    await press(page, button(page, 'Search'));
    await page.waitForURL('**/search?id=*');
    await page.getByText(/^Finished /).waitFor();
    await page.getByText('A map of the quarry').waitFor();
    assert.deepEqual(await page.locator('li[data-indexer]').evaluateAll((all) => all.map((one) => one.dataset.indexer)), ['quarry']);
    assert.deepEqual(both.map((one) => one.searched), [0, 1]);
    assert.equal(await category.inputValue(), '4020', 'it can be changed and sent again');
    assert.ok(both[1].asked.get('cat').split(',').includes('4020'), both[1].asked.toString());

    const as = (program, words) => fetch(`${weir.origin}/torznab/api?t=search&q=${words}&apikey=${weir.key}`, { headers: { 'user-agent': `${program}/4.0` } });
    for (const [program, words] of [['Sonarr', 'hills'], ['Radarr', 'dales']]) assert.equal((await as(program, words)).status, 200);
    const [program, day] = [page.getByLabel('Program', { exact: true }), page.getByLabel('Day', { exact: true })];
    await page.goto('/history');
    await date(page, day, '2001-02-03');
    await press(page, button(page, 'Show'));
    await page.getByText('Nothing matches.').waitFor();
    assert.equal(await day.inputValue(), '2001-02-03');
    await press(page, link(page, 'Show all').first());
    await page.waitForURL('**/history');
    await choose(page, program, 'Sonarr');
    await choose(page, page.getByLabel('Indexer', { exact: true }), 'meadow');
    const outcomes = page.getByLabel('Outcome', { exact: true });
    await choose(page, outcomes, await outcomes.evaluate((one) => one.options[1].label));
    await press(page, button(page, 'Show'));
    await page.waitForURL('**/history?program=Sonarr&indexer=meadow&outcome=*');
    assert.equal(await program.inputValue(), 'Sonarr');
    const rows = page.locator('tbody tr');
    assert.equal(await rows.count(), 1);
    await rows.getByText('"hills"').waitFor();
    await press(page, rows.locator('summary'));
    await rows.getByText('Answered: 1 result').first().waitFor();
    const cost = both.map((one) => one.searched);
    await press(page, rows.getByRole('button', { name: 'Search again' }));
    await page.waitForURL('**/search?id=*');
    await page.getByText(/^Finished /).waitFor();
    assert.deepEqual(both.map((one) => one.searched), cost, 'it is in the cache');
    rules.quiet(page);
  });

  test(`articles are looked up by words, newsgroup, author and dates, ${how}`, async (t) => {
    const group = 'example.rivers';
    const written = [
      { id: 'a@rivers.example', from: 'Mira Holt <mira@rivers.example>', subject: 'Frost at the mill', date: 'Tue, 10 Nov 2026 09:01:00 +0000' },
      { id: 'b@rivers.example', from: 'Jonas Petri <jonas@rivers.example>', subject: 'Frost on the weir', date: 'Wed, 11 Nov 2026 09:01:00 +0000' },
    ];
    const server = await newsServer(t, [[group, 'All of them', 'y']], written.map((one) => article({ ...one, group, body: 'It was cold.' })));
    const weir = await start(t, { data: await directory(t), config: section(server) });
    const page = await visit(await open(), weir.origin, { storageState: await session(weir), ...options });
    // What is stored is found, and what was opened is stored.
    await page.goto(`/news/${group}`);
    const found = async () => (await (await page.request.get('/api/v1/news/search?q=frost')).json()).found;
    for (let tries = 0; tries < 200 && (await found()) !== 2; tries += 1) await new Promise((done) => setTimeout(done, 50));
    await page.goto('/news/search');
    const label = (name) => page.locator('form.lookup').getByLabel(name, { exact: true });
    const hits = page.locator('ol.found > li');
    await write(page, label('Words'), 'frost');
    await choose(page, label('Order'), 'Newest first');
    await press(page, button(page, 'Search'));
    await page.waitForURL('**/news/search?*order=newest');
    assert.match((await hits.allInnerTexts()).join(), /weir[^]*mill/);
    await write(page, label('Newsgroup'), 'example.*');
    await write(page, label('Author'), 'holt');
    await date(page, label('From'), '2026-11-10');
    await date(page, label('Before'), '2026-11-11');
    await press(page, button(page, 'Search'));
    await page.waitForURL('**/news/search?*author=holt*');
    assert.equal(await hits.count(), 1);
    await press(page, hits.getByRole('link', { name: 'Frost at the mill' }));
    await page.getByRole('heading', { name: 'Frost at the mill', level: 1 }).waitFor();

    for (const name of ['Newsgroup', 'Author']) {
      await page.goto('/news/search?q=frost');
      await write(page, label(name), HOSTILE);
      await press(page, button(page, 'Search'));
      await page.waitForURL((url) => url.search.includes('onerror'));
      assert.equal(await label(name).inputValue(), HOSTILE, name);
      assert.equal(await hits.count(), 0, 'it narrows down, whatever it is');
      page.complaints = page.complaints.filter((words) => !/status of 4\d\d/.test(words));
      await harmless(page);
    }
    for (const key of ['group', 'author', 'after', 'before', 'order', 'page']) {
      const answer = await page.goto(`/news/search?q=frost&${key}=${encodeURIComponent(HOSTILE)}`);
      assert.ok(answer.status() < 500, `${key}: ${answer.status()}`);
      page.complaints = page.complaints.filter((words) => !/status of 4\d\d/.test(words));
      await harmless(page);
    }
  });
}
