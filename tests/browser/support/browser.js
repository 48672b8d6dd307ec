// Debian's Chromium, and pages that note everything a reader should never meet.

import { existsSync } from 'node:fs';
import { after } from 'node:test';

import { chromium } from 'playwright-core';

// The same browser without its windows, where it is installed: a tab costs a sixth of the processor time.
const SHELL = '/usr/lib/chromium/chromium-headless-shell';
const CHROMIUM = '/usr/bin/chromium';

// A name of this machine that browsers do not trust, as those on a home network are not.
const NAME = 'weir.example';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  `--host-resolver-rules=MAP ${NAME} 127.0.0.1`,
];

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };
export const NARROW = { width: 320, height: 640 };

let browser;
after(async () => (await browser)?.close());

/** The browser of this file's tests; contexts keep them apart. `whole` is the one that people use. */
export function open({ whole = false } = {}) {
  const executablePath = whole || !existsSync(SHELL) ? CHROMIUM : SHELL;
  browser ??= chromium.launch({ executablePath, args: FLAGS });
  return browser;
}

/** A page in a context of its own; `page.complaints` fills with what went wrong on it. */
export async function visit(browser, origin, options = {}) {
  const context = await browser.newContext({
    baseURL: origin,
    viewport: DESKTOP,
    timezoneId: 'UTC',
    locale: 'en-GB',
    ...options,
  });
  context.setDefaultTimeout(10_000);
  const page = await context.newPage();
  page.complaints = [];
  page.answers = [];
  // Init scripts come from the debugger, so the page's own policy stays in force.
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      console.error(`policy: ${event.violatedDirective} blocked ${event.blockedURI}`);
    });
  });
  page.on('console', (message) => {
    // Browsers say this of every page over plain HTTP.
    const usual = origin.includes(NAME) && message.text().startsWith('The Cross-Origin-Opener-Policy header');
    if (message.type() === 'error' && !usual) page.complaints.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => page.complaints.push(`script: ${error}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`)) page.complaints.push(`off-site: ${request.url()}`);
  });
  page.on('response', (response) => page.answers.push(response));
  return page;
}

/** Signs in through the form that the page shows. */
export async function enterKey(page, key) {
  await page.getByLabel('Key', { exact: true }).fill(key);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForLoadState();
}

/** Opens the menu in the top bar that holds theme and sign-out. */
export async function openAccount(page) {
  await page.locator('header details:not([open]) > summary').click();
}

/** A session by the printed link, to be given to `visit` as `storageState`, by both names of this machine. */
export async function session(weir) {
  const answer = await fetch(weir.link, { redirect: 'manual' });
  await answer.arrayBuffer();
  const hosts = [new URL(weir.origin).hostname, NAME];
  const cookies = answer.headers.getSetCookie().flatMap((line) => {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
    const cookie = { name, value, path: '/', expires: -1, httpOnly: true, secure: false, sameSite: 'Lax' };
    return hosts.map((domain) => ({ ...cookie, domain }));
  });
  if (cookies.length === 0) throw new Error(`${weir.link} gave no session: ${answer.status}`);
  return { cookies, origins: [] };
}

/** Where Weir is from another machine: plain HTTP, by a name. */
export function elsewhere(weir) {
  return `http://${NAME}:${new URL(weir.origin).port}`;
}

/** The page's main text as lines, without figures, which move between two looks, and without what needs script to act. */
export async function mainLines(page) {
  const text = await page.locator('main').evaluate((main) => {
    const acting = [...main.querySelectorAll('button[data-pause], .arrived')].filter((one) => !one.hidden);
    for (const one of acting) one.hidden = true;
    const shown = main.innerText;
    for (const one of acting) one.hidden = false;
    return shown;
  });
  const lines = text.split('\n').map((line) => {
    const plain = line.replaceAll(/\d+/g, '0').trim();
    // Between two looks a countdown may pass from minutes to seconds.
    return plain.replaceAll(/\bin (?:0 (?:min|h)|a moment)(?=$|\W)/g, 'in 0 s');
  });
  return lines.filter((line) => line !== '');
}
