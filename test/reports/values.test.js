'use strict';

// What users of other clients have reported of values and types. The tracker's number is beside each test.

const assert = require('node:assert/strict');
const { PassThrough } = require('node:stream');
const { json } = require('node:stream/consumers');
const { SERVER_VERSION } = require('pg-test-fixtures');
const { Client, array } = require('../..');
const { sql } = require('../../lib/sql');
const { connected, sharedServer } = require('../support');
const { endAfterTest } = require('../support/hooks');
const { opened } = require('../pool/pools');
const { SESSIONS, table } = require('../rules/kit');

const FORMATS = { text: 0, binary: 1 };
const TEXTS = { prepared: {}, 'not prepared': { cache: false } };

/** The value of the only column of a text that is executed three times. */
async function value(on, text, values, options) {
  const seen = [];
  for (let i = 0; i < 3; i++) seen.push((await on.query(text, values, options)).arrays[0][0]);
  assert.deepEqual(seen[1], seen[0]);
  assert.deepEqual(seen[2], seen[0]);
  return seen[0];
}

const NAN = `'NaN'`;

/** An expression and its value, in both formats. */
const RIGHT = {
  // bun#43332, xtdb#6049, lib/pq#1128, postgres-nio#324: bounds of arrays
  'an array that begins at 0': ["'[0:1]={1,2}'::int[]", [1, 2]],
  'an array that begins below 0': ["'[-2:-1]={a,b}'::text[]", ['a', 'b']],
  'an array of two dimensions with bounds': ["'[2:3][-1:0]={{1.5,2},{3,4}}'::float8[]", [[1.5, 2], [3, 4]]], // prettier-ignore
  // bun#17571, pgsql#28, pgjdbc-ng#231: NULL in arrays and in their place
  'NULL in the place of an array': ['NULL::int[]', null],
  'an array of NULLs': ["'{NULL,NULL}'::text[]", [null, null]],
  "an array of the text 'NULL'": [`'{"NULL",NULL,null,"null"}'::text[]`, ['NULL', null, null, 'null']],
  'an array of empty texts': [`'{"",""}'::text[]`, ['', '']],
  ...(SERVER_VERSION >= 17 && { 'an empty array of arrays': ["'{{},{}}'::int[]", []] }),
  'an array of what has to be quoted': [String.raw`ARRAY['a,b', '{}', '"', '\', ' ', E'\n']`, ['a,b', '{}', '"', '\\', ' ', '\n']], // prettier-ignore
  // bun#35121, porsager/postgres#1184, n8n#8912, npgsql#3075: infinity
  'an infinite timestamptz': ["'infinity'::timestamptz", 'infinity'],
  'an infinite timestamp': ["'-infinity'::timestamp", '-infinity'],
  'an array of infinite timestamps': ["ARRAY['infinity', '-infinity']::timestamptz[]", ['infinity', '-infinity']],
  // bun#17402, bun#17194: numerics in binary, executed again
  'a large numeric': ['1e20::numeric', '100000000000000000000'],
  'a small numeric': ['-0.00000000000000000001::numeric', '-0.00000000000000000001'],
  'a numeric with zeros': ['1000000.000100::numeric', '1000000.000100'],
  'a numeric of 10,000s': ['100000000.0000::numeric(20,4)', '100000000.0000'],
  'a numeric that is no number': [`${NAN}::numeric`, 'NaN'],
  ...(SERVER_VERSION >= 14 && { 'an infinite numeric': ["'-Infinity'::numeric", '-Infinity'] }),
  // node-postgres#3495: bytes that are no UTF-8
  'all bytes': [
    "(SELECT string_agg(set_byte('\\x00', 0, i), '' ORDER BY i) FROM generate_series(0, 255) AS i)",
    Buffer.from(Array.from({ length: 256 }, (_, i) => i))
  ],
  // porsager/postgres#1184: floats that JavaScript writes otherwise
  'minus zero': ["'-0'::float8", -0],
  'the smallest float': ["'5e-324'::float8", 5e-324],
  'the largest float': ["'1.7976931348623157e308'::float8", Number.MAX_VALUE],
  'a float that is no number': [`${NAN}::float8`, NaN],
  // node-postgres#225, #2154: a date is no moment
  'a date': ["'2024-02-29'::date", '2024-02-29'],
  'a date before Christ': ["'0044-03-15 BC'::date", '0044-03-15 BC'],
  // npgsql#6080: JSON null is no NULL
  'null of JSON': ["'null'::jsonb", null],
  'a text of JSON': [`'"\\u00e9\\ud83d\\ude00"'::json`, 'é😀'],
  // node-postgres#3220: int8 at its ends
  'the largest int8': ["'9223372036854775807'::int8", '9223372036854775807'],
  'the smallest int8': ["'-9223372036854775808'::int8", '-9223372036854775808']
};

/** Dates, since the years 0 to 99 and those before Christ become others in many clients (prisma#28192, postgres-date#5). */
const DATES = ['-004711-12-24T23:59:59.999Z', '0000-01-01T00:00:00.000Z', '0001-01-01T00:00:00.001Z', '0099-12-31T12:00:00.000Z', '1883-11-18T12:03:57.000Z', '1969-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z', '+010000-01-01T00:00:00.000Z', '+275760-09-13T00:00:00.000Z']; // prettier-ignore

/** What changes the columns of `SELECT * FROM changing`, and the row of then (dbx#4631, pgjdbc#451, vertx-sql-client#619). */
const CHANGES = {
  'a column more': ['ADD COLUMN b text DEFAULT $$x$$', { a: 1, b: 'x' }],
  'another type': ['ALTER COLUMN a TYPE text', { a: '1' }],
  'another name': ['RENAME COLUMN a TO c', { c: 1 }],
  'a table made again': [undefined, { z: 2 }]
};
const ASKS = {
  query: async (on, text) => (await on.query(text)).objects[0],
  'query in binary': async (on, text) => (await on.query(text, [], { format: 1 })).objects[0],
  batch: async (on, text) => (await on.batch([text]))[0].objects[0],
  cursor: async (on, text) => {
    for await (const row of on.cursor(text)) return row.toObject?.() ?? row;
    return undefined;
  },
  queryTo: async (on, text) => {
    const target = new PassThrough();
    const [[row]] = await Promise.all([json(target), on.queryTo(target, text, [], { as: 'json' })]);
    return row;
  },
  transaction: (on, text) => on.transaction(async tx => (await tx.query(text)).objects[0]),
  with: async (on, text) => (await on.with({ application_name: 'report' }).query(text)).objects[0]
};

describe('Reports about values', () => {
  table(
    'A value is right in each format, at its first execution and at later ones',
    { kind: RIGHT, format: FORMATS, text: TEXTS },
    async ([expression, expected], format, options) => {
      const client = await connected();
      const seen = await value(client, `SELECT ${expression} AS v`, [], { format, ...options });
      assert.deepEqual(typeof expected === 'string' ? String(seen) : seen, expected);
      await client.end();
    }
  );

  it('A Date of any year is the same to and fro, as a text and in binary, in any zone of the session', async () => {
    for (const TimeZone of ['UTC', 'America/New_York', 'Africa/Monrovia', 'Pacific/Apia']) {
      const client = await connected({ TimeZone });
      for (const format of [0, 1]) {
        const dates = DATES.map(text => new Date(text));
        const { rows } = await client.query('SELECT unnest($1::timestamptz[]) AS at', [dates], { format });
        assert.deepEqual(
          rows.map(({ at }) => at),
          dates
        );
        for (const date of dates)
          assert.deepEqual(await value(client, 'SELECT $1::timestamptz', [date], { format }), date);
      }
    }
  });

  // postgres-nio#324, pgsql#28, slonik#326: texts in lists of values
  it('A list of texts that look like the syntax of arrays is the same to and fro', async () => {
    const texts = ['', ' ', 'NULL', 'null', '"', '\\', '\\"', '{', '}', '{}', ',', 'a,b', "'", '\n', '\t', '\u00a0', '[0:1]={1}', 'é😀', null]; // prettier-ignore
    const client = await connected();
    assert.deepEqual(await value(client, 'SELECT $1::text[]', [texts]), texts);
    assert.deepEqual(await value(client, 'SELECT $1::text[]', [array(texts)]), texts);
    assert.deepEqual(await value(client, 'SELECT $1::bool[]', [[true, false, null]]), [true, false, null]);
    assert.deepEqual(await value(client, 'SELECT $1::int[]', [[[1, 2], [3, 4]]]), [[1, 2], [3, 4]]); // prettier-ignore
  });

  // dbx#4631, pgjdbc#451, pgjdbc#4262, vertx-sql-client#672, vert-x3#527
  table(
    'A prepared text has the columns of now when its table was changed by another connection',
    { change: CHANGES, ask: ASKS, session: { client: SESSIONS.client, pool: SESSIONS.pool } },
    async ([change, expected], ask, session) => {
      const server = await sharedServer();
      const make = name =>
        server.sql(`DROP TABLE IF EXISTS changing; CREATE TABLE changing AS SELECT ${name};
        GRANT ALL ON changing TO PUBLIC`);
      await make('1 AS a');
      await session(async on => {
        for (let i = 0; i < 7; i++) assert.deepEqual(await ask(on, 'SELECT * FROM changing'), { a: 1 });
        await (change ? server.sql(`ALTER TABLE changing ${change}`) : make('2 AS z'));
        assert.deepEqual(await ask(on, 'SELECT * FROM changing'), expected);
      });
      await server.sql('DROP TABLE changing');
    },
    { transaction: 'PostgreSQL reports 0A000, behind which the block has failed' }
  );

  // psycopg#585
  it('A wrong text has the error of the server each time, alone and in a pipeline', async () => {
    for (const session of [await connected(), await opened({ size: 1 })]) {
      for (let i = 0; i < 3; i++) await assert.rejects(session.query('SELEC 1'), { code: '42601' });
      const all = await Promise.allSettled([1, 2, 3].map(() => session.query('SELECT * FROM not_there')));
      assert.deepEqual(
        all.map(({ reason }) => reason.code),
        ['42P01', '42P01', '42P01']
      );
      await session.query('SELECT 1');
    }
  });

  // vertx-sql-client#619
  it('A text that failed for want of its table works when the table is there', async () => {
    const pool = await opened({ size: 1 });
    const server = await sharedServer();
    const text = 'SELECT id FROM made_later';
    for (let i = 0; i < 2; i++) await assert.rejects(pool.query(text), { code: '42P01' });
    await server.sql('CREATE TABLE made_later AS SELECT 1 AS id; GRANT ALL ON made_later TO PUBLIC');
    try {
      assert.deepEqual((await pool.query(text)).objects, [{ id: 1 }]);
    } finally {
      await server.sql('DROP TABLE made_later');
    }
    await assert.rejects(pool.query(text), { code: '42P01' });
  });

  // pgjdbc#496, pgjdbc#4259
  it('A prepared text means the tables of the search_path of now, whatever has changed it', async () => {
    const client = await connected();
    const server = await sharedServer();
    await server.sql(`CREATE SCHEMA one_of_two; CREATE SCHEMA two_of_two;
      CREATE TABLE one_of_two.which AS SELECT 1 AS n; CREATE TABLE two_of_two.which AS SELECT 2 AS n, 'two' AS name;
      CREATE FUNCTION one_of_two.go() RETURNS void LANGUAGE sql AS
        $$SELECT set_config('search_path', 'two_of_two', false)$$;
      GRANT ALL ON SCHEMA one_of_two, two_of_two TO PUBLIC;
      GRANT ALL ON one_of_two.which, two_of_two.which TO PUBLIC`);
    try {
      await client.query('SET search_path TO one_of_two');
      for (let i = 0; i < 7; i++) assert.deepEqual((await client.query('SELECT * FROM which')).objects, [{ n: 1 }]);
      await client.query('SELECT one_of_two.go()');
      for (let i = 0; i < 3; i++) {
        assert.deepEqual((await client.query('SELECT * FROM which')).objects, [{ n: 2, name: 'two' }]);
      }
    } finally {
      await server.sql('DROP SCHEMA one_of_two, two_of_two CASCADE');
    }
  });

  // node-postgres#280, #1054, #2237
  it('A column may be called like a method of a row, of an object or of a promise', async () => {
    const names = [
      'then',
      'toJSON',
      'constructor',
      '__proto__',
      'hasOwnProperty',
      'columns',
      'length',
      '0',
      'a b',
      'é"'
    ];
    const text = `SELECT ${names.map((name, i) => `${i} AS "${name.replaceAll('"', '""')}"`).join(', ')}`;
    const client = await connected();
    const expected = names.map((name, i) => [name, i]).sort();
    for (const row of [(await client.query(text)).objects[0], (await client.query(text)).one().toObject()]) {
      assert.deepEqual(Object.entries(row).sort(), expected);
      assert.ok([Object.prototype, null].includes(Object.getPrototypeOf(row)));
      assert.deepEqual(Object.entries(JSON.parse(JSON.stringify(row))).sort(), expected);
    }
    assert.deepEqual((await client.query(text)).arrays[0], [...names.keys()]);
  });

  // bun#35111, porsager/postgres#889, massive#467, postgrest#3717
  it('Rows of sql.values() with other keys than the first are refused, and none is dropped', () => {
    for (const [rows, message] of [
      [[{ a: 1 }, { a: 1, b: 2 }], /b/],
      [[{ a: 1, b: 2 }, { a: 1 }], /b/],
      [[{ a: 1 }, { b: 1 }], /[ab]/]
    ]) {
      assert.throws(() => sql.values(rows), { name: 'TypeError', message });
    }
    const [text, values] = sql`INSERT INTO t ${sql.values([{ a: 1, b: 2 }, { b: 3, a: 4 }])}`; // prettier-ignore
    assert.deepEqual([text, values], ['INSERT INTO t ("a", "b") VALUES ($1, $2), ($3, $4)', [1, 2, 4, 3]]);
  });

  // porsager/postgres#453: a column with capitals
  it('With names in camel case a column with capitals is read and written by its own name', async () => {
    const client = await connected({ names: 'camel' });
    await client.query('CREATE TEMP TABLE camels ("URL" text, "userName" text, user_id int, _a int, a__b int)');
    await client.query("INSERT INTO camels VALUES ('u', 'n', 1, 2, 3)");
    const { objects } = await client.query('SELECT "URL", "userName", user_id FROM camels');
    assert.deepEqual(objects, [{ URL: 'u', userName: 'n', userId: 1 }]);
  });

  // node-postgres#2475, #523, sqlx#3345
  it('A database in LATIN1 gives and takes its characters, and says which it has not', async () => {
    const server = await sharedServer();
    await server.sql('DROP DATABASE IF EXISTS in_latin1');
    await server.sql(
      `CREATE DATABASE in_latin1 ENCODING 'LATIN1' ${SERVER_VERSION >= 15 ? 'LOCALE_PROVIDER libc' : ''} LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`
    );
    const client = endAfterTest(new Client({ ...server.config, database: 'in_latin1' }));
    await client.connect();
    assert.equal(await value(client, 'SELECT $1::text', ['é ß ÿ']), 'é ß ÿ');
    assert.equal(await value(client, "SELECT chr(233) || length('é')"), 'é1');
    await assert.rejects(client.query('SELECT $1::text', ['漢']), { code: '22P05' });
    await assert.rejects(client.query('SELECT "é"'), { code: '42703', message: /é/ });
    await client.end();
    await server.sql('DROP DATABASE in_latin1');
  });

  // CartoDB-SQL-API#303, ragflow#12666, wal2json#255
  it('JSON has null for what no number of JSON is, and stays JSON', async () => {
    const client = await connected();
    const target = new PassThrough();
    const text = `SELECT 'NaN'::float8 AS a, '-Infinity'::float4 AS b, 'NaN'::numeric AS c, ARRAY['NaN', '1']::float8[] AS d,
      '1e400'::numeric AS e, '-0'::float8 AS f`;
    const [[row]] = await Promise.all([json(target), client.queryTo(target, text, [], { as: 'json' })]);
    assert.deepEqual([row.a, row.b, row.d], [null, null, [null, 1]]);
    assert.ok(row.c === null || row.c === 'NaN');
    assert.equal(Object.is(row.f, -0) || row.f === 0, true);
  });
});
