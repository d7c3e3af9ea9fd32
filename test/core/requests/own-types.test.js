'use strict';

const assert = require('node:assert/strict');
const { PassThrough } = require('node:stream');
const { startProxy, startServer } = require('pg-test-fixtures');
const { Client, decoders, exact } = require('../../..');
const { ResponseCache } = require('../../../lib/cache');
const { Pool } = require('../../../lib/pool');
const { afterTest, endAfterTest } = require('../../support/hooks');
const { connected, sharedServer } = require('../../support');

const ROW = { moods: ['sad', null, 'so, so'], ages: [1, 2], older: [3], pairs: '{"(1,2)"}' };
const TEXT = `SELECT '{sad,NULL,"so, so"}'::mood[] AS moods, '{1,2}'::age[] AS ages, '{3}'::older[] AS older, '{"(1,2)"}'::pair[] AS pairs`;
const DATABASE = 'own_types';

describe('Arrays of the types of a database', () => {
  let config;
  before(async () => {
    ({ config } = await sharedServer());
    config = { ...config, database: DATABASE };
    const client = new Client((await sharedServer()).config);
    await client.connect();
    await client.query(`DROP DATABASE IF EXISTS ${DATABASE}`);
    await client.query(`CREATE DATABASE ${DATABASE}`);
    await client.end();
    const own = new Client(config);
    await own.connect();
    await own.simpleQuery(`CREATE TYPE mood AS ENUM ('sad', 'ok', 'so, so'); CREATE DOMAIN age AS int; CREATE DOMAIN older AS age;
      CREATE TYPE pair AS (a int, b int); CREATE DOMAIN list AS int[]; CREATE DOMAIN lists AS list; CREATE DOMAIN moods AS mood[];
      CREATE DOMAIN deep AS lists[]`);
    await own.end();
  });

  const pooled = (more, options) => endAfterTest(new Pool({ ...config, ...more }, options));
  const rowOf = async asked => ({ ...(await asked).rows[0] });

  it('are arrays in a pool from its first query on, in its transactions, cursors, batches, clients and cache, and in both formats', async () => {
    const pool = pooled();
    const rows = await Promise.all(Array.from({ length: 20 }, () => rowOf(pool.query(TEXT))));
    for (const row of rows) assert.deepEqual(row, ROW);
    assert.deepEqual(await pool.transaction(tx => rowOf(tx.query(TEXT))), ROW);
    assert.deepEqual(await pool.connection(client => rowOf(client.query(TEXT))), ROW);
    assert.deepEqual((await pool.cursor(TEXT).next()).value, ROW);
    assert.deepEqual(await pool.batch([TEXT]).then(([result]) => rowOf(result)), ROW);
    assert.deepEqual((await pool.simpleQuery(TEXT))[0].rows[0], ROW);
    assert.deepEqual(await rowOf(pool.with({ 'app.a': '1' }).query(TEXT)), ROW);
    const { pairs, ...others } = await rowOf(pool.query(TEXT, [], { format: 1 }));
    assert.deepEqual({ ...others, pairs: ROW.pairs }, ROW);
    assert.ok(Buffer.isBuffer(pairs));
    const cache = new ResponseCache(pooled());
    for (let i = 0; i < 2; i++) assert.deepEqual(await rowOf(cache.query(TEXT)), ROW);
  });

  it('are arrays in JSON as well, with elements as they are, and for each database its own', async () => {
    const json = async (session, options) => {
      const target = new PassThrough();
      const [chunks] = await Promise.all([
        target.toArray(),
        session.queryTo(target, TEXT, [], { as: 'json', ...options })
      ]);
      return JSON.parse(Buffer.concat(chunks).toString())[0];
    };
    const pool = pooled();
    assert.deepEqual(await json(pooled({ fetch_types: false })), {
      ...ROW,
      moods: '{sad,NULL,"so, so"}',
      ages: '{1,2}',
      older: '{3}'
    });
    assert.deepEqual(await json(pool), ROW);
    assert.deepEqual(await json(pool.with({ 'app.a': '1' })), ROW);
    assert.deepEqual(await pool.transaction(json), ROW);
  });

  it('have the same elements in both formats and in JSON: those of a domain over an array are arrays', async () => {
    const text = String.raw`SELECT '{"{1,2}",NULL}'::list[] AS a, '{"{3}"}'::lists[] AS b, '{"{sad,\"so, so\"}"}'::moods[] AS c, '{4}'::list AS d,
      '{sad}'::moods AS e, '{"{}"}'::list[] AS f, '{"{\"{1,NULL}\",\"{{2},{3}}\"}"}'::deep[] AS g`;
    const row = {
      a: [[1, 2], null],
      b: [[3]],
      c: [['sad', 'so, so']],
      d: [4],
      e: ['sad'],
      f: [[]],
      g: [
        [
          [1, null],
          [[2], [3]]
        ]
      ]
    };
    const pool = pooled();
    for (const format of [0, 1]) assert.deepEqual(await rowOf(pool.query(text, [], { format })), row);
    const target = new PassThrough();
    const [chunks] = await Promise.all([target.toArray(), pool.queryTo(target, text, [], { as: 'json' })]);
    assert.deepEqual(JSON.parse(Buffer.concat(chunks).toString()), [row]);
  });

  it('are asked for once, in front of all other queries, by the first connection', async () => {
    const proxy = await startProxy({ target: await sharedServer(), record: true });
    afterTest(() => proxy.stop());
    const pool = pooled({ host: proxy.host, port: proxy.port });
    pool.once('connect', client => {
      client.query('SELECT 0').catch(() => {});
    });
    await pool.query('SELECT 1');
    await Promise.all(Array.from({ length: 3 }, () => pool.transaction(tx => tx.query('SELECT pg_sleep(0.05)'))));
    const [first, ...more] = proxy.connections.map(({ recorded }) => String(recorded.toServer));
    assert.ok(more.length > 0);
    assert.equal(first.split('pg_catalog.pg_type t').length, 2);
    assert.ok(first.indexOf('pg_catalog.pg_type t') < first.indexOf('SELECT 0'));
    for (const each of more) assert.ok(!each.includes('pg_catalog.pg_type'));
  });

  it('are text if they were made later, until renew()', async () => {
    const pool = pooled();
    await pool.query('SELECT 1');
    await pool.query("CREATE TYPE late AS ENUM ('a')");
    try {
      const ask = async () => (await pool.query("SELECT '{a}'::late[] AS late")).rows[0].late;
      assert.equal(await ask(), '{a}');
      pool.renew();
      assert.deepEqual(await ask(), ['a']);
    } finally {
      await pool.query('DROP TYPE late');
    }
  });

  it('are asked for by each connection of a client, unless its config has fetch_types: false', async () => {
    const client = endAfterTest(new Client(config));
    const early = client.query(TEXT);
    await client.connect();
    assert.deepEqual((await early).objects[0], ROW);
    await client.end();
    await client.connect();
    assert.deepEqual((await client.query(TEXT)).objects[0], ROW);
    const plain = await connected({ database: DATABASE, fetch_types: false });
    assert.equal((await plain.query(TEXT)).rows[0].ages, '{1,2}');
    assert.equal((await pooled({ fetch_types: false }).query(TEXT)).rows[0].ages, '{1,2}');
    assert.equal((await pooled({ decode: { 23: Number } }).query(TEXT)).rows[0].ages, '{1,2}');
    await assert.rejects(new Client({ ...config, fetch_types: 'yes' }).connect(), {
      name: 'TypeError',
      message: /fetch_types must be a boolean/
    });
  });

  it('are asked for without a flight of their own, but with max_pipeline: 1, and never with decode: false or replication', async () => {
    const target = await startServer({ external: false, settings: { wal_level: 'logical' } });
    afterTest(() => target.stop());
    const proxy = await startProxy({ target, delay: 10, record: true });
    afterTest(() => proxy.stop());
    const asked = async more => {
      const client = endAfterTest(new Client({ ...target.config, host: proxy.host, port: proxy.port, ...more }));
      client.connect();
      if (more.replication) await client.simpleQuery('IDENTIFY_SYSTEM');
      else assert.equal((await client.query('SELECT 1 AS n')).rowCount, 1);
      const { recorded, stats } = proxy.connections.at(-1);
      return [String(recorded.toServer).includes('pg_catalog.pg_type'), stats.flights.toServer];
    };
    const [, least] = await asked({ fetch_types: false });
    assert.deepEqual(await asked({}), [true, least]);
    assert.deepEqual(await asked({ max_pipeline: 1 }), [true, least + 1]);
    assert.deepEqual(await asked({ decode: false }), [false, least]);
    assert.equal((await asked({ replication: 'database' }))[0], false);
  });

  it('stay text if the database does not tell, and nothing fails', async () => {
    const admin = await connected({ database: DATABASE });
    await admin.simpleQuery(
      'DROP ROLE IF EXISTS blind; CREATE ROLE blind LOGIN; REVOKE SELECT ON pg_catalog.pg_type FROM PUBLIC'
    );
    try {
      const pool = new Pool({ ...config, user: 'blind', password: undefined });
      const seen = [];
      pool.on('error', error => seen.push(error));
      assert.equal((await pool.query(TEXT)).rows[0].ages, '{1,2}');
      await assert.rejects(pool.query(TEXT, [], { decode: { age: Number } }), { message: /has not told/ });
      assert.equal(pool.stats.pending, 0);
      await pool.end();
      assert.deepEqual(seen, []);
    } finally {
      await admin.simpleQuery('GRANT SELECT ON pg_catalog.pg_type TO PUBLIC; DROP ROLE blind');
    }
  });

  it('have decoders by their names, with a schema or on the search_path, for the config, a query, a batch and a cursor', async () => {
    const mood = label => String(label).toUpperCase();
    const decode = { ...decoders, ...exact, mood, 'public.age': Number, timestamptz: text => `at ${text.slice(0, 4)}` };
    const text =
      "SELECT 'sad'::mood AS a, '{ok,NULL}'::mood[] AS b, 7::age AS c, '{1}'::age[] AS d, '2020-01-01'::timestamptz AS e, 9::int8 AS f, '{3}'::older[] AS g";
    const row = { a: 'SAD', b: ['OK', null], c: 7, d: [1], e: 'at 2020', f: 9n, g: [3] };
    for (const map of [decode, new Map(Object.entries(decode).map(([key, value]) => [Number(key) || key, value]))]) {
      const client = await connected({ database: DATABASE });
      const own = await connected({ database: DATABASE, decode: map });
      for (const result of [
        await client.query(text, [], { decode: map }),
        (await client.batch([[text, [], { decode: map }]]))[0],
        (await client.simpleQuery(text, { decode: map }))[0],
        await own.query(text),
        await pooled({ decode: map }).query(text)
      ]) {
        assert.deepEqual(result.objects[0], row);
      }
      assert.deepEqual((await client.cursor(text, [], { decode: map }).next()).value.toObject(), row);
      assert.deepEqual((await client.query("SELECT 'ok'::mood", [], { decode: map, format: 1 })).arrays, [['OK']]);
    }
    const {
      rows: [{ b }]
    } = await pooled({ decode: { ...decoders, ...exact } }).query(text);
    assert.deepEqual(b, ['ok', null]);
  });

  it('whose name the database does not have reject the query, which is the first with them', async () => {
    const refused = { name: 'UsageError', code: '42704', message: /'nothing', which is no type of the database/ };
    const client = await connected({ database: DATABASE });
    const decode = { nothing: String };
    await assert.rejects(client.query('SELECT 1', [], { decode }), refused);
    await assert.rejects(client.batch([['SELECT 1', [], { decode }]]), refused);
    await assert.rejects(client.simpleQuery('SELECT 1', { decode }), refused);
    await assert.rejects(client.cursor('SELECT 1', [], { decode }).next(), refused);
    await assert.rejects(pooled({ decode }).query('SELECT 1'), refused);
    await assert.rejects(
      (await connected({ database: DATABASE, fetch_types: false })).query('SELECT 1', [], { decode }),
      {
        code: '42704',
        message: /fetch_types/
      }
    );
    assert.equal((await client.query('SELECT 1 AS n')).rows[0].n, 1);
  });
});
