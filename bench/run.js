'use strict';

const { spawn } = require('node:child_process');
const path = require('node:path');
const { startServer } = require('pg-test-fixtures');
const workloads = require('./workloads');

const BUN = path.join(__dirname, 'node_modules/bun/bin/bun.exe');
const CLIENTS = ['floor', 'quickgres', 'pg-pipeline', 'postgres', 'bun'];

function option(name, fallback) {
  const index = process.argv.indexOf(`--${name}`);
  return index < 0 ? fallback : process.argv[index + 1];
}
const median = values => values.slice().sort((a, b) => a - b)[values.length >> 1];

function measure(spec) {
  const command = spec.client === 'bun' ? BUN : process.execPath;
  const child = spawn(command, [path.join(__dirname, 'measure.js'), JSON.stringify(spec)], { stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.on('data', chunk => { out += chunk; });
  const timer = setTimeout(() => child.kill('SIGKILL'), 60000);
  return new Promise(resolve => child.on('close', () => {
    clearTimeout(timer);
    try { resolve(JSON.parse(out)); } catch { resolve({ failed: true }); }
  }));
}

async function main() {
  const rounds = Number(option('rounds', 3));
  const names = option('only', Object.keys(workloads).join()).split(',');
  const clients = option('clients', CLIENTS.join()).split(',');
  const rows = 300000;
  const server = await startServer({ sample: 10000, settings: { shared_buffers: '256MB' } });
  await server.sql(`CREATE TABLE wide_text AS SELECT n::text AS c1, (n * 7919::bigint)::text AS c2, 'User ' || n AS c3,
    n || '@example.com' AS c4, (n % 100)::text AS c5, (n % 2 = 0)::text AS c6, (n / 7.0)::numeric(10, 2)::text AS c7,
    '2024-01-01'::date + (n % 365) || '' AS c8, 'note ' || n % 1000 AS c9, md5(n::text) AS c10
    FROM generate_series(1, ${rows}) AS n`);
  const ids = (await server.sql('SELECT id FROM users LIMIT 1000')).map(row => row.id);
  const target = { path: server.socketPath, port: server.port, user: server.user, database: server.database };
  for (const name of names) {
    const all = Object.fromEntries(clients.map(client => [client, []]));
    for (let round = 0; round < rounds; round++) {
      for (const client of round % 2 ? clients.slice().reverse() : clients) {
        process.stderr.write(`\r${name} ${client} ${round + 1}/${rounds}          `);
        const result = await measure({ client, workload: name, target, warmup: Number(option('warmup', 0.5)), duration: Number(option('seconds', 1)), rows, ids });
        if (result.operations) all[client].push(result);
      }
    }
    process.stderr.write('\r');
    console.log(`\n${workloads[name].title}`);
    for (const client of clients) {
      const runs = all[client];
      if (!runs.length) { console.log(`${client.padEnd(14)} cannot`); continue; }
      const cpu = runs.map(r => r.cpu / r.operations);
      console.log(`${client.padEnd(14)} ${(median(cpu)).toFixed(3)} µs CPU/op (${cpu.map(c => c.toFixed(3)).join(' ')}; user ${median(runs.map(r => r.user / r.operations)).toFixed(3)})  ${
        Math.round(median(runs.map(r => r.operations / r.seconds)))} op/s  ${Math.round(median(runs.map(r => r.memory)) / 1024)} MiB`);
    }
  }
  await server.stop();
}
main();
