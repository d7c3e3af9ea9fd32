'use strict';

// Pools of ten connections side by side, by the fixtures' latency proxy:
//
//     node pools.js                 transactions a second and CPU of each, at 0, 1 and 10 ms of latency (a round trip)
//     node pools.js fairness        SELECT 1 alone, and beside 100 transactions and ten slow readers, with this pool
//
// A transaction reads a row and changes it; 100 are wanted at a time. Each measurement has a process of its own; the
// clients have their turns, three times, of which the medians are printed.

const { execFile } = require('node:child_process');
const path = require('node:path');
const { Writable } = require('node:stream');
const { setTimeout: sleep } = require('node:timers/promises');
const { promisify } = require('node:util');
const { startProxy, startServer } = require('pg-test-fixtures');

const SIZE = 10;
const WANTED = 100;
const SECONDS = 3;
const ROUNDS = 3;
const READ = 'SELECT n FROM counters WHERE id = $1';
const CHANGE = 'UPDATE counters SET n = n + 1 WHERE id = $1';

const median = values => values.sort((a, b) => a - b)[values.length >> 1];

/** Each gives what runs one transaction on a row. */
const CLIENTS = {
  quickgres(config) {
    const { Pool } = require('../lib/pool');
    const pool = new Pool(config, { size: SIZE });
    return id => pool.transaction(async tx => {
      await tx.query(READ, [id]);
      await tx.query(CHANGE, [id]);
    });
  },
  pg(config) {
    const pool = new (require('pg').Pool)({ ...config, max: SIZE });
    return async id => {
      const client = await pool.connect();
      try {
        await client.query('BEGIN');
        await client.query({ name: 'read', text: READ, values: [id] });
        await client.query({ name: 'change', text: CHANGE, values: [id] });
        await client.query('COMMIT');
      } finally {
        client.release();
      }
    };
  },
  postgres(config) {
    const sql = require('postgres')({ ...config, max: SIZE });
    return id => sql.begin(async tx => {
      await tx`SELECT n FROM counters WHERE id = ${id}`;
      await tx`UPDATE counters SET n = n + 1 WHERE id = ${id}`;
    });
  },
  bun({ host, port, user, database }) {
    const sql = new (require('bun').SQL)({ adapter: 'postgres', hostname: host, port, username: user, database, max: SIZE });
    return id => sql.begin(async tx => {
      await tx.unsafe(READ, [id]);
      await tx.unsafe(CHANGE, [id]);
    });
  }
};

/** In the process of one client: prints transactions a second, and CPU of each in microseconds. */
async function measure(name, config) {
  const run = CLIENTS[name](config);
  let count = 0;
  let until = performance.now() + 1000; // warm
  const worker = async (_, id) => { while (performance.now() < until) await run(id + 1).then(() => count++); };
  await Promise.all(Array.from({ length: WANTED }, worker));
  count = 0;
  const start = performance.now();
  until = start + SECONDS * 1000;
  const before = process.cpuUsage();
  await Promise.all(Array.from({ length: WANTED }, worker));
  const { user, system } = process.cpuUsage(before);
  console.log(JSON.stringify({ rate: count / (performance.now() - start) * 1000, cpu: (user + system) / count }));
  process.exit();
}

async function compare(server) {
  const node = process.execPath;
  const bun = path.join(__dirname, 'node_modules/.bin/bun');
  for (const latency of [0, 1, 10]) {
    const proxy = await startProxy({ target: server, delay: latency / 2 });
    const { port } = latency === 0 ? server : proxy;
    const found = Object.fromEntries(Object.keys(CLIENTS).map(name => [name, []]));
    for (let round = 0; round < ROUNDS; round++) {
      for (const name in CLIENTS) {
        const args = [__filename, name, JSON.stringify({ ...server.config, host: '127.0.0.1', port })];
        const { stdout } = await promisify(execFile)(name === 'bun' ? bun : node, args);
        found[name].push(JSON.parse(stdout));
      }
    }
    for (const name in found) {
      const [rate, cpu] = ['rate', 'cpu'].map(what => Math.round(median(found[name].map(each => each[what]))));
      console.log(`${latency} ms  ${name.padEnd(10)} ${String(rate).padStart(6)} transactions a second, ${cpu} µs of CPU each`);
    }
    await proxy.stop();
  }
}

async function fairness(server) {
  const { Pool } = require('../lib/pool');
  const pool = new Pool(server.config, { size: 20 });
  const times = async () => {
    const found = [];
    for (const start = performance.now(); performance.now() - start < SECONDS * 1000;) {
      const asked = performance.now();
      await pool.query('SELECT 1');
      found.push(performance.now() - asked);
      await sleep(1);
    }
    found.sort((a, b) => a - b);
    return `${found.length} times, median ${found[found.length >> 1].toFixed(2)} ms, 99 % ${found[Math.floor(found.length * 0.99)].toFixed(2)} ms`;
  };
  await times();
  console.log(`SELECT 1 alone: ${await times()}`);
  let over = false;
  const slow = () => new Writable({ write: (chunk, encoding, callback) => { setTimeout(callback, 50); } });
  const others = [
    ...Array.from({ length: WANTED }, async (_, id) => {
      while (!over) await pool.transaction(async tx => {
        await tx.query(READ, [id + 1]);
        await sleep(20);
        await tx.query(CHANGE, [id + 1]);
      });
    }),
    ...Array.from({ length: 10 }, async () => {
      while (!over) await pool.queryTo(slow(), "SELECT repeat('x', 1000) FROM generate_series(1, 10000)");
    })
  ];
  await sleep(500);
  console.log(`beside ${WANTED} transactions and 10 slow readers: ${await times()}`, pool.stats);
  over = true;
  await Promise.all(others);
  await pool.end();
}

async function main([name, config]) {
  if (config !== undefined) return measure(name, JSON.parse(config));
  const server = await startServer({ external: false, settings: { synchronous_commit: false } });
  await server.sql('CREATE UNLOGGED TABLE counters (id int PRIMARY KEY, n int)');
  await server.sql(`INSERT INTO counters SELECT i, 0 FROM generate_series(1, ${WANTED}) i`);
  await (name === 'fairness' ? fairness : compare)(server);
  await server.stop();
}

main(process.argv.slice(2));
