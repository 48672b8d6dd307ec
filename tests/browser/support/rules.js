// What holds for every page at every width, in both themes. `everywhere` checks all of it, each rule where it can differ.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { DESKTOP, NARROW, PHONE } from './browser.js';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const PICTURES = process.env.WEIR_PICTURES;

const KB = 1000;
const BUDGET = { script: 60 * KB, stylesheet: 12 * KB, document: 60 * KB, requests: 4 };

/** Nothing in the console, nothing off-site, nothing the policy had to block. */
export function quiet(page) {
  assert.deepEqual(page.complaints, []);
}

/** axe finds nothing serious, or one of its rules does not. It is injected by the debugger: the page's policy stays in force. */
export async function accessible(page, rule) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(AXE);
  const found = await page.evaluate(async (only) => {
    const rules = only ? { runOnly: [only] } : {};
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'], ...rules });
    return violations.map(({ id, impact, help, nodes }) => ({
      id,
      impact,
      help,
      where: nodes.map((node) => node.target.join(' ')),
    }));
  }, rule);
  const grave = found.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  assert.deepEqual(grave, []);
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
  const stops = [];
  await page.evaluate(startFromTop);
  for (let step = 0; step < 80; step += 1) {
    await page.keyboard.press('Tab');
    const stop = await page.evaluate(describeFocus);
    if (stop === null) break;
    stops.push(stop);
  }
  assert.ok(stops.length > 1, 'Tab reaches something');
  assert.ok(stops.length < 80, 'Tab comes to an end');
  assert.match(stops[0].text, /^skip to/i, 'the skip link comes first');
  assert.ok(stops[0].target, 'the skip link leads somewhere');
  assert.deepEqual(stops.filter((stop) => !stop.ring || !stop.seen), [], 'every stop shows');
}

// Runs in the page: Tab begins before everything else, also where a field took the focus.
function startFromTop() {
  document.body.tabIndex = -1;
  document.body.focus();
  document.body.removeAttribute('tabindex');
  window.visited = new Set();
  scrollTo(0, 0);
}

// Runs in the page: the focused element, or null when Tab has come round.
function describeFocus() {
  const element = document.activeElement;
  if (!element || element === document.body || window.visited.has(element)) return null;
  window.visited.add(element);
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

/** The page names an icon that is there; a missing one is an error in every visitor's console. */
export async function hasIcon(page) {
  const href = await page.locator('link[rel~="icon"]').first().getAttribute('href');
  assert.equal((await page.request.get(href)).status(), 200);
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
