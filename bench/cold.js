'use strict';

// node cold.js [rounds] [--write]: what a serverless start pays: load the library, connect, read the first row. Each sample is a process of
// its own; the libraries take turns. Milliseconds from the program's first line to its row, the median of the rounds.
// --write writes them into README.md, between the markers.

const fs = require('node:fs');
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

/** @returns {Promise<number[]>} medians by the names of STARTS */
async function measure(rounds, DATABASE_URL, METHOD) {
  const samples = Object.keys(STARTS).map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, [runtime, work]] of Object.values(STARTS).entries()) {
      const options = { cwd: __dirname, env: { ...process.env, DATABASE_URL, METHOD }, encoding: 'utf8' };
      samples[index].push(Number(execFileSync(RUNTIMES[runtime], ['-e', program(work)], options)));
    }
  }
  return samples.map(median);
}

async function main(rounds, write) {
  const server = await startServer({ external: false, auth: 'scram-sha-256', users: { scram: { password: 'secret' }, trusted: {} },
    hba: ['local all all trust', 'host all trusted all trust', 'host all fixtures all trust', 'host all scram all scram-sha-256'] });
  const lines = [`| load, connect, first row: ms, Node.js ${process.version.slice(1)} | ${Object.keys(STARTS).join(' | ')} |`,
    `|---|${'---:|'.repeat(Object.keys(STARTS).length)}`];
  try {
    for (const [name, method, user] of [['no password', 'none', 'trusted'], ['SCRAM-SHA-256', 'scram-sha-256', 'scram:secret']]) {
      const found = await measure(rounds, `postgresql://${user}@127.0.0.1:${server.port}/${server.database}`, method);
      lines.push(`| ${name} | ${found.map(each => each.toFixed(1)).join(' | ')} |`);
    }
  } finally {
    await server.stop();
  }
  console.log(lines.join('\n'));
  if (!write) return;
  const readme = path.join(__dirname, 'README.md');
  const text = fs.readFileSync(readme, 'utf8');
  const from = text.indexOf('\n', text.indexOf('<!-- made by bench/cold.js'));
  fs.writeFileSync(readme, `${text.slice(0, from)}\n${lines.join('\n')}\n${text.slice(text.indexOf('<!-- end of cold'))}`);
}

main(Number(process.argv[2]) || 15, process.argv.includes('--write'));
