// The forms that add, change, try, remove and import upstreams: with and without script, by keyboard alone, by two people.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { PHONE, open, session, visit } from './support/browser.js';
import { indexer } from './support/indexer.js';
import { newsServer } from './support/news.js';
import * as rules from './support/rules.js';
import { tracker } from './support/tracker.js';
import { directory, start } from './support/weir.js';

const HOSTILE = `"><script>alert(1)</script>'{{7*7}}&<b>`;

/** A hand that uses the mouse, and types; it finds what it needs by labels and roles. */
function mouse(page) {
  const find = (label) => page.getByLabel(label, { exact: true });
  const click = (role) => (name) => page.getByRole(role, { name, exact: true }).click();
  return {
    follow: click('link'),
    press: click('button'),
    write: ({ label, value }) => find(label).fill(value),
    choose: ({ label, value }) => find(label).selectOption({ label: value }),
    tick: ({ label }) => find(label).check(),
    unfold: () => page.locator('.entry details > summary').click(),
  };
}

/** A hand that has no mouse: Tab, Enter, Space and letters. */
function keyboard(page) {
  const to = keys(page);
  const type = async (text) => {
    await page.keyboard.press('Control+A');
    await page.keyboard.type(text);
  };
  const press = (key) => async (name) => {
    await to(name);
    await page.keyboard.press(key);
  };
  return {
    follow: press('Enter'),
    press: press('Space'),
    write: async ({ key, value }) => {
      await to(key);
      await type(value);
    },
    choose: async ({ key, value }) => {
      await to(key);
      await page.keyboard.type(value);
    },
    tick: ({ key }) => press('Space')(key),
    unfold: () => press('Enter')('More settings'),
  };
}

/** Presses Tab until what has this id or name, or says this, has the focus. */
const keys = (page) => async (name) => {
  for (let step = 0; step < 80; step += 1) {
    const focused = await page.evaluate(() => {
      const { id, name, innerText } = document.activeElement;
      return [id, name, innerText?.trim()];
    });
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

  // What a person does with each kind: which fields they fill in, what a tryout says, what they change later.
  const entry = (key, label, value) => ({ key, label, value });
  const kinds = [
    {
      kind: 'Tracker',
      fields: [entry('uri', 'Announce URL', await tracker(t))],
      found: /^It answered in .*: a tracker over HTTP\.$/,
      hint: 'Try it sends it a real scrape and saves nothing.',
      change: entry('host', 'Host header', 'edited.example'),
      folded: true,
      changed: /host: edited\.example/,
    },
    {
      kind: 'Indexer',
      fields: [entry('url', 'Address', good.url)],
      secret: entry('api_key', 'API key', 'the-s3cret'),
      found: /^It answered in .*: 2 categories, 1 kind of search, 1 recent release\.$/,
      hint: 'Try it makes two real calls, for its capabilities and its latest releases, and saves nothing.',
      change: entry('priority', 'Priority', '7'),
      changed: /api_key: the-s3cret\n\s+priority: 7/,
    },
    {
      kind: 'News server',
      fields: [entry('host', 'Host', '127.0.0.1'), entry('port', 'Port', String((await newsServer(t, [['misc.test', 'Tests']], [])).port))],
      choice: entry('tls', 'Encryption', 'off'),
      found: /^It answered in .*: not encrypted, no sign-in needed\.$/,
      hint: 'Try it connects for real, signs in if there is a password, and saves nothing.',
      change: entry('connections', 'Connections', '2'),
      changed: /connections: 2/,
    },
  ];
  // Another Weir than below: one takes 30 tryouts in five minutes.
  const home = await directory(t);
  const calm = await start(t, { data: home });
  const calmState = session(calm);
  const kept = () => readFile(join(home, 'upstreams.yaml'), 'utf8').catch(() => '');
  for (const [way, hand, javaScriptEnabled] of [['script on', mouse, true], ['script off', mouse, false], ['by keyboard alone', keyboard, true]]) {
    const page = await visit(browser, calm.origin, { storageState: await calmState, javaScriptEnabled });
    const { follow, press, write, choose, tick, unfold } = hand(page);
    const edit = async () => {
      await follow('Edit');
      await page.waitForURL(/\/edit$/);
    };
    for (const { kind, fields, secret, choice, found, hint, change, folded, changed } of kinds) {
      await t.test(`${kind.toLowerCase()}: tried, added, changed and removed, ${way}`, async () => {
        const name = `${kind}-${way}`.replaceAll(' ', '-');
        await page.goto('/upstreams');
        await follow('Add an upstream');
        await page.waitForURL(/upstreams\/add$/);
        if (kind !== 'Indexer') await follow(kind);
        await page.getByText(hint).waitFor();
        await write(entry('name', 'Name', name));
        for (const one of fields) await write(one);
        if (choice) await choose(choice);
        if (secret) await write(secret);
        await press('Try it');
        await page.getByText(found).waitFor();
        const focused = await page.evaluate(() => document.activeElement.id || document.activeElement.value);
        assert.equal(focused, javaScriptEnabled === false ? 'tried' : 'try', 'what it found has the focus, unless it is in place');
        assert.equal(await field(page, 'Name').inputValue(), name);
        assert.ok(!(await kept()).includes(name), 'nothing is saved');
        if (secret) {
          const left = await field(page, secret.label).inputValue();
          assert.equal(left, javaScriptEnabled === false ? '' : secret.value, 'a secret is not sent back; in place it stays');
          assert.ok(!(await page.content()).includes(secret.value));
        }
        await press('Save');
        await page.getByText(`${name} was added to ${home}/upstreams.yaml and is in use.`).waitFor();
        if (secret) assert.ok((await kept()).includes(`${secret.key}: ${secret.value}`), 'though it was typed before the tryout');

        await edit();
        for (const one of fields) assert.equal(await field(page, one.label).inputValue(), one.value);
        if (folded) await unfold();
        await write(change);
        if (secret) {
          // With the secret that is saved.
          await press('Try it');
          await page.getByText(found).waitFor();
        }
        await press('Save');
        await page.getByText('The change is in use.').waitFor();
        assert.match(await kept(), changed);

        if (secret) {
          await edit();
          await tick(entry(`forget-${secret.key}`, `Remove the saved ${secret.label}`));
          await press('Save');
          await page.getByText('The change is in use.').waitFor();
          assert.doesNotMatch(await kept(), new RegExp(secret.value));
          assert.ok((await kept()).includes(name));
        }

        await edit();
        await follow('Remove');
        await page.waitForURL(/\/remove$/);
        await press('Remove');
        await page.locator('p.mistake').waitFor();
        assert.equal(await page.evaluate(() => document.activeElement.id), 'mistakes');
        await write(entry('confirm', `Type ${name} to confirm`, name));
        await press('Remove');
        await page.getByText('The upstream was removed').waitFor();
        assert.ok(!(await kept()).includes(name));
      });
    }
    await page.context().close();
  }

  // The fields in which hostile words are none of what they may be.
  const refused = {
    tracker: ['uri', 'ip', 'proxy', 'timeout'],
    search: [
      ...['name', 'url', 'limits', 'grab_limits', 'priority', 'min_request_interval', 'per_minute', 'per_hour', 'per_day'],
      ...['grabs_per_hour', 'grabs_per_day', 'reset_hour', 'categories', 'tags', 'timeout', 'proxy'],
    ],
    news: ['name', 'host', 'port', 'connections', 'priority', 'timeout'],
  };
  for (const javaScriptEnabled of [true, false]) {
    const script = javaScriptEnabled ? 'on' : 'off';

    await t.test(`limits that an indexer tells fill what is empty, script ${script}`, async () => {
      const telling = await indexer(t, 'telling', { releases: [{ title: 'A release' }], limits: { calls: 1000, grabs: 50 } });
      const page = await at({ javaScriptEnabled });
      await page.goto('/upstreams/add');
      await field(page, 'Name').fill(`telling-${script}`);
      await field(page, 'Address').fill(telling.url);
      await field(page, 'Download limits').fill('7/1d');
      await button(page, 'Try it').click();
      await page.getByText(/1,000 calls a day \(it says\), 50 downloads a day \(it says\)\.$/).waitFor();
      assert.equal(await field(page, 'Call limits').inputValue(), '1000/1d');
      assert.match(await page.locator('#hint-limits').innerText(), /^Filled in from its reply\. /);
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
      await page.getByText(/it says/).waitFor();
      assert.equal(await field(page, 'Call limits').inputValue(), '');
      assert.equal(await field(page, 'Download limits').inputValue(), '50/1d');
      await page.context().close();
    });

    await t.test(`what is wrong is said beside its field and keeps what was typed, script ${script}`, async () => {
      const page = await at({ javaScriptEnabled });
      const saved = { tracker: { uri: `udp://127.0.0.1:9/${script}` }, search: { url: `http://127.0.0.1:9/${script}` }, news: { host: `${script}.example` } };
      for (const [front, values] of Object.entries(saved)) {
        const name = `plain-${script}`;
        await weir.add(front, { name, ...values });
        for (const path of [`/upstreams/add?front=${front}`, `/upstreams/${front}/${name}/edit`]) {
          const before = await file();
          await page.goto(path);
          const inputs = page.locator('.entry input[type="text"], .entry input[type="password"]');
          const typed = await inputs.evaluateAll((all, text) => all.map((one) => Object.assign(one, { value: text }).name), HOSTILE);
          const [answer] = await Promise.all([page.waitForResponse((one) => one.request().method() === 'POST'), button(page, 'Save').click()]);
          assert.equal(answer.status(), 422);
          await page.locator('#mistakes').waitFor();
          const wrong = await page.locator('[aria-invalid="true"]').evaluateAll((all) => all.map((one) => one.name));
          assert.deepEqual(wrong, refused[front], path);
          const said = await page.locator('[aria-invalid="true"]').evaluateAll((all) => {
            const ids = all.map((one) => one.getAttribute('aria-describedby').split(' ')[0]);
            return ids.map((id) => document.getElementById(id).innerText);
          });
          for (const sentence of said) assert.match(sentence, /^[A-Z].*\.$/s);
          const left = await inputs.evaluateAll((all) => all.map(({ name, type, value }) => [name, type, value]));
          assert.deepEqual(left.map(([name]) => name), typed);
          for (const [name, type, value] of left) assert.equal(value, type === 'password' ? '' : HOSTILE, name);
          assert.equal(await file(), before);
        }
      }
      assert.deepEqual(page.complaints.filter((one) => !one.includes('422')), []);
      await page.context().close();
    });

    await t.test(`an import takes no address and no key at its word, script ${script}`, async () => {
      const page = await at({ javaScriptEnabled });
      for (const [url, key, wrong] of [[HOSTILE, HOSTILE, 'url'], [`http://${HOSTILE}/`, 'k', 'url'], [good.url, '', 'key'], [`${good.url}?${HOSTILE}`, HOSTILE, 'url']]) {
        await page.goto('/upstreams/import');
        await field(page, 'Address').fill(url);
        await field(page, 'API key').fill(key);
        const [answer] = await Promise.all([page.waitForResponse((one) => one.request().method() === 'POST'), button(page, 'List its indexers').click()]);
        assert.equal(answer.status(), 422, url);
        await page.locator(`#${wrong}[aria-invalid="true"]`).waitFor();
        assert.match(await page.locator('#mistake').innerText(), /^[A-Z].*\.$/s);
        assert.equal(await field(page, 'Address').inputValue(), url);
        assert.equal(await field(page, 'API key').inputValue(), '', 'a secret is not sent back');
      }
      assert.deepEqual(page.complaints.filter((one) => !one.includes('422')), []);
      await page.context().close();
    });

    await t.test(`a name that is markup is text, also where it is typed to remove it, script ${script}`, async () => {
      const page = await at({ javaScriptEnabled });
      const name = `<img src=x onerror=alert(1)>"'&{{7*7}}`;
      await weir.add('tracker', { name, uri: `udp://127.0.0.1:9/${script}/markup` });
      await page.goto('/upstreams');
      await page.getByRole('link', { name, exact: true }).click();
      await page.getByRole('heading', { name, level: 1 }).waitFor();
      await page.getByRole('link', { name: 'Edit' }).click();
      assert.equal(await field(page, 'Name').inputValue(), name);
      await page.getByRole('link', { name: 'Remove', exact: true }).click();
      for (const word of [HOSTILE, name.toUpperCase(), `${name}>`]) {
        await page.locator('#confirm').fill(word);
        await button(page, 'Remove').click();
        await page.locator('p.mistake').waitFor();
        assert.equal(await page.locator('#confirm').inputValue(), word);
        assert.ok((await file()).includes('/markup'));
      }
      await page.locator('#confirm').fill(name);
      await button(page, 'Remove').click();
      await page.getByText('The upstream was removed').waitFor();
      assert.ok(!(await file()).includes('/markup'));
      assert.deepEqual(page.complaints.filter((one) => !one.includes('422')), []);
      await page.context().close();
    });
  }

  await t.test('a form that no page has sent is judged like any other', async () => {
    const page = await at();
    const saved = { tracker: { uri: 'udp://127.0.0.1:9/forged' }, search: { url: 'http://127.0.0.1:9/forged' }, news: { host: 'forged.example' } };
    const selects = { tracker: ['family'], search: ['kind', 'download'], news: ['tls'] };
    await page.goto('/upstreams/add');
    const csrf = await page.locator('form.entry [name="csrf"]').inputValue();
    const send = async (path, form) => {
      const answer = await page.request.post(path, { form: { csrf, ...form }, maxRedirects: 0 });
      const text = await answer.text();
      assert.ok(!text.includes(HOSTILE), `${path}: ${text}`);
      return [answer.status(), text];
    };
    for (const [front, values] of Object.entries(saved)) {
      await weir.add(front, { name: 'forged', ...values });
      const before = await file();
      const forged = Object.fromEntries(selects[front].map((key) => [key, HOSTILE]));
      const hidden = { _revision: HOSTILE, _kept: HOSTILE, [HOSTILE]: HOSTILE };
      // A form that has not seen the entry is refused for that alone.
      await page.goto(`/upstreams/${front}/forged/edit`);
      const _revision = await page.locator('form.entry [name="_revision"]').inputValue();
      for (const [path, name] of [[`/upstreams/add?front=${front}`, 'other'], [`/upstreams/${front}/forged/edit`, 'forged']]) {
        for (const _do of ['save', HOSTILE]) {
          const [status, text] = await send(path, { name, ...(name === 'forged' && { _revision }), ...values, ...forged, _do });
          assert.equal(status, 422, path);
          for (const key of selects[front]) assert.ok(text.includes(`id="mistake-${key}"`), `${path} says nothing of ${key}`);
        }
        const [status] = await send(path, { name, ...values, ...hidden, _do: 'save' });
        assert.equal(status, 409, 'neither what was typed nor what was seen is known here');
      }
      const [status] = await send(`/upstreams/${front}/forged/remove`, { confirm: 'forged', _revision: HOSTILE });
      assert.equal(status, 409);
      assert.equal(await file(), before);
    }
    const before = await file();
    for (const [path, form, expected] of [
      [`/upstreams/add?front=${encodeURIComponent(HOSTILE)}`, { name: 'a' }, 404],
      [`/upstreams/search/${encodeURIComponent(HOSTILE)}/remove`, { confirm: HOSTILE }, 404],
      ['/upstreams/import', { program: HOSTILE, url: HOSTILE, key: HOSTILE }, 422],
      ['/upstreams/import/add', { _kept: HOSTILE, pick: HOSTILE }, 409],
      ['/upstreams/add?front=search', { csrf: HOSTILE, name: 'a', url: 'http://127.0.0.1:9/a', _do: 'save' }, 403],
    ]) {
      assert.equal((await send(path, form))[0], expected, path);
    }
    assert.equal(await file(), before);
    await page.context().close();
  });

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

  await t.test('a tryout in place moves nothing and loses nothing', async () => {
    const telling = await indexer(t, 'in-place', { releases: [{ title: 'A release' }], limits: { calls: 1000, grabs: 50 } });
    for (const viewport of [undefined, PHONE]) {
      const page = await at(viewport && { viewport });
      await page.goto('/upstreams/add');
      // A mark that no other page has.
      await page.evaluate(() => (window.marked = true));
      await field(page, 'Name').fill('in-place');
      await field(page, 'Address').fill(telling.url);
      await field(page, 'API key').fill('the-s3cret');
      await page.locator('.entry details > summary').click();
      await field(page, 'Calls per minute').fill('nonsense');
      const tried = button(page, 'Try it');
      await tried.scrollIntoViewIfNeeded();
      await tried.click();
      await page.locator('[data-outcome] #mistakes').waitFor();
      assert.deepEqual(await page.locator('[aria-invalid="true"]').evaluateAll((all) => all.map((one) => one.id)), ['per_minute']);
      assert.match(await page.locator('#mistake-per_minute').innerText(), /^Write /);
      assert.equal(await page.locator('[data-outcome]').getAttribute('role'), 'status');
      await rules.accessible(page);
      await field(page, 'Calls per minute').fill('');
      await tried.focus();
      await tried.click();
      await page.locator('[data-outcome] #tried').waitFor();
      assert.equal(await page.locator('#mistakes, [aria-invalid], .mistake').count(), 0, 'what was wrong is right');
      assert.equal(await field(page, 'Call limits').inputValue(), '1000/1d');
      assert.match(await page.locator('#hint-limits').innerText(), /^Filled in from its reply\. /);
      assert.equal(await field(page, 'API key').inputValue(), 'the-s3cret');
      assert.doesNotMatch(await page.locator('#hint-api_key').innerText(), /remembered/);
      assert.equal(await page.evaluate(() => document.activeElement.value), 'try');
      assert.equal(await page.locator('.entry details').getAttribute('open'), '', 'nothing folds');
      assert.ok(await page.evaluate(() => window.marked), 'it is the same page');
      for (const part of [tried, page.locator('#tried')]) {
        const [top, bottom, height] = await part.evaluate((one) => [one.getBoundingClientRect().top, one.getBoundingClientRect().bottom, innerHeight]);
        assert.ok(top >= 0 && bottom <= height, `button and answer are seen: ${top}, ${bottom} of ${height}`);
      }
      await rules.picture(page, `tried-in-place-${viewport ? 390 : 1280}`);
      // What cannot be said in place is a page of its own.
      await page.locator('[name="_kept"]').evaluate((one) => (one.value = 'no-such-token'));
      await field(page, 'API key').fill('');
      await tried.click();
      await page.getByText('is not remembered any more. Enter it again.').waitFor();
      assert.equal(await page.evaluate(() => window.marked), undefined);
      await page.context().close();
    }
    // Nobody answers.
    const page = await at();
    await page.goto('/upstreams/add');
    await field(page, 'Name').fill('in-place');
    await page.route('**/upstreams/add*', (route) => route.abort());
    await button(page, 'Try it').click();
    await page.getByText('Weir cannot be reached. What you typed is still here.').waitFor();
    assert.equal(await field(page, 'Name').inputValue(), 'in-place');
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
    await weir.add('tracker', { name: 'keyed', uri: 'udp://127.0.0.1:9/keyed' });
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
    await page.keyboard.type('udp://127.0.0.1:9/keyed');
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
    await page.getByRole('heading', { name: '2 indexers in Jackett' }).waitFor();
    for (;;) {
      await page.keyboard.press('Tab');
      const label = await page.evaluate(() => document.activeElement.closest('label')?.innerText ?? '');
      if (label.includes('two-typed')) break;
      assert.notEqual(await page.evaluate(() => document.activeElement.innerText), 'Add selected');
    }
    await page.keyboard.press('Space');
    await to('Add selected');
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
    await two.getByText('Now saved: first.example.').waitFor();
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
      await field(page, 'API key').fill('not-the-right-one');
      await button(page, 'List its indexers').click();
      await page.locator('p.mistake').waitFor();
      assert.equal(await field(page, 'Address').inputValue(), 'nowhere');
      assert.equal(await field(page, 'Program').inputValue(), place);
      await field(page, 'Address').fill(`${other.origin}/${place}`);
      // The key that was typed is remembered, and sent; the page never has it again.
      assert.equal(await field(page, 'API key').inputValue(), '');
      await button(page, 'List its indexers').click();
      const where = { Prowlarr: 'Settings, General', Jackett: 'the top of its dashboard' }[program];
      await page.getByRole('link', { name: `${program} rejected this key. Copy it from ${where}.`, exact: true }).waitFor();
      await field(page, 'API key').fill(other.key);
      await button(page, 'List its indexers').click();
      await page.getByRole('heading', { name: '2 indexers in ' + program }).waitFor();
      assert.ok(!(await page.content()).includes(other.key));
      // A browser complains of every form that is refused.
      page.complaints.length = 0;
      if (javaScriptEnabled && program === 'Prowlarr') await rules.everywhere(page, 'import-list', { sent: false });
      await page.getByRole('checkbox', { name: /^second/ }).uncheck();
      await button(page, 'Add selected').click();
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
