'use strict';

// What users of other clients and poolers have reported of pools. The tracker's number is beside each test.

const assert = require('node:assert/strict');
const { PassThrough } = require('node:stream');
const { setImmediate: turn } = require('node:timers/promises');
const { connected, sharedServer } = require('../support');
const { opened } = require('../pool/pools');
const { table } = require('../rules/kit');

/** What the function of connection() leaves in its session, and what tells whether it is there (npgsql#5592, pgdog#1407, frontier#1918, bun#43246). */
const LEFT = {
  'an advisory lock': ['SELECT pg_advisory_lock(84, 1)', 'SELECT count(*)::int AS n FROM pg_locks WHERE classid = 84'],
  'a temporary table': ['CREATE TEMP TABLE left_behind ()', "SELECT count(*)::int AS n FROM pg_class WHERE relname = 'left_behind' AND pg_table_is_visible(oid)"], // prettier-ignore
  'a setting': ["SET application_name = 'left'", "SELECT (current_setting('application_name') = 'left')::int AS n"],
  'a search_path': [
    'SET search_path TO pg_catalog',
    "SELECT (current_setting('search_path') = 'pg_catalog')::int AS n"
  ],
  'a role': ['SET ROLE pg_monitor', "SELECT (current_user = 'pg_monitor')::int AS n"],
  'a channel': ['LISTEN left_behind', 'SELECT count(*)::int AS n FROM pg_listening_channels()'],
  'a cursor': [
    'BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT 1; COMMIT',
    'SELECT count(*)::int AS n FROM pg_cursors WHERE is_holdable'
  ],
  'a prepared statement': ['PREPARE left_behind AS SELECT 1', "SELECT count(*)::int AS n FROM pg_prepared_statements WHERE name = 'left_behind'"], // prettier-ignore
  'a sequence': ["CREATE TEMP SEQUENCE s; SELECT nextval('s')", "SELECT count(*)::int AS n FROM pg_class WHERE relname = 's' AND pg_table_is_visible(oid)"] // prettier-ignore
};
const ENDS = {
  returns: async () => {},
  throws: async () => {
    throw new Error('left');
  },
  'fails in a block': client => client.query('BEGIN').then(() => client.query('SELECT 1 / 0'))
};

describe('Reports about pools', () => {
  table(
    'What the function of connection() leaves in its session is gone for the next user of the connection',
    { left: LEFT, end: ENDS },
    async ([text, question], leave) => {
      const pool = await opened({ size: 1 });
      await (await sharedServer()).sql('GRANT pg_monitor TO CURRENT_USER').catch(() => {});
      await pool
        .connection(async client => {
          await client.simpleQuery(text);
          assert.equal((await client.query(question)).objects[0].n, 1);
          await leave(client);
        })
        .catch(error => assert.ok(error.message === 'left' || error.code === '22012', error));
      assert.equal((await pool.query(question)).objects[0].n, 0);
      await pool.end();
    }
  );

  // bun#30646, keeper.sh#653
  it('Connections that expire again and again reject no request', async () => {
    const pool = await opened({ size: 3, max_lifetime: 5, idle_timeout: 5 });
    const ask = async times => {
      for (let i = 0; i < times; i++) {
        const { rows } = await pool.query('SELECT $1::int AS i FROM pg_sleep(0.001)', [i]);
        assert.equal(rows[0].i, i);
        if (i % 7 === 0) await pool.transaction(tx => tx.query('SELECT 1'));
      }
    };
    await Promise.all([1, 2, 3, 4, 5].map(() => ask(40)));
  });

  // postgrex#281, #724, node-postgres#1542, #821
  it('Connections that are killed while a pool reads and writes reject requests, and none is answered by another', async () => {
    const server = await sharedServer();
    const pool = await opened({ size: 3 }, { application_name: 'killed_in_reports' });
    pool.on('error', () => {});
    let isOver = false;
    const kill = async () => {
      while (!isOver) {
        await server.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE application_name = 'killed_in_reports' ORDER BY random() LIMIT 1`);
      }
    };
    const killing = kill();
    const results = { right: 0, lost: 0 };
    const ask = async name => {
      for (let i = 0; i < 60; i++) {
        const given = pool.query('SELECT $1::text AS v', [`${name} ${i}`]);
        try {
          assert.equal((await given).rows[0].v, `${name} ${i}`);
          results.right++;
        } catch (error) {
          assert.ok(['57P01', '08006', '08003', 'ECONNRESET', 'EPIPE'].includes(error.code), error);
          results.lost++;
        }
      }
    };
    await Promise.all(['a', 'b', 'c', 'd'].map(ask));
    isOver = true;
    await killing;
    assert.equal(results.right + results.lost, 240);
    assert.equal((await pool.query('SELECT 1 AS one')).rows[0].one, 1);
  });

  // pgpool, porsager/postgres#389, pg-query-stream#66, node-postgres#2119
  it('A loop over a cursor that is left in any way gives its connection back', async () => {
    const pool = await opened({ size: 1 });
    const cursor = () => pool.cursor('SELECT generate_series(1, 100) AS n', [], { batchSize: 7 });
    for await (const row of cursor()) if (row.n === 20) break;
    await assert.rejects(async () => {
      for await (const row of cursor()) if (row.n === 20) throw new Error('left');
    });
    const twice = cursor();
    await twice.next();
    await Promise.all([twice.return(), twice.return()]);
    const many = cursor();
    const rows = await Promise.all(Array.from({ length: 28 }, () => many.next()));
    assert.deepEqual(
      rows.map(({ value }) => value.n),
      Array.from({ length: 28 }, (_, i) => i + 1)
    );
    await many.return();
    const failing = pool.cursor('SELECT 10 / (10 - n) AS n FROM generate_series(1, 20) AS n', [], { batchSize: 3 });
    await assert.rejects(failing.toArray?.() ?? read(failing), { code: '22012' });
    cursor(); // nothing is asked of it
    assert.equal((await pool.query('SELECT 1 AS one')).rows[0].one, 1);
  });

  async function read(loop) {
    for await (const row of loop) assert.ok(row);
  }

  // porsager/postgres#96, slonik#344
  it('Many texts that are used once leave no more statements on the server than the cache has', async () => {
    const client = await connected();
    for (let i = 0; i < 10; i++)
      await Promise.all(Array.from({ length: 100 }, (_, j) => client.query(`SELECT ${i * 100 + j}`)));
    const { rows } = await client.query('SELECT count(*)::int AS n FROM pg_prepared_statements');
    assert.ok(rows[0].n <= 256, String(rows[0].n));
  });

  // node-postgres#3232, porsager/postgres#1214: everything is asked in one tick
  it('1,000 requests of each kind that are made in one tick are all answered', async () => {
    const pool = await opened({ size: 4 });
    const times = Array.from({ length: 250 }, (_, i) => i);
    const [queries, batches, blocks, streams] = await Promise.all([
      Promise.all(times.map(async i => (await pool.query('SELECT $1::int AS i', [i])).rows[0].i)),
      Promise.all(times.map(async i => (await pool.batch([['SELECT $1::int AS i', [i]]]))[0].rows[0].i)),
      Promise.all(times.map(i => pool.transaction(async tx => (await tx.query('SELECT $1::int AS i', [i])).rows[0].i))),
      Promise.all(
        times.map(async i => (await pool.queryTo(new PassThrough().resume(), 'SELECT $1::int AS i', [i])).rowCount)
      )
    ]);
    await turn();
    assert.deepEqual([queries, batches, blocks], [times, times, times]);
    assert.ok(streams.every(count => count === 1));
  });
});
