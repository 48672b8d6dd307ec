// News: newsgroups, threads and articles, read by mouse, by keys, without script, on paper, and with the server down.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { PHONE, mainLines, open, session, visit } from './support/browser.js';
import { article, newsServer, section } from './support/news.js';
import * as rules from './support/rules.js';
import { directory, start } from './support/weir.js';

const GAUGES = 'example.rivers.gauges';
const MANY = 'example.rivers.many';
const OWN = 'example.rivers.own';
const TALK = 'example.rivers.talk';
const CROWD = 60;

const NEWSGROUPS = [
  [GAUGES, 'Water levels, and how they are read'],
  [MANY, 'More than fits on a page'],
  [OWN, 'What one reader does here is seen nowhere else'],
  ['example.rivers.empty', 'Nobody has written here'],
  [TALK, 'Everybody may write here', 'y'],
  ['example.hills', '<script>window.hit = 1</script><img src=http://evil.example/d onerror=window.hit=1>'],
];

const at = (minute) => `Tue, 10 Nov 2026 09:${String(minute).padStart(2, '0')}:00 +0000`;
const PLAIN = ['MIME-Version: 1.0', 'Content-Type: text/plain; charset=utf-8'];

const QUOTED = `Mira Holt wrote:
> The gauge at the old mill
> has not moved since Monday.
> I looked at it twice,
> and so did the miller,
> who is not easily moved either.

That is the frost. See https://rivers.example/frost for more.

-- 
Jonas Petri, at the weir`;

// Everything that could run or load something, in every field that is shown.
const RUNS = `"><script>window.hit = 1</script><img src="http://evil.example/x.png" onerror="window.hit = 1">`;
const HOSTILE_HTML = `<html><head><script>window.hit = 1</script><style>body { background: url(http://evil.example/b.png) }</style>
<link rel="stylesheet" href="http://evil.example/c.css"><meta http-equiv="refresh" content="0;url=http://evil.example/"></head>
<body onload="window.hit = 1"><p onclick="window.hit = 1">A harmless sentence.</p><img src="http://evil.example/i.png" onerror="window.hit = 1">
<iframe src="http://evil.example/f"></iframe><object data="http://evil.example/o"></object><svg onload="window.hit = 1"></svg>
<a href="javascript:window.hit = 1">a link</a><form action="http://evil.example/"><button>send</button></form></body></html>`;

const THREAD = [
  { id: 'mill-1@rivers.example', from: 'Mira Holt <mira@rivers.example>', subject: 'Gauge at the old mill', date: at(1), body: 'The gauge at the old mill has not moved since Monday.' },
  { id: 'mill-2@rivers.example', from: 'Jonas Petri <jonas@rivers.example>', subject: 'Re: Gauge at the old mill', date: at(2), references: '<mill-1@rivers.example>', body: QUOTED },
  { id: 'mill-4@rivers.example', from: '=?UTF-8?Q?Lena_Br=C3=A4ndt?= <lena@rivers.example>', subject: 'Re: Gauge at the old mill', date: at(4), references: '<mill-1@rivers.example> <mill-3@rivers.example>', body: 'It moves again.' },
];
const HOSTILE = [
  { id: 'hostile-text@evil.example', from: `${RUNS} <x@evil.example>`, subject: `Hostile ${RUNS}`, date: at(10), more: [`Organization: ${RUNS}`, `User-Agent: ${RUNS}`, `X-Else: ${RUNS}`, ...PLAIN], body: `${RUNS}\n> ${RUNS}\njavascript:window.hit=1\n-- \n${RUNS}` },
  { id: 'hostile-html@evil.example', from: 'Eve <eve@evil.example>', subject: 'Hostile HTML', date: at(11), more: ['MIME-Version: 1.0', 'Content-Type: text/html; charset=utf-8'], body: HOSTILE_HTML },
  { id: `hostile-"id'onclick=window.hit=1&@evil.example`, from: 'Eve <eve@evil.example>', subject: 'Hostile ID', date: at(12), more: PLAIN, body: 'Some words.' },
];

const OWN_THREAD = [
  { id: 'own-1@rivers.example', from: 'Mira Holt <mira@rivers.example>', subject: 'Ferry times', date: at(1), body: 'When does it leave?' },
  { id: 'own-2@rivers.example', from: 'Jonas Petri <jonas@rivers.example>', subject: 'Re: Ferry times', date: at(2), references: '<own-1@rivers.example>', body: 'At nine.' },
  { id: 'own-3@rivers.example', from: 'Eve <eve@rivers.example>', subject: 'For sale', date: at(3), body: 'A boat.' },
  { id: 'own-4@rivers.example', from: 'Lena <lena@rivers.example>', subject: 'Fog', date: at(4), body: 'Dense.' },
];

function stock() {
  const gauges = [...THREAD, ...HOSTILE].map((one) => article({ group: GAUGES, more: PLAIN, ...one }));
  const crowd = Array.from({ length: CROWD }, (_, place) =>
    article({ id: `crowd-${place}@rivers.example`, group: MANY, from: `Reader ${place} <r@rivers.example>`, subject: `Topic number ${place}`, date: at(place % 60), body: `Words about topic ${place}.` }));
  const own = OWN_THREAD.map((one) => article({ group: OWN, more: PLAIN, ...one }));
  return [...gauges, ...crowd, ...own];
}

const THREAD_PATH = `/news/${GAUGES}/mill-1%40rivers.example`;
const ARTICLE_PATH = '/news/article/mill-2%40rivers.example';

const PAGES = [
  { name: 'news', path: '/news' },
  { name: 'news-threads', path: `/news/${GAUGES}` },
  { name: 'news-thread', path: THREAD_PATH },
  { name: 'news-article', path: ARTICLE_PATH },
  { name: 'news-unknown', path: '/news/example.rivers.gauge', status: 404 },
  { name: 'news-filtered', path: '/news?q=rivers' },
  { name: 'news-threads-last', path: `/news/${MANY}?page=2` },
  { name: 'news-threads-empty', path: '/news/example.rivers.empty' },
  { name: 'news-search', path: '/news/search' },
];

// What a reader has done is known to the script alone.
const OWN_WORDS = /Subscribe|Mark all read|Watch|Ignore|unread|Collapse|next, previous|^Actions$/i;

/** Cells of a row are told apart by tabs; the script says in the first one what is unread. */
async function cells(page) {
  const all = (await mainLines(page)).flatMap((line) => line.split('\t'));
  return all.map((cell) => cell.replace(/^(unread|0 new): */, '').trim()).filter((cell) => cell !== '');
}

async function begin(t, more = '') {
  const server = await newsServer(t, NEWSGROUPS, stock());
  const weir = await start(t, { data: await directory(t), config: section(server, more) });
  const browser = await open();
  const storageState = await session(weir);
  const look = (options = {}) => visit(browser, weir.origin, { storageState, ...options });
  return { server, weir, look };
}

/** A page with nothing wrong on it; a status of its own is no complaint. */
function quietBut(page, status) {
  page.complaints = page.complaints.filter((words) => !words.includes(`status of ${status}`));
  rules.quiet(page);
}

const current = (page) => page.locator('main [data-item].current');

test('news', async (t) => {
  const { look } = await begin(t);

  await rules.walk(t, look, PAGES, { lines: cells, own: OWN_WORDS });

  await t.test('from newsgroup to thread to article and back by keys alone', async () => {
    const page = await look();
    await page.goto('/news?q=gauges');
    await page.keyboard.press('j');
    assert.match(await current(page).innerText(), /gauges/);
    await page.keyboard.press('o');
    await page.waitForURL(`**/news/${GAUGES}`);
    const topics = [];
    for (const key of ['j', 'j', 'j', 'j', 'k', 'j', 'n', 'p']) {
      await page.keyboard.press(key);
      topics.push(await current(page).locator('a[data-open]').innerText());
    }
    assert.deepEqual(topics.slice(2, 6), ['Hostile ' + RUNS, 'Gauge at the old mill', 'Hostile ' + RUNS, 'Gauge at the old mill']);
    while (!/old mill/.test(await current(page).innerText())) await page.keyboard.press('j');
    await page.keyboard.press('o');
    await page.waitForURL(`**${THREAD_PATH}`);
    await page.keyboard.press('j');
    assert.match(await current(page).innerText(), /^Mira Holt/);
    await page.keyboard.press('n');
    assert.match(await current(page).innerText(), /^Jonas Petri/);
    await page.keyboard.press('p');
    assert.match(await current(page).innerText(), /^Mira Holt/);
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    assert.equal(await page.getByText('That is the frost').isVisible(), false);
    await page.keyboard.press('x');
    assert.equal(await page.getByText('That is the frost').isVisible(), true);
    const permalink = current(page).getByRole('link', { name: 'Permalink' }).first();
    for (let steps = 0; steps < 20; steps += 1) {
      await page.keyboard.press('Tab');
      if (await permalink.evaluate((link) => link === document.activeElement)) break;
    }
    await page.keyboard.press('Enter');
    await page.waitForURL(`**${ARTICLE_PATH}`);
    await page.keyboard.press('u');
    await page.waitForURL(`**/news/${GAUGES}/**`);
    await page.keyboard.press('u');
    await page.waitForURL(`**/news/${GAUGES}`);
    await page.keyboard.press('u');
    await page.waitForURL('**/news');
    rules.quiet(page);
    await page.context().close();
  });

  await t.test('what was read is found by its words, from the newsgroup, without script', async () => {
    const page = await look({ javaScriptEnabled: false });
    await page.goto(THREAD_PATH);
    // The index follows what is stored.
    const texts = async () => (await (await page.request.get('/api/v1/news/search?q=frost')).json()).found;
    for (let tries = 0; tries < 100 && !(await texts()); tries += 1) await new Promise((done) => setTimeout(done, 100));
    await page.goto(`/news/${GAUGES}`);
    await page.getByLabel('Search articles of this newsgroup').last().fill('frost');
    await page.getByRole('button', { name: 'Search articles' }).click();
    await page.waitForURL('**/news/search?**');
    assert.equal(await page.getByLabel('Newsgroup').inputValue(), GAUGES);
    assert.equal(await page.locator('mark').first().innerText(), 'frost');
    const other = await look();
    await other.goto(page.url());
    await rules.everywhere(other, 'news-search-found');
    await other.context().close();
    await page.locator('main ol li a').first().click();
    await page.waitForURL(`**${ARTICLE_PATH}`);
    await page.context().close();
  });

  await t.test('newsgroups stand beside the threads where there is room, and are filtered from there', async () => {
    const wide = await look({ javaScriptEnabled: false });
    await wide.goto(`/news/${GAUGES}`);
    const beside = wide.getByRole('navigation', { name: 'Newsgroups' });
    assert.equal(await beside.locator('[aria-current=page]').innerText(), 'gauges');
    const [left, right] = [await beside.boundingBox(), await wide.getByRole('heading', { level: 1 }).boundingBox()];
    assert.ok(left.x + left.width <= right.x, 'it stands at the left');
    await beside.getByRole('link', { name: 'many' }).click();
    await wide.waitForURL(`**/news/${MANY}`);
    await beside.getByLabel('Filter newsgroups').last().fill('hills');
    await beside.getByRole('button', { name: 'Filter' }).click();
    await wide.waitForURL('**/news?q=hills');
    rules.quiet(wide);
    await wide.context().close();
    const phone = await look({ viewport: PHONE });
    await phone.goto(`/news/${GAUGES}`);
    assert.equal(await phone.locator('nav.side').isVisible(), false);
    await phone.context().close();
  });

  await t.test('a page is fetched again by its button, without script, and stays the same page', async () => {
    const page = await look({ javaScriptEnabled: false });
    for (const path of ['/news?q=gauges', `/news/${MANY}?page=2`, THREAD_PATH]) {
      await page.goto(path);
      const before = await page.getByRole('heading', { level: 1 }).innerText();
      const again = page.waitForResponse((response) => response.request().isNavigationRequest());
      await page.getByRole('button', { name: 'Refresh' }).click();
      const { pathname, searchParams } = new URL((await again).url());
      assert.equal(`${pathname}${searchParams.size ? `?${searchParams}` : ''}`, path);
      assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), before);
    }
    rules.quiet(page);
    await page.context().close();
  });

  await t.test('the outline is drawn: lines, what is missing, what is unread, where one is', async () => {
    const page = await look();
    await page.goto(THREAD_PATH);
    const lines = page.locator('.outline li > a');
    assert.equal(await lines.count(), 4);
    assert.equal(await page.locator('.outline path').count(), 3, 'all but the first one answer somebody');
    const style = (place, what) => lines.nth(place).evaluate((line, name) => getComputedStyle(line.querySelector('i') ?? line)[name], what);
    assert.equal(await style(2, 'fontStyle'), 'italic');
    // What is in sight is soon read, so it is made unread here.
    const weight = (state) => lines.nth(1).evaluate((line, unread) => {
      line.classList.toggle('new', unread);
      return Number(getComputedStyle(line).fontWeight);
    }, state === 'unread');
    assert.ok((await weight('unread')) >= 600 && (await weight('read')) < 600, 'unread is bold');
    assert.equal(await lines.nth(0).getAttribute('aria-current'), 'true');
    assert.notEqual(await style(0, 'backgroundColor'), await style(1, 'backgroundColor'));
    // A line goes on from row to row without a gap.
    const [one, next] = [await page.locator('.outline svg').nth(0).boundingBox(), await page.locator('.outline svg').nth(1).boundingBox()];
    assert.equal(one.y + one.height, next.y);
    await page.context().close();
  });

  await t.test('messages and quotes fold, and what is missing keeps its place', async () => {
    const page = await look();
    await page.goto(THREAD_PATH);
    const quote = page.locator('details.quote');
    assert.equal(await page.getByText('who is not easily moved').isVisible(), false);
    await quote.locator('summary').click();
    assert.equal(await page.getByText('who is not easily moved').isVisible(), true);
    const second = page.locator('li', { has: page.getByRole('heading', { name: 'Jonas Petri' }) }).last();
    await second.getByRole('button', { name: 'Collapse' }).click();
    assert.equal(await page.getByText('That is the frost').isVisible(), false);
    await second.locator('details.message > summary').click();
    assert.equal(await page.getByText('That is the frost').isVisible(), true);
    // The one that nobody has stands between its neighbours.
    assert.match(await page.locator('li.gap').innerText(), /^A message is missing here\. The server does not have it\.[\s\S]*It moves again/);
    assert.match(await page.locator('.outline').innerText(), /Mira Holt[\s\S]*Jonas Petri[\s\S]*not available[\s\S]*Lena Brändt/);
    const link = page.getByRole('link', { name: 'https://rivers.example/frost' });
    assert.equal(await link.getAttribute('rel'), 'noopener noreferrer nofollow');
    await rules.picture(page, 'news-thread-unfolded');
    rules.quiet(page);
    await page.context().close();
  });

  await t.test('a hostile article runs nothing and loads nothing', async () => {
    for (const javaScriptEnabled of [true, false]) {
      const page = await look({ javaScriptEnabled });
      const paths = ['/news', `/news/${GAUGES}`];
      for (const { id } of HOSTILE) {
        const name = encodeURIComponent(id);
        paths.push(`/news/${GAUGES}/${name}`, `/news/article/${name}`);
        for (const form of ['source', '?view=plain', 'html']) {
          if (form === 'html' && !id.includes('html')) continue;
          paths.push(`/news/article/${name}${form.startsWith('?') ? '' : '/'}${form}`);
        }
      }
      // Without script a page can still load something.
      for (const path of javaScriptEnabled ? paths : paths.filter((path) => !/source|plain/.test(path))) {
        const response = await page.goto(path);
        assert.equal(response.status(), 200, path);
        if (javaScriptEnabled) assert.equal(await page.evaluate(() => window.hit), undefined, path);
        const found = await page.locator('main iframe, main object, main form[action^=http], main img, main svg[onload], a[href^="javascript:"]').count();
        assert.equal(found, 0, path);
        rules.quiet(page);
      }
      await page.context().close();
    }
  });

  await t.test('what was read stays read, and all can be marked at once', async () => {
    const page = await look();
    await page.goto(`/news/${OWN}`);
    const fresh = page.locator('tr[data-root].new');
    assert.equal(await fresh.count(), 3, 'everything is new at first');
    await page.getByRole('link', { name: 'Ferry times' }).click();
    await page.getByText('2 unread').first().waitFor();
    await page.getByText('At nine.').scrollIntoViewIfNeeded();
    // Messages that were in sight for a moment are read.
    await page.waitForFunction(() => document.querySelectorAll('li[data-item].new').length === 0);
    await page.goto(`/news/${OWN}`);
    assert.equal(await fresh.count(), 2);
    await page.reload();
    assert.equal(await fresh.count(), 2, 'after a reload as well');
    await page.getByRole('button', { name: 'Mark all read' }).click();
    assert.equal(await fresh.count(), 0);
    await page.reload();
    assert.equal(await fresh.count(), 0);
    rules.quiet(page);
    await page.context().close();
  });

  await t.test('a newsgroup is subscribed to, a thread is ignored and watched', async () => {
    const page = await look();
    await page.goto(`/news/${OWN}`);
    await page.getByRole('button', { name: 'Subscribe' }).click();
    const row = page.locator('tr[data-root]', { hasText: 'For sale' });
    await row.getByRole('button', { name: 'Ignore' }).click();
    assert.equal(await row.isVisible(), false);
    await page.getByRole('button', { name: 'Show 1 ignored' }).click();
    assert.equal(await row.isVisible(), true);
    await page.reload();
    assert.equal(await row.isVisible(), false, 'it stays ignored');
    const watched = page.locator('tr[data-root]', { hasText: 'Fog' });
    await watched.getByRole('button', { name: 'Watch' }).click();
    assert.equal(await watched.getByRole('button', { name: 'Watching' }).getAttribute('aria-pressed'), 'true');
    await page.goto('/news');
    await page.locator('[data-favourites]').getByRole('link', { name: OWN }).waitFor();
    await rules.picture(page, 'news-subscribed');
    rules.quiet(page);
    await page.context().close();
  });

  await t.test('a reload that brings nothing new costs no page', async () => {
    const page = await look();
    for (const path of ['/news', `/news/${MANY}`, THREAD_PATH, ARTICLE_PATH]) {
      await page.goto(path);
      const devtools = await page.context().newCDPSession(page);
      await devtools.send('Network.enable');
      const [statuses, documents] = [new Map(), []];
      devtools.on('Network.requestWillBeSent', ({ requestId, type }) => type === 'Document' && documents.push(requestId));
      devtools.on('Network.responseReceivedExtraInfo', ({ requestId, statusCode }) => statuses.set(requestId, statusCode));
      await page.reload();
      assert.deepEqual(documents.map((id) => statuses.get(id)), [304], path);
      await devtools.detach();
    }
    rules.quiet(page);
    await page.context().close();
  });

  await t.test('on paper there are words and nothing else', async () => {
    const page = await look();
    await page.goto(THREAD_PATH);
    await page.emulateMedia({ media: 'print' });
    assert.equal(await page.getByText('The gauge at the old mill has not moved since Monday.').first().isVisible(), true);
    for (const control of await page.locator('nav, header button, main button, .doing').all()) {
      assert.equal(await control.isVisible(), false, await control.innerText().catch(() => ''));
    }
    // What is folded on the screen is printed.
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
    assert.equal(await page.getByText('who is not easily moved').isVisible(), true);
    await rules.picture(page, 'news-thread-print');
    await page.goto(ARTICLE_PATH);
    assert.equal(await page.locator('.printed').isVisible(), true, 'the ID is on paper');
    rules.quiet(page);
    await page.context().close();
  });

  await t.test('unknown newsgroups, articles and pages say what to do', async () => {
    const page = await look();
    for (const [path, words] of [
      ['/news/example.rivers.gauge', /No server carries example\.rivers\.gauge[\s\S]*example\.rivers\.gauges/],
      ['/news/article/nobody@rivers.example', /does not have this article[\s\S]*try again later/],
      [`/news/${GAUGES}?page=9`, /only 1 page/],
    ]) {
      const response = await page.goto(path);
      assert.equal(response.status(), 404, path);
      assert.match(await page.locator('main').innerText(), words);
      quietBut(page, 404);
    }
    await page.context().close();
  });
});

test('a page whose server is down is shown and says so', async (t) => {
  const { server, look } = await begin(t, '  refresh_after: 0s\n  cache: { threads: 0s, groups: 0s }\n');
  const page = await look();
  for (const path of ['/news', `/news/${GAUGES}`, THREAD_PATH]) await page.goto(path);
  await server.down();
  for (const path of ['/news', `/news/${GAUGES}`, THREAD_PATH]) {
    await page.goto(path);
    const notice = page.locator('.notice.stale');
    await notice.waitFor();
    assert.match(await notice.innerText(), /No answer from news-one: [\s\S]*Newer articles may be missing/);
  }
  assert.equal(await page.getByText('It moves again.').isVisible(), true);
  await rules.picture(page, 'news-stale');
  await rules.accessible(page);
  rules.quiet(page);
  // What was never read cannot be had.
  const response = await page.goto('/news/article/crowd-1@rivers.example');
  assert.equal(response.status(), 503);
  assert.match(await page.locator('main').innerText(), /No server answers[\s\S]*What has been read before stays readable/);
  quietBut(page, 503);
  await page.context().close();
});

test('without an index there is nothing to search in', async (t) => {
  const { look } = await begin(t, '  index: 0\n');
  const page = await look();
  for (const path of ['/news', `/news/${GAUGES}`]) {
    await page.goto(path);
    assert.equal(await page.locator('form[action="/news/search"]').count(), 0, path);
    await page.locator('[data-news]').waitFor();
  }
  rules.quiet(page);
  await page.context().close();
});

const TALKED = { id: 'talk-1@rivers.example', group: TALK, from: 'Mira Holt <mira@rivers.example>', subject: 'Who has seen the otter?', date: at(1), more: PLAIN, body: 'It was at the mill.' };
const TALK_PATH = `/news/${TALK}/talk-1%40rivers.example`;

const field = (page, name) => page.getByLabel(name, { exact: false }).first();

async function writes(page, { subject, text }) {
  await field(page, 'Your name').fill('Jörg Petri');
  await field(page, 'Your address').fill('joerg@rivers.example');
  if (subject) await field(page, 'Subject').fill(subject);
  await page.locator('#text').fill(text);
}

test('writing', async (t) => {
  const server = await newsServer(t, NEWSGROUPS, [...stock(), article(TALKED)]);
  const weir = await start(t, { data: await directory(t), config: section(server) });
  const browser = await open();
  const storageState = await session(weir);
  const look = (options = {}) => visit(browser, weir.origin, { storageState, ...options });

  await t.test('the form keeps the rules', async () => {
    const page = await look();
    await page.goto('/news/compose?reply=talk-1%40rivers.example');
    await rules.everywhere(page, 'news-compose');
    await writes(page, { text: 'Short words.\n\n> quoted\n\nAnd more of them, on a line that is so long that it has to be folded somewhere on its way to the server and back.' });
    await page.getByRole('button', { name: 'Preview article', exact: true }).click();
    await page.getByRole('heading', { name: 'Preview' }).waitFor();
    await rules.everywhere(page, 'news-preview', { sent: false });
    await field(page, 'Your address').fill('nobody');
    await field(page, 'Newsgroups').fill('no*group');
    await page.getByRole('button', { name: 'Send article' }).click();
    await page.getByText('This is not an address').first().waitFor();
    page.complaints = page.complaints.filter((words) => !words.includes('status of 422'));
    await rules.everywhere(page, 'news-mistakes', { sent: false });
    await page.context().close();
  });

  for (const javaScriptEnabled of [true, false]) {
    await t.test(`reply, preview, send, see it, ${javaScriptEnabled ? 'with' : 'without'} script`, async () => {
      const before = server.posted.length;
      const words = `At the weir, ${javaScriptEnabled ? 'this morning' : 'last night'}.`;
      const page = await look({ javaScriptEnabled });
      await page.goto(TALK_PATH);
      await page.getByRole('link', { name: 'Reply' }).first().click();
      assert.match(await page.locator('#text').inputValue(), /Mira Holt wrote:\n> It was at the mill\./);
      assert.equal(await field(page, 'Subject').inputValue(), 'Re: Who has seen the otter?');
      await writes(page, { text: words });
      await page.getByRole('button', { name: 'Preview article', exact: true }).click();
      await page.locator('.preview').getByText(words).waitFor();
      assert.equal(server.posted.length, before);
      await page.getByRole('button', { name: 'Send article' }).click();
      await page.waitForURL('**/news/posts/**');
      assert.match(await page.locator('main').innerText(), /Sent through news-one/);
      assert.equal(server.posted.length, before + 1);
      assert.match(server.posted.at(-1).text, /References: <talk-1@rivers\.example>/);
      await page.goto(TALK_PATH);
      await page.getByText(words).waitFor();
      rules.quiet(page);
      await page.context().close();
    });
  }

  await t.test('what was written survives a closed tab, a refusal and an expired session', async () => {
    const page = await look();
    await page.goto(`/news/compose?group=${TALK}`);
    await writes(page, { subject: 'Otters again', text: 'Three of them.' });
    // The browser is gone, and comes back.
    const kept = await page.context().storageState();
    await page.context().close();
    const back = await look({ storageState: kept });
    await back.goto(`/news/compose?group=${TALK}`);
    assert.equal(await back.locator('#text').inputValue(), 'Three of them.');
    assert.ok(await back.getByText('What you wrote before is here again').isVisible());
    server.refuses = '441 Not today';
    await back.getByRole('button', { name: 'Send without preview' }).click();
    await back.getByText('news-one refused it: Not today').waitFor();
    assert.equal(await back.locator('#text').inputValue(), 'Three of them.');
    server.refuses = '';
    // The session ends while somebody writes.
    await back.locator('#text').fill('Four of them.');
    await back.context().clearCookies();
    await back.getByRole('button', { name: 'Send without preview' }).click();
    await back.waitForURL('**/sign-in?next=**');
    await back.getByLabel('Key').fill(weir.key);
    await back.getByRole('button', { name: 'Sign in' }).click();
    await back.waitForURL('**/news/compose?draft=**');
    assert.equal(await back.locator('#text').inputValue(), 'Four of them.');
    const before = server.posted.length;
    await back.getByRole('button', { name: 'Send without preview' }).click();
    await back.waitForURL('**/news/posts/**');
    assert.equal(server.posted.length, before + 1);
    assert.match(server.posted.at(-1).text, /Four of them\./);
    await back.goto('/news/posts');
    const drafts = back.getByRole('region', { name: 'Drafts', exact: true });
    assert.equal(await drafts.getByText('Otters again').count(), 0, 'what was sent is no draft');
    back.complaints = back.complaints.filter((words) => !words.includes('status of 422'));
    await rules.everywhere(back, 'news-posts', { sent: false });
    await back.context().close();
  });

  await t.test('one’s own article can be replaced and cancelled', async () => {
    const page = await look();
    await page.goto(`/news/compose?group=${TALK}`);
    await writes(page, { subject: 'Wrong number', text: 'Five.' });
    await page.getByRole('button', { name: 'Send without preview' }).click();
    await page.waitForURL('**/news/posts/**');
    await page.getByRole('link', { name: 'Read article' }).click();
    await page.getByRole('link', { name: 'Replace' }).click();
    assert.equal(await page.locator('#text').inputValue(), 'Five.');
    await page.locator('#text').fill('Six.');
    await page.getByRole('button', { name: 'Send without preview' }).click();
    await page.waitForURL('**/news/posts/**');
    assert.match(server.posted.at(-1).text, /^Supersedes: </m);
    await page.getByRole('link', { name: 'Cancel article' }).click();
    await rules.picture(page, 'news-cancel');
    await page.getByRole('button', { name: 'Cancel article' }).click();
    await page.getByRole('heading', { name: 'Cancelled' }).waitFor();
    assert.match(server.posted.at(-1).text, /^Control: cancel </m);
    assert.match(server.posted.at(-1).text, /^Cancel-Key: sha256:/m);
    rules.quiet(page);
    await page.context().close();
  });
});
