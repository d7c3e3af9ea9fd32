'use strict';

// Pools side by side, by the fixtures' latency proxy:
//
//     node pools.js                 transactions a second and CPU of each, on ten connections
//     node pools.js fairness        SELECT 1 on twenty connections, alone and beside 100 transactions and ten slow
//                                   readers; `apart`: by one connection in another process than these
//
// at 0, 1 and 10 ms of latency (a round trip). A transaction reads a row and changes it; 100 are wanted at a time. Each
// measurement has a process of its own; the clients have their turns, three times, of which the medians are printed.

const { execFile, spawn } = require('node:child_process');
const path = require('node:path');
const { Writable } = require('node:stream');
const { setTimeout: sleep } = require('node:timers/promises');
const { promisify } = require('node:util');
const { startProxy, startServer } = require('pg-test-fixtures');

const SIZE = 10;
const WANTED = 100;
const SECONDS = Number(process.env.BENCH_SECONDS ?? 3);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const READ = 'SELECT n FROM counters WHERE id = $1';
const CHANGE = 'UPDATE counters SET n = n + 1 WHERE id = $1';

/** 10 MB, which a slow reader takes piece by piece, with pauses of so many milliseconds. */
const LARGE = "SELECT repeat('x', 1000) FROM generate_series(1, 10000)";
const PAUSE = 50;

const median = values => values.sort((a, b) => a - b)[values.length >> 1];

/**
 * Each gives `transaction(id, between)`, which runs one on a row and waits for `between()` in its middle; and for
 * fairness `one()`, a SELECT 1, and `slow()`, a slow reader.
 */
const CLIENTS = {
  quickgres(config, size) {
    const { Pool } = require('../lib/pool');
    const pool = new Pool(config, { size });
    const write = (chunk, encoding, callback) => {
      setTimeout(callback, PAUSE);
    };
    return {
      one: () => pool.query('SELECT 1'),
      slow: () => pool.queryTo(new Writable({ write }), LARGE),
      transaction: (id, between) =>
        pool.transaction(async tx => {
          await tx.query(READ, [id]);
          await between();
          await tx.query(CHANGE, [id]);
        })
    };
  },
  pg(config, size) {
    const pool = new (require('pg').Pool)({ ...config, max: size });
    const QueryStream = require('pg-query-stream');
    const held = async work => {
      const client = await pool.connect();
      try {
        await work(client);
      } finally {
        client.release();
      }
    };
    return {
      one: () => pool.query('SELECT 1'),
      slow: () =>
        held(async client => {
          let count = 0;
          for await (const row of client.query(new QueryStream(LARGE))) if (++count % 64 === 0) await sleep(PAUSE, row);
        }),
      transaction: (id, between) =>
        held(async client => {
          await client.query('BEGIN');
          await client.query({ name: 'read', text: READ, values: [id] });
          await between();
          await client.query({ name: 'change', text: CHANGE, values: [id] });
          await client.query('COMMIT');
        })
    };
  },
  postgres(config, size) {
    const sql = require('postgres')({ ...config, max: size });
    return {
      one: () => sql`SELECT 1`,
      slow: () => sql.unsafe(LARGE).cursor(64, () => sleep(PAUSE)),
      transaction: (id, between) =>
        sql.begin(async tx => {
          await tx`SELECT n FROM counters WHERE id = ${id}`;
          await between();
          await tx`UPDATE counters SET n = n + 1 WHERE id = ${id}`;
        })
    };
  },
  bun({ host, port, user, database }, size) {
    const { SQL } = require('bun');
    const sql = new SQL({ adapter: 'postgres', hostname: host, port, username: user, database, max: size });
    return {
      transaction: id =>
        sql.begin(async tx => {
          await tx.unsafe(READ, [id]);
          await tx.unsafe(CHANGE, [id]);
        })
    };
  }
};

/** In the process of one client: prints transactions a second, and CPU of each in microseconds. */
async function measure(name, config) {
  const { transaction } = CLIENTS[name](config, SIZE);
  const between = async () => {};
  let count = 0;
  let until = performance.now() + 1000; // warm
  const worker = async (_, id) => {
    while (performance.now() < until) await transaction(id + 1, between).then(() => count++);
  };
  await Promise.all(Array.from({ length: WANTED }, worker));
  count = 0;
  const start = performance.now();
  until = start + SECONDS * 1000;
  const before = process.cpuUsage();
  await Promise.all(Array.from({ length: WANTED }, worker));
  const { user, system } = process.cpuUsage(before);
  console.log(JSON.stringify({ rate: (count / (performance.now() - start)) * 1000, cpu: (user + system) / count }));
  process.exit();
}

/** Transactions and slow readers, for as long as the process lives. */
function load({ transaction, slow }) {
  for (let id = 1; id <= WANTED; id++) {
    const go = async () => {
      for (;;) await transaction(id, () => sleep(20));
    };
    go();
  }
  for (let i = 0; i < 10; i++) {
    const go = async () => {
      for (;;) await slow();
    };
    go();
  }
}

/** How long SELECT 1 takes, one after the other: the median and the 99th percentile, in milliseconds. */
async function times(one) {
  const found = [];
  for (const start = performance.now(); performance.now() - start < SECONDS * 1000;) {
    const asked = performance.now();
    await one();
    found.push(performance.now() - asked);
    await sleep(1);
  }
  found.sort((a, b) => a - b);
  return [0.5, 0.99].map(part => found[Math.floor(found.length * part)]);
}

/** In a process of its own: prints the times alone and beside the load; with `apart` that is in yet another process. */
async function share(name, config) {
  const isApart = name === 'apart';
  const client = CLIENTS[isApart ? 'quickgres' : name](config, isApart ? 1 : 2 * SIZE);
  await times(client.one);
  const alone = await times(client.one);
  const other = isApart && spawn(process.execPath, [__filename, 'load', JSON.stringify(config)], { stdio: 'inherit' });
  if (!isApart) load(client);
  await sleep(1000);
  console.log(JSON.stringify({ alone, beside: await times(client.one) }));
  if (isApart) other.kill();
  process.exit();
}

/**
 * Has each client measured in a process of its own, at each latency, in turn.
 * @param {Server} server
 * @param {string[]} names
 * @param {string} [what] 'fairness'
 * @param {function(number, string, object[])} show is given latency, name and what the rounds have found
 */
async function compare(server, names, what, show) {
  const node = process.execPath;
  const bun = path.join(__dirname, 'node_modules/.bin/bun');
  for (const latency of [0, 1, 10]) {
    const proxy = await startProxy({ target: server, delay: latency / 2 });
    const { port } = latency === 0 ? server : proxy;
    const found = Object.fromEntries(names.map(name => [name, []]));
    for (let round = 0; round < ROUNDS; round++) {
      for (const name of names) {
        const args = [__filename, name, JSON.stringify({ ...server.config, host: '127.0.0.1', port }), what ?? ''];
        const { stdout } = await promisify(execFile)(name === 'bun' ? bun : node, args);
        found[name].push(JSON.parse(stdout));
      }
    }
    for (const name of names) show(latency, name, found[name]);
    await proxy.stop();
  }
}

function showRates(latency, name, found) {
  const [rate, cpu] = ['rate', 'cpu'].map(what => Math.round(median(found.map(each => each[what]))));
  const first = `${latency} ms  ${name.padEnd(10)} ${String(rate).padStart(6)}`;
  console.log(`${first} transactions a second, ${cpu} µs of CPU each`);
}

function showTimes(latency, name, found) {
  const text = what => [0, 1].map(i => median(found.map(each => each[what][i])).toFixed(2)).join(' and ');
  const ratio = median(found.map(({ alone, beside }) => beside[1] / alone[1])).toFixed(1);
  const each = `alone ${text('alone')} ms, beside ${text('beside')} ms: ${ratio} ×`;
  console.log(`${latency} ms  ${name.padEnd(10)} median and 99 % ${each}`);
}

async function main([name, config, what]) {
  if (name === 'load') return load(CLIENTS.quickgres(JSON.parse(config), 2 * SIZE));
  if (config !== undefined) return (what === 'fairness' ? share : measure)(name, JSON.parse(config));
  const server = await startServer({ external: false, settings: { synchronous_commit: false } });
  await server.sql('CREATE UNLOGGED TABLE counters (id int PRIMARY KEY, n int)');
  await server.sql(`INSERT INTO counters SELECT i, 0 FROM generate_series(1, ${WANTED}) i`);
  if (name === 'fairness') await compare(server, ['quickgres', 'pg', 'postgres', 'apart'], name, showTimes);
  else await compare(server, Object.keys(CLIENTS), undefined, showRates);
  await server.stop();
}

main(process.argv.slice(2));
