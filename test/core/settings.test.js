'use strict';

const assert = require('node:assert/strict');
const { AsyncResource } = require('node:async_hooks');
const { PassThrough } = require('node:stream');
const { finished, pipeline } = require('node:stream/promises');
const { text } = require('node:stream/consumers');
const { AbortError, Client, ConnectionError, UsageError } = require('../..');
const { Pool } = require('../../lib/pool');
const { connected, proxied, sharedServer } = require('../support');
const { endAfterTest } = require('../support/hooks');

const TENANT = "SELECT current_setting('app.tenant', true) AS tenant";
const tenantOf = async (session, ...options) => (await session.query(TENANT, [], ...options)).rows[0].tenant;
const NOTES = 'SELECT tenant FROM notes ORDER BY id';

/** Runs code that does not belong to the transaction in whose function it is called. */
const exitTransaction = AsyncResource.bind(work => work());

/** The tenants of rows. */
const tenants = rows => [...new Set(rows.map(({ tenant }) => Number(tenant)))];

async function pooled(config, options) {
  const pool = new Pool({ ...(await sharedServer()).config, ...config }, options);
  endAfterTest(pool);
  return pool;
}

describe('A session with settings', () => {
  before(async () => {
    await (
      await sharedServer()
    ).sql(`
      CREATE TABLE notes (id int GENERATED ALWAYS AS IDENTITY, tenant int DEFAULT current_setting('app.tenant')::int, body text);
      INSERT INTO notes (tenant, body) SELECT i % 3, 'note ' || i FROM generate_series(0, 29) i;
      CREATE ROLE web;
      GRANT SELECT, INSERT, DELETE ON notes TO web;
      ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
      CREATE POLICY own ON notes USING (tenant = current_setting('app.tenant')::int);
      CREATE TABLE inbox (tenant int DEFAULT current_setting('app.tenant')::int, body text); GRANT ALL ON inbox TO web;
      CREATE SCHEMA other; GRANT USAGE ON SCHEMA other TO web; CREATE TABLE other.elsewhere AS SELECT 7 AS n`);
  });

  after(async () => {
    await (await sharedServer()).sql('DROP TABLE notes, inbox; DROP SCHEMA other CASCADE; DROP ROLE web');
  });

  const as = (session, tenant) => session.with({ 'app.tenant': tenant, role: 'web' });

  it('sends 100 requests with 100 settings in one flight, and a transaction in two, on a client and in a pool', async () => {
    const { client, proxy, wire } = await proxied();
    const ask = on => on.query(NOTES);
    const flights = async (wire, work) => {
      await work(); // warm statements
      const before = wire.stats.flights.toServer;
      const result = await work();
      return [wire.stats.flights.toServer - before, result];
    };
    const pool = await pooled({ host: proxy.host, port: proxy.port }, { size: 1 });
    await pool.query('SELECT 1');
    for (const [session, through] of [
      [client, wire],
      [pool, proxy.connections[1]]
    ]) {
      const [one, results] = await flights(through, () =>
        Promise.all(Array.from({ length: 100 }, (_, i) => ask(as(session, i % 3))))
      );
      assert.equal(one, 1);
      results.forEach(({ rows }, i) => assert.deepEqual([rows.length, tenants(rows)], [10, [i % 3]]));
      const [two, { rows }] = await flights(through, () => as(session, 1).transaction(ask));
      assert.deepEqual([two, tenants(rows)], [2, [1]]);
    }
  });

  it('gives its settings to each kind of request, and to no other', async () => {
    for (const session of [await connected(), await pooled({}, { size: 1 })]) {
      const mine = as(session, 2);
      const seen = {};
      const works = {
        query: async () => (await mine.query(NOTES)).rows,
        limited: async () => (await mine.query(NOTES, [], { statement_timeout: 10000, alone: true })).rows,
        stream: async () => (await mine.query(NOTES, [], { decode: true })).rows,
        batch: async () =>
          (await mine.batch([NOTES, ['SELECT tenant FROM notes WHERE id > $1', [3]], NOTES])).flatMap(
            ({ rows }) => rows
          ),
        async cursor() {
          const rows = [];
          for await (const row of mine.cursor(NOTES, [], { batchSize: 3 })) rows.push(row);
          return rows;
        },
        async queryTo() {
          const target = new PassThrough();
          const [, json] = await Promise.all([mine.queryTo(target, NOTES, [], { as: 'json' }), text(target)]);
          return JSON.parse(json);
        },
        copyTo: async () =>
          (await text(mine.copyTo(`COPY (${NOTES}) TO STDOUT`)))
            .trim()
            .split('\n')
            .map(tenant => ({ tenant })),
        transaction: () =>
          mine.transaction(async tx => {
            const rows = [...(await tx.query(NOTES)).rows, ...(await tx.transaction(inner => inner.query(NOTES))).rows];
            for await (const row of tx.cursor(NOTES, [], { batchSize: 3 })) rows.push(row);
            return rows;
          }),
        savepoint: () => mine.transaction(tx => tx.transaction(async inner => (await inner.query(NOTES)).rows)),
        'copyTo in a transaction': () =>
          mine.transaction(async tx =>
            (await text(tx.copyTo(`COPY (${NOTES}) TO STDOUT`)))
              .trim()
              .split('\n')
              .map(tenant => ({ tenant }))
          ),
        async copyFrom() {
          const copy = mine.copyFrom('COPY inbox (body) FROM STDIN');
          await pipeline(['a\nb\n'], copy);
          assert.equal(copy.rowCount, 2);
          return (await mine.query('DELETE FROM inbox WHERE body IN ($1, $2) RETURNING tenant', ['a', 'b'])).rows;
        }
      };
      for (const [name, work] of Object.entries(works)) {
        const [rows, plain, other] = await Promise.all([work(), tenantOf(session), tenantOf(as(session, 'x'))]);
        seen[name] = tenants(rows);
        assert.ok(rows.length > 1, name);
        assert.deepEqual([plain ?? '', other], ['', 'x'], name);
        assert.equal((await tenantOf(session)) ?? '', '', name); // also behind it
      }
      assert.deepEqual(seen, Object.fromEntries(Object.keys(works).map(name => [name, [2]])));
    }
  });

  it('carries them again when a stale statement is repeated, its own or that of the settings', async () => {
    const client = await connected();
    const mine = as(client, 1);
    for (const of of ['SELECT * FROM notes', NOTES]) await mine.query(of);
    await client.query("DO 'BEGIN EXECUTE $$DEALLOCATE ALL$$; END'"); // the client does not know
    assert.deepEqual(tenants((await mine.query(NOTES)).rows), [1]);
    assert.deepEqual(tenants((await mine.batch([NOTES]))[0].rows), [1]);
    await client.query("DO 'BEGIN EXECUTE $$DEALLOCATE ALL$$; END'");
    const rows = [];
    for await (const row of mine.cursor('SELECT * FROM notes', [], { batchSize: 4 })) rows.push(row);
    assert.deepEqual([rows.length, tenants(rows)], [10, [1]]);
    await (await sharedServer()).sql('ALTER TABLE notes ADD COLUMN more int');
    try {
      assert.deepEqual(tenants((await mine.query('SELECT * FROM notes')).rows), [1]);
      await client.query("DO 'BEGIN EXECUTE $$DEALLOCATE ALL$$; END'");
      assert.deepEqual(await text(mine.copyTo('COPY (SELECT DISTINCT tenant FROM notes) TO STDOUT')), '1\n');
    } finally {
      await (await sharedServer()).sql('ALTER TABLE notes DROP COLUMN more');
    }
  });

  it('carries them again when a pool repeats a request on another connection', async () => {
    const { proxy } = await proxied();
    const pool = await pooled({ host: proxy.host, port: proxy.port }, { size: 2 });
    const mine = as(pool, 1);
    await mine.query(NOTES);
    const slow = Array.from({ length: 4 }, (_, i) =>
      as(pool, i % 3).query('SELECT tenant, pg_sleep(0.05) FROM notes', [], { idempotent: true })
    );
    const batch = mine.batch(['SELECT pg_sleep(0.05)', NOTES], { idempotent: true });
    let calls = 0;
    const whole = mine.transaction(
      async tx => {
        if (++calls === 1) setTimeout(() => proxy.reset(), 20);
        await tx.query('SELECT pg_sleep(0.3)');
        return tx.query(NOTES);
      },
      { idempotent: true }
    );
    (await Promise.all(slow)).forEach(({ rows }, i) => assert.deepEqual([rows.length, tenants(rows)], [10, [i % 3]]));
    assert.deepEqual(tenants((await batch)[1].rows), [1]);
    assert.deepEqual(tenants((await whole).rows), [1]);
    assert.ok(calls > 1);
  });

  it('lets a request whose settings fail fail alone, and unsent to nothing', async () => {
    const client = await connected();
    const wrong = client.with({ role: 'nobody at all' });
    const code = { code: '22023' };
    const insert = "INSERT INTO notes (tenant, body) VALUES (0, 'wrong')";
    const failing = [
      wrong.query('SELECT tenant FROM notes WHERE id = 1'),
      wrong.query(insert),
      wrong.batch([insert, insert]),
      wrong.batch([]),
      wrong.cursor(NOTES).next(),
      wrong.queryTo(new PassThrough(), NOTES),
      wrong.transaction(tx => tx.query(insert)),
      wrong.transaction(tx => tx.transaction(inner => inner.query(insert))),
      text(wrong.copyTo(`COPY (${NOTES}) TO STDOUT`)),
      pipeline(['a\n'], wrong.copyFrom('COPY inbox (body) FROM STDIN')),
      pipeline(['a\n'.repeat(200000)], wrong.copyFrom('COPY inbox (body) FROM STDIN')),
      wrong.transaction(tx => text(tx.copyTo(`COPY (${NOTES}) TO STDOUT`)))
    ];
    const fine = failing.map((each, i) => as(client, i % 3).query('SELECT tenant FROM notes WHERE id > 0'));
    const plain = client.query('SELECT tenant FROM notes WHERE id > 0');
    for (const each of failing) await assert.rejects(each, code);
    for (const [i, each] of fine.entries()) assert.deepEqual(tenants((await each).rows), [i % 3]);
    assert.equal((await plain).rowCount, 30);
    await assert.rejects(wrong.batch([NOTES]), error => error.index === undefined);
    await assert.rejects(
      wrong.transaction(async tx => {
        await assert.rejects(tx.query(NOTES), code);
        await assert.rejects(tx.query(NOTES), { code: '25P02' });
      }),
      ({ code, cause }) => code === '25P02' && cause.code === '22023'
    );
    assert.equal(client.pending, 0);
    assert.equal((await client.query('SELECT FROM notes')).rowCount, 30);
  });

  it('that fail in a transaction are what a copyFrom rejects with as well', async () => {
    const { client, proxy } = await proxied();
    for (const session of [client, await pooled()]) {
      const wrong = session.with({ work_mem: 'wrong' });
      await assert.rejects(
        wrong.transaction(tx => pipeline(['a\n'], tx.copyFrom('COPY inbox (body) FROM STDIN'))),
        { code: '22023' }
      );
      assert.equal((await session.query('SELECT 7 AS n')).rowCount, 1);
    }
    assert.equal(proxy.connections.length, 1, 'nothing was cancelled');
  });

  it('leaves no block open when its settings are wrong and a transaction is empty', async () => {
    for (const client of [await connected(), await connected({ max_pipeline: 1 })]) {
      const wrong = client.with({ work_mem: 'wrong' });
      for (const work of [() => {}, tx => tx.transaction(() => {})]) {
        const empty = wrong.transaction(work);
        const behind = client.transaction(tx => tenantOf(tx));
        await empty;
        assert.equal(await tenantOf(as(client, 1)), '1');
        assert.ok(['', null].includes(await behind));
        assert.equal(client.transactionStatus, 'I');
      }
    }
  });

  it('never gives another request the error of a Parse that was skipped behind its settings, or was made under others', async () => {
    const client = await connected();
    const wrong = client.with({ role: 'nobody at all' });
    const elsewhere = client.with({ search_path: 'other' });
    const reads = 'SELECT count(*) AS n FROM notes /* new */';
    const [failed, read, other] = await Promise.allSettled([
      wrong.query(reads),
      as(client, 1).query(reads),
      client.query(reads)
    ]);
    assert.equal(failed.reason.code, '22023');
    assert.deepEqual([read.value.rows[0].n, other.value.rows[0].n], [10, 30]);
    // Writing, so that nothing may be sent again.
    const writes = "DELETE FROM notes WHERE body = 'none'";
    const results = await Promise.allSettled([
      wrong.query(writes),
      as(client, 1).query(writes),
      client.query(writes),
      wrong.query(writes),
      client.query(writes)
    ]);
    assert.deepEqual(
      results.map(({ reason }) => reason?.code),
      ['22023', undefined, undefined, '22023', undefined]
    );
    // The text is right under some settings alone.
    const where = 'SELECT n FROM elsewhere';
    const both = await Promise.allSettled([
      client.query(where),
      elsewhere.query(where),
      client.query(where),
      elsewhere.query(where)
    ]);
    assert.deepEqual(
      both.map(({ reason }) => reason?.code),
      ['42P01', undefined, '42P01', undefined]
    );
  });

  it('leaves nothing behind when a request is given up, before it is sent, or while the server works on it', async () => {
    const client = await connected();
    const mine = as(client, 1);
    for (let i = 0; i < 3; i++) {
      // a new statement of the settings, then an old one
      const abort = new AbortController();
      const slow = mine.query('SELECT pg_sleep(100)', [], { signal: abort.signal }); // ends only if the server is asked to cancel it
      setTimeout(() => abort.abort(), 20);
      await assert.rejects(slow, AbortError);
      const { signal } = new AbortController();
      assert.deepEqual(tenants((await as(client, 2).query(NOTES, [], { signal })).rows), [2]);
      const late = new AbortController();
      const behind = [
        client.query('SELECT 1', [], { alone: true }),
        mine.query(NOTES, [], { signal: late.signal }),
        tenantOf(client)
      ];
      late.abort();
      await assert.rejects(behind[1], AbortError);
      assert.equal((await behind[2]) ?? '', '');
    }
    await assert.rejects(mine.query('SELECT pg_sleep(100)', [], { statement_timeout: 20 }), { code: '57014' });
    await assert.rejects(
      mine.transaction(tx => tx.query('SELECT pg_sleep(100)', [], { signal: AbortSignal.timeout(20) })),
      AbortError
    );
    const cursor = mine.cursor('SELECT pg_sleep(100)', [], { signal: AbortSignal.timeout(20) });
    await assert.rejects(cursor.next(), AbortError);
    const copy = mine.copyFrom('COPY inbox (body) FROM STDIN', { signal: AbortSignal.timeout(20) });
    copy.write('a\n');
    await assert.rejects(finished(copy));
    assert.equal((await tenantOf(client)) ?? '', '');
  });

  it('sends nothing of a request with a wrong value, and the statement of the settings with the next', async () => {
    const client = await connected();
    await assert.rejects(as(client, 1).query('SELECT $1', [new Map()]), TypeError);
    await assert.rejects(as(client, 1).batch([NOTES, ['SELECT $1', [new Map()]]]), { name: 'TypeError', index: 1 });
    await assert.rejects(
      as(client, 1).transaction(tx => tx.query('SELECT $1', [new Map()])),
      TypeError
    );
    assert.deepEqual(tenants((await as(client, 1).query(NOTES)).rows), [1]);
    assert.equal(client.pending, 0);
  });

  it('ends the transaction of COPY, in and out, with the COPY', async () => {
    const client = await connected();
    const mine = as(client, 0);
    const xid = async () => (await client.query('SELECT now()::text AS now')).rows[0].now;
    await text(mine.copyTo(`COPY (${NOTES}) TO STDOUT`));
    const one = await xid();
    await pipeline(['a\n'], mine.copyFrom('COPY inbox (body) FROM STDIN'));
    const two = await xid();
    assert.notEqual(one, two); // now() is the time of the transaction
    assert.notEqual(two, await xid());
    assert.equal(client.transactionStatus, 'I');
    assert.equal((await mine.query("DELETE FROM inbox WHERE body = 'a'")).rowCount, 1);
    await assert.rejects(pipeline(['a\tb\n'], mine.copyFrom('COPY inbox (body) FROM STDIN')), { code: '22P04' });
    await assert.rejects(text(mine.copyTo('COPY (SELECT 1 / 0) TO STDOUT')), { code: '22012' });
    assert.deepEqual([client.transactionStatus, await tenantOf(client)], ['I', '']);
  });

  it('refuses defaults of transactions, which would have no effect on the one that has begun', async () => {
    const client = await connected();
    for (const name of ['default_transaction_read_only', 'Default_Transaction_Isolation']) {
      assert.throws(() => client.with({ [name]: 'on' }), {
        name: 'TypeError',
        message: new RegExp(`^${name} .* transaction_read_only`)
      });
    }
    const reading = client.with({ transaction_read_only: true });
    await assert.rejects(reading.query('CREATE TABLE never (a int)'), { code: '25006' });
  });

  it('refuses texts that may end or outlive its settings', async () => {
    const session = await connected();
    for (const mine of [as(session, 1), as(await pooled({}, { size: 1 }), 1)]) {
      for (const each of [
        'COMMIT',
        'rollback',
        'END',
        'abort',
        '/* */ ; commit',
        '-- a\rCOMMIT',
        'SET a.b = 1',
        'set local a.b = 1',
        'RESET ALL',
        'DISCARD ALL',
        'BEGIN',
        'START TRANSACTION',
        "DO 'BEGIN COMMIT; END'",
        'CALL p()',
        'PREPARE p AS SELECT 1',
        'DECLARE c CURSOR WITH HOLD FOR SELECT 1'
      ]) {
        const refused = error => error instanceof UsageError && ['0A000'].includes(error.code);
        await assert.rejects(mine.query(each), refused, each);
        await assert.rejects(mine.query(each, [], { cache: false, statement_timeout: 1000 }), refused, each);
        await assert.rejects(mine.batch(['SELECT 1', each]), refused, each);
        await assert.rejects(mine.queryTo(new PassThrough(), each), refused, each);
      }
      for (const each of ['COMMIT', 'rollback', '-- a\rEND', 'SET a.b = 1', 'RESET ALL', "PREPARE TRANSACTION 'x'"]) {
        await assert.rejects(mine.cursor(each).next(), { name: 'UsageError', code: '0A000' }, each);
      }
      assert.throws(() => mine.listen('channel'), UsageError);
      await assert.rejects(mine.simpleQuery('SELECT 1'), { name: 'UsageError', code: '0A000' });
      assert.deepEqual(tenants((await mine.query(NOTES)).rows), [1]);
    }
  });

  it('refuses in a transaction what ends the block, what outlives it, and simpleQuery', async () => {
    const client = await connected();
    await as(client, 1).transaction(async tx => {
      for (const each of [
        'COMMIT',
        'ROLLBACK',
        'ROLLBACK AND CHAIN',
        'END',
        'RESET ROLE',
        '-- a\rCOMMIT',
        "PREPARE TRANSACTION 'x'",
        "SET app.tenant = '2'",
        'SET SESSION ROLE postgres',
        'ROLLBACK -- to the start',
        "PREPARE/**/TRANSACTION 'x'",
        "PREPARE  TRANSACTION 'x'",
        "SET app.tenant = 'set local'"
      ]) {
        await assert.rejects(tx.query(each), { name: 'UsageError', code: '0A000' }, each);
        await assert.rejects(
          tx.transaction(inner => inner.query(each)),
          { name: 'UsageError', code: '0A000' },
          each
        );
      }
      await assert.rejects(tx.simpleQuery('SELECT 1; COMMIT'), { code: '0A000' });
      for (const each of [
        'SAVEPOINT a',
        'SET LOCAL a.b = 1',
        'ROLLBACK TO a',
        '/* back */ ROLLBACK /* all */ TO a',
        'SET CONSTRAINTS ALL DEFERRED',
        "DO 'BEGIN END'",
        'RELEASE a'
      ])
        await tx.query(each);
      assert.deepEqual(tenants((await tx.query(NOTES)).rows), [1]);
      assert.deepEqual(
        [tenants((await as(tx, 2).query(NOTES)).rows), tenants((await tx.query(NOTES)).rows)],
        [[2], [1]]
      );
    });
    await client.transaction(async () => {
      await assert.rejects(as(client, 1).query(NOTES), { name: 'UsageError', code: '25001' });
    });
  });

  it('of a transaction leaves nothing pending, so that a pool gives its connection to others', async () => {
    const client = await connected();
    const pool = endAfterTest(new Pool((await sharedServer()).config, { size: 1 }));
    for (const session of [client, pool]) {
      for (let i = 0; i < 3; i++) {
        await session
          .transaction(async tx => {
            await as(tx, 1).query('SELECT 1');
            await tx.transaction(inner => as(inner, 2).query('SELECT 1/0')).catch(() => {});
            const mine = as(tx, 3);
            await tx.transaction(() => assert.rejects(mine.query('SELECT 1'), { code: '25001' }));
            const late = mine.query('SELECT pg_sleep(60)', [], { statement_timeout: 10 });
            await assert.rejects(late, { name: 'TimeoutError' });
            if (i === 1) throw new Error('enough');
          })
          .catch(() => {});
      }
    }
    assert.equal(client.pending, 0);
    await pool.query('SELECT 1');
    assert.deepEqual([pool.stats.idle, pool.stats.pending, pool.stats.owned], [1, 0, 0]);
  });

  it('of a transaction puts a setting back that it has under two names', async () => {
    const client = await connected();
    const [row] = await client.transaction(async tx => {
      await tx.with({ 'app.tenant': 1, 'APP.Tenant': 2 }).query('SELECT 1');
      await tx.with({ 'app.tenant': 3 }).with({ 'App.tenant': 4 }).query('SELECT 1');
      return (await tx.query("SELECT current_setting('app.tenant') AS tenant")).objects;
    });
    assert.equal(row.tenant, '');
  });

  it('of a transaction has them for each of its requests, in one flight, behind which they are as before', async () => {
    const { client, wire } = await proxied();
    const now =
      "SELECT current_user AS name, current_setting('app.tenant', true) AS tenant, current_setting('work_mem') AS memory";
    const seen = async session => Object.values((await session.query(now)).objects[0]);
    await client.transaction(async tx => {
      await tx.query("SET LOCAL work_mem = '1MB'");
      const mine = tx.with({ 'app.tenant': 1 }).with({ role: 'web', work_mem: '2MB' });
      const [user, , memory] = await seen(tx);
      const before = [user, '', memory];
      await seen(mine); // warm statements
      const flights = wire.stats.flights.toServer;
      const rows = await Promise.all([
        seen(tx),
        seen(mine),
        seen(tx),
        as(tx, 2).batch([now, NOTES]),
        seen(mine),
        seen(tx)
      ]);
      assert.equal(wire.stats.flights.toServer - flights, 1);
      const [
        first,
        own,
        again,
        [
          {
            objects: [other]
          },
          notes
        ]
      ] = rows;
      assert.deepEqual(
        [first, own, again, Object.values(other), tenants(notes.rows)],
        [before, ['web', '1', '2MB'], before, ['web', '2', '1MB'], [2]]
      );
      assert.deepEqual(rows.slice(4), [['web', '1', '2MB'], before]);
      const target = new PassThrough();
      await Promise.all([
        mine.queryTo(target, `SELECT DISTINCT tenant FROM notes`, [], { as: 'json' }),
        text(target).then(json => assert.equal(json, '[{"tenant":1}]'))
      ]);
      assert.deepEqual(
        await mine.transaction(async inner => [
          await seen(inner),
          await seen(inner.with({ 'app.tenant': 5 })),
          await seen(inner)
        ]),
        [
          ['web', '1', '2MB'],
          ['web', '5', '2MB'],
          ['web', '1', '2MB']
        ]
      );
      assert.deepEqual(await seen(tx), before);
      await assert.rejects(
        mine.transaction(inner => inner.query('SELECT 1 / 0')),
        { code: '22012' }
      );
      await assert.rejects(
        tx.transaction(inner => inner.with({ 'app.tenant': 3 }).query('SELECT 1 / 0')),
        { code: '22012' }
      );
      await assert.rejects(
        tx.transaction(inner => inner.with({ work_mem: 'wrong' }).query('SELECT 1')),
        { code: '22023' }
      );
      assert.deepEqual(await seen(tx), before);
      for (const open of [
        () => mine.cursor(NOTES),
        () => mine.copyTo('COPY notes TO STDOUT'),
        () => mine.copyFrom('COPY notes FROM STDIN')
      ]) {
        assert.throws(open, { name: 'UsageError', code: '0A000', message: /open it in its transaction\(\)/ });
      }
      const read = [];
      await mine.transaction(async inner => {
        for await (const row of inner.cursor(NOTES)) read.push(row);
      });
      assert.deepEqual(tenants(read), [1]);
      await assert.rejects(mine.simpleQuery('SELECT 1'), { code: '0A000' });
    });
  });

  it('of a transaction with settings gives its own to its savepoint', async () => {
    const client = await connected();
    const [inside, after] = await client.with({ 'app.tenant': 1 }).transaction(async tx => {
      const mine = tx.with({ 'app.tenant': 2 });
      return [await mine.transaction(savepoint => tenantOf(savepoint)), await tenantOf(tx)];
    });
    assert.deepEqual([inside, after], ['2', '1']);
  });

  it('is refused in a block that a query has begun, and waits for the answer of one that may begin a block', async () => {
    const client = await connected();
    const mine = as(client, 1);
    const refused = { name: 'UsageError', code: '25001' };
    const begun = client.query('BEGIN');
    await assert.rejects(mine.query(NOTES), refused);
    await begun;
    await assert.rejects(mine.query(NOTES), refused);
    await assert.rejects(mine.batch([NOTES]), refused);
    await assert.rejects(mine.cursor(NOTES).next(), refused);
    await assert.rejects(text(mine.copyTo(`COPY (${NOTES}) TO STDOUT`)), refused);
    await assert.rejects(finished(mine.copyFrom('COPY inbox (body) FROM STDIN').end('a\n')), refused);
    await assert.rejects(
      mine.transaction(tx => tx.query(NOTES)),
      refused
    );
    assert.equal((await tenantOf(client)) ?? '', '');
    await client.query('COMMIT');
    client.simpleQuery("SELECT 'begin'");
    const cursor = mine.cursor(NOTES).next();
    client.simpleQuery("SELECT 'begin'");
    const [{ rows }, { value }] = await Promise.all([mine.query(NOTES), cursor]);
    assert.deepEqual([tenants(rows), tenants([value])], [[1], [1]]);
    assert.deepEqual(tenants((await mine.transaction(tx => tx.query(NOTES))).rows), [1]);
  });

  it('waits for a transaction of its client, as other requests do', async () => {
    const client = await connected();
    let waiting;
    await client.transaction(async tx => {
      await tx.query('SELECT 1');
      waiting = exitTransaction(() => as(client, 1).query(NOTES));
      await tx.query('SELECT 2');
    });
    assert.deepEqual(tenants((await waiting).rows), [1]);
  });

  it('checks names and values when it is made', async () => {
    const client = await connected();
    for (const each of [
      undefined,
      null,
      'app.tenant',
      [],
      {},
      new Map([['a.b', 1]]),
      { 'a.b': undefined },
      { 'a.b': null },
      { 'a.b': NaN },
      { 'a.b': {} },
      { 'a.b': [1] },
      { 'a.b': 1n },
      { 'a.b': '\0' },
      { 'a.b': 1, __proto__: { role: 'web' } }, // it would be left out
      { 'a.b\0': 1 },
      { '': 1 },
      { client_encoding: 'latin1' },
      { Client_Encoding: 'latin1' }
    ]) {
      assert.throws(
        () => client.with(each),
        TypeError,
        JSON.stringify(each, (key, value) => (typeof value === 'bigint' ? `${value}` : value))
      );
    }
    const {
      rows: [row]
    } = await client
      .with({ 'a.text': "it's", 'a.number': 1.5, 'a.flag': true, __proto__: null })
      .query(
        "SELECT current_setting('a.text') AS text, current_setting('a.number') AS number, current_setting('a.flag') AS flag"
      );
    assert.deepEqual(row.toArray(), ["it's", '1.5', 'true']);
  });

  it('does not wait for a batch with BEGIN that could not be encoded, and texts keep their statements', async () => {
    const { client, wire } = await proxied();
    await client.query('SELECT 1 AS n');
    for (const text of ['BEGIN', 'CREATE TEMP TABLE never ()'])
      await assert.rejects(client.batch([text, ['SELECT $1', [Symbol('x')]]]), TypeError);
    await client.with({ 'a.b': 1 }).query('SELECT 2 AS n');
    const from = wire.recorded.toServer.length;
    await client.query('SELECT 1 AS n');
    assert.ok(!wire.recorded.toServer.subarray(from).includes('SELECT 1 AS n'));
  });

  it('costs no more in another one than it has settings', async () => {
    const client = await connected();
    const cpu = count => {
      const begun = process.cpuUsage();
      let session = client;
      for (let i = 0; i < count; i++) session = session.with({ [`app.a${i}`]: i });
      const { user, system } = process.cpuUsage(begun);
      return [user + system, session];
    };
    cpu(1000);
    const [time, session] = cpu(30000);
    assert.ok(time < 1e6, `${time / 1000} ms`);
    await assert.rejects(session.query('SELECT 1')); // the server has a limit
    const {
      rows: [row]
    } = await cpu(300)[1].query("SELECT current_setting('app.a0') || current_setting('app.a299') AS both");
    assert.equal(row.both, '0299');
  });

  it('adds settings to those of the session that it is made from', async () => {
    const client = await connected();
    const base = client.with({ 'app.tenant': 1, 'app.user': 'me' });
    const ask = async on => (await on.query(`${TENANT}, current_setting('app.user') AS who`)).rows[0].toArray();
    assert.deepEqual(await ask(base.with({ 'app.tenant': 2 })), ['2', 'me']);
    assert.deepEqual(await ask(base.with({ 'app.user': 'you' })), ['1', 'you']);
    assert.deepEqual(await ask(base), ['1', 'me']);
    assert.deepEqual(await ask(base.with({ 'APP.TENANT': 2 }).with({ 'app.tenant': 3 })), ['3', 'me']);
  });

  it('waits for the answer of a query that may begin a block before the client is connected as well', async () => {
    const client = endAfterTest(new Client({ ...(await sharedServer()).config, require_auth: 'none' })); // so requests go with the startup message
    const connecting = client.connect();
    const begun = client.query('BEGIN');
    const refused = assert.rejects(client.with({ 'app.tenant': 5 }).query('SELECT 1'), {
      name: 'UsageError',
      code: '25001'
    });
    const tenant = tenantOf(client);
    await Promise.all([connecting, begun, refused]);
    assert.equal((await tenant) ?? '', '');
    await client.query('ROLLBACK');
  });

  it('may be made before the client connects, outlives a connection, and decodes as its client', async () => {
    const client = await connected({ decode: true });
    const mine = as(client, 1);
    await mine.query(NOTES);
    client.destroy();
    await assert.rejects(mine.query(NOTES), ConnectionError);
    const connecting = client.connect();
    assert.deepEqual((await mine.query('SELECT DISTINCT tenant FROM notes')).objects, [{ tenant: 1 }]);
    await connecting;
    assert.equal(mine.decode, true);
  });

  it('works with one unanswered request at a time', async () => {
    const client = await connected({ max_pipeline: 1 });
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        i % 4 === 3 ? client.query('SELECT 3 AS tenant') : as(client, i % 4).query(NOTES)
      )
    );
    results.forEach(({ rows }, i) => assert.deepEqual(tenants(rows), [i % 4]));
    assert.deepEqual(tenants((await as(client, 1).transaction(tx => tx.query(NOTES))).rows), [1]);
    const pool = await pooled({ max_pipeline: 1 }, { size: 2 });
    const more = await Promise.all(Array.from({ length: 20 }, (_, i) => as(pool, i % 3).query(NOTES)));
    more.forEach(({ rows }, i) => assert.deepEqual(tenants(rows), [i % 3]));
  });

  it('limits the time of its requests by statement_timeout', async () => {
    const client = await connected();
    const error = await client
      .with({ statement_timeout: 20 })
      .query('SELECT pg_sleep(10)')
      .catch(error => error);
    assert.deepEqual([error.name, error.code], ['PostgresError', '57014']);
    assert.equal((await client.query('SHOW statement_timeout')).rows[0].statement_timeout, '0');
  });
});
