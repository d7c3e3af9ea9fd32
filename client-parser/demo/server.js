/*
 * The main job in one page: rows go from the database's socket to the HTTP socket as they are, and the browser
 * reads them there. `npm start` runs it.
 *
 *   DATABASE_URL  a server to use; without it a PostgreSQL of its own is started, and removed at the end
 *   PORT          to listen on, 8080 by default, 0 for any free one
 */

import fs from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { Client } from '../../index.mjs';

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

/** Fills a table of this connection's own, so that nothing is left in a database that is not ours. */
async function loadSample(client, progress) {
  await client.query(`CREATE TEMP TABLE users (id uuid, name text, email text, password text, balance numeric,
    active boolean, created timestamptz)`);
  for (let from = 0; from < SAMPLE; from += STEP) {
    await client.query(`INSERT INTO users SELECT md5(i::text)::uuid, 'User ' || i, 'user' || i || '@example.com',
        md5('password' || i), round((i * 7919 % 1000003) / 100.0, 2), i % 3 <> 0,
        timestamptz '2026-01-01 00:00:00+00' + i * interval '1 minute'
      FROM generate_series($1::int, $2::int) AS i`, [from, from + STEP - 1]);
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

/** The protocol's own bytes, from one socket to the other. */
function sendRows(client, limit, response) {
  response.setHeader('content-type', 'application/x-postgresql');
  return client.queryTo(response, ROWS, [limit]);
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

/** The same as most servers do it: rows to objects, objects to JSON. */
function sendJson(client, limit, response) {
  response.setHeader('content-type', 'application/json');
  return pipeline(json(client.cursor(ROWS, [limit], { batchSize: 1000 })), response);
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

async function main() {
  let database;
  if (!process.env.DATABASE_URL) {
    console.log('starting a PostgreSQL server …');
    const { default: { startServer } } = await import('pg-test-fixtures');
    database = await startServer({ external: false, sample: 1000 });
    console.log(`for programs of your own, with a table users: ${database.url}`);
  }
  const config = database ? database.config : process.env.DATABASE_URL;
  const clients = { rows: new Client(config), json: new Client(config) };
  const spent = { rows: 0, json: 0 }; // milliseconds of CPU of the last request of each kind
  let server;

  let stopping = false;
  const stop = async status => {
    if (stopping) return;
    stopping = true;
    if (server) server.closeAllConnections();
    if (server) server.close();
    for (const client of Object.values(clients)) client.destroy();
    if (database) await database.stop();
    process.exit(status);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop(0));

  try {
    let loaded = 0;
    const total = SAMPLE * Object.keys(clients).length;
    for (const client of Object.values(clients)) {
      await client.connect();
      await loadSample(client, rows => {
        loaded += rows;
        const line = `loading ${SAMPLE} sample users: ${Math.round(100 * loaded / total)} %`;
        if (process.stdout.isTTY) process.stdout.write(`\r${line}${loaded === total ? '\n' : ''}`);
        else if (loaded % (total / 4) === 0) console.log(line);
      });
      client.on('error', error => {
        if (!stopping) console.error(`the database is gone: ${error.message}`);
        stop(1);
      });
    }

    server = http.createServer(async (request, response) => {
      if (!URL.canParse(request.url, 'http://localhost')) return answer(response, 400, 'not a URL');
      const url = new URL(request.url, 'http://localhost');
      if (request.method !== 'GET' && request.method !== 'HEAD') return answer(response, 405, 'only GET');
      if (url.pathname === '/spent.json') {
        response.setHeader('content-type', 'application/json');
        return response.end(JSON.stringify(spent));
      }
      const kind = { '/rows': 'rows', '/rows.json': 'json' }[url.pathname];
      if (kind === undefined) return sendFile(url.pathname.slice(1), response);
      const limit = limitOf(url);
      if (limit === undefined) {
        const given = JSON.stringify(url.searchParams.get('limit'));
        return answer(response, 400, `limit must be a whole number from 0 to ${MAX_ROWS}, not ${given}`);
      }
      const before = process.cpuUsage();
      try {
        await (kind === 'rows' ? sendRows : sendJson)(clients[kind], limit, response);
        const { user, system } = process.cpuUsage(before);
        spent[kind] = (user + system) / 1000;
      } catch (error) {
        if (response.destroyed) return; // the reader has gone away
        console.error(`${url.pathname}: ${error.message}`);
        if (!response.headersSent) answer(response, 500, 'the query failed');
        else response.destroy();
      }
    });
    server.on('error', error => {
      const taken = error.code === 'EADDRINUSE';
      console.error(taken ? `port ${error.port} is taken: set PORT to another one` : error.message);
      stop(1);
    });
    server.listen(Number(process.env.PORT ?? 8080), 'localhost', () => {
      console.log(`listening on http://localhost:${server.address().port}/`);
    });
  } catch (error) {
    console.error(error.message);
    stop(1);
  }
}

main();
