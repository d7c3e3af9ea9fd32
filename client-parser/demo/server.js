/*
 * The same rows for a page in several formats. As protocol bytes they go from the database's socket to the HTTP socket
 * untouched, and the browser reads them. `npm start` runs it.
 *
 *   DATABASE_URL  a server to use; without it a PostgreSQL of its own is started, and removed at the end
 *   PORT          to listen on, 0 for any free port; by default 8080, or a free port if that is taken
 *   TLS_CERT      with TLS_KEY, files of a certificate and its key: HTTP/2, so that more than six windows can be live
 */

import { once } from 'node:events';
import fs from 'node:fs/promises';
import http from 'node:http';
import http2 from 'node:http2';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { Client } from '../../index.mjs';
import { respond } from '../../lib/http/index.js';
import { Live } from '../../lib/live/index.js';

const SAMPLE = 100000;
const STEP = 5000;
const HERE = path.dirname(fileURLToPath(import.meta.url));
const MAX_ROWS = 1000000;
const DEFAULT_ROWS = 10000;
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };

// LATERAL keeps the copies of the sample one after the other.
const ROWS = `
  SELECT u.id, u.name, u.email, u.password, u.balance, u.active, u.created
  FROM generate_series(0, ($1::int - 1) / ${SAMPLE}) AS copy, LATERAL (SELECT * FROM users OFFSET copy * 0) AS u
  LIMIT $1::int`;

const VOTES = 'SELECT id, name, votes FROM votes ORDER BY votes DESC, id';

/** How rows get to the page, by path: what to write them to the response with. */
const WAYS = {
  '/rows': { kind: 'rows', send: respondAs('protocol', ROWS) },
  '/rows.ndjson': { kind: 'ndjson', send: respondAs('ndjson', ROWS) },
  '/rows.json': { kind: 'json', send: sendJson },
  '/rows-agg.json': { kind: 'agg', send: respondAs('values', `SELECT COALESCE(json_agg(r), '[]') FROM (${ROWS}) AS r`) }
};

/** Fills a table of this connection's own, so that nothing is left in a database that is not ours. */
async function loadSample(client, progress) {
  await client.query(`CREATE TEMP TABLE users (id uuid, name text, email text, password text, balance numeric,
    active boolean, created timestamptz)`);
  await client.query(`CREATE TEMP TABLE votes AS SELECT i::int AS id, name, 0 AS votes
    FROM unnest(ARRAY['Ada', 'Edsger', 'Grace', 'Ken', 'Margaret', 'Niklaus']) WITH ORDINALITY AS given(name, i)`);
  for (let from = 0; from < SAMPLE; from += STEP) {
    await client.query(
      `INSERT INTO users SELECT md5(i::text)::uuid, 'User ' || i, 'user' || i || '@example.com',
        md5('password' || i), round((i * 7919 % 1000003) / 100.0, 2), i % 3 <> 0,
        timestamptz '2026-01-01 00:00:00+00' + i * interval '1 minute'
      FROM generate_series($1::int, $2::int) AS i`,
      [from, from + STEP - 1]
    );
    progress(STEP);
  }
}

/** The number of rows a request asks for, or undefined where it is none. */
function limitOf(url) {
  const text = url.searchParams.get('limit');
  if (text === null) return DEFAULT_ROWS;
  return /^\d{1,7}$/.test(text) && Number(text) <= MAX_ROWS ? Number(text) : undefined;
}

function answer(response, status, text) {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' });
  response.end(`${text}\n`);
}

/** By the library, in one of its forms; not compressed, so that the ways can be compared. */
function respondAs(as, text) {
  return (client, limit, request, response) =>
    respond(client, request, response, text, [limit], { as, compress: false });
}

/** The rows as JSON text, some at a time. */
async function* json(rows) {
  let text = '[';
  for await (const row of rows) {
    text += JSON.stringify(row);
    if (text.length > 65536) {
      yield text;
      text = '';
    }
    text += ',';
  }
  yield text === '[' ? '[]' : `${text.slice(0, -1)}]`;
}

/** As most servers do it: rows to objects, objects to JSON. */
async function sendJson(client, limit, request, response) {
  const pieces = json(client.cursor(ROWS, [limit], { batchSize: 1000, decode: true }));
  const { value } = await pieces.next(); // a query that fails leaves the response as it is
  response.setHeader('content-type', 'application/json');
  response.write(value);
  await pipeline(pieces, response);
}

/** The page, its script and the parser; nothing else of the disk. */
async function sendFile(name, response) {
  const folder = name.startsWith('client-parser/') ? path.join(HERE, '..') : HERE;
  const file = path.basename(name) || 'index.html';
  const type = TYPES[path.extname(file)];
  const known = type !== undefined && file !== 'server.js' && /^(?:client-parser\/)?[\w-]*(?:\.\w+)?$/.test(name);
  if (!known) return answer(response, 404, 'not found');
  try {
    const content = await fs.readFile(path.join(folder, file));
    response.writeHead(200, { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-cache' });
    response.end(content);
  } catch {
    answer(response, 404, 'not found');
  }
}

/**
 * One connection with the sample in it, which is made anew when it has been lost.
 * @returns {function(): Promise<Client>} rejects if the database cannot be reached
 */
function connection(config) {
  let current;
  const open = async () => {
    const client = new Client(await config);
    await client.connect();
    client.closed.then(() => {
      current = undefined;
    });
    await client.query("SET TimeZone = 'UTC'");
    let loaded = 0;
    await loadSample(client, rows => {
      loaded += rows;
      const line = `loading ${SAMPLE} sample users for the page: ${Math.round((100 * loaded) / SAMPLE)} %`;
      if (process.stdout.isTTY) process.stdout.write(`\r${line}${loaded === SAMPLE ? '\n' : ''}`);
      else if (loaded % (SAMPLE / 4) === 0) console.log(line);
    });
    return client;
  };
  return () =>
    (current ??= open().catch(error => {
      current = undefined;
      throw error;
    }));
}

/** The votes stay up to date in all windows; a POST is a vote. */
function voting(connect) {
  const lives = new WeakMap(); // by client, which alone sees its temporary table
  return async (request, response, id) => {
    try {
      const client = await connect();
      if (!lives.has(client)) lives.set(client, new Live(client));
      const live = lives.get(client);
      if (request.method !== 'POST') return await live.respond(request, response, VOTES, [], { tags: ['votes'] });
      await client.query('UPDATE votes SET votes = votes + 1 WHERE id = $1', [id]);
      live.changed('votes');
      return response.end();
    } catch (error) {
      console.error(`/votes: ${error.message}`);
      return response.headersSent ? response.destroy() : answer(response, 503, 'the database did not answer');
    }
  };
}

/** @returns {function} a handler of requests */
function handlerOf(connect) {
  const spent = {}; // milliseconds of CPU of the last request, by kind
  const vote = voting(connect);
  return async (request, response) => {
    if (!URL.canParse(request.url, 'http://localhost')) return answer(response, 400, 'not a URL');
    const url = new URL(request.url, 'http://localhost');
    const [, isVote, id] = /^\/(votes)(?:\/(\d{1,3}))?$/.exec(url.pathname) ?? [];
    if (isVote) return vote(request, response, id ?? 0);
    if (request.method !== 'GET' && request.method !== 'HEAD') return answer(response, 405, 'only GET');
    if (url.pathname === '/spent.json') {
      response.setHeader('content-type', 'application/json');
      return response.end(JSON.stringify(spent));
    }
    if (!Object.hasOwn(WAYS, url.pathname)) return sendFile(url.pathname.slice(1), response);
    const { kind, send } = WAYS[url.pathname];
    const limit = limitOf(url);
    if (limit === undefined) {
      const given = JSON.stringify(url.searchParams.get('limit'));
      return answer(response, 400, `limit must be a whole number from 0 to ${MAX_ROWS}, not ${given}`);
    }
    try {
      const client = await connect();
      const before = process.cpuUsage();
      await send(client, limit, request, response);
      const { user, system } = process.cpuUsage(before);
      spent[kind] = (user + system) / 1000;
    } catch (error) {
      if (response.destroyed) return; // the reader has gone away
      console.error(`${url.pathname}: ${error.message}`);
      if (!response.headersSent) answer(response, 503, `the database did not answer: ${error.message}`);
      else response.destroy();
    }
  };
}

/** Listens on the port, or on a free one if nobody has chosen it and it is taken. */
async function listen(server, port) {
  server.listen(Number(port || 8080), 'localhost');
  try {
    await once(server, 'listening');
  } catch (error) {
    if (error.code !== 'EADDRINUSE') throw error;
    if (process.env.PORT) throw new Error(`port ${port} is taken: set PORT to another one`, { cause: error });
    console.log('port 8080 is taken: another one is used');
    return listen(server, '0');
  }
  console.log(`listening on ${process.env.TLS_CERT ? 'https' : 'http'}://localhost:${server.address().port}/`);
}

/** Starts a database, unless one is given. */
async function start() {
  if (process.env.DATABASE_URL) return { config: process.env.DATABASE_URL };
  console.log('starting a PostgreSQL server …');
  const {
    default: { startServer }
  } = await import('pg-test-fixtures');
  const database = await startServer({ external: false, sample: 1000 });
  console.log(`for programs of your own, with a table users: ${database.url}`);
  return database;
}

async function main() {
  let started;
  const connect = connection(
    new Promise(resolve => {
      started = resolve;
    })
  );
  const { TLS_CERT: cert, TLS_KEY: key } = process.env;
  const tls = cert && { cert: await fs.readFile(cert), key: await fs.readFile(key), allowHTTP1: true };
  const server = tls ? http2.createSecureServer(tls, handlerOf(connect)) : http.createServer(handlerOf(connect));
  let database;
  let stopping = false;
  const stop = async status => {
    if (stopping) return;
    stopping = true;
    server.closeAllConnections?.();
    server.close();
    await database?.stop?.();
    process.exit(status);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop(0));

  try {
    await listen(server, process.env.PORT);
    database = await start();
    started(database.config);
    await connect();
    console.log('ready');
  } catch (error) {
    console.error(error.message);
    stop(1);
  }
}

main();
