'use strict';

// node cold.js [rounds]: what a serverless start pays: load the library, connect, read the first row. Each sample is a process of
// its own; the libraries take turns. Milliseconds from the program's first line to its row, the median of the rounds.

const { execFileSync } = require('node:child_process');
const path = require('node:path');
const { startServer } = require('pg-test-fixtures');

const program = work => `const begun = performance.now();
  const { url } = { url: process.env.DATABASE_URL };
  (async () => { ${work} })().then(() => { console.log(performance.now() - begun); process.exit(); });`;

const quickgres = path.join(__dirname, '..');

/** By name: the runtime, and what its program does. */
const STARTS = {
  'quickgres, require_auth named': ['node', `const { Client } = require(${JSON.stringify(quickgres)});
    const client = new Client({ connectionString: url, require_auth: process.env.METHOD });
    await Promise.all([client.connect(), client.query('SELECT 1 AS n')]);`],
  quickgres: ['node', `const { Client } = require(${JSON.stringify(quickgres)});
    const client = new Client(url);
    await Promise.all([client.connect(), client.query('SELECT 1 AS n')]);`],
  pg: ['node', "const client = new (require('pg').Client)(url); await client.connect(); await client.query('SELECT 1 AS n');"],
  postgres: ['node', "const sql = require('postgres')(url, { max: 1, fetch_types: false }); await sql`SELECT 1 AS n`;"],
  bun: ['bun', 'const sql = new Bun.SQL(url, { max: 1 }); await sql`SELECT 1 AS n`;']
};

const RUNTIMES = { node: process.execPath, bun: path.join(__dirname, 'node_modules', '.bin', 'bun') };

const median = list => list.sort((a, b) => a - b)[list.length >> 1];

async function main(rounds) {
  const server = await startServer({ external: false, auth: 'scram-sha-256', users: { scram: { password: 'secret' }, trusted: {} },
    hba: ['local all all trust', 'host all trusted all trust', 'host all fixtures all trust', 'host all scram all scram-sha-256'] });
  try {
    for (const [method, user] of [['none', 'trusted'], ['scram-sha-256', 'scram:secret']]) {
      const DATABASE_URL = `postgresql://${user}@127.0.0.1:${server.port}/${server.database}`;
      const samples = Object.fromEntries(Object.keys(STARTS).map(name => [name, []]));
      for (let round = 0; round < rounds; round++) {
        for (const [name, [runtime, work]] of Object.entries(STARTS)) {
          const options = { cwd: __dirname, env: { ...process.env, DATABASE_URL, METHOD: method }, encoding: 'utf8' };
          samples[name].push(Number(execFileSync(RUNTIMES[runtime], ['-e', program(work)], options)));
        }
      }
      console.log(`load + connect + first row, TCP, ${method === 'none' ? 'no password' : method}, ms`);
      for (const [name, list] of Object.entries(samples)) console.log(`  ${name.padEnd(32)}${median(list).toFixed(1)}`);
    }
  } finally {
    await server.stop();
  }
}

main(Number(process.argv[2] ?? 15));
