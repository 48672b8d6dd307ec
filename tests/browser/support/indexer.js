// Indexers to search: small Torznab servers that answer as they are told and count what they are asked.

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';

const CAPS = `<?xml version="1.0"?><caps><limits max="100" default="100"/><searching>
<search available="yes" supportedParams="q"/></searching><categories>
<category id="4000" name="PC"><subcat id="4020" name="ISO"/></category>
<category id="3000" name="Audio"><subcat id="3040" name="Lossless"/></category></categories></caps>`;

const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function item({ title, size = 658e6, hours = 2, category = 4020, seeders = 10, peers = 19, files = 1, free = false }, name) {
  const hash = createHash('sha1').update(title).digest('hex');
  const date = new Date(Date.now() - hours * 3600e3).toUTCString();
  const attributes = { infohash: hash, seeders, peers, ...(free && { downloadvolumefactor: 0 }) };
  const written = Object.entries(attributes).map(([key, value]) => `<torznab:attr name="${key}" value="${value}"/>`);
  return `<item><title>${escape(title)}</title><guid>${name}-${hash}</guid><pubDate>${date}</pubDate>
<link>http://127.0.0.1/${hash}.torrent</link><size>${size}</size><files>${files}</files>
<category>${category}</category>${written.join('')}</item>`;
}

/**
 * Starts one; it has `releases` and answers after `delay` ms, or with `status` and `retryAfter`. It may tell its `limits`.
 * What it was last asked is in `asked`. After `hold()` searches wait until the function it returned is called, so that no machine's speed decides who is first.
 */
export async function indexer(t, name, options = {}) {
  const state = { releases: [], delay: 0, status: 200, retryAfter: undefined, limits: undefined, ...options, searched: 0 };
  const server = createServer(async (request, response) => {
    const asked = new URL(request.url, 'http://indexer').searchParams;
    if (asked.get('t') === 'caps') return response.end(CAPS);
    state.searched += 1;
    state.asked = asked;
    await wait(state.delay);
    await state.held;
    if (state.status !== 200) {
      response.writeHead(state.status, state.retryAfter ? { 'retry-after': state.retryAfter } : {});
      return response.end();
    }
    response.setHeader('content-type', 'application/rss+xml');
    const told = state.limits && `<newznab:apilimits apicurrent="1" apimax="${state.limits.calls}" grabcurrent="0" grabmax="${state.limits.grabs}"/>`;
    response.end(`<?xml version="1.0"?><rss version="2.0" xmlns:torznab="http://torznab.com/schemas/2015/feed" xmlns:newznab="http://www.newznab.com/DTD/2010/feeds/attributes/">
<channel>${told ?? ''}${state.releases.map((release) => item(release, name)).join('')}</channel></rss>`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${server.address().port}/api`;
  const hold = () => {
    let release;
    state.held = new Promise((resolve) => {
      release = resolve;
    });
    return release;
  };
  return Object.assign(state, { name, url, hold });
}

/** The section `search` of a configuration with these indexers. */
export function section(indexers, { deadline = '6s', more = {} } = {}) {
  const line = ({ name, url }) => {
    const fields = { name, url: `"${url}"`, min_request_interval: '0s', ...more[name] };
    return `    - { ${Object.entries(fields).map(([key, value]) => `${key}: ${value}`).join(', ')} }`;
  };
  return ['search:', `  deadline: ${deadline}`, '  indexers:', ...indexers.map(line), ''].join('\n');
}
