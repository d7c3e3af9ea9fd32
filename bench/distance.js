'use strict';

// Round trips of each method, counted as flights by the fixtures' latency proxy:
//
//     node distance.js              prints a Markdown table of Quickgres and its peers
//     node distance.js --write      writes it into README.md, between the markers
//     node distance.js time         prints milliseconds of Quickgres and pg at a round trip of 10 ms
//
// A flight is all that a client sends until something has come. Where there are several connections, that with the most
// flights counts. Each client has a process of its own, which tells when a method is over and waits to be told to go on.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const readline = require('node:readline');
const { PassThrough } = require('node:stream');
const { finished } = require('node:stream/promises');
const { startProxy, startServer } = require('pg-test-fixtures');

const MARKERS = ['<!-- made by bench/distance.js -->', '<!-- end -->'];

/** Milliseconds one way: long enough for a client to have sent all that it can before something comes. */
const DELAY = 20;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);

const ONE = 'SELECT id, name FROM items WHERE id = $1';
const CURSOR = 'SELECT generate_series(1, 3000) AS i';
const COPY_OUT = 'COPY (SELECT generate_series(1, 10)) TO STDOUT';
const COPY_IN = 'COPY copied FROM STDIN';
const LINES = '1\n'.repeat(10);

const isTimed = process.argv.includes('time');

const several = (count, work) => Promise.all(Array.from({ length: count }, (_, i) => work(i)));
const drain = async rows => {
  for await (const row of rows) if (row === null) throw new Error('a row is null');
};
const first = async rows => {
  for await (const row of rows) if (row) break;
};
const sink = () => new PassThrough().resume();
let missed = 0;
let texts = 0;
const newText = () => `SELECT ${++texts} AS n, $1::int AS i`;

/** What there is more of where time is measured. */
const many = session => ({
  '1,000 queries at once': () => several(1000, i => session.query(ONE, [i % 100])),
  '1,000 results to streams at once': () => several(1000, i => session.queryTo(sink(), ONE, [i % 100])),
  '20 new texts to streams at once': () => several(20, i => session.queryTo(sink(), newText(), [i]))
});

/** What Quickgres does, on a client or a pool; a cache has another one. */
const quickgres = (session, cache) => ({
  ...(isTimed && many(session)),
  'one query': () => session.query(ONE, [1]),
  '100 queries at once': () => several(100, i => session.query(ONE, [i])),
  '… with a signal each': () => several(100, i => session.query(ONE, [i], { signal: new AbortController().signal })),
  '… with a statement_timeout each': () => several(100, i => session.query(ONE, [i], { statement_timeout: 60000 })),
  '20 new texts at once': () => several(20, i => session.query(newText(), [i])),
  'a batch of ten': () => session.batch(Array.from({ length: 10 }, (_, i) => [ONE, [i]])),
  'two statements in one text': () => session.simpleQuery('SELECT 1; SELECT 2'),
  'a result to a stream': () => session.queryTo(sink(), ONE, [1]),
  '100 results to streams at once': () => several(100, i => session.queryTo(sink(), ONE, [i])),
  '100 answers that a cache does not have': () => several(100, () => cache.query(ONE, [++missed])),
  'a transaction of one query': () => session.transaction(tx => tx.query(ONE, [1])),
  '… of two, of which the second needs the first': () =>
    session.transaction(async tx => {
      const {
        rows: [{ id }]
      } = await tx.query(ONE, [1]);
      await tx.query(ONE, [id]);
    }),
  '… of one, and a savepoint of one': () =>
    session.transaction(async tx => {
      await tx.query(ONE, [1]);
      await tx.transaction(nested => nested.query(ONE, [2]));
    }),
  'ten transactions of one query at once': () => several(10, i => session.transaction(tx => tx.query(ONE, [i]))),
  '3,000 rows by a cursor, 1,000 at a time': () => drain(session.cursor(CURSOR)),
  'a cursor that is left after one row': () => first(session.cursor(CURSOR)),
  'COPY of ten rows in': () => finished(session.copyFrom(COPY_IN).end(LINES)),
  'COPY of ten rows out': () => drain(session.copyTo(COPY_OUT)),
  'ten COPY out at once': () => several(10, () => drain(session.copyTo(COPY_OUT))),
  'LISTEN, until it is ready': () => session.listen(`c${++texts}`).ready
});

/** What pg does on a client, with the modules that belong to it. */
function pg(client, isPipelined) {
  const query = i => client.query({ name: 'one', text: ONE, values: [i] });
  const transaction = async work => {
    await client.query('BEGIN');
    await work();
    await client.query('COMMIT');
  };
  const methods = {
    'one query': () => query(1),
    '100 queries at once': () => several(100, query),
    '20 new texts at once': () => several(20, i => client.query(newText(), [i])),
    'two statements in one text': () => client.query('SELECT 1; SELECT 2'),
    'a transaction of one query': () => transaction(() => query(1)),
    '… of two, of which the second needs the first': () =>
      transaction(async () => {
        await query((await query(1)).rows[0].id);
      }),
    '… of one, and a savepoint of one': () =>
      transaction(async () => {
        await query(1);
        await client.query('SAVEPOINT a');
        await query(2);
        await client.query('RELEASE a');
      }),
    'LISTEN, until it is ready': () => client.query(`LISTEN c${++texts}`)
  };
  if (isPipelined) return methods;
  const Stream = require('pg-query-stream');
  const { from, to } = require('pg-copy-streams');
  return {
    ...methods,
    '3,000 rows by a cursor, 1,000 at a time': () => drain(client.query(new Stream(CURSOR, [], { batchSize: 1000 }))),
    'a cursor that is left after one row': () => first(client.query(new Stream(CURSOR, [], { batchSize: 1000 }))),
    'COPY of ten rows in': () => finished(client.query(from(COPY_IN)).end(LINES)),
    'COPY of ten rows out': () => drain(client.query(to(COPY_OUT))),
    'ten COPY out at once': () => several(10, () => drain(client.query(to(COPY_OUT))))
  };
}

/** What postgres and Bun do on one connection: their interfaces are much the same. */
const tagged = (sql, savepoint) => ({
  'one query': () => sql.unsafe(ONE, [1], { prepare: true }),
  '100 queries at once': () => several(100, i => sql.unsafe(ONE, [i], { prepare: true })),
  '20 new texts at once': () => several(20, i => sql.unsafe(newText(), [i], { prepare: true })),
  'two statements in one text': () => sql.unsafe('SELECT 1; SELECT 2').simple(),
  'a transaction of one query': () => sql.begin(tx => tx.unsafe(ONE, [1], { prepare: true })),
  '… of two, of which the second needs the first': () =>
    sql.begin(async tx => {
      const [{ id }] = await tx.unsafe(ONE, [1], { prepare: true });
      await tx.unsafe(ONE, [id], { prepare: true });
    }),
  '… of one, and a savepoint of one': () =>
    sql.begin(async tx => {
      await tx.unsafe(ONE, [1], { prepare: true });
      await savepoint(tx, nested => nested.unsafe(ONE, [2], { prepare: true }));
    }),
  'ten transactions of one query at once': () =>
    several(10, i => sql.begin(tx => tx.unsafe(ONE, [i], { prepare: true })))
});

/** Each gives its methods, on open connections. */
const CLIENTS = {
  async client(config) {
    const { Client } = require('..');
    const [client, reader] = [1, 2].map(() => new Client(config));
    await Promise.all([client.connect(), reader.connect()]);
    return quickgres(client, new (require('../lib/cache').ResponseCache)(reader));
  },
  async pool(config) {
    const { Pool } = require('../lib/pool');
    const [pool, reader] = [1, 2].map(() => new Pool(config, { size: 4, idle_timeout: 0 }));
    await Promise.all([pool, reader].map(each => several(8, () => each.query('SELECT pg_sleep(0.2)'))));
    await pool.listen('open').ready;
    return quickgres(pool, new (require('../lib/cache').ResponseCache)(reader));
  },
  async pg(config) {
    const client = new (require('pg').Client)(config);
    await client.connect();
    return pg(client, false);
  },
  async 'pg, pipeline: true'(config) {
    const client = new (require('pg').Client)({ ...config, pipeline: true });
    await client.connect();
    return pg(client, true);
  },
  async postgres(config) {
    const sql = require('postgres')({ ...config, max: 1, fetch_types: false, onnotice() {} });
    await sql`SELECT 1`;
    return {
      ...tagged(sql, (tx, work) => tx.savepoint(work)),
      '3,000 rows by a cursor, 1,000 at a time': () => drain(sql.unsafe(CURSOR).cursor(1000)),
      'a cursor that is left after one row': () => first(sql.unsafe(CURSOR).cursor(1000)),
      'COPY of ten rows in': async () => {
        await finished((await sql.unsafe(COPY_IN).writable()).end(LINES));
      },
      'COPY of ten rows out': async () => drain(await sql.unsafe(COPY_OUT).readable())
    };
  },
  async Bun({ host, port, user, database }) {
    const { SQL } = require('bun');
    const sql = new SQL({ adapter: 'postgres', hostname: host, port, username: user, database, max: 1 });
    await sql`SELECT 1`;
    return tagged(sql, (tx, work) => tx.savepoint(work));
  }
};

/** In the process of one client: runs each method cold, then warm, and says so; goes on at each line that it is given. */
async function perform(name, config, rounds) {
  const methods = await CLIENTS[name](config);
  const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const say = message => process.stdout.write(`${JSON.stringify(message)}\n`);
  say({});
  for (const method of Object.keys(methods)) {
    for (let round = 0; round < rounds; round++) {
      await lines.next();
      const begun = performance.now();
      const error = await Promise.resolve(methods[method]()).then(() => undefined, String);
      say({ method, round, error, ms: performance.now() - begun });
    }
  }
  process.exit();
}

const flightsOf = proxy => proxy.connections.map(({ stats }) => stats.flights.toServer);

/**
 * Has a client do everything.
 * @returns {Promise<Map<string, object[]>>} by the name of the method, what each round was: `{ flights, ms, error }`
 */
async function measure(name, server, delay, rounds) {
  const proxy = await startProxy({ target: server, delay });
  const config = { ...server.config, host: proxy.host, port: proxy.port };
  const program = name === 'Bun' ? path.join(__dirname, 'node_modules/.bin/bun') : process.execPath;
  const child = spawn(program, [__filename, 'perform', name, JSON.stringify(config), rounds, isTimed ? 'time' : ''], {
    stdio: ['pipe', 'pipe', 'inherit']
  });
  const found = new Map();
  let before;
  for await (const line of readline.createInterface({ input: child.stdout })) {
    const { method, error, ms } = JSON.parse(line);
    if (method !== undefined) {
      const flights = Math.max(...flightsOf(proxy).map((count, index) => count - (before[index] ?? 0)));
      found.set(method, [...(found.get(method) ?? []), { flights, ms, error }]);
    }
    await new Promise(resolve => {
      setTimeout(resolve, 5 * delay);
    }); // what comes late does not count with the next
    before = flightsOf(proxy);
    child.stdin.write('\n');
  }
  await proxy.stop();
  return found;
}

/** Cold, and warm where that is another number. */
function cell(rounds) {
  if (rounds === undefined) return '–';
  if (rounds.some(({ error }) => error !== undefined)) return 'fails';
  const [cold, ...others] = rounds.map(({ flights }) => Math.max(1, flights)); // 0: together with what came before
  const warm = Math.min(...others);
  return cold === warm ? String(cold) : `${cold}, ${warm}`;
}

const median = rounds => rounds.map(({ ms }) => ms).sort((a, b) => a - b)[rounds.length >> 1];

/** @returns {string} a Markdown table of what the clients have come to */
function table(found, show) {
  const names = [...found.keys()];
  const methods = [...found.get('client').keys()];
  const row = method => `| ${method} | ${names.map(name => show(found.get(name).get(method))).join(' | ')} |`;
  const labels = names.map(name => ({ client: 'Client', pool: 'Pool' })[name] ?? name);
  return [`| | ${labels.join(' | ')} |`, `|---|${names.map(() => '---:|').join('')}`, ...methods.map(row)].join('\n');
}

async function main(what) {
  const names = isTimed ? ['client', 'pool', 'pg'] : Object.keys(CLIENTS);
  const server = await startServer();
  await server.sql("CREATE TABLE items AS SELECT id, 'item ' || id AS name FROM generate_series(0, 99) id");
  await server.sql('CREATE TABLE copied (i int)');
  const found = new Map();
  for (const name of names) found.set(name, await measure(name, server, isTimed ? 5 : DELAY, ROUNDS));
  await server.stop();
  const made = table(found, isTimed ? rounds => (rounds ? median(rounds).toFixed() : '–') : cell);
  for (const [name, methods] of found) {
    for (const [method, [{ error }]] of methods) if (error !== undefined) console.error(`${name}, ${method}: ${error}`);
  }
  if (what !== '--write') return console.log(made);
  const readme = path.join(__dirname, 'README.md');
  const text = fs.readFileSync(readme, 'utf8');
  const from = text.indexOf(MARKERS[0]) + MARKERS[0].length;
  const to = text.indexOf(MARKERS[1], from);
  fs.writeFileSync(readme, `${text.slice(0, from)}\n${made}\n${text.slice(to)}`);
}

const [what, name, config, rounds] = process.argv.slice(2);
if (what === 'perform') perform(name, JSON.parse(config), Number(rounds));
else main(what);
