'use strict';

// What a slow reader costs the others on its connection, and that a connection for slow readers is the remedy.
//
//   node test/support/head-of-line.js

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const http = require('node:http');
const { setTimeout: sleep } = require('node:timers/promises');
const { startServer } = require('pg-test-fixtures');
const { Client } = require('../..');

const SMALL = 'SELECT * FROM users ORDER BY email LIMIT 10';
const LARGE = "SELECT generate_series(1, 100000) AS i, repeat('x', 1000) AS x";
const SECONDS = 4;

/** Reads 100 MB at 10 MB/s. */
const READER = `
  const socket = require('net').connect(process.argv[1], '127.0.0.1');
  socket.write('GET /large HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n');
  const start = Date.now();
  let length = 0;
  socket.on('data', chunk => {
    length += chunk.length;
    const ahead = length / 1e4 - (Date.now() - start);
    if (ahead < 0) return;
    socket.pause();
    setTimeout(() => socket.resume(), ahead);
  });`;

/** Milliseconds that small requests take, one after another. */
async function measure(port) {
  const agent = new http.Agent({ keepAlive: true });
  const times = [];
  for (const end = performance.now() + SECONDS * 1000; performance.now() < end;) {
    const start = performance.now();
    const [response] = await once(http.get({ port, host: '127.0.0.1', path: '/small', agent }), 'response');
    await once(response.resume(), 'end');
    times.push(performance.now() - start);
  }
  agent.destroy();
  return times.sort((a, b) => a - b);
}

async function main() {
  const server = await startServer({ sample: 1000 });
  for (const [what, slow, own] of [
    ['nobody reads slowly', false, false],
    ['a slow reader on the same connection', true, false],
    ['a slow reader on a connection of its own', true, true]
  ]) {
    const clients = [new Client(server.config), new Client(server.config)];
    await Promise.all(clients.map(client => client.connect()));
    const web = http
      .createServer((request, response) => {
        const large = request.url === '/large';
        clients[large && own ? 1 : 0].queryTo(response, large ? LARGE : SMALL).catch(() => {});
      })
      .listen(0, '127.0.0.1');
    await once(web, 'listening');
    const { port } = web.address();
    const reader = slow ? spawn(process.execPath, ['-e', READER, port], { stdio: 'ignore' }) : undefined;
    if (slow) await sleep(1000);
    const times = await measure(port);
    const at = part => `${times[Math.floor((times.length - 1) * part)].toFixed(1)} ms`;
    console.log(`${what}: ${times.length} small requests; median ${at(0.5)}, 99 % ${at(0.99)}, longest ${at(1)}`);
    if (reader) reader.kill();
    web.closeAllConnections();
    web.close();
    for (const client of clients) client.destroy();
  }
  await server.stop();
}

main().catch(error => {
  console.error(error);
  process.exitCode = 1;
});
