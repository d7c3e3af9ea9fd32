'use strict';

// A column is the same value by every way, whatever its type is.

const assert = require('node:assert/strict');
const { PassThrough } = require('node:stream');
const { startPgBouncer, startProxy, startServer, SERVER_VERSION } = require('pg-test-fixtures');
const { Client, decoders } = require('../..');
const pg = require('../../lib/pg');
const { Pool } = require('../../lib/pool');
const { changes } = require('../../lib/replication');
const { ANSWER, commandComplete, dataRow, faked, hex, int16, message } = require('../support');
const { afterTest, endAfterTest } = require('../support/hooks');
const { until } = require('../support/kit');
const { ENDS, covered, table } = require('./kit');

const SCHEMA = `
  CREATE EXTENSION IF NOT EXISTS citext;
  CREATE EXTENSION IF NOT EXISTS hstore;
  CREATE TYPE mood AS ENUM ('sad', 'ok', 'so, so');
  CREATE DOMAIN age AS int;
  CREATE DOMAIN older AS age;
  CREATE DOMAIN ages AS age[];
  CREATE DOMAIN lists AS int[];
  CREATE DOMAIN deep AS lists[];
  CREATE DOMAIN doc AS jsonb;
  CREATE DOMAIN flag AS bool;
  CREATE DOMAIN moment AS timestamptz;
  CREATE DOMAIN bytes AS bytea;
  CREATE TYPE pair AS (a int, "b B" text, moods mood[], at_time timestamptz);
  CREATE TYPE nested AS (p pair, ps pair[], n numeric, d doc, y bytes, f flag);
  CREATE TYPE "Empty" AS ();
  CREATE DOMAIN some_pair AS pair;
  CREATE TYPE span AS RANGE (subtype = float8${SERVER_VERSION >= 14 ? ', multirange_type_name = spans' : ''});
  CREATE TYPE moods AS RANGE (subtype = mood);
  CREATE TYPE times AS RANGE (subtype = timestamp);
  CREATE TABLE things (id int PRIMARY KEY, gone int, thing text);
  ALTER TABLE things DROP COLUMN gone;
  INSERT INTO things VALUES (1, 'one');
  CREATE TYPE again AS ENUM ('before')`;

const AT = new Date('2020-01-01T00:00:00.500Z');
const BYTES = Buffer.from([1, 2]);
const PAIR = `ROW(1, 'x "y" \\ z, (q)', '{sad,"so, so"}', '2020-01-01 00:00:00.5Z')::pair`;
const PAIR_IS = { a: 1, 'b B': 'x "y" \\ z, (q)', moods: ['sad', 'so, so'], at_time: AT };
const EMPTY = { a: null, 'b B': '', moods: [], at_time: null };

/** An expression of SQL and its value; JSON has others for a Date and for bytes. */
const KINDS = {
  'a domain': ['7::age', 7],
  'a domain of a domain': ['7::older', 7],
  'an array of a domain': ["'{1,NULL}'::age[]", [1, null]],
  'an array of a domain of a domain': ["'{1,NULL}'::older[]", [1, null]],
  'a domain over a list': ["'{1,2}'::lists", [1, 2]],
  'an array of a domain over a list': [`'{"{1,2}",NULL}'::lists[]`, [[1, 2], null]],
  'a domain over an array of a domain': ["'{1,2}'::ages", [1, 2]],
  'a domain over an array of a domain over a list': [`'{"{1,NULL}"}'::deep`, [[1, null]]],
  'a domain over jsonb': [`'{"a": [1]}'::doc`, { a: [1] }],
  'an array of a domain over jsonb': [`ARRAY['{"a": [1]}', '1', NULL]::doc[]`, [{ a: [1] }, 1, null]],
  'a domain over bool': ["'f'::flag", false],
  'an array of a domain over bool': ["'{f,t}'::flag[]", [false, true]],
  'a domain over timestamptz': ["'2020-01-01 00:00:00.5Z'::moment", AT],
  'an array of a domain over timestamptz': ["ARRAY['2020-01-01 00:00:00.5Z']::moment[]", [AT]],
  'a domain over bytea': ["'\\x0102'::bytes", BYTES],
  'an array of a domain over bytea': ["ARRAY['\\x0102']::bytes[]", [BYTES]],
  'an enum': ["'so, so'::mood", 'so, so'],
  'an array of an enum': [`'{sad,NULL,"so, so"}'::mood[]`, ['sad', null, 'so, so']],
  'an array of an enum of two dimensions': ["'{{sad},{ok}}'::mood[]", [['sad'], ['ok']]],
  'a composite type': [PAIR, PAIR_IS],
  'a composite type of NULLs and empty values': ["ROW(NULL, '', '{}', NULL)::pair", EMPTY],
  'a domain over a composite type': [`${PAIR}::some_pair`, PAIR_IS],
  'a composite type without fields': [`'()'::"Empty"`, {}],
  'an array of a composite type': [`ARRAY[${PAIR}, NULL, ROW(NULL, '', '{}', NULL)::pair]`, [PAIR_IS, null, EMPTY]],
  'an array of a domain over a composite type': [`ARRAY[${PAIR}]::some_pair[]`, [PAIR_IS]],
  'a composite type in a composite type': [
    `ROW(${PAIR}, ARRAY[${PAIR}, NULL], 1.50, '[1]', '\\x0102', false)::nested`,
    { p: PAIR_IS, ps: [PAIR_IS, null], n: '1.50', d: [1], y: BYTES, f: false }
  ],
  'a row of a table': ['(SELECT things FROM things)', { id: 1, thing: 'one' }],
  'an array of rows of a table': ['(SELECT array_agg(things) FROM things)', [{ id: 1, thing: 'one' }]],
  'an anonymous record': ["ROW(1, 'a')", '(1,a)'],
  "a row of a catalog's": ["(SELECT a FROM pg_am a WHERE amname = 'heap')", '(2,heap,heap_tableam_handler,t)'],
  "a row of a view of information_schema's": [
    '(SELECT n FROM information_schema.information_schema_catalog_name n)',
    '(postgres)'
  ],
  'a range': ["'[1.5,1e20)'::span", '[1.5,1e+20)'],
  'a range of an enum': [`'[sad,"so, so"]'::moods`, '[sad,"so, so"]'],
  'a range of timestamps': ["'[2020-01-01,)'::times", '["2020-01-01 00:00:00",)'],
  'an array of a range': [
    `ARRAY['[0.00001,-0)', 'empty', '[1e-5,infinity)']::span[]`.replace('[0.00001,-0)', '(,1e15)'),
    ['(,1e+15)', 'empty', '[1e-05,Infinity)']
  ],
  ...(SERVER_VERSION >= 14 && {
    "an array of rows of a view of information_schema's": [
      '(SELECT array_agg(n) FROM information_schema.information_schema_catalog_name n)',
      '{(postgres)}'
    ],
    'a multirange': ["'{[1,2),[100000,1e15)}'::spans", '{[1,2),[100000,1e+15)}'],
    'an array of a multirange': [`ARRAY['{[1,2),[3,4)}']::spans[]`, ['{[1,2),[3,4)}']]
  }),
  'a type of an extension': ["'Some text'::citext", 'Some text'],
  'an array of a type of an extension': [`'{a,NULL,"b c"}'::citext[]`, ['a', null, 'b c']],
  'a type of an extension with a binary format of its own': ["'a=>1'::hstore", '"a"=>"1"'],
  'an array of such a type': [`ARRAY['a=>1']::hstore[]`, ['"a"=>"1"']],
  "an array of information_schema's": [
    `(SELECT array_agg(column_name ORDER BY column_name) FROM information_schema.columns WHERE table_name = 'things')`,
    ['id', 'thing']
  ]
};

/** @returns {object} what JSON has in the place of a value */
function jsonOf(value) {
  if (value instanceof Date) return '2020-01-01T00:00:00.5+00:00';
  if (Buffer.isBuffer(value)) return `\\x${value.toString('hex')}`;
  if (Array.isArray(value)) return value.map(jsonOf);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, jsonOf(each)]));
}

async function jsonTo(session, text, as = 'json') {
  const target = new PassThrough();
  const [chunks] = await Promise.all([target.toArray(), session.queryTo(target, text, [], { as })]);
  const all = Buffer.concat(chunks).toString();
  return (as === 'json' ? JSON.parse(all)[0] : JSON.parse(all)).value;
}

const first = async (loop, make = row => row.toObject?.() ?? row) => {
  for await (const row of loop) return make(row).value;
  throw new Error('no rows');
};

const opened = session => (session instanceof Client ? session.connect() : undefined);

/** Each gives the value of a text's only column, `value`, of a session of its own. */
const WAYS = {
  structs: async (session, text) => (await session.query(text)).structs[0].value,
  objects: async (session, text) => (await session.query(text)).objects[0].value,
  arrays: async (session, text) => (await session.query(text)).arrays[0][0],
  'binary format': async (session, text) => (await session.query(text, [], { format: 1 })).objects[0].value,
  batch: async (session, text) => (await session.batch(['SELECT 1', text]))[1].objects[0].value,
  'simple query': async (session, text) => (await session.simpleQuery(`SELECT 1; ${text}`))[1].objects[0].value,
  cursor: (session, text) => first(session.cursor(text)),
  'a cursor of a transaction': (session, text) =>
    session.transaction(tx => first(tx.cursor(text, [], { batchSize: 1 }))),
  transaction: (session, text) => session.transaction(async tx => (await tx.query(text)).objects[0].value),
  commit: async (session, text) => (await session.transaction(tx => tx.commit(text))).objects[0].value,
  savepoint: (session, text) =>
    session.transaction(tx => tx.transaction(async inner => (await inner.query(text)).objects[0].value)),
  'with a role without rights': async (session, text) =>
    (await session.with({ role: 'nobody' }).query(text)).objects[0].value,
  'a transaction with a role without rights': async (session, text) =>
    session.with({ role: 'nobody' }).transaction(async tx => (await tx.query(text)).objects[0].value),
  'own decoders beside': async (session, text) =>
    (await session.query(text, [], { decode: { ...decoders, 'public.age': Number } })).objects[0].value,
  JSON: async (session, text) => ({ json: await jsonTo(session, text) }),
  'JSON in lines': async (session, text) => ({ json: await jsonTo(session, text, 'ndjson') }),
  'JSON in a transaction': (session, text) => session.transaction(async tx => ({ json: await jsonTo(tx, text) }))
};

describe('Columns', () => {
  covered(
    { ...WAYS, jsonTo },
    {
      'copyTo, copyFrom, copyData, copyDone, copyFail': 'COPY has no columns',
      'describe, listen, connection': 'they give no rows',
      'startQuery, getResults': 'test/core/steps.test.js',
      [ENDS]: 'they give no rows'
    }
  );

  let server, bouncer;
  before(async function () {
    this.timeout(30000);
    server = await startServer({ external: false, settings: { wal_level: 'logical', max_replication_slots: 20 } });
    const admin = new Client(server.config);
    await admin.connect();
    await admin.simpleQuery(SCHEMA);
    await admin.simpleQuery('CREATE ROLE nobody; GRANT SELECT ON things TO nobody');
    await admin.end();
    bouncer = await startPgBouncer({ target: server });
  });
  after(async () => {
    await bouncer?.stop();
    await server.stop();
  });

  /** Sessions that a test has in all of its cells: types are unknown to them until a cell has some. */
  const SHARED = {
    client: async () => {
      const client = endAfterTest(new Client(server.config));
      await client.connect();
      return client;
    },
    pool: () => endAfterTest(new Pool(server.config, { size: 2 })),
    'pool behind PgBouncer': () =>
      endAfterTest(new Pool({ ...server.config, ...bouncer.config, statement_cache: 0 }, { size: 2 }))
  };
  const shared = new Map();
  const ofTest = async make => {
    if (!shared.has(make)) {
      shared.set(make, make());
      afterTest(() => shared.delete(make));
    }
    return shared.get(make);
  };

  table(
    'A column is the same value by every way',
    { way: WAYS, kind: KINDS, session: SHARED },
    async (ask, [expression, expected], session) => {
      const value = await ask(await ofTest(session), `SELECT ${expression} AS value`);
      assert.deepEqual(
        value?.json === undefined ? value : value.json,
        value?.json === undefined ? expected : jsonOf(expected)
      );
    },
    {
      'an anonymous record, binary format': 'the fields of a record have no names: its bytes stay as they are',
      "a row of a catalog's, binary format": 'its bytes stay as they are',
      "a row of a view of information_schema's, binary format": 'its bytes stay as they are',
      ...(SERVER_VERSION >= 14 && {
        "an array of rows of a view of information_schema's, binary format": 'its bytes stay as they are'
      }),
      'a type of an extension with a binary format of its own, binary format': 'no decoder knows the format',
      'an array of such a type, binary format': 'no decoder knows the format'
    }
  );

  it('Snapshot and stream of changes have the values of queries, with decode: true, own decoders and none', async function () {
    this.timeout(60000);
    const kinds = Object.entries(KINDS).filter(([name]) => name !== 'an anonymous record');
    const columns = kinds.map(([, [expression]], i) => `${expression} AS c${i}`).join(', ');
    await fresh(`CREATE TABLE all_kinds AS SELECT 1 AS id, ${columns};
      ALTER TABLE all_kinds REPLICA IDENTITY FULL; CREATE PUBLICATION all_kinds FOR TABLE all_kinds`);
    const text = 'SELECT * FROM all_kinds';
    const moods = { mood: label => label.toUpperCase(), 'public.age': age => -age, 23: Number };
    const client = endAfterTest(new Client(server.config));
    await client.connect();
    for (const decode of [
      true,
      false,
      { ...decoders, ...moods },
      moods,
      new Map(Object.entries({ ...decoders, ...moods }).map(([key, value]) => [Number(key) || key, value]))
    ]) {
      const [row] = (await client.query(text, [], { decode })).objects;
      const seen = [];
      const snapshot = async tx => {
        seen.push((await tx.query(text)).objects[0]);
        setTimeout(() => fresh('UPDATE all_kinds SET id = id'), 0);
      };
      const loop = changes(server.config, { publication: 'all_kinds', decode, snapshot });
      for await (const { type, new: changed, old } of loop) {
        if (type === 'update') seen.push(changed, old);
        if (type === 'commit') break;
      }
      for (const each of seen) assert.deepEqual(each, row);
      assert.equal(seen.length, 3);
      if (decode === true) for (const [i, [, [, value]]] of kinds.entries()) assert.deepEqual(row[`c${i}`], value);
    }
    await assert.rejects(changes(server.config, { publication: 'all_kinds', decode: { nothing: String } }).next(), {
      code: '42704'
    });
  });

  /** Types that no other test changes. */
  const fresh = async sql => {
    const admin = new Client(server.config);
    await admin.connect();
    await admin.simpleQuery(sql).finally(() => admin.end());
  };

  /** Sessions behind a proxy: what was sent to the server, and in how many flights, since the last call. */
  async function watched(make) {
    const proxy = await startProxy({ target: server, record: true });
    afterTest(() => proxy.stop());
    const session = endAfterTest(make({ ...server.config, host: proxy.host, port: proxy.port }));
    let seen = 0;
    let flights = 0;
    const sent = () => {
      const texts = proxy.connections.map(({ recorded }) => String(recorded.toServer)).join('');
      const count = proxy.connections.reduce((sum, { stats }) => sum + stats.flights.toServer, 0);
      const news = {
        text: texts.slice(seen),
        questions: texts.slice(seen).split('WITH RECURSIVE wanted').length - 1,
        flights: count - flights
      };
      seen = texts.length;
      flights = count;
      return news;
    };
    return { session, sent };
  }

  const MAKERS = {
    client: config => new Client(config),
    pool: config => new Pool(config, { size: 1 })
  };

  it('Built-in types alone are asked for by nobody: quickgres/pg, and changes with their snapshot', async () => {
    const values = "1 AS n, now() AS at, ARRAY[1.5] AS list, point(1, 2) AS p, '[1,2)'::int4range AS r";
    for (const make of [config => new pg.Client(config), config => new pg.Pool(config)]) {
      const { session, sent } = await watched(make);
      if (session instanceof pg.Client) await session.connect();
      const { rows } = await session.query(`SELECT ${values}, $1::jsonb AS doc`, ['[1]']);
      assert.deepEqual(rows[0].doc, [1]);
      await session.query(`SELECT ${values}; SELECT 2`);
      assert.equal(sent().questions, 0);
    }
    await fresh(`CREATE TABLE built_in AS SELECT ${values}; ALTER TABLE built_in REPLICA IDENTITY FULL;
      CREATE PUBLICATION built_in FOR TABLE built_in`);
    for (const decode of [undefined, { int4: String, timestamptz: String }]) {
      const { session, sent } = await watched(config => {
        const snapshot = async tx => {
          await tx.query('SELECT * FROM built_in');
          setTimeout(() => fresh('UPDATE built_in SET n = n'), 0);
        };
        return { loop: changes(config, { publication: 'built_in', decode, snapshot }), end() {}, destroy() {} };
      });
      for await (const { type } of session.loop) if (type === 'commit') break;
      const { text, questions } = sent();
      assert.ok(text.includes('START_REPLICATION') && text.includes('FROM built_in'));
      assert.equal(questions, 0);
    }
  });

  for (const [name, make] of Object.entries(MAKERS)) {
    it(`Types are asked for once: one round trip for the first result that has them (${name})`, async () => {
      const { session, sent } = await watched(make);
      await opened(session);
      await session.query('SELECT 1 AS n, now(), ARRAY[1.5], point(1, 2), ROW(1, 2)');
      await session.batch(['SELECT 2', 'SELECT 3']);
      await session.simpleQuery('SELECT 4');
      await session.transaction(tx => tx.query('SELECT 5'));
      for await (const row of session.cursor('SELECT 6')) assert.ok(row);
      assert.equal(sent().questions, 0);
      await session.query("SELECT '{sad}'::mood[] AS moods WHERE false");
      assert.deepEqual(sent().questions, 0, 'a result without rows needs no types');
      await session.query("SELECT '{sad}'::mood[] AS moods");
      const { questions, flights } = sent();
      assert.deepEqual({ questions, flights }, { questions: 1, flights: 2 });
      const results = await Promise.all(Array.from({ length: 9 }, () => session.query("SELECT '{1}'::age[] AS ages")));
      for (const { objects } of results) assert.deepEqual(objects, [{ ages: [1] }]);
      assert.equal(sent().questions, 1, 'what is in one flight is followed by one question');
      await session.query("SELECT '{sad}'::mood[] AS moods, '{1}'::age[] AS ages");
      assert.equal(sent().questions, 0);
    });

    it(`JSON has a question for all types in front, in its flight, once and never with decode: false (${name})`, async () => {
      for (const decode of [true, false]) {
        const { session, sent } = await watched(config => make({ ...config, decode }));
        await opened(session);
        await session.query('SELECT 1');
        sent();
        assert.deepEqual(await jsonTo(session, "SELECT '{sad}'::mood[] AS value"), decode ? ['sad'] : '{sad}');
        const { questions, flights } = sent();
        assert.deepEqual({ questions, flights }, { questions: Number(decode), flights: 1 });
        await jsonTo(session, 'SELECT 1 AS value');
        assert.equal(sent().questions, 0);
      }
    });

    it(`Names in decode are asked for in front of the first query that has them, in its flight (${name})`, async () => {
      const { session, sent } = await watched(make);
      await opened(session);
      const decode = { ...decoders, mood: label => label.toUpperCase(), timestamptz: String };
      await session.query('SELECT 1', [], { decode: { ...decoders, timestamptz: String } });
      assert.equal(sent().questions, 0, 'names of built-in types');
      const { objects } = await session.query("SELECT 'sad'::mood AS one, '{ok,NULL}'::mood[] AS more", [], { decode });
      assert.deepEqual(objects, [{ one: 'SAD', more: ['OK', null] }]);
      const { text, questions } = sent();
      assert.ok(questions === 2 && text.indexOf('wanted') < text.indexOf('AS more'), String(questions));
      await session.query("SELECT 'sad'::mood AS one, '{ok,NULL}'::mood[] AS more", [], { decode });
      assert.equal(sent().questions, 0);
      await assert.rejects(session.query('SELECT 1', [], { decode: { nothing: String } }), {
        code: '42704',
        message: /'nothing', which is no type of the database/
      });
    });
  }

  it('A type made later, dropped and made again, or with other fields is asked for again', async () => {
    for (const make of Object.values(MAKERS)) {
      const session = endAfterTest(make(server.config));
      await opened(session);
      const one = async (text, options) => (await session.query(text, [], options)).objects[0].value;
      await one('SELECT 1 AS value');
      await fresh("CREATE TYPE later AS ENUM ('a')");
      assert.deepEqual(await one("SELECT '{a}'::later[] AS value"), ['a']);
      await fresh('DROP TYPE later; CREATE DOMAIN later AS int');
      assert.deepEqual(await one("SELECT '{1}'::later[] AS value"), [1]);
      await fresh('DROP DOMAIN later; CREATE TYPE later AS (a int, b int)');
      const texts = ["SELECT '(1,2)'::later AS value", `SELECT ARRAY['(1,2)'::later] AS value`];
      assert.deepEqual([await one(texts[0]), await one(texts[1])], [{ a: 1, b: 2 }, [{ a: 1, b: 2 }]]);
      await fresh('ALTER TYPE later DROP ATTRIBUTE a');
      assert.deepEqual(await one("SELECT '(2)'::later AS value"), { b: 2 });
      await fresh('ALTER TYPE later ADD ATTRIBUTE c text');
      const values = [await one("SELECT ARRAY[NULL, '(2,x)'::later] AS value", { format: 1 })];
      await jsonTo(session, "SELECT '(2,x)'::later AS value"); // JSON asks for all types once
      await fresh('ALTER TYPE later DROP ATTRIBUTE b');
      values.push(await jsonTo(session, "SELECT '(x)'::later AS value"));
      values.push(await jsonTo(session, "SELECT '(x)'::later AS value"));
      assert.deepEqual(values, [[null, { b: 2, c: 'x' }], name(values[1]), { c: 'x' }]);
      await fresh('DROP TYPE later');
    }
    function name(json) {
      assert.ok(json === '(x)' || json.c === 'x'); // a stream has begun before anybody knows: no field is shifted
      return json;
    }
  });

  /** What another connection changes, and the text of which a value is sent before and after. */
  const MIGRATIONS = {
    'an enum dropped and made again': [
      "CREATE TYPE state AS ENUM ('a'); CREATE TABLE states (v state)",
      'INSERT INTO states VALUES ($1)',
      'a',
      "DROP TYPE state CASCADE; CREATE TYPE state AS ENUM ('b'); ALTER TABLE states ADD COLUMN v state",
      'b'
    ],
    'the type of a column': [
      'CREATE TABLE states (v int)',
      'INSERT INTO states VALUES ($1)',
      '1',
      'ALTER TABLE states ALTER v TYPE text USING v::text',
      'one'
    ],
    'the size of a column': [
      'CREATE TABLE states (v int)',
      'SELECT * FROM states WHERE v = $1',
      1,
      'ALTER TABLE states ALTER v TYPE int8',
      3e9
    ],
    'a function': [
      "CREATE FUNCTION f(int) RETURNS int LANGUAGE sql AS 'SELECT $1'",
      'SELECT f($1)',
      1,
      "DROP FUNCTION f(int); CREATE FUNCTION f(text) RETURNS text LANGUAGE sql AS 'SELECT $1'",
      1
    ],
    'a column that becomes bytes': [
      'CREATE TABLE states (v int)',
      'INSERT INTO states VALUES ($1)',
      1,
      'ALTER TABLE states DROP v; ALTER TABLE states ADD v bytea',
      Buffer.from([0, 255])
    ],
    'a column that loses its domain': [
      'CREATE DOMAIN state AS int CHECK (VALUE < 9); CREATE TABLE states (v state)',
      'INSERT INTO states VALUES ($1)',
      1,
      'ALTER TABLE states ALTER v TYPE int',
      10
    ],
    'a list that becomes JSON': [
      'CREATE TABLE states (v int[])',
      'INSERT INTO states VALUES ($1)',
      [1],
      'ALTER TABLE states ALTER v TYPE jsonb USING to_jsonb(v)',
      [1, { a: 2 }]
    ],
    'JSON that becomes a list': [
      'CREATE DOMAIN state AS jsonb; CREATE TABLE states (v state)',
      'INSERT INTO states VALUES ($1)',
      [1],
      'DROP DOMAIN state CASCADE; ALTER TABLE states ADD v int[]',
      [1, 2]
    ],
    'a column that becomes an enum': [
      'CREATE TABLE states (v text)',
      'UPDATE states SET v = $1',
      'a',
      "CREATE TYPE state AS ENUM ('a'); ALTER TABLE states ALTER v TYPE state USING v::state",
      'a'
    ]
  };
  const ASKS = {
    query: (session, text, value) => session.query(text, [value]),
    batch: (session, text, value) => session.batch([[text, [value]]]),
    queryTo: (session, text, value) => session.queryTo(new PassThrough().resume(), text, [value])
  };

  table(
    'A parameter whose type another connection has changed fails nothing outside of a transaction',
    { migration: MIGRATIONS, method: ASKS, session: SHARED },
    async ([create, text, before, change, after], ask, make) => {
      await fresh(`DROP TABLE IF EXISTS states; DROP TYPE IF EXISTS state; DROP FUNCTION IF EXISTS f; ${create}`);
      const session = await make();
      for (let i = 0; i < 7; i++) await ask(session, text, before);
      await fresh(change);
      await ask(session, text, after);
      await ask(session, text, after);
    }
  );

  it('A wrong value is sent twice at most, and its error is that of the server', async () => {
    const client = endAfterTest(new Client(server.config));
    await client.connect();
    await client.query('SELECT $1::int AS n', ['1']);
    await assert.rejects(client.query('SELECT $1::int AS n', ['one']), { code: '22P02' });
    assert.equal((await client.query('SELECT $1::int AS n', ['1'])).objects[0].n, 1);
  });

  it('A question that fails aborts no transaction, rejects nothing, and is asked again by a later result', async () => {
    await fresh('REVOKE SELECT ON pg_catalog.pg_type FROM PUBLIC; CREATE ROLE blind LOGIN');
    const text = "SELECT '{1}'::age[] AS value";
    const sessions = [new Client({ ...server.config, user: 'blind' }), new Pool({ ...server.config, user: 'blind' })];
    try {
      for (const session of sessions.map(endAfterTest)) {
        await opened(session);
        const seen = [];
        session.on('error', error => seen.push(error));
        assert.equal((await session.query(text)).objects[0].value, '{1}');
        await session.transaction(async tx => {
          await tx.query('CREATE TEMP TABLE mine AS SELECT 1 AS id');
          assert.equal((await tx.query(text)).objects[0].value, '{1}');
          assert.equal(await jsonTo(tx, text), '{1}');
          assert.equal((await tx.query('SELECT id FROM mine')).objects[0].id, 1);
        });
        assert.equal(await jsonTo(session, text), '{1}');
        await assert.rejects(session.query(text, [], { decode: { age: Number } }), { code: '42704' });
        assert.deepEqual(seen, []);
      }
    } finally {
      await fresh('GRANT SELECT ON pg_catalog.pg_type TO PUBLIC');
    }
    for (const session of sessions) assert.deepEqual((await session.query(text)).objects[0].value, [1]);
  });

  it('A server that cannot read the question, as one that only resembles PostgreSQL, leaves values as they are', async () => {
    const asked = [];
    const described = message('T', int16(1), 'value', hex('00  00000000 0000 00010000 ffff ffffffff 0000'));
    const client = await faked(async conversation => {
      for (let i = 0; i < 2; i++) {
        asked.push(await conversation.request());
        conversation.say(ANSWER.parseComplete, ANSWER.noParameters, described, ANSWER.bindComplete);
        conversation.say(dataRow('{a}'), commandComplete('SELECT 1'), ANSWER.ready);
        asked.push(await conversation.request());
        conversation.say(ANSWER.error('42601', 'syntax error'), ANSWER.ready);
      }
    });
    for (const text of ['SELECT value FROM one', 'SELECT value FROM two'])
      assert.deepEqual((await client.query(text)).objects, [{ value: '{a}' }]);
    assert.deepEqual(asked, ['PDBES', 'Q', 'PDBES', 'Q']);
  });

  it('A result whose question is lost with the connection has no strings in place of other values: it rejects', async () => {
    const text = "SELECT '{1}'::age[] AS value";
    const [locker, client] = [1, 2].map(() => endAfterTest(new Client(server.config)));
    await Promise.all([locker.connect(), client.connect()]);
    const pools = [1, 2, 3].map(() => endAfterTest(new Pool(server.config, { size: 1 })));
    for (const pool of pools) pool.on('error', () => {});
    let repeated;
    await locker.transaction(async tx => {
      await tx.query('LOCK TABLE pg_catalog.pg_range');
      const lost = [client.query(text), pools[0].query(text), pools[1].transaction(each => each.query(text))];
      for (const each of lost) each.catch(() => {});
      repeated = pools[2].query(text, [], { idempotent: true });
      const waiting = "FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query ~ 'RECURSIVE wanted'";
      await until(async () => (await server.sql(`SELECT 1 ${waiting}`)).length === 4, 'the questions to wait');
      await server.sql(`SELECT pg_terminate_backend(pid) ${waiting}`);
      const message = 'the connection was lost; this request had been sent, the server may have carried it out';
      for (const each of lost)
        await assert.rejects(each, { name: 'ConnectionError', code: '57P01', message, sent: true });
    });
    assert.deepEqual((await repeated).objects[0].value, [1]);
  });

  it('A result of commit() has its types, though its client is ended at once', async () => {
    const client = endAfterTest(new Client(server.config));
    await client.connect();
    const committed = client.transaction(tx => tx.commit("SELECT '{1}'::age[] AS value"));
    await client.end();
    assert.deepEqual((await committed).objects[0].value, [1]);
  });

  it("A question has no limits of the caller, and its limits are not the caller's", async () => {
    const client = endAfterTest(new Client(server.config));
    await client.connect();
    const other = endAfterTest(new Client(server.config));
    const locker = endAfterTest(new Client(server.config));
    await Promise.all([locker.connect(), other.connect()]);
    const ages = "SELECT '{1}'::age[] AS value";
    await client.transaction(async tx => {
      await locker.transaction(async lock => {
        await lock.query('LOCK TABLE pg_catalog.pg_range');
        await tx.query("SET LOCAL statement_timeout = '300ms'");
        assert.equal((await tx.query(ages)).objects[0].value, '{1}');
        await tx.query('SET LOCAL statement_timeout = 0');
      });
      assert.deepEqual((await tx.query(ages)).objects[0].value, [1]);
    });
    await locker.transaction(async tx => {
      await tx.query('LOCK TABLE pg_catalog.pg_range');
      const text = "SELECT '{sad}'::mood[] AS value";
      const { objects } = await client.query(text, [], { statement_timeout: 1000 });
      assert.equal(objects[0].value, '{sad}');
      const limit = new AbortController();
      const answer = other.query(text, [], { signal: limit.signal });
      const waits = `SELECT FROM pg_stat_activity WHERE pid = ${other.processId} AND wait_event_type = 'Lock'`;
      await until(async () => (await tx.query(waits)).rowCount > 0, 'the question to wait');
      limit.abort();
      assert.equal((await answer).objects[0].value, '{sad}');
    });
    assert.deepEqual((await client.query("SELECT '{sad}'::mood[] AS value")).objects[0].value, ['sad']);
  });

  it('Names of fields are in camel case where those of columns are', async () => {
    await fresh('CREATE TYPE snake AS (user_id int, "b B" text)');
    const client = endAfterTest(new Client(server.config));
    await client.connect();
    const camel = endAfterTest(new Pool({ ...server.config, names: 'camel' }));
    const text = "SELECT '(1,x)'::snake AS some_snake, '(1,x)'::snake AS value";
    const expected = { someSnake: { userId: 1, 'b B': 'x' }, value: { userId: 1, 'b B': 'x' } };
    assert.deepEqual((await camel.query(text)).objects[0], expected);
    assert.deepEqual((await client.query(text, [], { names: 'camel' })).objects[0], expected);
    assert.deepEqual(await jsonTo(camel, text), expected.value);
    assert.deepEqual((await client.query(text)).objects[0].value, { user_id: 1, 'b B': 'x' });
  });

  it("A pooler's console takes simpleQuery of a client and of a pool", async () => {
    for (const make of Object.values(MAKERS)) {
      const session = endAfterTest(make({ ...bouncer.config, database: 'pgbouncer' }));
      await opened(session);
      const [{ objects }] = await session.simpleQuery('SHOW POOLS');
      assert.ok(objects.length > 0);
    }
    const pool = endAfterTest(new Pool({ ...bouncer.config, database: 'pgbouncer' }));
    assert.ok((await pool.simpleQuery('SHOW POOLS'))[0].objects.length > 0);
  });
});
