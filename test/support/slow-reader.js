'use strict';

// What half a gigabyte costs a server in memory when its reader takes 1 MB/s for a while, then the rest at full speed.
// As a program it watches each way of sending rows for 20 seconds; the tests run it for fewer.
//
//   [GIGABYTES=5] node test/support/slow-reader.js [seconds [way …]]

const { execFile, spawn } = require('node:child_process');
const { once } = require('node:events');
const http = require('node:http');
const { Readable, Transform } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { promisify } = require('node:util');

const GIGABYTES = Number(process.env.GIGABYTES ?? 0.5);

/** Rows of a kilobyte, which the server makes as it goes. */
const ROWS = `SELECT generate_series(1, ${GIGABYTES * 1e6}) AS i, repeat('x', 1000) AS x`;

/**
 * How much a process may grow by, in MB, and its memory be called flat: what so many rows leave for the collector
 * waits until V8's young generation is full, which may have 48 MB, on Node.js 26 more
 * than 64: where memory is used again and again, nothing else makes it collect.
 */
const FLAT = 128;

const READER = `
  const [port, time] = process.argv.slice(-2);
  const socket = require('net').connect(port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n');
  const start = Date.now();
  let length = 0;
  socket.on('data', chunk => {
    length += chunk.length;
    const ahead = length / 1e3 - (Date.now() - start);
    if (Date.now() - start > time || ahead < 0) return;
    socket.pause();
    setTimeout(() => socket.resume(), ahead);
  });
  socket.on('close', () => console.log(length));`;

/** How a handler can answer with the rows. */
const WAYS = {
  queryTo: (client, request, response) => client.queryTo(response, ROWS),
  json: (client, request, response) => client.queryTo(response, ROWS, [], { as: 'json' }),
  respond: (client, request, response) => require('../../lib/http').respond(client, request, response, ROWS),
  copyTo: (client, request, response) => pipeline(client.copyTo(`COPY (${ROWS}) TO STDOUT`), response),
  cursor: (client, request, response) =>
    pipeline(async function* () {
      let text = '';
      for await (const row of client.cursor(ROWS, [], { batchSize: 100 })) {
        text += `${row.i},${row.x}\n`;
        if (text.length < 16384) continue;
        yield text;
        text = '';
      }
      yield text;
    }, response),
  readable: (client, request, response) =>
    pipeline(
      Readable.from(client.cursor(ROWS, [], { batchSize: 100 })),
      new Transform({
        writableObjectMode: true,
        transform(row, encoding, callback) {
          callback(null, `${row.i},${row.x}\n`);
        }
      }),
      response
    )
};

/**
 * Serves the rows to a reader in another process.
 * @param {function(IncomingMessage, ServerResponse): Promise} handler
 * @param {number} seconds to read slowly
 * @returns {Promise<{length: number, slow: number, most: number}>} bytes read, and by how many MB this process grew
 *   while the reader was slow, and at all
 */
async function watch(handler, seconds) {
  let failed;
  const server = http.createServer((request, response) => {
    handler(request, response).catch(error => {
      failed = error;
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const argument = [server.address().port, seconds * 1000];
  const before = process.memoryUsage.rss();
  const start = Date.now();
  let slow = 0;
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, (process.memoryUsage.rss() - before) / 1e6);
    if (Date.now() - start < seconds * 1000) slow = most;
  }, 10);
  try {
    const reader = spawn(process.execPath, ['-e', READER, ...argument], { stdio: ['ignore', 'pipe', 'inherit'] });
    const length = Number(Buffer.concat(await reader.stdout.toArray()));
    if (failed) throw failed;
    return { length, slow, most };
  } finally {
    clearInterval(timer);
    server.close();
  }
}

/**
 * The same in a process of its own, as a server is one: how much that grows does not depend on what else has run.
 * @param {string} url of the database
 * @param {string} way of WAYS
 * @param {number} seconds
 * @returns {Promise<{length: number, slow: number, most: number}>}
 */
async function watchAlone(url, way, seconds) {
  const { stdout } = await promisify(execFile)(process.execPath, [__filename, String(seconds), way], {
    env: { ...process.env, DATABASE_URL: url }
  });
  const [length, slow, , , most] = stdout.match(/[\d.]+/g).map(Number);
  return { length, slow, most };
}

async function main(seconds, ways) {
  const { startServer } = require('pg-test-fixtures');
  const { Client } = require('../..');
  const server = await startServer();
  const client = new Client(server.config);
  try {
    await client.connect();
    for (const way of ways) {
      const { length, slow, most } = await watch((...args) => WAYS[way](client, ...args), seconds);
      console.log(
        `${way}: ${length} bytes read; memory grew by ${slow.toFixed(1)} MB in ${seconds} s at 1 MB/s, ` +
          `by ${most.toFixed(1)} MB at all`
      );
    }
  } finally {
    await client.end();
    await server.stop();
  }
}

module.exports = { FLAT, ROWS, GIGABYTES, watchAlone };

if (require.main === module) {
  const [seconds = 20, ...ways] = process.argv.slice(2);
  main(Number(seconds), ways.length > 0 ? ways : Object.keys(WAYS)).catch(error => {
    console.error(error);
    process.exitCode = 1;
  });
}
