// Starts and ends the binary under test, each time on a free port and with its own directories.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

const BINARY = process.env.WEIR_BIN;
if (!BINARY) throw new Error('WEIR_BIN is not set: run `cargo xtask browser`');

// The first URL that `serve` prints, which is a sign-in link at a first start, where its tracker answers, and the key that
// a first start prints.
const PAGES = /http:\/\/127\.0\.0\.1:(\d+)\//;
const LINK = /http:\/\/127\.0\.0\.1:\d+\/sign-in\?link=\S+/;
const TRACKER = /http:\/\/127\.0\.0\.1:\d+(?=\/announce)/;
const KEY = /\bkey\b[^:\n]*: *([A-Za-z0-9_-]{16,})/i;

// A terminal's colours and styles.
const STYLE = /\u001b\[[0-9;]*m/g;

// Children that are still running, so that none outlives the tests.
const running = new Set();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

/** A new empty directory that is removed after the test `t`. */
export async function directory(t) {
  const path = await mkdtemp(join(tmpdir(), 'weir-browser-'));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** Starts Weir with its data in `data`, and this YAML if any; resolves once it has printed where it is. */
export async function start(t, { data, port = 0, config }) {
  // It reads `weir.yaml` where it is started.
  if (config) await writeFile(join(data, 'weir.yaml'), config);
  const free = ['-l', '127.0.0.1:0', '-u', '127.0.0.1:0'];
  const child = spawn(BINARY, ['serve', '--web', `127.0.0.1:${port}`, '--data', data, ...free], {
    cwd: data,
    // Nothing of the caller's own settings; one zone for both sides, so that times compare.
    // Newsreaders have a free port too, for several run side by side.
    env: { PATH: process.env.PATH, HOME: data, TZ: 'UTC', WEIR_NEWS__NNTP_LISTEN: '127.0.0.1:0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  const exit = once(child, 'exit').then(([code, signal]) => {
    running.delete(child);
    return { code, signal };
  });
  const weir = new Weir(child, exit);
  t.after(() => weir.kill());
  await weir.printed(PAGES);
  await weir.printed(TRACKER);
  return weir;
}

class Weir {
  #child;
  #exit;
  #output = '';

  constructor(child, exit) {
    this.#child = child;
    this.#exit = exit;
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => (this.#output += text));
    }
  }

  get output() {
    return this.#output.replaceAll(STYLE, '');
  }

  /** The sign-in link, if this was the first start in its directory. */
  get link() {
    return this.output.match(LINK)[0];
  }

  get port() {
    return Number(this.output.match(PAGES)[1]);
  }

  get origin() {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Where the tracker answers over HTTP. */
  get tracker() {
    return this.output.match(TRACKER)[0];
  }

  /** Announces a peer to the tracker; `hash` is 40 hex digits. */
  async announce({ hash, ip, port = 6881, left = 0, event }) {
    const raw = hash.replaceAll(/../g, '%$&');
    const said = new URLSearchParams({ peer_id: '-BT0001-000000000000', ip, port, left, compact: 1 });
    if (event) said.set('event', event);
    const answer = await fetch(`${this.tracker}/announce?info_hash=${raw}&${said}`);
    const text = await answer.text();
    if (!text.includes('8:interval')) throw new Error(`the tracker says ${text}`);
  }

  /** Adds an upstream, as a program does. */
  async add(front, entry) {
    const headers = { 'x-api-key': this.key, 'content-type': 'application/json' };
    const answer = await fetch(`${this.origin}/api/v1/upstreams`, { method: 'POST', headers, body: JSON.stringify({ front, entry }) });
    if (answer.status !== 201) throw new Error(`${answer.status}: ${await answer.text()}`);
  }

  /** The key, if this was the first start in its directory. */
  get key() {
    return this.output.match(KEY)?.[1];
  }

  /** Waits until the output has what `pattern` asks for, at most 20 s. */
  async printed(pattern) {
    let ended;
    this.#exit.then((how) => (ended = how));
    for (let tries = 0; tries < 400 && !ended; tries += 1) {
      if (pattern.test(this.output)) return;
      await wait(50);
    }
    const why = ended ? `Weir ended (${JSON.stringify(ended)})` : 'Weir went on 20 s';
    throw new Error(`${why} without printing ${pattern}. Its output:\n${this.output}`);
  }

  /** Asks it to stop and tells how and how fast it did. */
  async stop(signal = 'SIGTERM') {
    const begin = performance.now();
    this.#child.kill(signal);
    const late = new AbortController();
    const how = await Promise.race([
      this.#exit,
      wait(20_000, { code: null, signal: 'still running after 20 s' }, { signal: late.signal }),
    ]);
    late.abort();
    return { ...how, seconds: (performance.now() - begin) / 1000 };
  }

  /** Ends it at once. */
  async kill() {
    if (running.has(this.#child)) {
      this.#child.kill('SIGKILL');
      await this.#exit;
    }
  }
}
