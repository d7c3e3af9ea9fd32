'use strict';

// CPU of a query through pools of node-postgres and of quickgres/pg, the same program with both, alternating; the
// lower quartiles, since what else the machine does only adds, and their ratio, of which the limit is 0.7:
// `node pg.js [seconds for each]`.

const pg = require('pg');
const { startServer } = require('pg-test-fixtures');
const ours = require('../lib/pg');

const ROW = 'SELECT id, name, email, now() AS at, $1::int AS n FROM users LIMIT 1';
const ROWS = 'SELECT id, name, email, now() AS at, $1::int AS n, 1.5::float8 AS x FROM users LIMIT 1000';

/** Turns of each, and how many of them only warm the engine. */
const ROUNDS = 18;
const WARM = 7;

const PROGRAMS = {
  'one row': [1, pool => pool.query(ROW, [1])],
  'one row, no values': [1, pool => pool.query('SELECT 1 AS n')],
  '20 at a time': [20, pool => Promise.all(Array.from({ length: 20 }, (_, i) => pool.query(ROW, [i])))],
  '1,000 rows': [1, pool => pool.query(ROWS, [1])]
};

/** Microseconds of CPU a query, of as many as fit in a time. */
async function measure(pool, queries, program, milliseconds) {
  const end = performance.now() + milliseconds;
  const before = process.cpuUsage();
  let count = 0;
  for (; performance.now() < end; count += queries) await program(pool);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}

const quartile = values => values.sort((a, b) => a - b)[values.length >> 2];

async function main(seconds) {
  const server = await startServer({ sample: 1000 });
  const pools = [new pg.Pool(server.config), new ours.Pool(server.config)];
  // pg's end() does not wait until its connections have closed, and tells of those that the server closes as it stops.
  pools[0].on('error', () => {});
  for (const [name, [queries, program]] of Object.entries(PROGRAMS)) {
    const results = [[], []];
    for (let round = 0; round < ROUNDS; round++) {
      for (const [i, pool] of pools.entries()) {
        const used = await measure(pool, queries, program, (seconds * 1000) / ROUNDS / 2);
        if (round >= WARM) results[i].push(used);
      }
    }
    const [theirs, mine] = results.map(quartile);
    const ratio = (mine / theirs).toFixed(2);
    console.log(`${name}: pg ${theirs.toFixed(1)} µs, quickgres/pg ${mine.toFixed(1)} µs, ${ratio} ×`);
  }
  await Promise.all(pools.map(pool => pool.end()));
  await server.stop();
}

main(Number(process.argv[2] ?? 20));
