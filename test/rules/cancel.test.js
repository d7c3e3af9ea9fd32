'use strict';

const assert = require('node:assert/strict');
const { tracingChannel } = require('node:diagnostics_channel');
const { PassThrough, Readable } = require('node:stream');
const { finished } = require('node:stream/promises');
const { setImmediate: turn, setTimeout: sleep } = require('node:timers/promises');
const { Pool } = require('../../lib/pool');
const { connected, sharedServer, running } = require('../support');
const { afterTest, endAfterTest } = require('../support/hooks');
const { covered, table } = require('./kit');

const SLEEP = 'SELECT pg_sleep(60)';

/** A table into which a COPY takes long. */
const TABLE = 'CREATE TEMP TABLE copied (a int, CHECK (a < 5 OR pg_sleep(60) IS NOT NULL))';

/** Each begins what cancel() ends, and returns a list of the promise or stream that the program awaits afterwards. */
const FORMS = {
  query: client => [client.query(SLEEP)],
  'query with options': client => [client.query(SLEEP, [], { alone: true })],
  'query behind others': client => {
    client.query('SELECT 1');
    return [client.query(SLEEP)];
  },
  simpleQuery: client => [client.simpleQuery(`SELECT 1; ${SLEEP}`)],
  batch: client => [client.batch([['SELECT 1'], [SLEEP], ['SELECT 2']])],
  'query into a stream': client => [client.query(SLEEP, [], { stream: new PassThrough() })],
  queryTo: client => [client.queryTo(new PassThrough(), SLEEP)],
  'a query of with()': client => [client.with({ application_name: 'with' }).query(SLEEP)],
  cursor: client => [client.cursor(SLEEP).next()],
  'the second rows of a cursor': async client => {
    const text = 'SELECT pg_sleep(60 * (n - 1)) FROM generate_series(1, 2) AS n';
    const cursor = client.cursor(text, [], { batchSize: 1 });
    await cursor.next();
    return [cursor.next()];
  },
  'a cursor of a transaction': client => [client.transaction(tx => tx.cursor(SLEEP).next())],
  transaction: client => [client.transaction(tx => tx.query(SLEEP))],
  'the last query of a transaction': client => [client.transaction(tx => tx.commit(SLEEP))],
  'a transaction that ignores the error': client => [
    client.transaction(async tx => {
      await tx.query(SLEEP).catch(() => {});
    })
  ],
  'a savepoint': client => [client.transaction(tx => tx.transaction(nested => nested.query(SLEEP)))],
  'a transaction of with()': client => [client.with({ application_name: 'with' }).transaction(tx => tx.query(SLEEP))],
  getResults: client => {
    client.startQuery(SLEEP);
    return [client.getResults()];
  },
  copyTo: client => [client.copyTo(`COPY (${SLEEP}) TO STDOUT`)],
  'what the program makes of a query': client => [(async () => (await client.query(SLEEP)).rows)()],
  'what the program makes of copyTo': client => [Readable.from(client.copyTo(`COPY (${SLEEP}) TO STDOUT`)).toArray()],
  copyDone: async client => {
    await client.query(TABLE);
    await client.query('COPY copied FROM STDIN');
    client.copyData('7\n');
    return [client.copyDone()];
  },
  copyFrom: async client => {
    await client.query(TABLE);
    const stream = client.copyFrom('COPY copied FROM STDIN');
    stream.end('7\n');
    return [stream];
  },
  'a traced query': client => {
    const { asyncEnd } = tracingChannel('quickgres:query');
    const listen = () => {};
    asyncEnd.subscribe(listen);
    afterTest(() => asyncEnd.unsubscribe(listen));
    return [client.query(SLEEP)];
  }
};

const LATER = "a program's own promises are its own: cancel() waits one turn for it";

/** What the program does between `await client.cancel()` and the await of what it has begun. */
const PAUSES = {
  'at once': () => {},
  'a tick later': () => new Promise(process.nextTick),
  '30 ms later': () => sleep(30)
};

const ADDRESSES = {
  TCP: async () => ({ host: '127.0.0.1', port: (await sharedServer()).port }),
  'a Unix socket': () => ({})
};

/** Calls a function with those promises that reject while nothing handles them. */
async function watched(use) {
  const found = [];
  const note = error => found.push(error);
  process.on('unhandledRejection', note);
  try {
    await use();
    await turn();
  } finally {
    process.off('unhandledRejection', note);
  }
  assert.deepEqual(found, []);
}

/** Cancels what a client runs, and looks at the outcome after a pause: the server ignores a request that is early. */
async function cancel(client, given, pause) {
  for (let outcome; ;) {
    await client.cancel();
    await pause();
    outcome ??= typeof given.then === 'function' ? given : finished(given);
    const isOver = await Promise.race([outcome.then(() => true, () => true), sleep(60, false)]); // prettier-ignore
    if (isOver) return assert.rejects(outcome, error => (error.cause ?? error).code === '57014');
  }
}

table(
  'Nothing that cancel() makes reject is unhandled:',
  { form: FORMS, address: ADDRESSES, pause: PAUSES },
  async (begin, address, pause) => {
    const client = await connected(await address());
    await watched(async () => {
      const [given] = await begin(client);
      await cancel(client, given, pause);
      assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
    });
    await client.end();
  },
  { 'what the program makes of a query, 30 ms later': LATER, 'what the program makes of copyTo, 30 ms later': LATER }
);

describe('cancel()', () => {
  for (const [name, address] of Object.entries(ADDRESSES))
    it(`before the await of a query leaves no rejection unhandled in 500 rounds over ${name}`, async () => {
      const client = await connected(await address());
      await watched(async () => {
        for (let round = 0; round < 500; round++) {
          const query = client.query(SLEEP);
          await client.cancel();
          await cancel(client, query, () => {});
        }
      });
    }).timeout(60000);

  covered(
    { ...FORMS, cancel },
    {
      'listen, describe, connection': 'the server executes nothing for them, or what others ask',
      'copyFail, ref, unref, toJSON, connect, end, destroy, renew, close, sync': 'they end or do nothing'
    }
  );

  it('leaves nothing unhandled of 200 queries', async () => {
    for (const address of Object.values(ADDRESSES)) {
      const client = await connected(await address());
      await watched(async () => {
        for (let i = 0; i < 100; i++) await cancel(client, client.query(SLEEP), PAUSES['at once']);
      });
    }
  });

  it('leaves nothing unhandled in connection() of a pool', async () => {
    const pool = endAfterTest(new Pool((await sharedServer()).config, { size: 1 }));
    await watched(async () => {
      let lent;
      const given = pool.connection(client => (lent = client).query(SLEEP));
      while (lent === undefined) await turn();
      await cancel(lent, given, PAUSES['30 ms later']);
    });
  });

  it('shows the caller that awaits the query', async () => {
    const client = await connected();
    const query = client.query(SLEEP);
    await running(client);
    const cancelled = client.cancel();
    async function readsUsers() {
      await query;
    }
    await assert.rejects(readsUsers(), error => error.code === '57014' && error.stack.includes('readsUsers'));
    await cancelled;
  });

  it('makes the errors of earlier and later queries handled by nobody but the program', async () => {
    const client = await connected();
    await assert.rejects(client.query(SLEEP, [], { statement_timeout: 10 }), { code: '57014' });
    const cancelled = client.query(SLEEP);
    await cancel(client, cancelled, PAUSES['at once']);
    const seen = [];
    const note = error => seen.push(error.code);
    const others = process.listeners('unhandledRejection');
    process.removeAllListeners('unhandledRejection');
    process.on('unhandledRejection', note);
    client.query('SELECT 1 / 0');
    await client.query('SELECT 1');
    await turn();
    process.off('unhandledRejection', note);
    for (const each of others) process.on('unhandledRejection', each);
    assert.deepEqual(seen, ['22012']);
  });
});
