'use strict';

// The HTTP benchmark: see ../README.md. One server program for each client, the same routes, and a load generator
// (wrk) in another process.

const { execFile, spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { once } = require('node:events');
const { parseArgs, promisify } = require('node:util');
const { openDatabase } = require('../database');
const { startLink } = require('./link');
const { ROUTES } = require('./routes');

const CLIENTS = ['quickgres', 'pg', 'pg-pipeline', 'postgres', 'bun'];

const { values: options } = parseArgs({
  options: {
    clients: { type: 'string', default: CLIENTS.join() },
    only: { type: 'string', default: Object.keys(ROUTES).join() },
    rounds: { type: 'string', default: '6' },
    seconds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '64' },
    rtt: { type: 'string', default: '0,1,10' },
    out: { type: 'string', default: path.join(__dirname, '../results') }
  }
});

const run = promisify(execFile);
const median = list => [...list].sort((a, b) => a - b)[list.length >> 1];

/** Starts a client's server. @returns {Promise<{name: string, url: string, stop: function}>} */
async function start(name, target) {
  const bun = path.join(path.dirname(require.resolve('bun/package.json')), 'bin/bun.exe');
  const command =
    name === 'bun'
      ? [bun, path.join(__dirname, 'bun-server.js')]
      : [process.execPath, path.join(__dirname, 'server.js'), name];
  const child = spawn(command[0], command.slice(1), {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TARGET: JSON.stringify(target) }
  });
  const [port] = await once(child.stdout, 'data');
  return { name, url: `http://127.0.0.1:${Number(port)}`, stop: () => child.kill() };
}

const UNITS = { us: 1e-3, ms: 1, s: 1e3 };

/** Loads a route for some seconds. @returns {Promise<{rate: number, late: number, cpu: number}>} late: 99 %, ms */
async function load({ name, url }, route, seconds) {
  const cpu = async () => {
    const { user, system } = await (await fetch(`${url}/cpu`)).json();
    return user + system;
  };
  // Of what takes a second there has to be enough for what the end of the time cuts off not to count.
  const [connections, time] = route === '/stream' ? [2, seconds * 5] : [options.connections, seconds];
  const before = await cpu();
  const { stdout } = await run('wrk', [
    '-t1',
    `-c${connections}`,
    `-d${time}s`,
    '--timeout',
    '30s',
    '--latency',
    url + route
  ]);
  const used = (await cpu()) - before;
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`${name}${route}: ${stdout}`);
  const count = Number(/(\d+) requests in/.exec(stdout)[1]);
  const [, number, unit] = /99%\s+([\d.]+)(us|ms|s)/.exec(stdout);
  return { rate: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)[1]), late: number * UNITS[unit], cpu: used / count };
}

/** The results as a table of GitHub's Markdown. */
function table(results) {
  const short = number => number.toFixed(number < 100 ? 1 : 0).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
  const rows = results.map(
    ({ route, rtt, client, rate, cpu, late }) =>
      `| ${ROUTES[route].what} | ${rtt} ms | ${client} | ${short(rate)} | ${short(cpu)} | ${late.toFixed(1)} |`
  );
  return [
    '| route | round trip | client | requests a second | CPU a request, µs | 99 % within, ms |',
    '|---|--:|---|--:|--:|--:|',
    ...rows
  ].join('\n');
}

/** Measures every route of every client over TCP with a round trip of so many milliseconds. */
async function measure(target, rtt) {
  const link = rtt > 0 ? await startLink(target, rtt) : undefined;
  const servers = [];
  const results = [];
  try {
    for (const name of options.clients.split(','))
      servers.push(await start(name, { ...target, port: link?.port ?? target.port }));
    for (const route of options.only.split(',')) {
      // V8 needs some seconds to compile a server's code.
      for (const server of servers) await load(server, route, results.length === 0 ? 4 : 1);
      const found = new Map(servers.map(server => [server, []]));
      for (let round = 0; round < Number(options.rounds); round++) {
        for (const server of servers) found.get(server).push(await load(server, route, Number(options.seconds)));
      }
      for (const [{ name }, list] of found) {
        const of = key => median(list.map(each => each[key]));
        results.push({ route, rtt, client: name, rate: of('rate'), cpu: of('cpu'), late: of('late'), rounds: list });
        console.log(table(results.slice(-1)).split('\n').pop());
      }
    }
  } finally {
    for (const server of servers) server.stop();
    link?.stop();
  }
  return results;
}

/** Where a result stands: by its route, the round trip, the client. */
const orderOf = ({ route, rtt, client }) =>
  (Object.keys(ROUTES).indexOf(route) * 1000 + rtt) * CLIENTS.length + CLIENTS.indexOf(client);

async function main() {
  await run('wrk', ['--version']).catch(error => {
    if (error.code === 'ENOENT') throw new Error('the load generator wrk is missing: apt-get install wrk');
  });
  const database = await openDatabase(100000);
  const file = path.join(options.out, 'http.json');
  const measured = [];
  try {
    for (const rtt of options.rtt.split(',').map(Number)) measured.push(...(await measure(database.targets.tcp, rtt)));
    // What this run has not measured stays as it was.
    const isNew = ({ route, rtt, client }) =>
      measured.some(each => each.route === route && each.rtt === rtt && each.client === client);
    const before = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file)).filter(each => !isNew(each)) : [];
    const results = [...before, ...measured].sort((a, b) => orderOf(a) - orderOf(b));
    fs.mkdirSync(options.out, { recursive: true });
    fs.writeFileSync(file, `[\n${results.map(each => JSON.stringify(each)).join(',\n')}\n]\n`);
    fs.writeFileSync(path.join(options.out, 'http.md'), `${table(results)}\n`);
  } finally {
    await database.stop();
  }
}

main().catch(error => {
  console.error(error.message);
  process.exitCode = 1;
});
