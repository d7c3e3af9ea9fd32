'use strict';

// What the tests of live results share: a table, a server of HTTP, and readers of the protocol and of the page's part.

const { once } = require('node:events');
const http = require('node:http');
const zlib = require('node:zlib');
const { Live } = require('../../lib/live');
const { Pool } = require('../../lib/pool');
const { sharedServer } = require('../support');
const { afterTest } = require('../support/hooks');

const TYPE = 'application/x-postgresql-live';
const ALL = 'SELECT id, name FROM todos ORDER BY id';

/** Waits until a condition holds. */
async function until(condition) {
  while (!(await condition())) await new Promise(resolve => setTimeout(resolve, 5));
}

/** A table of three rows, and a server that answers with its rows, whose handler may be given; all gone after the test. */
async function serving({ handler, server = http.createServer(), config, ...options } = {}) {
  const database = await sharedServer();
  await database.sql(
    "DROP TABLE IF EXISTS todos; CREATE TABLE todos (id int, name text); INSERT INTO todos VALUES (1, 'a'), (2, 'b'), (3, 'c')"
  );
  const pool = new Pool({ ...database.config, ...config }, { size: 4 });
  const live = new Live(pool, { interval: 10, ...options });
  const errors = [];
  const answers = [];
  live.on('error', (...error) => errors.push(error));
  const usual = (request, response) => live.respond(request, response, ALL, [], { tags: ['todos'] });
  server.on('request', async (request, response) => {
    const answer = (handler ?? usual)(request, response, live);
    answers.push(answer);
    try {
      await answer;
    } catch (error) {
      errors.push([error]);
      if (!response.headersSent) response.writeHead(error.status ?? 500).end(error.message);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterTest(async () => {
    server.close();
    server.closeAllConnections?.();
    await live.end();
    await pool.end();
  });
  const { port } = server.address();
  /** Runs SQL, then says that todos have changed. */
  const change = async (text, tag = 'todos') => {
    await database.sql(text);
    live.changed(tag);
  };
  return { database, pool, live, errors, answers, port, url: `http://127.0.0.1:${port}/`, change, server };
}

/** Cuts bytes into messages, as short texts. */
function messagesIn(bytes) {
  const list = [];
  let off = 0;
  for (let end; off + 5 <= bytes.length && (end = off + 1 + bytes.readUInt32BE(off + 1)) <= bytes.length; off = end) {
    const type = String.fromCharCode(bytes[off]);
    const values = [];
    if (type === 'D') {
      for (let at = off + 7, length; at < end; at += 4 + length) {
        length = Math.max(0, bytes.readInt32BE(at));
        values.push(bytes.toString('utf8', at + 4, at + 4 + length));
      }
    }
    if (type === 'A') values.push(bytes.toString('utf8', off + 9, end - 1).replace('\0', ' '));
    list.push([type, ...values].join(' '));
  }
  return { list, rest: bytes.subarray(off) };
}

/** A reader of the protocol. `next()` gives the messages up to the end of a state, and waits for that; `leave()` goes. */
async function reading(port, headers = {}, path = '/') {
  const request = http.get({ port, host: '127.0.0.1', path, agent: false, headers: { accept: TYPE, ...headers } });
  request.on('error', () => {});
  const [response] = await once(request, 'response');
  let bytes = 0;
  response.on('data', ({ length }) => {
    bytes += length;
  });
  const stream = response.headers['content-encoding'] === 'gzip' ? response.pipe(zlib.createGunzip()) : response;
  let rest = Buffer.alloc(0);
  const messages = [];
  let wake = () => {};
  const reader = {
    response,
    request,
    over: undefined,
    get bytes() {
      return bytes;
    },
    leave: () => request.destroy()
  };
  stream.on('data', chunk => {
    const found = messagesIn(Buffer.concat([rest, chunk]));
    rest = found.rest;
    messages.push(...found.list);
    wake();
  });
  reader.ended = new Promise(resolve => {
    stream
      .once('end', () => resolve('end'))
      .once('error', () => resolve('error'))
      .once('close', () => resolve('close'));
    response.once('error', () => resolve('error'));
  });
  reader.next = async (last = 's') => {
    while (!messages.includes(last))
      await new Promise(resolve => {
        wake = resolve;
      });
    return messages.splice(0, messages.indexOf(last) + 1);
  };
  afterTest(() => reader.leave());
  return reader;
}

module.exports = { ALL, TYPE, messagesIn, reading, serving, until };
