'use strict';

// What one core, one machine, a fleet and replicas carry, by arithmetic over what was measured:
//
//     node scale.js [results/results.json]            prints it
//     node scale.js [results/results.json] --write    writes it into SCALE.md, between the markers
//     node scale.js --server [seconds]                measures the server's part into results/server.json, on Linux

const fs = require('node:fs');
const path = require('node:path');

const SERVER = path.join(__dirname, 'results/server.json');
const PAGE = path.join(__dirname, 'SCALE.md');
const MARKERS = ['<!-- made by bench/scale.js -->', '<!-- end -->'];

/** What is assumed, not measured. */
const ASSUMED = { cores: 16, replicas: 4, network: 10e9 / 8, share: 0.7 };

const CLIENT = 'quickgres';

/** Ours of a workload, in µs of CPU an operation. */
function cpuOf({ tables }, name) {
  const table = tables.find(each => each.name === name);
  const ours = table && table.clients.find(({ client, cpu }) => client === CLIENT && cpu);
  if (!ours) throw new Error(`the results have no ${name} of ${CLIENT}: npm run bench makes them`);
  return ours.cpu.median;
}

/**
 * @param {object} results of npm run bench
 * @param {object} server of `measure`, in µs of CPU
 * @returns {object} µs of CPU a query, and a megabyte; bytes a query
 */
function figures(results, server) {
  const { rows, wire } = results.options;
  const megabyte = 1e6 / (wire / rows);
  return {
    select: cpuOf(results, 'select-pipelined'),
    batch: cpuOf(results, 'select-batch'),
    pass: cpuOf(results, 'pass-null') * megabyte,
    untouched: cpuOf(results, 'rows-untouched') * megabyte,
    ...server
  };
}

/**
 * What these figures come to.
 * @returns {object} queries and megabytes a second
 */
function scale(f, { cores, replicas, network, share } = ASSUMED) {
  const perCore = cost => 1e6 / cost;
  const wire = network / f.bytes;
  const machine = cores * share * perCore(f.serverSelect);
  const poolers = f.pooler === undefined ? undefined : machine / perCore(f.pooler);
  return {
    clientCore: perCore(f.select),
    clientCoreBatch: perCore(f.batch),
    serverCore: perCore(f.serverSelect),
    serverCoreBatch: perCore(f.serverBatch),
    clientCoresForServerCore: perCore(f.serverSelect) / perCore(f.select),
    machine,
    machineBatch: cores * share * perCore(f.serverBatch),
    clientCoresForMachine: machine / perCore(f.select),
    wire,
    poolerCore: f.pooler === undefined ? undefined : perCore(f.pooler),
    poolers,
    replicas: replicas * machine,
    clientCoreBytes: perCore(f.pass),
    clientCoreRows: perCore(f.untouched),
    serverCoreBytes: perCore(f.serverBytes),
    limit: machine < wire ? "the server's processors" : 'the network'
  };
}

const number = value => Math.round(Number(value.toPrecision(2))).toString().replace(/\B(?=(?:\d{3})+$)/g, ',');
const cost = value => value.toPrecision(2);

/** The arithmetic as text. */
function text(f, s, { cores, replicas, network, share } = ASSUMED) {
  const gigabits = network * 8 / 1e9;
  return `| measured | µs of CPU |
|---|---:|
| client, a point select with its own Sync | ${cost(f.select)} |
| client, the same in a batch of 100 | ${cost(f.batch)} |
| server, a point select with its own Sync | ${cost(f.serverSelect)} |
| server, the same in a batch of 100 | ${cost(f.serverBatch)} |
${f.pooler === undefined ? '' : `| PgBouncer, a point select in session mode | ${cost(f.pooler)} |\n`}| client, a megabyte of rows passed on | ${number(f.pass)} |
| client, a megabyte of rows as row objects | ${number(f.untouched)} |
| server, a megabyte of rows sent | ${number(f.serverBytes)} |

A point select with its answer is ${number(f.bytes)} bytes.

- **One core** of a client sends ${number(s.clientCore)} selects a second, ${number(s.clientCoreBatch)} in batches. It passes on
  ${number(s.clientCoreBytes)} MB of rows a second, or makes row objects of ${number(s.clientCoreRows)} MB. One core of the server answers
  ${number(s.serverCore)}, ${number(s.serverCoreBatch)} in batches, and sends ${number(s.serverCoreBytes)} MB. A client core can therefore keep
  ${cost(1 / s.clientCoresForServerCore)} server cores busy: the server is the limit, and one connection uses one of its cores.
- **One machine** with ${cores} cores for PostgreSQL, ${share * 100} % of them at work, answers ${number(s.machine)} selects a second
  (${number(s.machineBatch)} in batches) over ${cores} connections or a few more, for which ${cost(s.clientCoresForMachine)} client cores are enough.
  ${gigabits} Gbit/s would carry ${number(s.wire)}. The limit is ${s.limit}.
${s.poolerCore === undefined ? '' : `- **A fleet behind PgBouncer**: one PgBouncer is one thread and carries ${number(s.poolerCore)} selects a second. The machine above
  needs ${Math.ceil(s.poolers)}, side by side with \`so_reuseport\`. PgBouncer is needed when there are more client processes than the
  server can have connections. A process needs one connection, not twenty, so this happens later than with other clients.
`}- **Replicas** share the reads. ${replicas} of them answer ${number(s.replicas)} selects a second; \`target_session_attrs=prefer-standby\` with
  \`load_balance_hosts=random\` spreads the clients. Writes stay on the one primary, which is the next limit.
`;
}

/** The server's part: CPU of its process, and of PgBouncer, by /proc; bytes by the proxy. */
async function measure(seconds) {
  const { startServer, startProxy, startPgBouncer } = require('pg-test-fixtures');
  const { Client } = require('..');
  const ticks = pid => {
    const fields = fs.readFileSync(`/proc/${pid}/stat`, 'latin1').replace(/^.*\) /, '').split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 1e4; // a tick is 10 ms
  };
  const server = await startServer({ external: false, sample: 20000 });
  const open = async (config = server.config) => {
    const client = new Client(config);
    await client.connect();
    return client;
  };
  const { rows } = await (await open()).query('SELECT id FROM users LIMIT 1000');
  const SELECT = 'SELECT id, name, email, password FROM users WHERE id = $1';
  const select = client => Promise.all(rows.map(row => client.query(SELECT, [row.id]))).then(all => all.length);
  const batch = async client => {
    for (let i = 0; i < rows.length; i += 100) await client.batch(rows.slice(i, i + 100).map(row => [SELECT, [row.id]]));
    return rows.length;
  };
  const large = async client => {
    const answer = await client.query('SELECT * FROM users, generate_series(1, 10)');
    let bytes = 0;
    for (const row of answer.rows) bytes += row.rowBuffer.length;
    return bytes / 1e6;
  };
  /** µs of a process's CPU for one of what `work` does. */
  const cost = async (client, work, pid) => {
    for (const until = Date.now() + 500; Date.now() < until;) await work(client);
    const before = ticks(pid());
    let count = 0;
    for (const until = Date.now() + seconds * 1000; Date.now() < until;) count += await work(client);
    return (ticks(pid()) - before) / count;
  };
  const client = await open();
  const pid = () => client.processId;
  const result = {
    serverSelect: await cost(client, select, pid),
    serverBatch: await cost(client, batch, pid),
    serverBytes: await cost(client, large, pid)
  };
  const proxy = await startProxy({ target: server });
  const counted = await open({ ...server.config, host: proxy.host, port: proxy.port });
  await select(counted);
  const before = { ...proxy.stats.bytes };
  const count = await select(counted);
  const after = proxy.stats.bytes;
  result.bytes = (after.toClient + after.toServer - before.toClient - before.toServer) / count;
  await counted.end();
  await proxy.stop();
  await client.end();
  try {
    const bouncer = await startPgBouncer({ target: server, mode: 'session' });
    const through = await open(bouncer.config);
    result.pooler = await cost(through, select, () => bouncer.pid);
    await through.end();
    await bouncer.stop();
  } catch (error) {
    console.error(`without PgBouncer: ${error.message}`);
  }
  await server.stop();
  return result;
}

async function main([first, second]) {
  if (first === '--server') {
    fs.writeFileSync(SERVER, `${JSON.stringify(await measure(Number(second ?? 3)), null, 1)}\n`);
    process.exit(); // the first client is still there
  }
  const file = first === '--write' || first === undefined ? path.join(__dirname, 'results/results.json') : first;
  const found = figures(JSON.parse(fs.readFileSync(file)), JSON.parse(fs.readFileSync(SERVER)));
  const made = text(found, scale(found));
  if (![first, second].includes('--write')) return console.log(made);
  const page = fs.readFileSync(PAGE, 'utf8');
  const start = page.indexOf(MARKERS[0]) + MARKERS[0].length;
  const end = page.indexOf(MARKERS[1], start);
  fs.writeFileSync(PAGE, `${page.slice(0, start)}\n${made}${page.slice(end)}`);
}

if (require.main === module) main(process.argv.slice(2));
module.exports = { figures, scale, text };
