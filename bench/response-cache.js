'use strict';

// What an answer from memory costs beside one from the database:
//
//     node response-cache.js [seconds]        Markdown tables; 2 seconds a line by default
//
// CPU and latency of one HTTP response after the other, written into a target that drops it; and requests per
// second of an HTTP server and its CPU, with 50 connections to it from another process, on a link to the database
// with a round trip of 20 ms.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const http = require('node:http');
const { Writable } = require('node:stream');
const { startProxy, startServer } = require('pg-test-fixtures');
const { Client } = require('..');
const { ResponseCache } = require('../lib/cache');
const { respond } = require('../lib/http');

const SECONDS = Number(process.argv[2] ?? 2);
const DELAY = 10; // milliseconds one way
const CONNECTIONS = 50;
const TEXTS = [
  ['1 row', 'SELECT id, name, email FROM users LIMIT 1'],
  ['100 rows', 'SELECT id, name, email FROM users LIMIT 100'],
  ['1,000 rows', 'SELECT id, name, email FROM users LIMIT 1000']
];

/** A response of HTTP without a socket, so that only our part is measured. */
function response() {
  const target = new http.ServerResponse({ method: 'GET', httpVersionMajor: 1, httpVersionMinor: 1 });
  const drop = { write: (chunk, encoding, callback) => callback(), writev: (chunks, callback) => callback() };
  target.assignSocket(new Writable(drop));
  return target;
}

const median = list => list.sort((a, b) => a - b)[list.length >> 1];

/** @returns {Promise<{cpu: number, latency: number}>} microseconds a response, of a client or a cache */
async function cost(asked, text) {
  const times = [];
  for (let i = 0; i < 200; i++) await asked.queryTo(response(), text);
  const start = performance.now();
  const before = process.cpuUsage();
  while (performance.now() - start < SECONDS * 1000) {
    const from = performance.now();
    await asked.queryTo(response(), text);
    times.push((performance.now() - from) * 1000);
  }
  const { user, system } = process.cpuUsage(before);
  return { cpu: (user + system) / times.length, latency: median(times) };
}

/** Asks again and again over so many connections; prints how many answers came, and the median of their times. */
const ASKING = `
  const http = require('http');
  const [port, connections, seconds] = process.argv.slice(1).map(Number);
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections });
  const times = [];
  const end = performance.now() + seconds * 1000;
  function ask() {
    const from = performance.now();
    if (from > end) return;
    http.get({ port, host: '127.0.0.1', agent }, answer => answer.resume().on('end', () => {
      times.push(performance.now() - from);
      ask();
    }));
  }
  for (let i = 0; i < connections; i++) ask();
  process.on('exit', () => console.log(JSON.stringify([times.length, times.sort((a, b) => a - b)[times.length >> 1]])));
  setTimeout(() => process.exit(), seconds * 1000 + 200);`;

/** @returns {Promise<{rate: number, latency: number, cpu: number}>} requests a second, milliseconds and µs of each */
async function load(asked, text) {
  const server = http.createServer((request, answer) =>
    respond(asked, request, answer, text).catch(error => {
      if (error.name !== 'AbortError') throw error; // the HTTP clients leave when their time is over
    })
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const before = process.cpuUsage();
  const child = spawn(process.execPath, ['-e', ASKING, server.address().port, CONNECTIONS, SECONDS], {
    stdio: ['ignore', 'pipe', 'inherit']
  });
  const [count, latency] = JSON.parse(Buffer.concat(await child.stdout.toArray()));
  const { user, system } = process.cpuUsage(before);
  server.closeAllConnections();
  server.close();
  return { rate: count / SECONDS, latency, cpu: (user + system) / count };
}

(async () => {
  const server = await startServer({ sample: 1000 });
  const proxy = await startProxy({ target: server, delay: DELAY });
  const clients = [];
  const open = async config => {
    const client = new Client({ ...server.config, ...config });
    clients.push(client);
    await client.connect();
    return client;
  };
  const near = { host: server.socketDirectory };
  const far = { host: proxy.host, port: proxy.port };

  console.log('One response after the other, database on the same machine (Unix socket), µs a response\n');
  console.log('| | miss: CPU | latency | hit: CPU | latency |\n|---|---|---|---|---|');
  for (const [name, text] of TEXTS) {
    const miss = await cost(await open(near), text);
    const hit = await cost(new ResponseCache(await open(near)), text);
    const cells = [miss.cpu, miss.latency, hit.cpu, hit.latency].map(micros => micros.toFixed(1));
    console.log(`| ${name} | ${cells.join(' | ')} |`);
  }

  console.log(`\nHTTP, ${CONNECTIONS} connections, database ${2 * DELAY} ms away; CPU of the server in µs a request\n`);
  console.log('| | without: requests/s | ms | CPU | with: requests/s | ms | CPU |\n|---|---|---|---|---|---|---|');
  for (const [name, text] of TEXTS) {
    const without = await load(await open(far), text);
    const cached = await load(new ResponseCache(await open(far)), text);
    const cells = [without, cached].map(({ rate, latency, cpu }) => {
      return `${rate.toFixed(0)} | ${latency.toFixed(1)} | ${cpu.toFixed(0)}`;
    });
    console.log(`| ${name} | ${cells.join(' | ')} |`);
  }
  await Promise.all(clients.map(client => client.end()));
  await proxy.stop();
  await server.stop();
})();
