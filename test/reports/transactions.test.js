'use strict';

// What users of other clients have reported of transactions. The tracker's number is beside each test.

const assert = require('node:assert/strict');
const { PassThrough, Readable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { setImmediate: turn } = require('node:timers/promises');
const { connected, sharedServer } = require('../support');
const { until } = require('../support/kit');
const { opened } = require('../pool/pools');
const { SESSIONS, table } = require('../rules/kit');

const into = () => new PassThrough().resume();
const read = async loop => {
  for await (const row of loop) assert.ok(row);
};

/** Each runs a text in a transaction. */
const REQUESTS = {
  query: (tx, text) => tx.query(text),
  'queries at once': (tx, text) => Promise.all([tx.query('SELECT 1'), tx.query(text)]),
  batch: (tx, text) => tx.batch(['SELECT 1', text]),
  simpleQuery: (tx, text) => tx.simpleQuery(text),
  cursor: (tx, text) => read(tx.cursor(text)),
  queryTo: (tx, text) => tx.queryTo(into(), text),
  'queryTo as JSON': (tx, text) => tx.queryTo(into(), text, [], { as: 'json' }),
  describe: (tx, text) => tx.describe(text),
  with: (tx, text) => tx.with({ application_name: 'report' }).query(text),
  savepoint: (tx, text) => tx.transaction(inner => inner.query(text))
};
const BLOCKS = { client: SESSIONS.client, pool: SESSIONS.pool, with: SESSIONS.with };
const WITHOUT = { 'simpleQuery, with': 'a session with settings has no simpleQuery' };

describe('Reports about transactions', () => {
  // bun#35119, rust-postgres#1342, pgo#131, pg8000#107, epgsql#112
  table(
    'A COMMIT that the server answers by ROLLBACK rejects, though the function has caught the error',
    { request: REQUESTS, session: BLOCKS },
    (run, session) =>
      session(async on => {
        const given = on.transaction(async tx => {
          await run(tx, 'SELECT * FROM not_there').catch(() => {});
          return 'committed';
        });
        await assert.rejects(given, ({ code, cause }) => code === '42P01' || cause?.code === '42P01');
        assert.equal((await on.query('SELECT 1 AS one')).rows[0].one, 1);
      }),
    { ...WITHOUT, savepoint: 'what fails in a savepoint is rolled back to it' }
  );

  // jdbi#471, psycopg#296, dbal#3424
  table(
    'A constraint that is checked at COMMIT rejects the transaction, whatever broke it',
    {
      request: { ...REQUESTS, copyFrom: copied },
      session: BLOCKS
    },
    async (run, session) => {
      const { sql } = await sharedServer().then(server => ({ sql: text => server.sql(text) }));
      await sql(
        'CREATE TABLE checked_late (id int UNIQUE DEFERRABLE INITIALLY DEFERRED); INSERT INTO checked_late VALUES (1)'
      );
      await sql('GRANT ALL ON checked_late TO PUBLIC');
      try {
        await session(async on => {
          await assert.rejects(
            on.transaction(tx => run(tx, 'INSERT INTO checked_late VALUES (1)')),
            ({ code, cause }) => code === '23505' || cause?.code === '23505'
          );
          assert.deepEqual((await on.query('SELECT id FROM checked_late')).objects, [{ id: 1 }]);
        });
      } finally {
        await sql('DROP TABLE checked_late');
      }
    },
    { ...WITHOUT, describe: 'it runs nothing' }
  );

  function copied(tx) {
    return pipeline(Readable.from(['1\n']), tx.copyFrom('COPY checked_late FROM STDIN'));
  }

  // sqlx#4393, sqlx#4385, windmill#10823, rust-postgres#835
  it('A transaction that is aborted while it begins leaves the next request in no block', async () => {
    for (const session of [await connected(), await opened({ size: 1 })]) {
      for (let turns = 0; turns < 12; turns++) {
        const controller = new AbortController();
        const given = session.transaction(tx => tx.query('SELECT pg_sleep(10)'), { signal: controller.signal });
        given.catch(() => {});
        for (let i = 0; i < turns; i++) await turn();
        controller.abort();
        await assert.rejects(given, { name: 'AbortError' });
        const [one, two] = await Promise.all(
          [1, 2].map(() => session.query('SELECT pg_current_xact_id()::text AS id'))
        );
        assert.notEqual(one.rows[0].id, two.rows[0].id, 'both are in one block');
      }
    }
  });

  // sqlx#4409
  it('BEGIN and an error in one text leave no block on a connection of a pool', async () => {
    const pool = await opened({ size: 1 });
    await assert.rejects(pool.simpleQuery('BEGIN; SELECT 1 / 0'), { code: '22012' });
    const ids = [];
    for (let i = 0; i < 2; i++) ids.push((await pool.query('SELECT pg_current_xact_id()::text AS id')).rows[0].id);
    assert.notEqual(ids[0], ids[1]);
  });

  // porsager/postgres#1155, #1186, #1208
  it('What a transaction asks after its connection was ended for idleness rejects, and runs nowhere', async () => {
    const server = await sharedServer();
    await server.sql('CREATE TABLE idle_inside (id int); GRANT ALL ON idle_inside TO PUBLIC');
    try {
      for (const session of [await connected(), await opened({ size: 2 })]) {
        const given = session.transaction(async tx => {
          await tx.query("SET LOCAL idle_in_transaction_session_timeout = '20ms'");
          const { rows } = await tx.query('SELECT pg_backend_pid() AS pid');
          await until(async () => {
            const left = await server.sql(`SELECT 1 FROM pg_stat_activity WHERE pid = ${rows[0].pid}`);
            return left.length === 0;
          });
          await tx.query('INSERT INTO idle_inside VALUES (1)').catch(() => {});
          await tx.query('INSERT INTO idle_inside VALUES (2)');
        });
        await assert.rejects(given, ({ code, cause }) => code === '25P03' || cause?.code === '25P03');
        assert.deepEqual(await server.sql('SELECT * FROM idle_inside'), []);
      }
    } finally {
      await server.sql('DROP TABLE idle_inside');
    }
  });

  // oven-sh/bun#20910, bun#33750
  it('Savepoints that are begun at once run one after the other, and one that fails takes back only its own', async () => {
    for (const session of [await connected(), await opened({ size: 2 })]) {
      const kept = await session.transaction(async tx => {
        await tx.query('CREATE TEMP TABLE at_once (id int) ON COMMIT DROP');
        const given = await Promise.allSettled(
          [1, 2, 3, 4].map(id =>
            tx.transaction(async inner => {
              await inner.query('INSERT INTO at_once VALUES ($1)', [id]);
              await turn();
              if (id === 2) throw new Error('two');
              if (id === 3) await inner.query('SELECT 1 / 0');
              return id;
            })
          )
        );
        assert.deepEqual(
          given.map(({ value, reason }) => value ?? reason.code ?? reason.message),
          [1, 'two', '22012', 4]
        );
        return (await tx.query('SELECT id FROM at_once ORDER BY id')).rows.map(({ id }) => id);
      });
      assert.deepEqual(kept, [1, 4]);
    }
  });

  // oven-sh/bun#33750
  it('A function that returns a list of queries resolves to the list as it is, and COMMIT waits for them', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE listed (id int)');
    const list = await client.transaction(tx => [1, 2].map(id => tx.query('INSERT INTO listed VALUES ($1)', [id])));
    assert.deepEqual(
      (await Promise.all(list)).map(({ rowCount }) => rowCount),
      [1, 1]
    );
    assert.equal((await client.query('SELECT count(*)::int AS n FROM listed')).rows[0].n, 2);
  });

  // prisma#29719, node-postgres#154, #2350
  it('A block that the function of connection() has left open is rolled back', async () => {
    const pool = await opened({ size: 1 });
    const server = await sharedServer();
    await server.sql('CREATE TABLE left_open (id int); GRANT ALL ON left_open TO PUBLIC');
    try {
      for (const last of ['SELECT 1', 'SELECT 1 / 0']) {
        await pool.connection(async client => {
          await client.query('BEGIN');
          await client.query('INSERT INTO left_open VALUES (1)');
          await client.query(last).catch(() => {});
        });
        assert.deepEqual((await pool.query('SELECT * FROM left_open')).objects, []);
        const states = await server.sql("SELECT 1 FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'");
        assert.deepEqual(states, []);
      }
    } finally {
      await server.sql('DROP TABLE left_open');
    }
  });
});
