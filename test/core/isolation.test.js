'use strict';

const assert = require('node:assert/strict');
const { LEASE } = require('../../lib/core/internal');
const { Client } = require('../..');
const { seeded, typesOf } = require('../support/kit');
const { sharedServer, connected, proxied } = require('../support');

/** Types of the messages that were sent since `from`, as counts. */
function counts(wire, from = 0) {
  const counted = {};
  for (const type of typesOf(wire.recorded.toServer, from)) counted[type] = (counted[type] ?? 0) + 1;
  return counted;
}

/** What came of each promise: the code of an error, or the command and its rows. */
async function outcomes(promises) {
  const of = ({ cmd, rows }) => `${cmd} ${JSON.stringify(rows.map(row => row.toArray()))}`;
  return (await Promise.allSettled(promises)).map(({ value, reason }) => {
    if (reason !== undefined) return reason.index === undefined ? reason.code : `${reason.code} at ${reason.index}`;
    return Array.isArray(value) ? value.map(of) : of(value);
  });
}

/** A table of the test's own, which every backend sees. */
const table = async (name = 'isolated', columns = 'id int PRIMARY KEY') =>
  (await sharedServer()).sql(`DROP TABLE IF EXISTS ${name}; CREATE TABLE ${name} (${columns})`);

describe('Nothing of one query reaches another with the same text', () => {
  it('in batches at the same time, of which the first fails', async () => {
    await table();
    const client = await connected();
    await client.query('INSERT INTO isolated VALUES (1)', [], { cache: false });
    const batch = id =>
      client.batch([
        ['INSERT INTO isolated VALUES ($1)', [id]],
        ['SELECT $1::int AS id', [id]]
      ]);
    assert.deepEqual(await outcomes([batch(1), batch(2), batch(3)]), [
      '23505 at 0',
      ['INSERT []', 'SELECT [[2]]'],
      ['INSERT []', 'SELECT [[3]]']
    ]);
    assert.deepEqual(await outcomes([batch(1), batch(4)]), ['23505 at 0', ['INSERT []', 'SELECT [[4]]']]);
  });

  it('in blocks at the same time, of which the first fails', async () => {
    await table();
    const client = await connected();
    const texts = [
      'BEGIN',
      'SELECT 1/0',
      'INSERT INTO isolated VALUES (1)',
      'ROLLBACK',
      'BEGIN',
      'INSERT INTO isolated VALUES (1)',
      'COMMIT'
    ];
    assert.deepEqual(await outcomes(texts.map(text => client.query(text))), [
      'BEGIN []',
      '22012',
      '25P02',
      'ROLLBACK []',
      'BEGIN []',
      'INSERT []',
      'COMMIT []'
    ]);
  });

  it('before and after its table was made', async () => {
    await (await sharedServer()).sql('DROP TABLE IF EXISTS isolated');
    const client = await connected();
    const texts = ['SELECT * FROM isolated', 'CREATE TABLE isolated (id int)', 'SELECT * FROM isolated'];
    assert.deepEqual(await outcomes(texts.map(text => client.query(text))), ['42P01', 'CREATE TABLE []', 'SELECT []']);
  });

  it('behind what changes the columns of a prepared one, or drops it', async () => {
    for (const change of [
      client => client.query('ALTER TABLE isolated ADD COLUMN v text'),
      client => client.simpleQuery('SELECT 1; ALTER TABLE isolated ADD COLUMN v text'),
      client => client.batch(['SELECT 1', 'ALTER TABLE isolated ADD COLUMN v text']),
      client => client.query('DEALLOCATE ALL'),
      client => client.query("DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$"),
      client => client.simpleQuery('DISCARD ALL')
    ]) {
      await table();
      const client = await connected();
      await client.query('SELECT * FROM isolated');
      const [changed, ...others] = await Promise.allSettled([
        change(client),
        client.query('SELECT * FROM isolated'),
        client.query('INSERT INTO isolated VALUES (1)'),
        client.query('SELECT * FROM isolated')
      ]);
      assert.equal(changed.reason, undefined);
      assert.deepEqual(
        others.map(({ value, reason }) => reason?.code ?? value.rows.length),
        [0, 0, 1],
        String(change)
      );
    }
  });

  it('where the Parse that all wait for fails: each has its error, and the next call works', async () => {
    await (await sharedServer()).sql('DROP TABLE IF EXISTS isolated');
    const client = await connected();
    const ask = () => client.query('SELECT * FROM isolated');
    assert.deepEqual(await outcomes([ask(), ask(), ask()]), ['42P01', '42P01', '42P01']);
    await table();
    assert.deepEqual(await outcomes([ask(), ask()]), ['SELECT []', 'SELECT []']);
  });

  it('in a failed block, where none can be parsed', async () => {
    await (await sharedServer()).sql('DROP TABLE IF EXISTS isolated');
    const client = await connected();
    const texts = [
      'BEGIN',
      'SELECT * FROM isolated',
      'SELECT * FROM isolated',
      'SELECT 1',
      'SELECT 1',
      'ROLLBACK',
      'SELECT 1'
    ];
    assert.deepEqual(await outcomes(texts.map(text => client.query(text))), [
      'BEGIN []',
      '42P01',
      '25P02',
      '25P02',
      '25P02',
      'ROLLBACK []',
      'SELECT [[1]]'
    ]);
    const [literal, again] = await outcomes([client.query("SELECT 'x'::int"), client.query("SELECT 'x'::int")]);
    assert.deepEqual([literal, again], ['22P02', '22P02']);
  });

  it('for random sequences: each ends as on a connection that knows no prepared statements, one after the other', async () => {
    const server = await sharedServer();
    await server.sql('DROP DATABASE IF EXISTS pipelined').catch(() => {});
    await server.sql('DROP DATABASE IF EXISTS single').catch(() => {});
    await server.sql('CREATE DATABASE pipelined');
    await server.sql('CREATE DATABASE single');
    const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 32));
    const random = seeded(seed);
    const DML = [
      'INSERT INTO t VALUES ($1) RETURNING *',
      'INSERT INTO t VALUES (1)',
      'SELECT * FROM t ORDER BY 1',
      'SELECT count(*) FROM t',
      'DELETE FROM t WHERE id = $1',
      'SELECT * FROM u',
      'INSERT INTO u SELECT $1::int',
      'SELECT 1/0',
      'SELECT 1/$1::int AS x',
      'TABLE u',
      'VALUES ($1::text)'
    ];
    const OTHER = [
      'CREATE TABLE u (a int)',
      'DROP TABLE u',
      'ALTER TABLE u ADD b int',
      'ALTER TABLE u DROP b',
      'ALTER TABLE u ALTER a TYPE text',
      'BEGIN',
      'BEGIN',
      'COMMIT',
      'COMMIT',
      'COMMIT',
      'ROLLBACK',
      'ROLLBACK',
      'ROLLBACK',
      'SET search_path = one',
      'SET search_path = two',
      'SET LOCAL search_path = two',
      'DEALLOCATE ALL',
      'SAVEPOINT a',
      'ROLLBACK TO a',
      'SELEC',
      'SHOW search_path',
      "DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$"
    ];
    const single = () => {
      const text = random.chance(0.65) ? random.pick(DML) : random.pick(OTHER);
      return [text, text.includes('$1') ? [random.below(4)] : []];
    };
    const step = () =>
      random.chance(0.2) ? { batch: Array.from({ length: 1 + random.below(4) }, single) } : { query: single() };
    const clients = [];
    const client = async database => {
      const made = new Client({ ...server.config, database });
      clients.push(made);
      await made.connect();
      await made.simpleQuery(`DROP SCHEMA IF EXISTS one, two CASCADE; CREATE SCHEMA one; CREATE SCHEMA two; SET search_path = one;
        CREATE TABLE one.t (id int PRIMARY KEY); CREATE TABLE two.t (id int PRIMARY KEY, v text); CREATE TABLE two.u (a int)`);
      return made;
    };
    const run = (on, { batch, query }, cache) =>
      batch ? on.batch(batch.map(([text, values]) => [text, values, { cache }])) : on.query(...query, { cache });
    try {
      for (let round = 0; round < 20; round++) {
        const [pipelined, alone] = [await client('pipelined'), await client('single')];
        const warm = Array.from({ length: random.below(6) }, () => ({
          query: [
            random.pick([
              'SELECT * FROM t ORDER BY 1',
              'SELECT count(*) FROM t',
              'SELECT 1/0',
              'INSERT INTO t VALUES (1)'
            ]),
            []
          ]
        }));
        for (const each of warm) {
          await run(pipelined, each, true).catch(() => {});
          await run(alone, each, false).catch(() => {});
        }
        const steps = Array.from({ length: 1 + random.below(60) }, step);
        const actual = await outcomes(steps.map(each => run(pipelined, each, true)));
        for (const [index, each] of steps.entries()) {
          const [expected] = await outcomes([run(alone, each, false)]);
          assert.deepEqual(
            actual[index],
            expected,
            `seed ${seed}, round ${round}, step ${index}: ${JSON.stringify(each)} of ${JSON.stringify(steps)}`
          );
        }
        await Promise.all([pipelined.end(), alone.end()]);
      }
    } finally {
      for (const each of clients) each.destroy();
    }
  });
});

describe('20,000 inserts of one text in one loop', () => {
  it('carry one Parse on a cold connection, and leave in as many writes as on a warm one', async () => {
    await table('isolated', 'id int');
    const writes = [];
    for (const warm of [false, true]) {
      const { client, wire } = await proxied();
      if (warm) await client.query('INSERT INTO isolated VALUES ($1)', [0]);
      const { socket } = client[LEASE].pipeline;
      const { flush } = socket;
      let count = 0;
      socket.flush = writer => {
        if (writer.length > 0) count++;
        return flush.call(socket, writer);
      };
      const from = wire.recorded.toServer.length;
      const promises = [];
      for (let i = 0; i < 20000; i++) promises.push(client.query('INSERT INTO isolated VALUES ($1)', [100000 + i]));
      await Promise.all(promises);
      writes.push(count);
      const { P = 0, B, S } = counts(wire, from);
      assert.deepEqual([P, B, S], [warm ? 0 : 1, 20000, 20000]);
    }
    assert.deepEqual(writes[0], writes[1]);
    assert.ok(writes[0] > 4 && writes[0] < 40, `${writes}`);
  });
});

describe('A statement that fails', () => {
  it('for what has changed below it fails once at most, and the next call works', async () => {
    const server = await sharedServer();
    const client = await connected();
    await server.sql(`DROP FUNCTION IF EXISTS isolated_rows; DROP TABLE IF EXISTS isolated_u; CREATE TABLE isolated_u (a int, b int);
      INSERT INTO isolated_u VALUES (1, 2);
      CREATE FUNCTION isolated_rows() RETURNS SETOF isolated_u LANGUAGE sql AS 'SELECT * FROM isolated_u';
      DROP TYPE IF EXISTS isolated_mood; CREATE TYPE isolated_mood AS ENUM ('sad', 'happy')`);
    for (const [text, change, rows] of [
      ['SELECT * FROM isolated_rows()', 'ALTER TABLE isolated_u DROP COLUMN b', [[1]]],
      [
        'SELECT enum_range(NULL::isolated_mood)',
        "DROP TYPE isolated_mood; CREATE TYPE isolated_mood AS ENUM ('well')",
        [[['well']]]
      ]
    ]) {
      for (let i = 0; i < 3; i++) await client.query(text);
      await server.sql(change);
      await client.query(text).catch(() => {});
      for (let i = 0; i < 3; i++)
        assert.deepEqual(
          (await client.query(text)).rows.map(row => row.toArray()),
          rows,
          text
        );
    }
  });

  it('for its data alone is parsed once, however often it fails', async () => {
    await table();
    const { client, wire } = await proxied();
    const insert = () => client.query('INSERT INTO isolated VALUES ($1)', [1]).catch(error => error.code);
    await insert();
    const from = wire.recorded.toServer.length;
    for (let i = 0; i < 50; i++) assert.equal(await insert(), '23505');
    assert.deepEqual(counts(wire, from), { B: 50, E: 50, S: 50 });
    const again = wire.recorded.toServer.length;
    await Promise.all(Array.from({ length: 50 }, insert));
    assert.deepEqual(counts(wire, again), { B: 50, E: 50, S: 50 });
  });

  it('for its data the first time, too', async () => {
    await table();
    await (await sharedServer()).sql('INSERT INTO isolated VALUES (1)');
    const { client, wire } = await proxied();
    const from = wire.recorded.toServer.length;
    const insert = () => client.query('INSERT INTO isolated VALUES ($1)', [1]).catch(error => error.code);
    for (let i = 0; i < 10; i++) assert.equal(await insert(), '23505');
    assert.equal(counts(wire, from).P, 1);
  });
});

describe('DISCARD ALL and DEALLOCATE ALL that fail, or run inside a function', () => {
  const LIMIT = 5;
  const prepared = async client =>
    Number((await client.query('SELECT count(*) FROM pg_prepared_statements', [], { cache: false })).rows[0][0]);

  it('leave no more statements on the server than the limit', async () => {
    const client = await connected({ statement_cache: LIMIT });
    for (let i = 0; i < 20; i++) {
      for (let n = 0; n < 3; n++) await client.query(`SELECT ${(i * 3 + n) % 10}, $1::int`, [n]);
      await client.query('BEGIN');
      await client.query('DISCARD ALL').catch(error => assert.equal(error.code, '25001'));
      await client.query('ROLLBACK');
      await client.query('BEGIN');
      await Promise.allSettled([
        client.query('SELECT 1/0'),
        client.query('DEALLOCATE ALL'),
        client.query(`SELECT ${i}, $1::int`, [1])
      ]);
      await client.query('ROLLBACK');
      await client.query(`SELECT ${i}, $1::int`, [1]);
      if (i % 5 === 0) await client.query("DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$");
      await Promise.allSettled(
        Array.from({ length: 8 }, (_, n) => client.query(`SELECT ${(n + i) % 10}, $1::int`, [n]))
      );
      await Promise.allSettled([
        client.batch(['SELECT 1/0', 'DEALLOCATE ALL']),
        client.simpleQuery('SELECT 1/0; DISCARD ALL')
      ]);
      await client.sync();
      assert.ok((await prepared(client)) <= LIMIT, `${await prepared(client)} in round ${i}`);
    }
  });

  it('do not keep ROLLBACK by hand from ending the block after 26000', async () => {
    const client = await connected();
    for (const text of ['SELECT $1::int', 'ROLLBACK', 'BEGIN', 'COMMIT'])
      await client.query(text, text.includes('$') ? [1] : []);
    await client.query('BEGIN');
    await client.query("DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$");
    await assert.rejects(client.query('SELECT $1::int', [1]), { code: '26000' });
    assert.equal(client.transactionStatus, 'E');
    assert.equal((await client.query('ROLLBACK')).cmd, 'ROLLBACK');
    assert.equal(client.transactionStatus, 'I');
    assert.equal((await client.query('SELECT $1::int AS i', [2])).rows[0].i, 2);
  });
});
