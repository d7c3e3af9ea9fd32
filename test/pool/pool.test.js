'use strict';

const assert = require('node:assert/strict');
const http = require('node:http');
const { once } = require('node:events');
const { PassThrough } = require('node:stream');
const { text } = require('node:stream/consumers');
const { pipeline } = require('node:stream/promises');
const { inspect } = require('node:util');
const { skipUnless, startPgBouncer, startProxy, startServer, startStandby } = require('pg-test-fixtures');
const { LEASE } = require('../../lib/core/internal');
const { Client, ConnectionError, RowReader } = require('../..');
const { ResponseCache } = require('../../lib/cache');
const { respond } = require('../../lib/http');
const { Pool } = require('../../lib/pool');
const { connected, held, sharedServer } = require('../support');
const { opened, pass, until } = require('./pools');

describe('A Pool', () => {
  it('answers queries, each with its own values', async () => {
    const pool = await opened();
    const results = await Promise.all(Array.from({ length: 500 }, (_, i) => pool.query('SELECT $1::int AS i', [i])));
    assert.deepEqual(
      results.map(({ rows: [row] }) => row.i),
      Array.from({ length: 500 }, (_, i) => i)
    );
  });

  it('sends a query again whose statement has other columns now, whatever was sent behind it', async () => {
    const server = await sharedServer();
    await server.sql('DROP TABLE IF EXISTS changing; CREATE TABLE changing (a int)');
    const pool = await opened({ size: 1 });
    const [read, write] = ['SELECT * FROM changing', 'INSERT INTO changing VALUES (1) RETURNING *'];
    const ways = [
      () => pool.query(read),
      () => pool.query(write),
      () => pool.query(write, [], { format: 1 }),
      () => pool.with({ 'a.b': 1 }).query(write),
      () => pool.batch([[write], ['SELECT 1']]).then(([result]) => result)
    ];
    for (const way of ways) {
      await server.sql('TRUNCATE changing; INSERT INTO changing VALUES (1)');
      await way();
      await server.sql('ALTER TABLE changing ADD b int');
      const [[row]] = await Promise.all([way(), pool.query('UPDATE changing SET a = a')]);
      assert.deepEqual({ ...(row.toObject?.() ?? row) }, { a: 1, b: null });
      const [{ count }] = await server.sql('SELECT count(*)::int FROM changing');
      assert.equal(Number(count), way === ways[0] ? 1 : 3);
      await server.sql('ALTER TABLE changing DROP b');
    }
  });

  it('repeats with idempotent what the server reports as 08006, which it has lost behind it', async () => {
    const pool = await opened({ size: 1 });
    await pool.query('CREATE SEQUENCE losses');
    try {
      const text =
        "DO $$ BEGIN IF nextval('losses') % 3 <> 0 THEN RAISE 'lost a worker' USING ERRCODE = '08006'; END IF; END $$";
      await pool.query(text, [], { idempotent: true });
      assert.equal((await pool.query('SELECT last_value AS n FROM losses')).rows[0].n, 3);
      await assert.rejects(pool.query(text), { name: 'PostgresError', code: '08006' });
      assert.equal((await pool.query('SELECT last_value AS n FROM losses')).rows[0].n, 4);
    } finally {
      await pool.query('DROP SEQUENCE losses');
    }
  });

  it('asks anew what types are when its last connection is gone: the next one may be to another database', async () => {
    const pool = await opened({ size: 2 });
    const row = async () => (await pool.query('SELECT ROW(1)::renamed AS value')).one().value;
    const lose = () => pool.query('SELECT pg_terminate_backend(pg_backend_pid())').catch(() => {});
    await pool.simpleQuery('CREATE TYPE renamed AS (a int)');
    try {
      assert.deepEqual(await row(), { a: 1 });
      await pool.query('ALTER TYPE renamed RENAME ATTRIBUTE a TO b');
      assert.deepEqual(await row(), { a: 1 });
      await pool.connection(async () => {
        await lose(); // another one
        await until(() => pool.stats.connected === 1);
      });
      assert.deepEqual(await row(), { a: 1 });
      await lose();
      await until(() => pool.stats.connected === 0);
      assert.deepEqual(await row(), { b: 1 });
    } finally {
      await pool.query('DROP TYPE renamed');
    }
  });

  it('makes JSON with the types that were asked for with the start, though an earlier connection ends meanwhile', async () => {
    const server = await sharedServer();
    const proxy = await startProxy({ target: server });
    const pool = await opened({ size: 2 }, { host: proxy.host, port: proxy.port, require_auth: 'none' });
    const [[first]] = await Promise.all([once(pool, 'connect'), pool.query("CREATE TYPE early AS ENUM ('a')")]);
    const [wire] = proxy.connections;
    proxy.stall('toClient');
    pool[LEASE].renew();
    const target = new PassThrough();
    const written = pool.queryTo(target, "SELECT '{a}'::early[] AS list", [], { as: 'json' });
    await until(async () => {
      const sql = "SELECT 1 FROM pg_stat_activity WHERE state = 'idle' AND query LIKE 'WITH RECURSIVE wanted%'";
      return (await server.sql(sql)).length > 0;
    });
    wire.cut();
    await once(first, 'end');
    proxy.resume('toClient');
    await written;
    assert.equal(await text(target), '[{"list":["a"]}]');
    await pool.query('DROP TYPE early');
    await pool.end();
    await proxy.stop();
  });

  it('makes JSON with the types that it knows on a connection that ends when it is answered, behind another one', async () => {
    const pool = await opened({ size: 2 });
    const clients = [];
    pool.on('connect', client => clients.push(client));
    await pool.simpleQuery("CREATE TYPE late AS ENUM ('a')");
    await pool.connection(() => pool.query('SELECT 1'));
    const { call, release } = await held();
    const target = new PassThrough();
    const written = pool.queryTo(target, `SELECT '{a}'::late[] AS list, ${call} AS held`, [], { as: 'json' });
    await until(() => pool.stats.pending > 0);
    pool[LEASE].renew();
    await until(() => clients.filter(({ state }) => state === 'closed').length === 1);
    await Promise.all([release(), written]);
    assert.equal(await text(target), '[{"list":["a"],"held":""}]');
    await pool.query('DROP TYPE late');
  });

  it('opens connections as they are needed, and no more than its size', async () => {
    const pool = await opened({ size: 3 });
    await pool.query('SELECT 1');
    assert.equal(pool.stats.connected, 1);
    await Promise.all(Array.from({ length: 50 }, () => pool.query('SELECT pg_sleep(0.01)')));
    assert.deepEqual(pool.stats, { size: 3, connected: 3, idle: 3, owned: 0, pending: 0, waiting: 0, holders: [] });
  });

  it('does not send a query behind a slow one where another connection is free, or can be opened', async () => {
    const pool = await opened();
    const ids = () =>
      Promise.all(
        Array.from({ length: 3 }, async () => (await pool.query('SELECT pg_backend_pid() AS id')).rows[0].id)
      );
    const { call, release } = await held();
    const slow = pool.query(`SELECT pg_backend_pid() AS id, ${call}`);
    const others = await ids();
    for (let i = 0; i < 20; i++) others.push(...(await ids()));
    await release();
    assert.equal(others.includes((await slow).rows[0].id), false);
  });

  it('sends no query behind describe, which waits for locks, until it is known to be quick', async () => {
    const server = await sharedServer();
    const pool = await opened({ size: 4 });
    await pool.query('CREATE TABLE described ()');
    const burst = () => Promise.all(Array.from({ length: 100 }, () => pool.query('SELECT 1')));
    await pool.query('SELECT 1');
    await burst();
    const locker = await connected();
    await locker.simpleQuery('BEGIN; LOCK described');
    const described = pool.describe('TABLE described');
    await burst();
    assert.equal(pool.stats.pending, 1);
    await locker.simpleQuery('COMMIT');
    assert.deepEqual(await described, { params: [], columns: [] });
    await server.sql('DROP TABLE described');
  });

  it('sends nothing behind a query that has been running for long, where others answer', async () => {
    const pool = await opened({ size: 2 });
    const { call, release } = await held();
    const slow = pool.query(`SELECT pg_backend_pid() AS id, ${call}`);
    await pool.query('SELECT 1');
    pass(100);
    const others = await Promise.all(Array.from({ length: 10 }, () => pool.query('SELECT pg_backend_pid() AS id')));
    await release();
    const { id } = (await slow).rows[0];
    assert.ok(others.every(({ rows: [row] }) => row.id !== id));
  });

  it('sends nothing behind slow queries, however many come at once, where another connection is known to be quick', async () => {
    const pool = await opened({ size: 3 });
    const ids = count => Promise.all(Array.from({ length: count }, () => pool.query('SELECT pg_backend_pid() AS id')));
    await ids(1000);
    const { call, release } = await held();
    const slow = [1, 2].map(() => pool.query(`SELECT pg_backend_pid() AS id, ${call}`));
    pass(1000);
    const quick = new Set((await ids(2000)).map(({ rows: [{ id }] }) => id));
    await release();
    for (const {
      rows: [{ id }]
    } of await Promise.all(slow))
      assert.equal(quick.has(id), false);
  });

  it('refuses statements that concern a session, before anything is sent', async () => {
    const pool = await opened({}, { port: 1 });
    for (const each of [
      'BEGIN',
      ' /* x */ start transaction',
      'SET a.b = 1',
      'LISTEN x',
      '-- y\nDISCARD ALL',
      'PREPARE p AS SELECT 1'
    ]) {
      await assert.rejects(pool.query(each), { name: 'UsageError', code: '0A000', message: /concerns one session/ });
      await assert.rejects(pool.batch(['SELECT 1', [each]]), { name: 'UsageError', code: '0A000' });
    }
    await assert.rejects(pool.query('COPY t FROM STDIN'), { name: 'UsageError', message: /copyFrom\(\)/ });
  });

  it('runs transactions side by side', async () => {
    const pool = await opened({ size: 3 });
    let running = 0;
    let most = 0;
    await Promise.all(
      Array.from({ length: 20 }, () =>
        pool.transaction(async tx => {
          most = Math.max(most, ++running);
          await tx.query('SELECT pg_sleep(0.01)');
          running--;
        })
      )
    );
    assert.equal(most, 2); // one is left for plain queries
  });

  it("gives a connection of one's own, and resets its session after it", async () => {
    const pool = await opened({ size: 1 });
    const pid = await pool.connection(async client => {
      await client.query('SET search_path TO nowhere');
      await client.query('BEGIN');
      return client.processId;
    });
    const {
      rows: [row]
    } = await pool.query("SELECT pg_backend_pid() AS pid, current_setting('search_path') AS path");
    assert.deepEqual(row, { pid, path: '"$user", public' });
  });

  it('ends a COPY that the function of connection() has left open, and keeps the connection', async () => {
    const pool = await opened({ size: 1 });
    const pidOf = async () => (await pool.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
    const pid = await pidOf();
    await pool.connection(async client => {
      await client.query('CREATE TEMP TABLE left_open (i int)');
      await client.query('COPY left_open FROM STDIN');
      client.copyData(Buffer.from('1\n'));
    });
    assert.equal(await pidOf(), pid);
  });

  it('takes the client of connection() back: what was forgotten reaches nobody, whatever it was made of', async () => {
    const pool = await opened({ size: 1 });
    const kept = {};
    await pool.connection(async client => {
      assert.ok(client instanceof Client);
      Object.assign(kept, { client, mine: client.with({ 'a.b': 'c' }), cursor: client.cursor('SELECT 1') });
      client.on('notice', assert.fail);
      assert.equal((await client.query('SELECT 1 AS n')).rows[0].n, 1);
      assert.deepEqual([client.state, client.transactionStatus, client.pending], ['open', 'I', 0]);
      client.startQuery('SELECT 1');
      client.sync().catch(() => {});
    });
    const refused = { name: 'UsageError', code: '25P01', message: /the function of connection\(\) is over/ };
    const { client, mine, cursor } = kept;
    for (const late of [
      () => client.query('ROLLBACK'),
      () => client.query('BEGIN', [], { alone: true }),
      () => client.simpleQuery('BEGIN'),
      () => client.batch(['SELECT 1']),
      () => client.transaction(() => assert.fail()),
      () => client.describe('SELECT 1'),
      () => client.sync(),
      () => client.close('S', 'x'),
      () => client.queryTo(new PassThrough(), 'SELECT 1'),
      () => client.end(),
      () => client.cancel(),
      () => client.connect(),
      () => client.with({ 'a.b': 'c' }).query('SELECT 1'),
      () => mine.query('SELECT 1'),
      () => cursor.next(),
      () => client.cursor('SELECT 1').next()
    ])
      await assert.rejects(late, refused, `${late}`);
    for (const late of [() => client.destroy(), () => client.listen('x')]) assert.throws(late, refused);
    assert.deepEqual([client.state, JSON.stringify(client)], [undefined, '{}']);
    assert.match(inspect(client), /^Client /);
    await pool.connection(async next => {
      await next.query("DO $$ BEGIN RAISE NOTICE 'not for the first one'; END $$");
      await assert.rejects(client.query('ROLLBACK'), refused);
    });
    assert.equal(pool.stats.connected, 1);
  });

  it('gives no notice of others to the handlers of a function of connection(), and its own to no others', async () => {
    const pool = await opened({ size: 1 });
    const seen = [];
    const notice = session => session.query("DO $$ BEGIN RAISE NOTICE 'a'; NOTIFY handled; END $$");
    pool.once('connect', client => {
      client.onNotice = () => seen.push('notice');
    });
    await notice(pool);
    await pool.connection(async client => {
      client.onNotice = () => seen.push('own notice');
      client.onNotification = () => seen.push('own notification');
      await client.query('LISTEN handled');
      await notice(client);
    });
    await notice(pool);
    await pool.connection(async client => {
      assert.equal(client.onNotification, undefined);
      await client.query('LISTEN handled');
      await notice(client);
    });
    assert.deepEqual(seen, ['notice', 'own notice', 'own notification', 'notice', 'notice']);
  });

  it('ends at once what the function of connection() has left open: a cursor, a transaction, steps, a loop that listens', async () => {
    const ROWS = 'SELECT generate_series(1, 10000)';
    for (const [isReplaced, leave] of [
      [
        true,
        async client => {
          const cursor = client.cursor(ROWS, [], { batchSize: 1 });
          await cursor.next();
          return () => cursor.next();
        }
      ],
      [
        true,
        async client => {
          let end;
          const left = client.transaction(async tx => {
            await tx.query('SELECT 1');
            await new Promise(resolve => {
              end = resolve;
            });
            return tx.query('SELECT 2');
          });
          while (end === undefined) await new Promise(setImmediate);
          return () => left.finally(end);
        }
      ],
      [
        true,
        async client => {
          client.startQuery(ROWS);
          await client.getResults(1);
          return () => client.getResults(1);
        }
      ],
      [
        false,
        async client => {
          const listener = client.listen('news');
          await listener.ready;
          return () => listener.next();
        }
      ]
    ]) {
      const pool = await opened({ size: 1 });
      const errors = [];
      pool.on('error', error => errors.push(error));
      let late, processId;
      await pool.connection(async client => {
        ({ processId } = client);
        late = await leave(client);
      });
      await assert.rejects(late, { code: '25P01' });
      const [row] = (await pool.query('SELECT pg_backend_pid() AS id, pg_listening_channels() AS channel')).rows;
      assert.equal(row, undefined);
      const { rows } = await pool.query('SELECT pg_backend_pid() AS id');
      assert.equal(rows[0].id !== processId, isReplaced);
      assert.deepEqual(
        errors.map(({ code }) => code),
        isReplaced ? ['25P01'] : []
      );
    }
  });

  it('lets a client of connection() be ended and destroyed, and lets it hear of that', async () => {
    const pool = await opened({ size: 1 });
    for (const end of ['end', 'destroy']) {
      let ended = 0;
      await pool.connection(async client => {
        client.on('end', () => ended++);
        await client[end]();
      });
      assert.equal(ended, 1);
      assert.equal((await pool.query('SELECT 1 AS n')).rows[0].n, 1);
    }
  });

  it('sends nothing on a connection that was lent before DISCARD ALL has been answered', async () => {
    const pool = await opened({ size: 1 });
    for (const lend of [
      () => pool.connection(client => client.query("SET app.tenant = 'mine'")),
      () => pool.simpleQuery("SET app.tenant = 'mine'")
    ]) {
      const lent = lend();
      const asked = pool.query("SELECT current_setting('app.tenant', true) AS tenant");
      await lent;
      let turns = 0;
      while (pool.stats.waiting > 0) {
        assert.ok(pool.stats.pending <= 1, 'more than DISCARD ALL was sent');
        turns++;
        await new Promise(setImmediate);
      }
      assert.ok(turns > 0);
      assert.equal((await asked).rows[0].tenant, '');
    }
  });

  it('closes a connection whose DISCARD ALL fails, and no request of others has run on it', async () => {
    const pool = await opened({ size: 1 });
    let failed;
    pool.on('connect', client => {
      failed = client.processId;
      const query = client.query.bind(client);
      client.query = (text, ...rest) =>
        query(text === 'DISCARD ALL' && client.processId === failed ? 'SELECT 1 / 0' : text, ...rest);
    });
    const lent = await pool.connection(client => {
      failed = client.processId;
      return client.processId;
    });
    const ids = await Promise.all(
      Array.from({ length: 5 }, async () => (await pool.query('SELECT pg_backend_pid() AS id')).rows[0].id)
    );
    assert.equal(ids.includes(lent), false);
  });

  it('refuses in transactions and cursors what would outlive them, before it is sent', async () => {
    const pool = await opened({ size: 1 });
    const refused = { name: 'UsageError', code: '0A000', message: /write SET LOCAL, use with\(\).*or connection\(\)/ };
    for (const text of [
      "SET a.b = 'c'",
      'SET ROLE none',
      'RESET ALL',
      "SET SESSION a.b = 'c'",
      "SET local.tenant = 'c'",
      "/* SET LOCAL */ set local . tenant = 'c'",
      'DISCARD PLANS',
      'LISTEN x',
      'SET SESSION AUTHORIZATION DEFAULT',
      'PREPARE p AS SELECT 1'
    ]) {
      for (const ask of [
        tx => tx.query(text),
        tx => tx.batch(['SELECT 1', text]),
        tx => tx.simpleQuery(`SELECT ';'; ${text}`),
        tx => tx.simpleQuery(`SELECT $$'$$, E'\\''; ${text}; SELECT $$'$$ /* /* */ ' */`),
        tx => tx.transaction(inner => inner.query(text))
      ]) {
        await assert.rejects(pool.transaction(ask), refused, text);
      }
      await assert.rejects(pool.cursor(text).next(), refused, text);
      await assert.rejects(
        pool.with({ 'x.y': 'z' }).transaction(tx => tx.query(text)),
        { code: '0A000' },
        text
      );
    }
    for (const text of [
      "SET LOCAL a.b = 'c'",
      'SET LOCAL "a"."b" = 1',
      'SET TRANSACTION READ ONLY',
      'SET CONSTRAINTS ALL IMMEDIATE',
      "/* /* */ SET a.b = 1; */ DO $body$ BEGIN PERFORM '$$'; RESET a.b; END $body$",
      "SELECT E'\\'; SET a.b = 1'"
    ]) {
      await pool.transaction(async tx => {
        await tx.simpleQuery(`${text}; SELECT '; SET a.b = 1'`);
        await tx.query(text);
      });
      await pool.with({ 'x.y': 'z' }).transaction(tx => tx.query(text));
    }
    await pool.connection(client => client.transaction(tx => tx.query("SET a.b = 'c'")));
  });

  it('rejects simpleQuery where it leaves a block open, and rolls that back', async () => {
    const pool = await opened({ size: 1 });
    await assert.rejects(pool.simpleQuery('BEGIN; CREATE TABLE never (i int)'), { name: 'UsageError', code: '25001' });
    assert.equal((await pool.query("SELECT to_regclass('never') AS it")).rows[0].it, null);
    const [
      ,
      {
        rows: [row]
      }
    ] = await pool.simpleQuery('BEGIN; SELECT 1 AS n; COMMIT');
    assert.equal(row.n, 1);
  });

  it('resets the session after simpleQuery', async () => {
    const pool = await opened({ size: 1 });
    await pool.simpleQuery('SET search_path TO nowhere');
    assert.equal((await pool.query('SHOW search_path')).rows[0].search_path, '"$user", public');
  });

  it('streams: cursor, queryTo, copyTo, copyFrom', async () => {
    const pool = await opened();
    let sum = 0;
    for await (const row of pool.cursor('SELECT i FROM generate_series(1, 100) i', [], { batchSize: 7 }))
      sum += Number(row.i);
    assert.equal(sum, 5050);
    const target = new PassThrough();
    const [result, written] = await Promise.all([
      pool.queryTo(target, 'SELECT $1::text', ['it'], { as: 'values' }),
      text(target)
    ]);
    assert.deepEqual([result, written], [{ cmd: 'SELECT', rowCount: 1, bytes: 2 }, 'it']);
    await pool.query('CREATE TABLE IF NOT EXISTS pooled (i int)');
    const copyTo = pool.copyTo('COPY (SELECT generate_series(1, 1000)) TO STDOUT');
    const copyFrom = pool.copyFrom('COPY pooled FROM STDIN');
    await pipeline(copyTo, copyFrom);
    assert.deepEqual(
      [copyTo.rowCount, copyTo.format, copyFrom.rowCount, copyFrom.bytes],
      [1000, 0, 1000, copyTo.bytes]
    );
    await pool.query('DROP TABLE pooled');
  });

  it('does not end inside a transaction, which it would wait for', async () => {
    const pool = await opened({ size: 1 });
    await pool.transaction(async tx => {
      await assert.rejects(pool.end(), { name: 'UsageError', code: '25001', message: /call end\(\) after it/ });
      await tx.query('SELECT 1');
    });
    await pool.query('SELECT 1');
    await pool.end();
    await assert.rejects(pool.query('SELECT 1'), { code: '08003' });
  });

  it('ends when all that was asked is over, and refuses what comes later', async () => {
    const pool = await opened({ size: 2 });
    const asked = [
      pool.query('SELECT pg_sleep(0.05)'),
      ...Array.from({ length: 5 }, () => pool.transaction(tx => tx.query('SELECT 1')))
    ];
    const ended = pool.end();
    await assert.rejects(
      pool.query('SELECT 1'),
      error => error instanceof ConnectionError && error.code === '08003' && error.sent === false
    );
    await Promise.all(asked);
    await ended;
    assert.equal(pool.stats.connected, 0);
  });

  it('takes the options that there are', () => {
    for (const options of [
      { size: 0 },
      { size: 1.5 },
      { size: '4' },
      { acquire_timeout: -1 },
      { idle_timeout: NaN },
      { max_lifetime: null, size: -1 },
      5,
      null
    ])
      assert.throws(() => new Pool({}, options), TypeError);
    assert.equal(new Pool().stats.size, 10);
  });

  it('lets no connection expire under its owner', async () => {
    const pool = await opened({ size: 1, max_lifetime: 20 });
    await pool.connection(async client => {
      await client.query('SELECT 1');
      await new Promise(resolve => {
        setTimeout(resolve, 80);
      });
      await client.query('SELECT 1');
    });
  });

  it('rejects bad input with a TypeError, before anything is sent', async () => {
    const pool = await opened();
    await assert.rejects(pool.query(5), { name: 'TypeError', message: /text must be a string/ });
    await assert.rejects(pool.query('SELECT $1', [new Map()]), {
      name: 'TypeError',
      message: /values\[0\] is an object of class Map/
    });
    await assert.rejects(pool.query('SELECT 1', [], { retyr: true }), {
      name: 'TypeError',
      message: /there is no option retyr/
    });
    await assert.rejects(pool.query('SELECT 1', [], { idempotent: true, stream: new RowReader() }), {
      name: 'TypeError',
      message: /leave out idempotent/
    });
    await assert.rejects(pool.batch(5), TypeError);
    await assert.rejects(pool.batch(['SELECT 1', ['SELECT $1', [new Map()]]]), {
      name: 'TypeError',
      message: /values\[0\]/,
      index: 1
    });
    await assert.rejects(pool.transaction(5), { message: 'transaction takes a function, then options, not a number' });
    await assert.rejects(
      pool.transaction(() => {}, { isolation: 'none' }),
      { name: 'TypeError', message: /isolation must be/ }
    );
    await assert.rejects(
      pool.transaction(() => {}, { isolatoin: 'none' }),
      { name: 'TypeError', message: /no option isolatoin/ }
    );
    await assert.rejects(pool.connection(), { message: 'connection takes a function, which gets the client' });
    await assert.rejects(
      pool.connection(() => {}, { readonly: true }),
      { name: 'TypeError', message: /no option readonly/ }
    );
    await assert.rejects(pool.queryTo({}, 'SELECT 1'), TypeError);
    await assert.rejects(
      pool.query('SELECT $1', [new Map()], { idempotent: true }),
      /values\[0\] is an object of class Map/
    );
    await Promise.all([1, 2, 3, 4].map(() => pool.query('SELECT pg_sleep(0.01)')));
    await until(() => pool.stats.connected === 4);
    assert.deepEqual(pool.stats, { size: 10, connected: 4, idle: 4, owned: 0, pending: 0, waiting: 0, holders: [] });
  });

  it('tells bad input of a query from a server that is away', async () => {
    const pool = await opened({}, { port: 1 });
    await assert.rejects(pool.query(5), { name: 'TypeError', message: /text must be a string/ });
    await assert.rejects(pool.simpleQuery(5), { name: 'TypeError', message: /text must be a string/ });
    await assert.rejects(pool.batch([['SELECT 1'], [5]]), {
      name: 'TypeError',
      message: /text must be a string/,
      index: 1
    });
  });

  it('sends the values that it was given, whatever becomes of the array', async () => {
    const pool = await opened({ size: 1 });
    const values = [0];
    const ask = i => {
      values[0] = i;
      return pool.query('SELECT $1::int AS i', values);
    };
    const answers = asked => Promise.all(asked).then(results => results.map(({ rows: [row] }) => Number(row.i)));
    assert.deepEqual(await answers([1, 2, 3].map(ask)), [1, 2, 3]); // not connected yet
    await pool.connection(async () => {
      values.answers = answers([4, 5].map(ask));
    }); // while it waits
    assert.deepEqual(await values.answers, [4, 5]);
    const bytes = Buffer.from('6');
    await pool.connection(async () => {
      values.answers = answers([pool.query('SELECT $1::text AS i', [bytes], { paramTypes: [25] })]);
      bytes[0]++;
    });
    assert.deepEqual(await values.answers, [6]);
  });

  it('counts the wait for a connection into the statement_timeout of a request', async () => {
    const pool = await opened({ size: 1 });
    let release;
    const owner = pool.transaction(
      () =>
        new Promise(resolve => {
          release = resolve;
        })
    );
    await until(() => release !== undefined);
    const limits = { statement_timeout: 200 };
    const works = [
      () => pool.query('SELECT 1', [], limits),
      () => pool.query('SELECT 1', [], { ...limits, stream: new RowReader() }),
      () => pool.batch(['SELECT 1'], limits),
      () => pool.simpleQuery('SELECT 1', limits),
      () => pool.transaction(tx => tx.query('SELECT 1'), limits),
      () => pool.queryTo(new PassThrough().resume(), 'SELECT 1', [], limits)
    ];
    for (const { reason } of await Promise.allSettled(works.map(work => work()))) {
      assert.deepEqual([reason.name, reason.code, reason.sent], ['TimeoutError', '57014', false]);
      assert.match(reason.message, /statement_timeout of 200 ms: it waited for a connection/);
    }
    const began = performance.now();
    const slow = assert.rejects(pool.query('SELECT pg_sleep(9)', [], { statement_timeout: 1000 }), {
      code: '57014',
      message: /of 1000 ms/
    });
    setTimeout(release, 800);
    await slow;
    assert.ok(performance.now() - began < 1600);
    await owner;
  });

  it('cancels by a signal or a time limit one query, and no other', async () => {
    const pool = await opened({ size: 2 });
    const controller = new AbortController();
    const slow = pool.query('SELECT pg_sleep(60)', [], { signal: controller.signal });
    const limited = pool.query('SELECT pg_sleep(60)', [], { statement_timeout: 100 });
    const others = Array.from({ length: 20 }, (_, i) => pool.query('SELECT $1::int AS i, pg_sleep(0.01)', [i]));
    setTimeout(() => controller.abort(), 50);
    await assert.rejects(slow, { name: 'AbortError' });
    await assert.rejects(limited, { name: 'TimeoutError', code: '57014' });
    assert.deepEqual(
      (await Promise.all(others)).map(({ rows: [row] }) => Number(row.i)),
      Array.from({ length: 20 }, (_, i) => i)
    );
  });

  it('gives each new client to who listens to "connect", before anything is asked of it', async () => {
    const pool = await opened({ size: 2 });
    pool.on('connect', client => client.query('SET search_path TO elsewhere').catch(() => {}));
    const paths = await Promise.all([1, 2, 3, 4].map(() => pool.query('SHOW search_path')));
    assert.deepEqual(
      paths.map(({ rows: [row] }) => row.search_path),
      Array(4).fill('elsewhere')
    );
    assert.equal(
      await pool.transaction(async tx => (await tx.query('SHOW search_path')).rows[0].search_path),
      'elsewhere'
    );
  });

  it('goes on whatever its listeners throw, which is uncaught', async () => {
    const pool = await opened({ size: 2 });
    const others = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    const thrown = [];
    process.on('uncaughtException', error => thrown.push(error.message));
    for (const event of ['connect', 'error'])
      pool.on(event, () => {
        throw new Error(event);
      });
    try {
      const ids = await Promise.all([1, 2].map(() => pool.query('SELECT pg_backend_pid() AS id, pg_sleep(0.1)')));
      await (await sharedServer()).sql(`SELECT pg_terminate_backend(${ids[0].rows[0].id})`);
      await until(() => thrown.length === 3);
      await pool.query('SELECT 1');
    } finally {
      process.removeAllListeners('uncaughtException');
      for (const each of others) process.on('uncaughtException', each);
    }
    assert.deepEqual(thrown, ['connect', 'connect', 'error']);
    assert.equal(pool.stats.idle, pool.stats.connected);
  });

  it('rejects all that is pending when it is destroyed', async () => {
    const pool = await opened({ size: 2 });
    await pool.query('SELECT 1');
    const asked = Promise.allSettled([
      pool.query('SELECT pg_sleep(60)', [], { idempotent: true }),
      pool.transaction(tx => tx.query('SELECT pg_sleep(60)')),
      pool.transaction(() => {}),
      pool.cursor('SELECT pg_sleep(60)').next()
    ]);
    await until(() => pool.stats.pending === 2);
    pool.destroy(new Error('that was all'));
    for (const { reason } of await asked) {
      assert.ok(reason instanceof ConnectionError, reason);
      assert.equal(reason.cause.message, 'that was all');
    }
    await assert.rejects(pool.query('SELECT 1'), { name: 'ConnectionError', code: '08003', sent: false });
    await pool.end();
  });

  it('finds the new primary after a failover', async function () {
    this.timeout(60000);
    const primary = await startServer({ external: false });
    const standby = await startStandby(primary);
    const pool = new Pool({
      ...primary.config,
      host: '127.0.0.1,127.0.0.1',
      port: `${primary.port},${standby.port}`,
      target_session_attrs: 'read-write'
    });
    const port = async () =>
      Number((await pool.query("SELECT current_setting('port') AS port", [], { idempotent: true })).rows[0].port);
    try {
      assert.equal(await port(), primary.port);
      await primary.kill();
      const asked = port();
      await standby.promote();
      assert.equal(await asked, standby.port);
    } finally {
      pool.destroy();
      await standby.stop();
      await primary.stop();
    }
  });

  it('replaces a connection on which the server is silent after a query was given up, also while the pool ends', async () => {
    const proxy = await startProxy({ target: await sharedServer() });
    const config = { ...(await sharedServer()).config, host: proxy.host, port: proxy.port };
    const [pool, ending] = [1, 2].map(() => new Pool(config, { size: 1 }));
    for (const each of [pool, ending]) each[LEASE].policy.silence = 500;
    try {
      await Promise.all([pool.query('SELECT 1'), ending.query('SELECT 1')]);
      await ending.connection(client => client.cursor('SELECT generate_series(1, 9)', [], { batchSize: 1 }).next());
      for (const each of proxy.open) each.stall();
      await assert.rejects(pool.query('SELECT 1', [], { statement_timeout: 50 }), { code: '57014' });
      const ended = ending.end();
      const [error] = await once(pool, 'error');
      assert.equal(error.message, 'the server was silent for 500 ms');
      assert.equal((await pool.query('SELECT 1 AS n')).rows[0].n, 1);
      await ended;
    } finally {
      pool.destroy();
      ending.destroy();
      await proxy.stop();
    }
  });

  describe('is a session', () => {
    it('to respond of quickgres/http, whose slow readers hold nobody up', async () => {
      const pool = await opened({ size: 3 });
      const web = http
        .createServer((request, response) => {
          const text =
            request.url === '/large' ? "SELECT repeat('x', 1000) FROM generate_series(1, 100000)" : "SELECT '[1]'";
          respond(pool, request, response, text, [], { as: 'values' }).catch(() => {});
        })
        .listen(0, '127.0.0.1');
      await once(web, 'listening');
      const url = `http://127.0.0.1:${web.address().port}`;
      const slow = http.get(`${url}/large`);
      await once(slow, 'response');
      for (let i = 0; i < 10; i++) assert.deepEqual(await (await fetch(url)).json(), [1]);
      slow.destroy();
      await until(() => pool.stats.idle === pool.stats.connected);
      web.close();
      web.closeAllConnections();
    });

    it('to a ResponseCache, which makes its connections read-only', async () => {
      const pool = await opened({ size: 2 });
      const cache = new ResponseCache(pool);
      await cache.listen('changes');
      const answer = async () => (await cache.query('SELECT random() AS r', [], { tags: ['t'] })).rows[0].r;
      const first = await answer();
      assert.equal(await answer(), first);
      await (await sharedServer()).sql("NOTIFY changes, 't'");
      await until(async () => (await answer()) !== first);
      await assert.rejects(cache.query('CREATE TABLE never (i int)'), { code: '25006' });
    });
  });

  describe('in front of PgBouncer in transaction mode', () => {
    it('carries all that does not belong to a session', async function () {
      skipUnless(this, 'pgbouncer');
      const bouncer = await startPgBouncer({ target: await sharedServer(), mode: 'transaction', poolSize: 2 });
      const pool = await opened({ size: 6 }, { ...bouncer.config, statement_cache: 0 });
      const one = async asked => Number((await asked).rows[0].n);
      const sum = await Promise.all(
        Array.from({ length: 200 }, async (_, i) =>
          i % 4 === 0
            ? pool.transaction(tx => one(tx.query('SELECT $1::int AS n', [i])))
            : one(pool.query('SELECT $1::int AS n', [i]))
        )
      );
      assert.deepEqual(
        sum,
        Array.from({ length: 200 }, (_, i) => i)
      );
      let count = 0;
      for await (const row of pool.cursor('SELECT generate_series(1, 500)', [], { batchSize: 50 }))
        count += Object.keys(row).length;
      assert.equal(count, 500);
      assert.equal(await text(pool.copyTo('COPY (SELECT 1) TO STDOUT')), '1\n');
      await assert.rejects(pool.query('SELECT pg_sleep(60)', [], { statement_timeout: 20 }), { code: '57014' });
      await bouncer.kill();
      const refused = once(pool, 'error');
      const asked = pool.query('SELECT 1 AS n', [], { idempotent: true });
      await refused;
      await bouncer.start();
      assert.equal(await one(asked), 1);
      await pool.end();
      await bouncer.stop();
    });
  });
});

describe('What is shown of a pool', () => {
  it('is its counters, by JSON and by inspect, without what is inside', async () => {
    const pool = await opened({ size: 3 }, { password: 'secret' });
    await pool.query('SELECT 1');
    await pool.query('SELECT 1');
    const { stats } = pool;
    assert.deepEqual(JSON.parse(JSON.stringify(pool)), JSON.parse(JSON.stringify(stats)));
    assert.equal(inspect(pool), `Pool ${inspect(stats)}`);
    assert.equal(inspect({ pool }, { depth: 0 }).includes('_events'), false);
    assert.doesNotMatch(inspect(pool, { depth: 9, showHidden: true }), /secret|_events/);
  });
});
