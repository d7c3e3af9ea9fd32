'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { PassThrough, Readable } = require('node:stream');
const { text } = require('node:stream/consumers');
const { pipeline } = require('node:stream/promises');
const { inspect } = require('node:util');
const { Client, RowReader, Session } = require('../..');
const { NAMES } = require('../../lib/core/options');
const { Pool } = require('../../lib/pool');
const { opened } = require('../pool/pools');
const { connected, proxied, sharedServer } = require('../support');

const target = () => new PassThrough();

/*
 * One table for a client, a transaction and a pool. Input that is wrong: the method, its arguments, the error; what makes a
 * target is called for each. It is found out before anything is sent or waited for.
 */
const WRONG = [
  ['query', [42], TypeError],
  ['query', [null], TypeError],
  ['query', ['SELECT\0 1'], Error],
  ['query', ['SELECT 1', 'x'], TypeError],
  ['query', ['SELECT 1', {}], TypeError],
  ['query', ['SELECT 1', [new Map()]], TypeError],
  ['query', ['SELECT 1', [Symbol('x')]], TypeError],
  ['query', ['SELECT 1', [() => 1]], TypeError],
  ['query', ['SELECT $1', ['\0']], Error],
  ['query', ['SELECT 1', new Array(65536).fill(1)], RangeError],
  ['query', ['SELECT 1', [], 2], TypeError],
  ['query', ['SELECT 1', [], { signal: 'x' }], TypeError],
  ['query', ['SELECT 1', [], null], TypeError],
  ['query', ['SELECT 1', [], { statement_timeout: 0 }], TypeError],
  ['query', ['SELECT 1', [], { stream: {} }], TypeError],
  ['query', ['SELECT 1', [], { retyr: true }], /there is no option retyr/],
  ['query', ['SELECT 1', [], { idempotent: 3 }], /idempotent must be a boolean/],
  ['query', ['SELECT 1', [], { alone: 'x' }], /alone must be a boolean/],
  ['query', ['SELECT 1', [], { idempotent: true, stream: new RowReader() }], /leave out idempotent/],
  ['query', ['SELECT 1', [], { readOnly: true }], /there is no option readOnly here; the options are/],
  ['query', ['SELECT 1', [], { decode: 5 }], TypeError],
  ['query', ['SELECT 1', [], { paramTypes: [-1] }], TypeError],
  ['query', ['SELECT 1', [], 0, 'x'], TypeError],
  ['query', ['COPY t FROM STDIN', [new Map()]], TypeError],
  ['query', ['COPY t FROM STDIN', [], { signal: 1 }], TypeError],
  ['simpleQuery', [42], TypeError],
  ['simpleQuery', ['SELECT\0 1'], Error],
  ['simpleQuery', ['SELECT 1', { signal: 1 }], TypeError],
  ['simpleQuery', ['SELECT 1', { alone: true }], /there is no option alone/],
  ['batch', ['SELECT 1'], TypeError],
  ['batch', [[42]], TypeError],
  ['batch', [[['SELECT 1', [new Map()]]]], TypeError],
  ['batch', [[['COPY t FROM STDIN']]], TypeError],
  ['batch', [['SELECT 1'], 5], TypeError],
  ['batch', [['SELECT 1', ['SELECT $1', [new Map()]]]], TypeError],
  ['batch', [[['SELECT 1', [], { stream: new RowReader() }]]], /there is no option stream/],
  ['transaction', ['BEGIN'], TypeError],
  ['transaction', [async () => {}, { isolation: 'none' }], TypeError],
  ['transaction', [() => {}, { isolatoin: 'none' }], /no option isolatoin/],
  ['transaction', [() => {}, { signal: 5 }], TypeError],
  ['transaction', [() => {}, null], TypeError],
  ['cursor', [42], TypeError],
  ['cursor', ['SELECT 1', 'x'], TypeError],
  ['cursor', ['SELECT 1', [], { batchSize: 0 }], TypeError],
  ['cursor', ['SELECT 1', [], { bachSize: 1 }], TypeError],
  ['cursor', ['COPY t FROM STDIN'], TypeError],
  ['cursor', ['SELECT 1', [], { signal: {} }], TypeError],
  ['close', ['X', 'a'], TypeError],
  ['close', ['S', 42], TypeError],
  ['queryTo', [null, 'SELECT 1'], /target must be a writable stream/],
  ['queryTo', [{}, 'SELECT 1'], TypeError],
  ['queryTo', [new Readable(), 'SELECT 1'], TypeError],
  ['queryTo', [target, 42], TypeError],
  ['queryTo', [target, 'SELECT 1', [new Map()]], TypeError],
  ['queryTo', [target, 'SELECT 1', [], { as: 'rows' }], TypeError],
  ['queryTo', [target, 'SELECT 1', [], { separator: 1 }], TypeError],
  ['queryTo', [target, 'SELECT 1', [], { format: 3 }], TypeError],
  ['queryTo', [target, 'COPY t FROM STDIN'], TypeError],
  ['queryTo', [target, 'SELECT 1', [], { signal: {} }], TypeError],
  ['copyTo', ['SELECT 1'], TypeError],
  ['copyTo', ['COPY t FROM STDIN'], TypeError],
  ['copyTo', [42], TypeError],
  ['copyTo', ['COPY t TO STDOUT', { sginal: 1 }], TypeError],
  ['copyTo', ['COPY t TO STDOUT', { signal: 1 }], TypeError],
  ['copyFrom', ['SELECT 1'], TypeError],
  ['copyFrom', ['COPY t TO STDOUT'], TypeError],
  ['copyFrom', [42], TypeError],
  ['copyFrom', ['COPY t FROM STDIN', { signal: 1 }], TypeError],
  ['copyTo', ['COPY t TO STDOUT\0'], /null byte/],
  ['copyFrom', ['COPY t FROM STDIN\0'], /null byte/],
  ['listen', [42], TypeError],
  ['listen', [''], Error],
  ['listen', ['a\0'], Error],
  ['listen', ['x'.repeat(64)], RangeError],
  ['listen', ['x', { sginal: 1 }], /no option sginal/],
  ['listen', ['x', { signal: 1 }], TypeError]
];

/** What each option cannot be. */
const WRONG_VALUES = {
  alone: 'x',
  as: 'rows',
  batchSize: 0,
  buffer: -1,
  bytea: 'x',
  cache: 1,
  columns: 'x',
  decode: 5,
  names: 'snake',
  deferrable: 1,
  end: 'x',
  format: 2,
  highWaterMark: 'x',
  int8: 'x',
  isolation: 'none',
  keepalive: -1,
  numeric: 'x',
  paramTypes: [-1],
  readOnly: 'x',
  idempotent: 1,
  separator: 1,
  session: 'x',
  signal: {},
  stall_timeout: -1,
  retries: -1,
  statement_timeout: 0,
  stream: {}
};

/** The arguments of each method that takes options. */
const WITH_OPTIONS = {
  query: it => ['SELECT 1', [], it],
  simpleQuery: it => ['SELECT 1', it],
  batch: it => [['SELECT 1'], it],
  batched: it => [[['SELECT 1', [], it]]],
  transaction: it => [() => {}, it],
  cursor: it => ['SELECT 1', [], it],
  queryTo: it => [target, 'SELECT 1', [], it],
  copyTo: it => ['COPY t TO STDOUT', it],
  copyFrom: it => ['COPY t FROM STDIN', it],
  listen: it => ['news', it],
  describe: it => ['SELECT 1', it]
};
for (const [name, args] of Object.entries(WITH_OPTIONS)) {
  const method = name === 'batched' ? 'batch' : name;
  for (const option of NAMES[name]) WRONG.push([method, args({ [option]: WRONG_VALUES[option] }), TypeError]);
  for (const options of [null, 5, 'x', ['x'], AbortSignal.abort(), { nonsense: 1 }])
    WRONG.push([method, args(options), TypeError]);
}

/** Calls that make sense on each of the three, and what they give. */
const RIGHT = [
  ['query', on => on.query('SELECT $1::int AS n', [1]).then(({ rows: [row] }) => row.n), 1],
  [
    'query with options',
    on =>
      on
        .query('SELECT $1::int AS n', [1], { alone: true, idempotent: true, statement_timeout: 9000, decode: true })
        .then(({ objects: [row] }) => row.n),
    1
  ],
  [
    'query with a stream',
    on => on.query('SELECT 2 AS n', [], { stream: new RowReader() }).then(({ rows: [row] }) => row.n),
    2
  ],
  [
    'simpleQuery',
    on =>
      on.simpleQuery('SELECT 3 AS n; SELECT 4', { idempotent: true }).then(
        ([
          {
            rows: [row]
          }
        ]) => row.n
      ),
    3
  ],
  [
    'batch',
    on =>
      on.batch([['SELECT $1::int AS n', [5]], 'SELECT 6'], { idempotent: true }).then(
        ([
          {
            rows: [row]
          }
        ]) => row.n
      ),
    5
  ],
  [
    'transaction',
    on => on.transaction(tx => tx.query('SELECT 7 AS n'), { idempotent: true }).then(({ rows: [row] }) => row.n),
    7
  ],
  [
    'cursor',
    async on => {
      const rows = [];
      for await (const row of on.cursor('SELECT generate_series(1, 5) AS n', [], { batchSize: 2 })) rows.push(row.n);
      return rows.join('');
    },
    '12345'
  ],
  [
    'queryTo',
    async on => {
      const to = target();
      const [{ rowCount }, written] = await Promise.all([
        on.queryTo(to, 'SELECT 8', [], { as: 'values', idempotent: true }),
        text(to)
      ]);
      return `${rowCount} ${written}`;
    },
    '1 8'
  ],
  ['copyTo', on => text(on.copyTo('COPY (SELECT 9) TO STDOUT', { alone: true })), '9\n'],
  [
    'copyFrom',
    async on => {
      const copy = on.copyFrom('COPY sessions FROM STDIN');
      await pipeline(['1\n', '2\n'], copy);
      return copy.rowCount;
    },
    2
  ],
  [
    'describe',
    on => on.describe('SELECT $1::int AS n').then(({ params: [{ oid }], columns: [{ name }] }) => `${oid} ${name}`),
    '23 n'
  ],
  ['close', on => on.close('S', 'none').then(() => 'closed'), 'closed'],
  ['decode', on => String(on.decode), 'true']
];

/** Calls a method with arguments of the table; waits for what it gives. */
async function call(on, method, args) {
  const result = on[method](...args.map(arg => (arg === target ? target() : arg)));
  return typeof result?.next === 'function' ? result.next() : result;
}

const describeOf = ({ name, message, index }) => (index === undefined ? { name, message } : { name, message, index });

describe('A session', () => {
  before(async () => {
    await (await sharedServer()).sql('CREATE TABLE sessions (n int)');
  });
  after(async () => {
    await (await sharedServer()).sql('DROP TABLE sessions');
  });

  it('is what a client, a transaction and a pool are', async () => {
    const client = await connected();
    const pool = await opened();
    assert.ok(client instanceof Session && pool instanceof Session);
    await client.transaction(async tx => {
      assert.ok(tx instanceof Session);
      await tx.transaction(nested => assert.ok(nested instanceof Session));
    });
    await pool.transaction(tx => assert.ok(tx instanceof Session));
    for (const name of ['query', 'batch', 'simpleQuery', 'cursor', 'queryTo', 'copyTo', 'copyFrom']) {
      for (const each of [client, pool]) assert.equal(each[name], Session.prototype[name], name);
    }
  });

  it('answers the same to a client, a transaction and a pool', async () => {
    const client = await connected();
    const pool = await opened();
    for (const [name, ask, expected] of RIGHT) {
      for (const on of [client, pool]) assert.equal(await ask(on), expected, name);
      assert.equal(await client.transaction(ask), expected, `${name} in a transaction`);
      assert.equal(await pool.transaction(tx => tx.transaction(ask)), expected, `${name} in a transaction of a pool`);
    }
  });

  it('says the same of what is wrong on a client, in a transaction and on a pool, before anything is sent or waited for', async () => {
    const { client, wire } = await proxied();
    const pool = await opened({}, { host: '127.0.0.1', port: 1 });
    await client.query('SELECT 1');
    for (const [method, args, expected] of WRONG) {
      const name = `${method} of ${inspect(args, { maxArrayLength: 5 })}`;
      let first;
      await assert.rejects(
        call(client, method, args),
        error => {
          first = describeOf(error);
          return expected instanceof RegExp
            ? expected.test(error.message) && error instanceof TypeError
            : error instanceof expected;
        },
        name
      );
      await assert.rejects(call(pool, method, args), first, `${name}, pool`);
      await client.transaction(tx => assert.rejects(call(tx, method, args), first, `${name}, transaction`));
    }
    assert.deepEqual([client.pending, pool.stats.waiting, pool.stats.connected], [0, 0, 0]);
    const { toServer } = wire.stats.bytes;
    for (const [method, args] of WRONG) await call(client, method, args).catch(() => {});
    assert.equal(wire.stats.bytes.toServer, toServer);
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
  });

  it('has in that table each option that there is, and each method with options', () => {
    const { commit, ...ofAll } = NAMES; // commit is for transactions alone, and takes some of query's options
    assert.ok([...commit].every(name => NAMES.query.has(name)));
    assert.deepEqual(Object.keys(WITH_OPTIONS).sort(), Object.keys(ofAll).sort());
    assert.deepEqual(
      Object.keys(WRONG_VALUES).sort(),
      [...new Set(Object.values(NAMES).flatMap(names => [...names]))].sort()
    );
  });

  it('leaves a target as it was, where the call is wrong', async () => {
    const client = await connected();
    const to = target();
    await assert.rejects(client.queryTo(to, 42), TypeError);
    assert.deepEqual([to.readableLength, to.destroyed, to.writableEnded], [0, false, false]);
  });

  it('has steps only where it is a client', async () => {
    const pool = await opened();
    for (const name of ['startQuery', 'getResults', 'inQuery', 'sync', 'copyData', 'copyDone', 'copyFail'])
      assert.equal(name in pool, false, name);
    await assert.rejects(pool.query('COPY sessions FROM STDIN'), {
      name: 'UsageError',
      code: '0A000',
      message: /use copyFrom\(\)/
    });
  });

  it('shows nothing of what is inside, by JSON and by inspect, in any place', async () => {
    const client = await connected({ password: 'hidden' });
    const pool = await opened({ size: 1 }, { password: 'hidden' });
    const look = session => {
      const shown = [inspect(session), inspect(session, { depth: 9, showHidden: true }), JSON.stringify({ session })];
      assert.doesNotMatch(shown.join('\n'), /hidden|_events|kCapture/);
    };
    for (const each of [client, pool, client.with({ 'app.key': 'hidden' }), pool.with({ 'app.key': 'hidden' })]) {
      look(each);
      await each.transaction(async tx => {
        look(tx);
        await tx.transaction(look);
      });
    }
    await pool.connection(look);
  });

  it('that is over says so, whatever it is asked', async () => {
    const client = await connected();
    await client.end();
    for (const ask of [
      () => client.query('SELECT 1'),
      () => client.simpleQuery('SELECT 1'),
      () => client.batch([['SELECT 1']]),
      () => client.transaction(async () => {}),
      () => client.cursor('SELECT 1').next(),
      async () => client.startQuery('SELECT 1'),
      () => client.sync(),
      () => client.close('S', 'x'),
      async () => client.copyData('x'),
      () => client.queryTo(target(), 'SELECT 1'),
      () => once(client.copyTo('COPY t TO STDOUT'), 'end'),
      () => once(client.copyFrom('COPY t FROM STDIN'), 'finish'),
      () => client.listen('a').ready
    ])
      await assert.rejects(
        async () => ask(),
        error => ['08003', '55000'].includes(error.code),
        String(ask)
      );
    assert.equal(client.pending, 0);
  });

  it('reports all that happens at run time by the events of its COPY streams: they throw for wrong arguments alone', async () => {
    const over = await connected();
    let kept;
    await over.transaction(tx => {
      kept = tx;
    });
    await over.end();
    const pool = await opened();
    await pool.end();
    for (const session of [over, kept, pool]) {
      for (const open of [() => session.copyTo('COPY t TO STDOUT'), () => session.copyFrom('COPY t FROM STDIN')]) {
        const stream = open();
        const [error] = await once(
          stream.once('error', () => {}),
          'error'
        );
        assert.ok(['08003', '25P01'].includes(error.code), String(error));
        assert.ok(stream.destroyed);
      }
      assert.throws(() => session.copyTo('SELECT 1'), TypeError);
      assert.throws(() => session.copyFrom('SELECT 1'), TypeError);
    }
  });

  it('repeats no transaction whose signal aborts when its connection is lost, and does not wait for its function', async () => {
    const server = await sharedServer();
    const pool = await opened({ size: 2 });
    const controller = new AbortController();
    const { signal } = controller;
    // Between the transaction's watch of the signal and the wait for its function.
    const abortUnwatched = () => {
      const { removeEventListener } = signal;
      signal.removeEventListener = (...listener) => {
        removeEventListener.apply(signal, listener);
        controller.abort();
      };
    };
    const result = pool.transaction(
      async tx => {
        const {
          rows: [{ id }]
        } = await tx.query('SELECT pg_backend_pid() AS id');
        abortUnwatched();
        await server.sql(`SELECT pg_terminate_backend(${id})`);
        await new Promise(() => {});
      },
      { idempotent: true, signal }
    );
    await assert.rejects(result, { name: 'AbortError', sent: true });
  });

  it('that was never connected rejects what it is asked, and is none the worse', async () => {
    const client = new Client({ host: 'localhost' });
    await assert.rejects(client.query('SELECT 1'), { code: '08003', message: /call connect\(\) first/ });
    assert.equal(client.state, 'new');
  });
});

describe('Symbol.asyncDispose', () => {
  before(function () {
    if (Symbol.asyncDispose === undefined) this.skip();
  });

  it('ends a client and a pool, closes a cursor, and stops a loop over notifications', async () => {
    const { config } = await sharedServer();
    const client = new Client(config);
    await client.connect();
    const cursor = client.cursor('SELECT generate_series(1, 10000) AS i', [], { batchSize: 10 });
    assert.equal((await cursor.next()).value.i, 1);
    const behind = client.query('SELECT 1 AS one');
    assert.equal(await cursor[Symbol.asyncDispose](), undefined);
    assert.equal((await behind).rows[0].one, 1);
    assert.equal((await cursor.next()).done, true);
    const unread = client.cursor('SELECT 1');
    await unread[Symbol.asyncDispose]();
    const listener = client.listen('disposed');
    await listener.ready;
    await listener[Symbol.asyncDispose]();
    assert.equal((await client.query('SELECT pg_listening_channels()')).rowCount, 0);
    const last = client.query('SELECT 2 AS two');
    await client[Symbol.asyncDispose]();
    assert.deepEqual([client.state, (await last).rows[0].two], ['closed', 2]);
    const pool = new Pool(config, { size: 1 });
    const asked = pool.query('SELECT 3 AS three');
    await pool[Symbol.asyncDispose]();
    assert.deepEqual([pool.stats.connected, (await asked).rows[0].three], [0, 3]);
  });
});
