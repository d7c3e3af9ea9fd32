'use strict';

// Default pools beside default pools, by the fixtures' latency proxy:
//
//     node defaults.js [--only NAMES] [--clients NAMES] [--rtt 0,10] [--rounds 3] [--before DIR]
//
// `--before` adds the pool of another checkout. Each measurement has a process of its own; the clients have their turns, and
// the medians of the rounds are printed, in milliseconds.

const { execFile } = require('node:child_process');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { parseArgs, promisify } = require('node:util');
const { startProxy, startServer } = require('pg-test-fixtures');

const POINT = 'SELECT n FROM counters WHERE id = $1';
const CHANGE = 'UPDATE counters SET n = n + 1 WHERE id = $1';
const ROWS = 1000;

const quickgres = file => config => {
  const pool = new (require(file).Pool)(config);
  return {
    query: (text, values) => pool.query(text, values),
    transaction: work => pool.transaction(tx => work((...query) => tx.query(...query)))
  };
};

/** Each gives `query(text, values)` and `transaction(work)`, whose function gets a `query`. */
const CLIENTS = {
  quickgres: quickgres('../lib/pool'),
  'quickgres/pg': config => ofPg(config, require('../lib/pg')),
  pg: config => ofPg(config, require('pg')),
  postgres(config) {
    const sql = require('postgres')(config);
    return {
      query: (text, values) => sql.unsafe(text, values, { prepare: true }),
      transaction: work => sql.begin(tx => work((text, values) => tx.unsafe(text, values, { prepare: true })))
    };
  }
};

function ofPg(config, { Pool }) {
  const pool = new Pool(config);
  return {
    query: (text, values) => pool.query(text, values),
    async transaction(work) {
      const client = await pool.connect();
      try {
        await client.query('BEGIN');
        await work((text, values) => client.query(text, values));
        await client.query('COMMIT');
      } finally {
        client.release();
      }
    }
  };
}

const at = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
const median = list =>
  at(
    [...list].sort((a, b) => a - b),
    0.5
  );
const times = (count, work) => Promise.all(Array.from({ length: count }, (_, i) => work(i)));

/** A generator of numbers from 0 to 1, the same for each client. */
function numbers(seed = 1) {
  return () => {
    seed = (seed * 48271) % 2147483647;
    return seed / 2147483647;
  };
}

async function timed(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Several times, what is done warm: wall time and CPU. */
async function repeated(work, count = 7) {
  for (let i = 0; i < 3; i++) await work();
  const before = process.cpuUsage();
  const found = [];
  for (let i = 0; i < count; i++) found.push(await timed(work));
  const { user, system } = process.cpuUsage(before);
  return { time: median(found), cpu: (user + system) / 1000 / count };
}

const transactions =
  each =>
  ({ query, transaction }) =>
    repeated(async () => {
      await query(POINT, [1]);
      await times(300, i =>
        transaction(async ask => {
          for (let j = 0; j < each; j++) await ask(POINT, [i + 1]);
        })
      );
    }, 3);

/** SELECT 1 one after the other, while slow queries run: how long these and the slow ones take. */
const beside =
  (seconds, isKnown) =>
  async ({ query }) => {
    const slow = () => Promise.all(seconds.map((time, i) => query(`SELECT pg_sleep(${time}), ${i}`)));
    const quick = () => query('SELECT 1');
    for (let i = 0; i < 5; i++) await quick();
    if (isKnown) await slow();
    const found = [];
    let over = false;
    const end = timed(slow).finally(() => {
      over = true;
    });
    await sleep(20);
    const loop = async () => {
      while (!over) {
        found.push(timed(quick));
        await sleep(20);
      }
      return (await Promise.all(found)).sort((a, b) => a - b);
    };
    const sorted = await loop();
    return { median: at(sorted, 0.5), worst: sorted.at(-1), slow: await end };
  };

const SOMETIMES = `SELECT d, pg_sleep(d) FROM (SELECT CASE WHEN random() < 0.05 THEN 0.005 + random() * 0.495 ELSE 0 END AS d OFFSET 0) x`;

/** What is asked: [text, values], and whether it is slow. */
const MIXES = {
  texts: (random, time, i) =>
    time > 0 ? [`SELECT pg_sleep($1)`, [time]] : [`${POINT} /* ${i % 19} */`, [(i % ROWS) + 1]],
  parameter: (random, time) => ['SELECT pg_sleep($1::float8)', [time]],
  literals: (random, time, i) => [`SELECT ${i}, pg_sleep(${time})`, []],
  sometimes: () => [SOMETIMES, []]
};

/** 300 queries a second, 5 % of which take 5 to 500 ms: how long the others take. */
const mix =
  name =>
  async ({ query }) => {
    const random = numbers(7);
    const found = [];
    const asked = [];
    const ask = async i => {
      const time = random() < 0.05 ? 0.005 + random() * 0.495 : 0;
      const start = performance.now();
      const result = await query(...MIXES[name](random, time, i));
      const took = performance.now() - start;
      const isSlow = name === 'sometimes' ? Number((result.rows ?? result)[0].d) > 0 : time > 0;
      if (!isSlow && i > 300) found.push(took);
    };
    let due = performance.now();
    for (let i = 0; i < 2700; i++) {
      due += (-Math.log(1 - random()) * 1000) / 300;
      const pause = due - performance.now();
      if (pause > 0) await sleep(pause);
      asked.push(ask(i));
    }
    await Promise.all(asked);
    found.sort((a, b) => a - b);
    return { median: at(found, 0.5), '99 %': at(found, 0.99), worst: found.at(-1) };
  };

/** Queries of so many milliseconds, so many at a time, each followed by the next one: how long they take, and how many are answered. */
const length =
  (time, count) =>
  async ({ query }) => {
    const ask = () => (time === 0 ? query(POINT, [1]) : query(`SELECT pg_sleep(${time / 1000})`));
    const found = [];
    let over = false;
    const loop = async () => {
      while (!over) found.push(await timed(ask));
    };
    const loops = times(count, loop);
    await sleep(500);
    found.length = 0;
    const before = process.cpuUsage();
    const took = await timed(() => sleep(1500));
    const answers = found.length;
    const { user, system } = process.cpuUsage(before);
    over = true;
    await loops;
    found.sort((a, b) => a - b);
    return {
      median: at(found, 0.5),
      '99 %': at(found, 0.99),
      answers: (answers / took) * 1000,
      cpu: (user + system) / answers
    };
  };

const twelve = Array.from({ length: 12 }, (_, i) => 0.2 * (i + 1));
const SCENARIOS = {
  'transactions 1': transactions(1),
  'transactions 5': transactions(5),
  'beside 4 cold': beside(Array(4).fill(1)),
  'beside 4 known': beside(Array(4).fill(1), true),
  'beside 8 cold': beside(Array(8).fill(1)),
  'beside 8 known': beside(Array(8).fill(1), true),
  'beside 12 cold': beside(twelve),
  'beside 12 known': beside(twelve, true),
  'beside 20 cold': beside(Array(20).fill(1)),
  'beside 20 known': beside(Array(20).fill(1), true),
  ...Object.fromEntries(Object.keys(MIXES).map(name => [`mix ${name}`, mix(name)])),
  ...Object.fromEntries(
    [0, 2, 5, 20].flatMap(time => [4, 10, 20, 50].map(count => [`length ${time} x ${count}`, length(time, count)]))
  ),
  'query 1000': ({ query }) => repeated(() => times(1000, i => query(POINT, [i + 1])), 20),
  'query 20': ({ query }) => repeated(() => times(20, i => query(POINT, [i + 1])), 50),
  'update 100': ({ query }) => repeated(() => times(100, i => query(CHANGE, [i + 1])), 20)
};

async function perform(scenario, name, config, before) {
  const client = name === 'before' ? quickgres(path.join(before, 'lib/pool')) : CLIENTS[name];
  console.log(JSON.stringify(await SCENARIOS[scenario](client(JSON.parse(config)))));
  process.exit();
}

async function main() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', default: '' },
      clients: { type: 'string', default: 'quickgres,pg,postgres' },
      rtt: { type: 'string', default: '0,10' },
      rounds: { type: 'string', default: '3' },
      before: { type: 'string' }
    }
  });
  const names = values.clients.split(',').concat(values.before ? 'before' : []);
  const server = await startServer({ external: false, settings: { synchronous_commit: false } });
  await server.sql('CREATE UNLOGGED TABLE counters (id int PRIMARY KEY, n int)');
  await server.sql(`INSERT INTO counters SELECT i, 0 FROM generate_series(1, ${ROWS}) i`);
  const chosen = Object.keys(SCENARIOS).filter(each => values.only.split(',').some(only => each.startsWith(only)));
  for (const rtt of values.rtt.split(',').map(Number)) {
    const proxy = await startProxy({ target: server, delay: rtt / 2 });
    const { user, database } = server.config;
    const config = JSON.stringify({ user, database, host: '127.0.0.1', port: rtt === 0 ? server.port : proxy.port });
    for (const scenario of chosen) {
      const found = Object.fromEntries(names.map(name => [name, []]));
      for (let round = 0; round < Number(values.rounds); round++) {
        for (const name of names) {
          const args = [__filename, 'perform', scenario, name, config, values.before ?? ''];
          const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 120000 }).catch(error => ({
            stdout: JSON.stringify({ failed: error.message })
          }));
          found[name].push(JSON.parse(stdout));
        }
      }
      for (const name of names) {
        const all = found[name];
        const shown = Object.keys(all[0]).map(
          key => `${key} ${Number.isFinite(all[0][key]) ? median(all.map(each => each[key])).toFixed(1) : all[0][key]}`
        );
        console.log(`${rtt} ms  ${scenario.padEnd(16)} ${name.padEnd(12)} ${shown.join(', ')}`);
      }
    }
    await proxy.stop();
  }
  await server.stop();
}

if (process.argv[2] === 'perform') perform(...process.argv.slice(3));
else main();
