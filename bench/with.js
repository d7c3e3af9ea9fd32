'use strict';

// What settings of a request cost, in one process of the client:
//
//     node with.js             client CPU of a query in µs, 100 at a time over a Unix socket, in rounds that alternate
//     node with.js time        milliseconds of 100 at once through a proxy with 10 ms of round trip
//     node with.js replan      server CPU of a query under row-level security in µs, settings and roles alternating

const fs = require('node:fs');
const { startProxy, startServer } = require('pg-test-fixtures');
const { Client } = require('..');
const { Pool } = require('../lib/pool');

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 21);
const TEXT = 'SELECT id, name FROM items WHERE id = $1';

const several = (count, work) => Promise.all(Array.from({ length: count }, (_, i) => work(i)));
const median = numbers => numbers.sort((a, b) => a - b)[numbers.length >> 1];

/** Each of these makes one query with a setting, the first without. */
function ways(session) {
  const mine = session.with({ 'app.tenant': 7 });
  return {
    'a query': i => session.query(TEXT, [i]),
    'with settings, one session for all': i => mine.query(TEXT, [i]),
    'with settings, a session for each': i => session.with({ 'app.tenant': i }).query(TEXT, [i]),
    'a transaction for each': i =>
      session.transaction(async tx => {
        await tx.query("SELECT set_config('app.tenant', $1, true)", [i]);
        return tx.query(TEXT, [i]);
      })
  };
}

/** Rounds of all ways in turn; `measure` begins and gives what has passed. */
async function compare(all, count, rounds, measure) {
  const figures = Object.fromEntries(Object.keys(all).map(name => [name, []]));
  for (let round = -3; round < rounds; round++) {
    for (const [name, work] of Object.entries(all)) {
      const passed = measure();
      for (let done = 0; done < count; done += 100) await several(100, work);
      if (round >= 0) figures[name].push(passed() / count);
    }
  }
  const [first] = Object.keys(all);
  for (const [name, each] of Object.entries(figures)) {
    const ratios = each.map((figure, round) => figure / figures[first][round]);
    console.log(
      `${name.padEnd(36)} ${median([...each])
        .toFixed(2)
        .padStart(8)}  ${median(ratios).toFixed(2).padStart(6)} ×`
    );
  }
}

const cpu = () => {
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
};

const wall = () => {
  const before = performance.now();
  return () => 100 * (performance.now() - before); // of 100 at once
};

async function main([kind]) {
  const server = await startServer();
  const proxy = await startProxy({ target: server, delay: 5 });
  await server.sql("CREATE TABLE items AS SELECT i AS id, 'item ' || i AS name FROM generate_series(0, 999) i");
  await server.sql('ALTER TABLE items ADD PRIMARY KEY (id)');
  if (kind === 'time') {
    const far = { ...server.config, host: proxy.host, port: proxy.port };
    for (const size of [1, 10]) {
      const pool = new Pool(far, { size });
      console.log(`ms for 100 at once, round trip of 10 ms, ${size} connections`);
      await compare(ways(pool), 100, 5, wall);
      await pool.end();
    }
  } else {
    const client = new Client(server.config);
    await client.connect();
    if (kind === 'replan') await replan(server, client);
    else {
      console.log('µs of client CPU a query, 100 at a time');
      await compare(ways(client), 5000, ROUNDS, cpu);
      const pool = new Pool(server.config, { size: 4 });
      console.log('… in a pool of four');
      await compare(ways(pool), 5000, ROUNDS, cpu);
      await pool.end();
    }
    await client.end();
  }
  await proxy.stop();
  await server.stop();
}

/** @returns {number} microseconds of CPU that a process has used, in steps of 10,000; Linux alone tells */
function usedBy(pid) {
  const [, , ...fields] = fs
    .readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/\(.*\)/, '')
    .split(' ');
  return 1e4 * (Number(fields[11]) + Number(fields[12]));
}

/** The CPU of the server process for a query under row-level security. */
async function replan(server, client) {
  await server.sql(`CREATE ROLE one; CREATE ROLE two; GRANT SELECT ON items TO one, two;
    ALTER TABLE items ENABLE ROW LEVEL SECURITY;
    CREATE POLICY own ON items USING (id % 2 = current_setting('app.parity')::int)`);
  const settings = [0, 1].map(parity => client.with({ role: 'one', 'app.parity': parity }));
  const roles = ['one', 'two'].map(role => client.with({ role, 'app.parity': 0 }));
  const all = {
    'one session': i => settings[0].query(TEXT, [i]),
    'settings alternate': i => settings[i % 2].query(TEXT, [i]),
    'roles alternate': i => roles[i % 2].query(TEXT, [i])
  };
  console.log('µs of server CPU a query under row-level security');
  await compare(all, 20000, 5, () => {
    const before = usedBy(client.processId);
    return () => usedBy(client.processId) - before;
  });
}

main(process.argv.slice(2)).catch(error => {
  console.error(error);
  process.exitCode = 1;
});
