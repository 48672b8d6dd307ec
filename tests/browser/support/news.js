// A news server to read from: small, well behaved, and fed with articles written here.

import { once } from 'node:events';
import { createServer } from 'node:net';

const FIELDS = ['Subject', 'From', 'Date', 'Message-ID', 'References'];

/** An article as a server has it: its bytes, and its line of the overview. `more` are other lines of its head. */
export function article({ id, group, from, subject, date, references = '', more = [], body }) {
  const head = { Path: 'x!not-for-mail', From: from, Newsgroups: group, Subject: subject, Date: date, 'Message-ID': `<${id}>` };
  if (references) head.References = references;
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}`);
  const text = [...lines, ...more, '', ...body.split('\n')].join('\r\n');
  const overview = [...FIELDS.map((name) => (head[name] ?? '').replaceAll('\t', ' ')), text.length, body.split('\n').length];
  return { id, group, text, overview };
}

/** An article as somebody posted it. */
function posted(text) {
  const head = text.slice(0, text.indexOf('\r\n\r\n')).replaceAll(/\r\n[ \t]/g, ' ');
  const field = (name) => new RegExp(`^${name}: (.*)$`, 'mi').exec(head)?.[1].trim() ?? '';
  const overview = [...FIELDS.map(field), text.length, text.split('\r\n').length];
  return { id: field('Message-ID').slice(1, -1), group: field('Newsgroups'), text, overview, control: field('Control') };
}

/**
 * Starts one with these newsgroups, `[name, description, flag]`, and articles; numbers are given in their order. What is posted
 * to it is in `posted`, and on the shelf once `lists` is true.
 */
export async function newsServer(t, newsgroups, articles) {
  const shelf = new Map(newsgroups.map(([name]) => [name, []]));
  const add = (one) => one.group.split(',').forEach((name) => shelf.get(name).push(one));
  articles.forEach(add);
  const known = (id) => [...shelf.values()].flat().find((one) => `<${one.id}>` === id);
  const block = (line, rows) => [line, ...rows.map((row) => row.replaceAll(/^\./gm, '..')), '.'].join('\r\n');
  const marks = (name) => [shelf.get(name).length, 1, shelf.get(name).length];

  // What a command is answered with; `selected` is the connection's newsgroup.
  function answer(line, connection) {
    const [verb, ...words] = line.split(' ');
    switch (`${verb} ${words[0] ?? ''}`.trim().toUpperCase()) {
      case 'CAPABILITIES':
        return block('101 These', ['VERSION 2', 'READER', 'OVER', 'LIST ACTIVE NEWSGROUPS COUNTS OVERVIEW.FMT']);
      case 'MODE READER':
        return '201 No posting';
      case 'DATE':
        return '111 20261117120000';
      case 'LIST COUNTS':
        return block('215 Counts', newsgroups.map(([name, , flag = 'n']) => [name, ...[2, 1, 0].map((part) => marks(name)[part]), flag].join(' ')));
      case 'LIST NEWSGROUPS':
        return block('215 Descriptions', newsgroups.map(([name, about]) => `${name}\t${about}`));
      case 'LIST OVERVIEW.FMT':
        return block('215 Order', [...FIELDS.map((name) => `${name}:`), ':bytes', ':lines']);
    }
    if (verb === 'GROUP') {
      if (!shelf.has(words[0])) return '411 No such newsgroup';
      connection.selected = words[0];
      return `211 ${marks(words[0]).join(' ')} ${words[0]}`;
    }
    if (verb === 'OVER') {
      const [low, high] = words[0].split('-').map(Number);
      const rows = shelf.get(connection.selected).map((one, place) => [place + 1, ...one.overview]);
      const wanted = rows.filter(([number]) => number >= low && number <= (high ?? low));
      return wanted.length ? block('224 Overview', wanted.map((row) => row.join('\t'))) : '423 Nothing there';
    }
    if (verb === 'ARTICLE') {
      const found = known(words[0]);
      return found ? block(`220 0 ${words[0]}`, found.text.split('\r\n')) : '430 No such article';
    }
    if (verb === 'STAT') return known(words[0]) ? `223 0 ${words[0]}` : '430 No such article';
    if (verb === 'POST') {
      if (state.refuses) return state.refuses;
      connection.article = [];
      return '340 Send it';
    }
    return verb === 'QUIT' ? '205 Bye' : '500 What?';
  }

  const sockets = new Set();
  const server = createServer((socket) => {
    const connection = {};
    let rest = '';
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    socket.setEncoding('utf8').on('data', (text) => {
      const lines = (rest + text).split('\r\n');
      rest = lines.pop();
      for (const line of lines) {
        if (connection.article) {
          if (line !== '.') {
            connection.article.push(line.startsWith('.') ? line.slice(1) : line);
            continue;
          }
          const one = posted(`${connection.article.join('\r\n')}\r\n`);
          connection.article = null;
          state.posted.push(one);
          if (state.lists && !one.control) add(one);
          socket.write('240 Thanks\r\n');
          continue;
        }
        state.asked.push(line);
        socket.write(`${answer(line, connection)}\r\n`);
      }
    });
    socket.write('201 Welcome\r\n');
  });
  const state = { port: 0, asked: [], add, posted: [], lists: true, refuses: '' };
  state.up = async () => {
    server.listen(state.port, '127.0.0.1');
    await once(server, 'listening');
    state.port = server.address().port;
  };
  state.down = async () => {
    sockets.forEach((socket) => socket.destroy());
    if (server.listening) await new Promise((done) => server.close(done));
  };
  await state.up();
  t.after(() => state.down());
  return state;
}

/** The section `news` of a configuration with this server. */
export function section({ port }, more = '') {
  return `news:\n  nntp_listen: null\n  servers:\n    - { name: news-one, host: 127.0.0.1, port: ${port}, tls: off }\n${more}`;
}
