// The life of the process as a browser and a monitor see it.

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';

import { open, visit } from './support/browser.js';
import { directory, start } from './support/weir.js';

test('SIGTERM ends with 0 while a browser holds a connection', async (t) => {
  const weir = await start(t, { data: await directory(t) });
  const page = await visit(await open(), weir.origin);
  await page.goto(weir.link);
  // One that is open without having asked anything, and one in the middle of asking.
  const sockets = [connect(weir.port, '127.0.0.1'), connect(weir.port, '127.0.0.1')];
  t.after(() => sockets.forEach((socket) => socket.destroy()));
  sockets.forEach((socket) => socket.on('error', () => {}));
  sockets[1].write('GET / HTTP/1.1\r\nHost: ');
  await page.goto('/');

  const { code, signal, seconds } = await weir.stop();
  assert.deepEqual({ code, signal }, { code: 0, signal: null }, weir.output);
  assert.ok(seconds < 12, `it took ${seconds.toFixed(1)} s`);
});

test('a session outlives kill and restart', async (t) => {
  const data = await directory(t);
  const before = await start(t, { data });
  const page = await visit(await open(), before.origin);
  await page.goto(before.link);
  assert.equal(new URL(page.url()).pathname, '/');
  // What was written in the last second may be lost by `kill -9`, and only that.
  await wait(1_200);
  await before.kill();

  const after = await start(t, { data, port: before.port });
  assert.equal(after.key, undefined, 'the key is printed by the first start only');
  await page.goto('/');
  assert.equal(new URL(page.url()).pathname, '/', 'still signed in');
});

test('a second Weir on the same data says whose turn it is', async (t) => {
  const data = await directory(t);
  await start(t, { data });
  await assert.rejects(start(t, { data }), (error) => {
    assert.match(error.message, /Weir ended \({"code":[1-9]/);
    assert.ok(error.message.includes(data), 'the message names the directory');
    return true;
  });
});

test('the metrics are well formed', async (t) => {
  const weir = await start(t, { data: await directory(t) });
  const answer = await fetch(`${weir.origin}/metrics`);
  assert.equal(answer.status, 200);
  const type = answer.headers.get('content-type');
  assert.match(type, /^(text\/plain|application\/openmetrics-text)/);
  const lines = (await answer.text()).trimEnd().split('\n');
  if (type.startsWith('application/openmetrics-text')) assert.equal(lines.pop(), '# EOF');

  const comment = /^# (HELP|TYPE|UNIT) [a-z_:][a-z0-9_:]* .*$/;
  const label = '[a-z_][a-z0-9_]*="(?:[^"\\\\]|\\\\.)*"';
  const sample = new RegExp(
    `^((?:weir|process)_[a-z0-9_]+)(\\{(?:${label}(?:,${label})*)?\\})? (NaN|[+-]?Inf|[+-]?[0-9.]+(?:e[+-]?[0-9]+)?)$`,
  );
  const samples = lines.filter((line) => line !== '' && !comment.test(line));
  assert.ok(samples.length > 0, 'there are samples');
  assert.deepEqual(samples.filter((line) => !sample.test(line)), []);
  const series = samples.map((line) => line.slice(0, line.lastIndexOf(' ')));
  assert.equal(new Set(series).size, series.length, 'no series twice');
});
