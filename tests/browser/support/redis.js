// A real store for several nodes: Debian's redis-server on a free port, in a directory of its own.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

import { directory } from './weir.js';

const running = new Set();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/** Whether somebody answers a PING there. */
async function answers(port) {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    socket.write('PING\r\n');
    const [said] = await once(socket, 'data');
    return String(said).startsWith('+PONG');
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** Starts one; it ends after the test `t`. `freeze` stops it in its tracks, `thaw` lets it go on. */
export async function redis(t) {
  const port = await freePort();
  const home = await directory(t);
  const options = ['--port', port, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', home];
  const child = spawn('redis-server', options.map(String), { stdio: 'ignore' });
  running.add(child);
  const ended = once(child, 'exit').then(() => running.delete(child));
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  for (let tries = 0; tries < 600 && running.has(child); tries += 1) {
    if (await answers(port)) {
      return { url: `redis://127.0.0.1:${port}`, freeze: () => child.kill('SIGSTOP'), thaw: () => child.kill('SIGCONT') };
    }
    await wait(50);
  }
  throw new Error('redis-server does not answer');
}
