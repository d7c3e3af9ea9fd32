'use strict';

// What settle.test.js runs in processes of its own: faults, each against a client in every state. Prints a line of JSON
// for each, `done` when all is over, and has to end by itself after that.

const assert = require('node:assert/strict');
const { Writable } = require('node:stream');
const { setTimeout: sleep } = require('node:timers/promises');
const { startServer, startProxy, SERVER_VERSION } = require('pg-test-fixtures');
const { Client } = require('../..');
const { until: reached } = require('./kit');

/** Within so many milliseconds everything has to settle; twice what connecting may take. */
const BOUND = 5000;
/** After so many milliseconds of silence a query that has a limit gives up. */
const LIMIT = 2000;

/** A query that runs for longer than the test. */
const LONG = 'SELECT pg_sleep(60)';
const WIDE = "SELECT repeat('x', 1000) FROM generate_series(1, 8000)";

/** Runs until the server is at work for the client, or `ms` have passed. */
async function running(client, server, ms = 2000) {
  const session = await server.session();
  try {
    for (const until = Date.now() + ms; Date.now() < until; await sleep(5)) {
      const [row] = await session.query(
        `SELECT state, wait_event_type AS event FROM pg_stat_activity WHERE pid = ${client.processId}`
      );
      if (row && row.state === 'active') return;
    }
  } finally {
    session.close();
  }
}

/** Silence after so many more bytes of the server; resolves when it begins. */
function silentAfter(wire, bytes) {
  return new Promise(resolve => {
    wire.after('toClient', wire.stats.bytes.toClient + bytes, () => {
      wire.stall();
      resolve();
    });
  });
}

/**
 * What brings a client into a state. `keep` is given the promises that are pending in it, `limits` are options of
 * queries.
 */
const CONNECTED = {
  async idle() {},
  async '1,000 pipelined queries'({ client, server, keep, limits }) {
    keep(client.query(LONG, [], limits));
    for (let i = 1; i < 1000; i++) keep(client.query('SELECT $1::int', [i], limits));
    await running(client, server);
  },
  async 'mid-row'({ client, wire, keep, limits }) {
    const silent = silentAfter(wire, 10000);
    const row = keep(client.query("SELECT repeat('x', 2000000)", [], limits));
    keep(client.query('SELECT 1', [], limits));
    await Promise.race([silent, row]); // on a busy machine its limit may come first
  },
  async 'mid-COPY-out'({ client, wire, keep, limits }) {
    const silent = silentAfter(wire, 100000);
    const copy = keep(client.query(`COPY (${WIDE}) TO STDOUT`, [], limits));
    keep(client.query('SELECT 1', [], limits));
    await Promise.race([silent, copy]);
  },
  async 'mid-COPY-in'({ client, keep, limits }) {
    await client.query('CREATE TEMP TABLE t (a text)');
    await client.query('COPY t FROM STDIN', [], limits);
    client.copyData('half a row');
    keep(client.query('SELECT 1', [], limits));
    await new Promise(setImmediate); // the data are sent
  },
  async 'an open portal'({ client, server, keep, limits }) {
    client.startQuery('SELECT i, pg_sleep(CASE WHEN i > 10 THEN 60 ELSE 0 END) FROM generate_series(1, 20) i');
    assert.equal((await client.getResults(10)).rows.length, 10);
    keep(client.getResults(10));
    keep(client.getResults(10));
    keep(client.query('SELECT 1', [], limits));
    await running(client, server);
  },
  async 'a cursor'({ client, server, keep, limits }) {
    const text = 'SELECT i, pg_sleep(CASE WHEN i > 10 THEN 60 ELSE 0 END) FROM generate_series(1, 20) i';
    await new Promise(isAtLast => {
      keep(
        (async () => {
          for await (const { i } of client.cursor(text, [], { batchSize: 10 })) {
            assert.ok(i <= 10);
            if (Number(i) === 10) isAtLast();
          }
        })()
      );
    });
    await running(client, server);
    keep(client.query('SELECT 1', [], limits));
  },
  async transaction({ client, server, keep, limits }) {
    keep(
      client.transaction(async tx => {
        await Promise.all([
          tx.query(LONG),
          tx.transaction(async nested => {
            await nested.query('SELECT 1');
          })
        ]);
      })
    );
    keep(client.transaction(async () => {}));
    keep(client.query('SELECT 1', [], limits));
    await running(client, server);
  },
  async batch({ client, server, keep, limits }) {
    keep(client.batch([['SELECT 1'], [LONG], ['SELECT 2']], limits));
    keep(client.simpleQuery('SELECT 1', limits));
    await running(client, server);
  },
  async cancelling({ client, proxy, server, keep }) {
    const abort = new AbortController();
    keep(client.query(LONG, [], { signal: abort.signal }));
    await running(client, server);
    const next = proxy.next();
    abort.abort();
    (await next).stall(); // the CancelRequest is on its way
    keep(client.query('SELECT 1'));
    keep(client.cancel());
  },
  async 'end() pending'({ client, server, keep, limits }) {
    keep(client.query(LONG, [], limits));
    await running(client, server);
    keep(client.end());
    keep(client.end());
  },
  async 'pass-through to a slow stream'({ client, keep, limits }) {
    let taken = 0;
    const slow = new Writable({
      highWaterMark: 1,
      write(chunk, encoding, callback) {
        taken += chunk.length;
        setTimeout(callback, chunk.length >> 14); // 4 ms for 64 kB: the pieces may be small on a busy machine
      }
    });
    keep(client.query(WIDE, [], { stream: slow, ...limits }));
    keep(client.queryTo(slow, 'SELECT 1', [], { end: false, ...limits }));
    await reached(() => taken > 0, 'the slow stream takes something');
  }
};

/** States before the connection is there: where it goes silent, and the client's config. */
const CONNECTING = {
  connecting: { stop: wire => wire.stall('toServer'), config: { user: 'postgres', sslmode: 'disable' } },
  'TLS handshake': {
    stop: wire => wire.after('toClient', 100, 'stall'),
    config: { user: 'postgres', sslmode: 'require' }
  },
  authentication: {
    stop: wire => wire.after('toClient', 5, 'stall'),
    config: { user: 'scram', password: 'secret', sslmode: 'disable' }
  }
};

const COMMAND_COMPLETE = Buffer.from('430000000d53454c454354203100', 'hex');
const READY = Buffer.from('5a0000000549', 'hex');

/** What happens to the connection. */
const FAULTS = {
  FIN: ({ proxy }) => proxy.cut(),
  RST: ({ proxy }) => proxy.reset(),
  async silence({ proxy, client, limited }) {
    proxy.stall();
    // What has a limit settles without help; the rest is the program's to end.
    await limited();
    client.destroy();
  },
  async SIGKILL({ server, proxy }) {
    await server.kill();
    proxy.resume();
  },
  async pg_terminate_backend({ server, proxy }) {
    await server.sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    );
    proxy.resume();
  },
  'garbage bytes': ({ proxy }) => {
    // Inside the length of a DataRow, they make none that is longer than the rest of the result.
    proxy.inject(Buffer.from('0000000000ff0102030405060708090a0b', 'hex'));
    proxy.resume();
  },
  'a message out of order': ({ proxy }) => {
    proxy.inject(Buffer.concat([COMMAND_COMPLETE, COMMAND_COMPLETE, READY]));
    proxy.resume();
  },
  'destroy()': ({ client }) => client.destroy(),
  'destroy(error)': ({ client }) => client.destroy(new Error('enough'))
};

/** What settles in silence by its limit (connect_timeout, statement_timeout) alone. */
const ALONE = {
  connecting: '3 of 3',
  'TLS handshake': '3 of 3',
  authentication: '3 of 3',
  idle: '0 of 0',
  '1,000 pipelined queries': '1000 of 1000',
  'mid-row': '2 of 2',
  'mid-COPY-out': '2 of 2',
  'mid-COPY-in': '1 of 1',
  'an open portal': '1 of 3',
  'a cursor': '1 of 2',
  transaction: '1 of 3',
  batch: '2 of 2',
  cancelling: '1 of 3',
  'end() pending': '1 of 3',
  'pass-through to a slow stream': '2 of 2'
};

/** Waits for all promises; fails when one takes longer than the bound. */
async function settled(promises, name) {
  let timer;
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${name}: a promise did not settle`)), BOUND);
  });
  try {
    return await Promise.race([Promise.allSettled(promises), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What keeps the process running. */
const handles = () => process.getActiveResourcesInfo().filter(kind => /TCP|TLS|Timeout/.test(kind)).length;

/** Runs one fault in one state. */
async function run(server, state, fault) {
  const before = CONNECTING[state];
  const proxy = await startProxy({ target: server, onConnection: before?.stop });
  const config = {
    host: proxy.host,
    port: proxy.port,
    user: 'postgres',
    database: 'postgres',
    sslmode: 'disable',
    connect_timeout: before && fault === 'silence' ? 2 : 60,
    ...before?.config
  };
  const client = new Client(config);
  const events = { error: 0, end: 0 };
  client.on('error', () => {
    events.error++;
  });
  client.on('end', () => {
    events.end++;
  });
  const limits = fault === 'silence' ? { statement_timeout: LIMIT } : undefined;
  const pending = [];
  const keep = promise => {
    const each = { promise, settled: 0 };
    pending.push(each);
    return promise.then(
      () => each.settled++,
      () => each.settled++
    );
  };
  const next = proxy.next();
  let wire;
  if (before !== undefined) {
    keep(client.connect());
    keep(client.query('SELECT 1', [], limits));
    keep(client.transaction(() => {}));
    wire = await next;
    await sleep(50);
  } else {
    await client.connect();
    wire = await next;
    await CONNECTED[state]({ client, wire, proxy, server, keep, limits });
  }
  let alone;
  const limited = async () => {
    const count = () => pending.filter(each => each.settled).length;
    const begun = Date.now();
    const isOver = () =>
      count() === pending.length || (Date.now() - begun > 2 * LIMIT && count() >= Number.parseInt(ALONE[state]));
    while (!isOver() && Date.now() - begun < 4 * BOUND) await sleep(5);
    alone = `${count()} of ${pending.length}`;
  };
  if (before !== undefined) proxy.refuse(); // it may try once more
  await FAULTS[fault]({ client, proxy, wire, server, limited });
  // There is no backend yet that could be terminated, or none that servers before 18 show: the connection is made then.
  const spared =
    before !== undefined && fault === 'pg_terminate_backend' && (state !== 'authentication' || SERVER_VERSION < 18);
  if (spared) client.end();
  const results = await settled([...pending.map(each => each.promise), client.closed], `${state}, ${fault}`);
  const lost = results.at(-1).value;
  const ended = spared || fault === 'destroy()' || (fault === 'silence' && before === undefined);
  assert.equal(lost === undefined, ended, 'closed tells of the error');
  assert.ok(
    pending.every(each => each.settled === 1),
    'each settled once'
  );
  assert.equal(client.state, 'closed');
  assert.equal(client.pending, 0);
  assert.equal(events.end, before === undefined || spared ? 1 : 0, "'end' is emitted once by what had been open");
  // What had begun before says so afterwards, too.
  if (state === 'mid-COPY-in') await assert.rejects(client.copyDone());
  await assert.rejects(client.query('SELECT 1'), { code: '08003' });
  if (fault === 'SIGKILL') await server.start();
  proxy.resume();
  await proxy.stop();
  // The same client connects again.
  const again = await startProxy({ target: server });
  proxy.port = again.port;
  config.connect_timeout = 60; // on a busy machine two seconds may pass
  await client.connect(again.port, again.host);
  assert.equal((await client.query('SELECT 2 AS two')).rows[0].two, 2);
  await settled([client.end()], 'the end');
  assert.equal(client.state, 'closed');
  await again.stop();
  return {
    state,
    codes: [
      ...new Set(results.slice(0, -1).map(({ reason }) => (reason ? (reason.code ?? reason.message) : 'resolved')))
    ],
    errors: events.error,
    alone
  };
}

/** Runs a fault in a state, and prints what came of it; in silence states wait beside each other, so handles are counted later. */
async function tell(server, state, fault, base) {
  try {
    const result = await run(server, state, fault);
    // What a stream of the test has begun may take a moment.
    if (fault !== 'silence') result.handles = await left(base);
    console.log(JSON.stringify({ fault, ...result }));
  } catch (error) {
    console.log(JSON.stringify({ fault, state, failed: error.stack }));
    process.exitCode = 1;
  }
}

/** How many handles more there are than at the beginning. */
async function left(base) {
  for (const until = Date.now() + BOUND; handles() > base && Date.now() < until;) await sleep(20);
  return handles() - base;
}

async function main(...faults) {
  process.on('unhandledRejection', error => {
    console.log(JSON.stringify({ unhandled: String(error && error.stack) }));
    process.exitCode = 1;
  });
  const server = await startServer({
    tls: true,
    auth: { scram: 'scram-sha-256', all: 'trust' },
    users: { scram: 'secret' },
    external: false
  });
  const base = handles();
  const states = [...Object.keys(CONNECTING), ...Object.keys(CONNECTED)];
  for (const fault of faults) {
    if (fault === 'silence') await Promise.all(states.map(state => tell(server, state, fault, base)));
    else for (const state of states) await tell(server, state, fault, base);
    console.log(JSON.stringify({ fault, handles: await left(base) }));
  }
  await server.stop();
  console.log('done');
}

if (require.main === module) main(...process.argv.slice(2));
module.exports = { ALONE, FAULTS, CONNECTED, CONNECTING };
