'use strict';

// How much time and memory very many pending queries take; bounds.slow.test.js runs it in a process of its own:
//   node test/whole/pending.js [queries=1000000] [where=wire]
// `wire`: sent and not answered; `client`: waiting for the connection to be free. Prints JSON.

const { startServer } = require('pg-test-fixtures');
const { Client } = require('../..');
const { gc } = require('../support/gc');

/** Bytes in use, without what could be collected. */
function memory() {
  gc();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return { heap: heapUsed, buffers: arrayBuffers };
}

/**
 * @param {object} config of a server
 * @param {number} queries
 * @param {'wire'|'client'} where
 * @returns {Promise<{queries: number, where: string, issued: number, all: number, cpu: number, heap: number,
 *   buffers: number}>} milliseconds until all were issued and answered, and of the processor; bytes a query
 */
async function pending(config, queries, where) {
  const client = new Client(config);
  await client.connect();
  await client.query('SELECT $1::int AS i', [0]);
  // The server answers nothing before this is over.
  const locked = where === 'client' ? { signal: new AbortController().signal } : undefined;
  const gate = client.query('SELECT pg_sleep($1)', [Math.max(1, queries / 200000)], locked);
  const promises = new Array(queries);
  const before = memory();
  const cpu = process.cpuUsage();
  const begun = performance.now();
  for (let i = 0; i < queries; i++) promises[i] = client.query('SELECT $1::int AS i', [i]);
  const issued = performance.now() - begun;
  const during = memory();
  const waiting = client.pending;
  await gate;
  const answered = performance.now();
  for (let i = 0; i < queries; i++) {
    const { rows } = await promises[i];
    promises[i] = undefined;
    if (rows[0].i !== i) throw new Error(`query ${i} has answered ${rows[0].i}`);
  }
  const { user, system } = process.cpuUsage(cpu);
  const all = issued + performance.now() - answered;
  const after = memory();
  await client.end();
  const each = name => Math.round((during[name] - before[name]) / queries);
  return {
    queries,
    where,
    waiting,
    issued: Math.round(issued),
    all: Math.round(all),
    cpu: Math.round((user + system) / 1000),
    heap: each('heap'),
    buffers: each('buffers'),
    left: after.heap + after.buffers - before.heap - before.buffers
  };
}

async function main([queries = 1000000, where = 'wire', config]) {
  const server = config ? undefined : await startServer({ external: false });
  console.log(JSON.stringify(await pending(config ? JSON.parse(config) : server.config, Number(queries), where)));
  if (server) await server.stop();
}

main(process.argv.slice(2));
