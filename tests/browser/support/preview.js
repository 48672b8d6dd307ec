// Starts the sample of crates/web, whose upstreams are in every state: `cargo build -p weir-web --example preview`.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

const BINARY = process.env.WEIR_PREVIEW ?? join(dirname(process.env.WEIR_BIN ?? ''), 'examples/preview');
const LINK = /(http:\/\/127\.0\.0\.1:\d+)\/sign-in\?link=\S+/;

/** Starts it; ends after the test `t`. */
export async function start(t) {
  const child = spawn(BINARY, { env: { PATH: process.env.PATH, TZ: 'UTC' }, stdio: ['ignore', 'pipe', 'inherit'] });
  const end = () => child.kill('SIGKILL');
  process.on('exit', end);
  t.after(async () => {
    end();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => (output += text));
  for (let tries = 0; tries < 600; tries += 1) {
    const found = output.match(LINK);
    if (found) return { link: found[0], origin: found[1] };
    await wait(50);
  }
  throw new Error(`no link within 30 s:\n${output}`);
}
