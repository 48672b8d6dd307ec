// What holds for every page at every width, in both themes. `everywhere` checks all of it, each rule where it can differ.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

import { DESKTOP, NARROW, PHONE, mainLines } from './browser.js';

const require = createRequire(import.meta.url);
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
// What a rule of axe finds has the rule's own impact, so those whose finding would not count need not look.
const SLIGHT = require('axe-core')._audit.rules.filter(({ impact }) => impact === 'moderate' || impact === 'minor');
const WITHOUT = Object.fromEntries(SLIGHT.map(({ id }) => [id, { enabled: false }]));
const PICTURES = process.env.WEIR_PICTURES;

// How often Tab is pressed before the page is asked where it went, and how many stops a page may have.
const PRESSES = 20;
const MOST_STOPS = 80;
const TAB = { key: 'Tab', code: 'Tab', windowsVirtualKeyCode: 9, nativeVirtualKeyCode: 9 };

const KB = 1000;
const BUDGET = { script: 60 * KB, stylesheet: 12 * KB, document: 60 * KB, requests: 4 };

/** Nothing in the console, nothing off-site, nothing the policy had to block. */
export function quiet(page) {
  assert.deepEqual(page.complaints, []);
}

/** axe finds nothing serious, or one of its rules does not. It is injected by the debugger: the page's policy stays in force. */
export async function accessible(page, rule) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(AXE);
  const found = await page.evaluate(async (which) => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'], ...which });
    return violations.map(({ id, impact, help, nodes }) => ({
      id,
      impact,
      help,
      where: nodes.map((node) => node.target.join(' ')),
    }));
  }, rule ? { runOnly: [rule] } : { rules: WITHOUT });
  const grave = found.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  assert.deepEqual(grave, []);
}

/** What the page says with script it says without. `lines` reads a page, `own` are those that script alone may have. */
export async function saysTheSame(live, still, { lines = mainLines, own } = {}) {
  const compare = async () => {
    const [more, less] = [await lines(live), await lines(still)];
    assert.ok(more.length > 0 && less.length > 0, 'there is a main text');
    return {
      'with script alone': more.filter((line) => !less.includes(line) && !own?.test(line)),
      'without script alone': own ? less.filter((line) => !more.includes(line)) : [],
    };
  };
  const isSame = (found) => Object.values(found).every((lines) => lines.length === 0);
  let found = await compare();
  // Something may have happened between the two looks, or be about to: a probe that is under way changes what is said for a while.
  for (let again = 0; again < 6 && !isSame(found); again += 1) {
    await wait(again * 400);
    live.answers = [];
    await Promise.all([live.reload(), still.reload()]);
    found = await compare();
  }
  assert.ok(isSame(found), JSON.stringify(found, null, 2));
}

/** One first-level heading, a title that ends with the program's name, a language. */
export async function named(page) {
  assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1, 'one h1');
  assert.match(await page.title(), /(^| · )Weir$/);
  assert.match((await page.locator('html').getAttribute('lang')) ?? '', /^[a-z]{2}/);
}

/** Nothing scrolls sideways. */
export async function fits(page) {
  const [wide, inner] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  assert.ok(wide <= inner, `${wide} px of content in a window of ${inner} px`);
}

/** Tab goes to the skip link first, and a ring shows where it is on every stop. */
export async function focusShows(page) {
  await page.evaluate(followTab);
  const keys = await page.context().newCDPSession(page);
  let stops;
  // Many presses at a time; the page itself notes where each led, when the key is released.
  for (let presses = 0; presses < MOST_STOPS && !stops?.round; presses += PRESSES) {
    const sent = [];
    for (let press = 0; press < PRESSES; press += 1) {
      sent.push(keys.send('Input.dispatchKeyEvent', { type: 'rawKeyDown', ...TAB }));
      sent.push(keys.send('Input.dispatchKeyEvent', { type: 'keyUp', ...TAB }));
    }
    await Promise.all(sent);
    stops = await page.evaluate(() => window.stops);
  }
  await keys.detach();
  await page.evaluate(() => removeEventListener('keyup', window.noteStop, true));
  const { all, round } = stops;
  assert.ok(all.length > 1, 'Tab reaches something');
  assert.ok(round, 'Tab comes to an end');
  assert.match(all[0].text, /^skip to/i, 'the skip link comes first');
  assert.ok(all[0].target, 'the skip link leads somewhere');
  assert.deepEqual(all.filter((stop) => !stop.ring || !stop.seen), [], 'every stop shows');
}

// Runs in the page: Tab begins before everything else, also where a field took the focus, and each stop is noted.
function followTab() {
  document.body.tabIndex = -1;
  document.body.focus();
  document.body.removeAttribute('tabindex');
  scrollTo(0, 0);
  const visited = new Set();
  window.stops = { all: [], round: false };
  window.noteStop = () => {
    if (window.stops.round) return;
    const stop = describe();
    if (stop === null) window.stops.round = true;
    else window.stops.all.push(stop);
  };
  addEventListener('keyup', window.noteStop, true);

  // The focused element, or null when Tab has come round.
  function describe() {
    const element = document.activeElement;
    if (!element || element === document.body || visited.has(element)) return null;
    visited.add(element);
    const style = getComputedStyle(element);
    // Of a link over several lines, the first one: the middle of all may be somebody else's.
    const box = element.getClientRects()[0] ?? element.getBoundingClientRect();
    const ring = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
    // In sight, and nothing that stays in place, such as a bar, lies over it.
    const middle = (from, to, end) => (Math.max(from, 0) + Math.min(to, end - 1)) / 2;
    const top = document.elementFromPoint(
      middle(box.left, box.right, innerWidth),
      middle(box.top, box.bottom, innerHeight),
    );
    const seen = top !== null && (element.contains(top) || top.contains(element));
    const href = element.getAttribute('href') ?? '';
    const target = href.startsWith('#') && document.getElementById(href.slice(1)) !== null;
    const text = (element.getAttribute('aria-label') ?? element.innerText ?? '').trim();
    return { tag: element.localName, text, ring, seen, target };
  }
}

/** Makes each page that is opened in this tab a first visit: nothing comes from the browser's cache. */
async function withoutCache(page) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Network.enable');
  await devtools.send('Network.setCacheDisabled', { cacheDisabled: true });
  return page;
}

/** What a first visit costs on the wire. */
export async function light(page) {
  const spent = { script: 0, stylesheet: 0, document: 0, requests: 0 };
  for (const response of page.answers) {
    const request = response.request();
    const type = request.resourceType();
    // What script asks for later, when the page has been there for a while, is not part of the visit.
    if (response.status() >= 300 || type === 'eventsource' || type === 'fetch') continue;
    spent.requests += 1;
    // A page is counted as it is read, an asset as it is sent.
    if (type === 'document') spent.document += (await response.body()).length;
    else if (type in spent) spent[type] += (await request.sizes()).responseBodySize;
  }
  for (const [what, limit] of Object.entries(BUDGET)) {
    assert.ok(spent[what] <= limit, `${what}: ${spent[what]}, more than ${limit}`);
  }
}

const icons = new Map();

/** The page names an icon that is there; a missing one is an error in every visitor's console. Each is asked for once. */
export async function hasIcon(page) {
  const url = await page.locator('link[rel~="icon"]').first().evaluate((link) => link.href);
  if (!icons.has(url)) icons.set(url, (await fetch(url)).status);
  assert.equal(icons.get(url), 200);
}

/** The background follows the theme asked for. */
export async function looks(page, theme) {
  assert.equal(await page.evaluate(brightness), theme);
}

// Runs in the page: the colour behind everything, which may be the body's or the root's.
function brightness() {
  for (const element of [document.body, document.documentElement]) {
    const [red, green, blue, alpha = 1] = getComputedStyle(element)
      .backgroundColor.match(/[\d.]+/g)
      .map(Number);
    if (alpha > 0) return red + green + blue > 382 ? 'light' : 'dark';
  }
  return 'no background';
}

/** Saves a picture for people to look at. */
export async function picture(page, name) {
  if (PICTURES) await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
}

/**
 * All rules for a page that is open: its bytes and structure once, what fits and where the focus shows at each width,
 * colours in each theme. `sent` is false for a page whose bytes cannot be asked for any more, as after a form.
 */
export async function everywhere(page, name, { sent = true } = {}) {
  if (sent) {
    await light(page);
    await hasIcon(page);
  }
  await named(page);
  for (const viewport of [DESKTOP, PHONE]) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ['light', 'dark']) {
      // Nothing fades, so that colours are final at once.
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await looks(page, colorScheme);
      await picture(page, `${name}-${viewport.width}-${colorScheme}`);
      await accessible(page, colorScheme === 'dark' ? 'color-contrast' : undefined);
    }
    await fits(page);
    await focusShows(page);
  }
  await page.setViewportSize(NARROW);
  await fits(page);
  quiet(page);
}

/**
 * Opens pages, `{ name, path, status, prepare }`, with script and without, and holds all rules against each. One tab with
 * script and one without do for all of them, as for a visitor; `at` opens them. `prepare` is done to a page before it is
 * looked at; `same` is how it is compared with what there is without script (`saysTheSame`).
 */
export async function walk(t, at, pages, same = {}) {
  const live = await withoutCache(await at());
  const still = await at({ javaScriptEnabled: false });
  for (const { name, path, status = 200, prepare } of pages) {
    await t.test(`${name} keeps the rules`, async () => {
      for (const page of [live, still]) [page.complaints, page.answers] = [[], []];
      await live.setViewportSize(DESKTOP);
      await live.emulateMedia({ colorScheme: 'light', reducedMotion: 'no-preference' });
      for (const page of [live, still]) {
        const response = await page.goto(path);
        assert.equal(response.status(), status);
        assert.equal(new URL(page.url()).pathname, new URL(path, page.url()).pathname);
      }
      await saysTheSame(live, still, same);
      const expected = `status of ${status}`;
      for (const page of [live, still]) page.complaints = page.complaints.filter((words) => !words.includes(expected));
      quiet(still);
      await picture(still, `${name}-1280-no-script`);
      await prepare?.(live);
      await everywhere(live, name);
    });
  }
  for (const page of [live, still]) await page.context().close();
}
