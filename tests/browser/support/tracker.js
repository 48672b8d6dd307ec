// A tracker to send announces on to: it answers every scrape, and knows nobody.

import { once } from 'node:events';
import { createServer } from 'node:http';

/** Starts one and returns its announce URL. */
export async function tracker(t) {
  const server = createServer((_, response) => response.end('d5:filesdee'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}/announce`;
}
