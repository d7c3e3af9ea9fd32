'use strict';

const assert = require('node:assert/strict');
const { PassThrough } = require('node:stream');
const { finished, pipeline } = require('node:stream/promises');
const { runInNewContext } = require('node:vm');
const { Client, RowReader } = require('../..');
const { ResponseCache } = require('../../lib/cache');
const { isList, keyOf, listText, numberText, snapshot } = require('../../lib/core/protocol');
const { sql } = require('../../lib/sql');
const { Pool } = require('../../lib/pool');
const { connected, sharedServer } = require('../support');
const { endAfterTest } = require('../support/hooks');
const { JSON_LISTS, KINDS } = require('./kinds');
const { ENDS, SESSIONS, covered, table } = require('./kit');

/** Another copy of sql, as two installs or `jest.resetModules()` make it. */
function otherSql() {
  const before = { ...require.cache };
  for (const file of Object.keys(require.cache)) if (/[\\/]lib[\\/]/.test(file)) delete require.cache[file];
  const other = require('../../lib/sql').sql;
  Object.assign(require.cache, before);
  return other;
}

const THEIRS = otherSql();

const REALMS = { own: globalThis, other: runInNewContext('globalThis') };

/** The tables of a session, by their types. */
const tables = new WeakMap();

/** The text of what is stored in a table of a type. Its session is a transaction: that of a value is a savepoint. */
async function inTable(session, type, store) {
  const name = `of_${type.replace('[]', '_list')}`;
  if (!tables.has(session)) tables.set(session, new Set());
  if (!tables.get(session).has(name))
    await session.query(`CREATE TEMP TABLE ${name} (v ${type})`, [], { cache: false });
  tables.get(session).add(name);
  return session.transaction(async tx => {
    await store(tx, name);
    return (await tx.query(`DELETE FROM ${name} RETURNING v::text`)).rows[0].v;
  });
}

/** These need a table, and so one connection. */
const IN_BLOCK = ['copyFrom', 'sql.set and sql.values'];
const within = (session, [name], work) => (IN_BLOCK.includes(name) ? session.transaction(work) : work(session));

/** Each way a value goes out: the text of what the server gets for it. */
const METHODS = {
  query: async (session, type, value) => (await session.query(`SELECT $1::${type}::text AS v`, [value])).rows[0].v,
  commit: async (session, type, value) =>
    (await session.transaction(tx => tx.commit(`SELECT $1::${type}::text AS v`, [value]))).rows[0].v,
  batch: async (session, type, value) =>
    (await session.batch(['SELECT 1', [`SELECT $1::${type}::text AS v`, [value]]]))[1].rows[0].v,
  cursor: async (session, type, value) =>
    session.transaction(async tx => (await tx.cursor(`SELECT $1::${type}::text AS v`, [value]).next()).value.v),
  async queryTo(session, type, value) {
    const target = new PassThrough();
    const text = `SELECT $1::${type}::text AS v`;
    const [chunks] = await Promise.all([target.toArray(), session.queryTo(target, text, [value], { as: 'json' })]);
    return JSON.parse(Buffer.concat(chunks).toString())[0].v;
  },
  copyFrom: (session, type, value) =>
    inTable(session, type, async (tx, name) => {
      await pipeline([[value]], tx.copyFrom(`COPY ${name} FROM STDIN`, { columns: ['v'] }));
    }),
  'sql`…`': async (session, type, value) =>
    (await session.query(sql`SELECT ${value}::${sql.raw(type)}::text AS v`)).rows[0].v,
  'sql`…` of another copy': async (session, type, value) => {
    return (await session.query(sql`SELECT ${THEIRS`${value}::${THEIRS.raw(type)}`}::text AS v`)).rows[0].v;
  },
  'sql.set and sql.values': (session, type, value) =>
    inTable(session, type, async (tx, name) => {
      await tx.query(sql`INSERT INTO ${sql.id(name)} ${sql.values([{ v: value }])}`);
      await tx.query(sql`UPDATE ${sql.id(name)} SET ${sql.set({ v: value })}`);
    }),
  'sql.and': async (session, type, value) =>
    (
      await session.query(sql`SELECT v::text FROM (SELECT ${value}::${sql.raw(type)} AS v) t WHERE
      ${sql.and([sql.empty, sql`v IS NOT DISTINCT FROM ${value}::${sql.raw(type)}`])}`)
    ).rows[0].v
};

table(
  'A value is stored as what it is, or is a TypeError with its place and the same hint, of its own and another realm',
  { method: METHODS, session: SESSIONS },
  (method, use, names) =>
    use(
      given =>
        within(given, names, async session => {
          const wrong = [];
          for (const [name, [type, make, expected]] of Object.entries(KINDS)) {
            const results = [];
            for (const realm of Object.values(REALMS))
              results.push(
                await Promise.resolve()
                  .then(() => method(session, type, make(realm)))
                  .catch(error => error)
              );
            const [own, other] = results.map(each =>
              each instanceof Error
                ? `${each.name}: ${each.message}`.replace(/(?<=placeholder )\d+ \(.*?"\)/, '1')
                : each
            );
            const isRight =
              expected instanceof RegExp
                ? /^TypeError: .*(?:\d|row 0|column)/.test(own) && expected.test(own)
                : own === expected;
            if (!isRight || own !== other) wrong.push(`${name}: ${own} / ${other}, not ${expected}`);
          }
          assert.deepEqual(wrong, []);
        }),
      { TimeZone: 'UTC', IntervalStyle: 'postgres' }
    )
);

const { copyFrom, ...TYPED } = METHODS;

table(
  'A list is JSON for json, whatever was executed before',
  { method: TYPED, session: SESSIONS },
  (method, use, names) =>
    use(given =>
      within(given, names, async session => {
        const wrong = [];
        for (const type of ['json', 'jsonb', 'json']) {
          for (const [name, make] of Object.entries(JSON_LISTS)) {
            for (const realm of Object.values(REALMS)) {
              const value = make(realm);
              if (type === 'json' && method === METHODS['sql.and']) continue; // json has no equality
              const stored = await Promise.resolve()
                .then(() => method(session, type, value))
                .catch(String);
              const json = JSON.stringify(value);
              if (stored !== json && JSON.stringify(JSON.parse(stored)) !== json) wrong.push(`${name}: ${stored}`);
            }
          }
        }
        assert.deepEqual(wrong, []);
      })
    )
);

const ALL = 'SELECT $1::json AS l, $2::text AS c, $3::bytea AS b';

/** Each begins what sends values, which change right behind the call, and resolves to the row that the server makes of them. */
const READ = {
  async query(session, values, change) {
    const asked = session.query(ALL, values);
    change();
    return (await asked).rows[0];
  },
  async 'query into a stream'(session, values, change) {
    const stream = new RowReader({ decode: true });
    const asked = session.query(ALL, values, { stream });
    change();
    await asked;
    return stream.rows[0];
  },
  async batch(session, values, change) {
    const asked = session.batch([['SELECT 1'], [ALL, values]]);
    change();
    return (await asked)[1].rows[0];
  },
  async cursor(session, values, change) {
    const cursor = session.cursor(ALL, values);
    change();
    for await (const row of cursor) return row;
  },
  async queryTo(session, values, change) {
    const target = new PassThrough();
    const asked = session.queryTo(target, ALL, values, { as: 'json' });
    change();
    await asked;
    const [{ l, c, b }] = JSON.parse(target.read().toString());
    return { l, c, b: Buffer.from(b.slice(2), 'hex') };
  },
  commit: (session, values, change) =>
    session.transaction(async tx => {
      const asked = tx.commit(ALL, values);
      change();
      return (await asked).rows[0];
    }),
  async cache(session, values, change) {
    const asked = new ResponseCache(await connected()).query(ALL, values);
    change();
    return (await asked).rows[0];
  },
  copyFrom: (session, values, change) =>
    session.transaction(async tx => {
      await tx.query('CREATE TEMP TABLE read (l text, c text, b bytea) ON COMMIT DROP');
      const stream = tx.copyFrom('COPY read FROM STDIN', { columns: ['l', 'c', 'b'] });
      const over = finished(stream);
      stream.write([{ l: values[0] }, ...values.slice(1)]);
      change();
      stream.end();
      await over;
      return (await tx.query("SELECT l::json -> 'l' AS l, c, b FROM read")).rows[0];
    })
};

table(
  'Values are read once, at the call',
  { method: READ, session: SESSIONS },
  (ask, inSession) =>
    inSession(async session => {
      let reads = 0;
      const list = [1, new Date(0), [2]];
      const bytes = Buffer.from('a');
      const values = [list, { toJSON: () => ++reads }, bytes];
      const { l, c, b } = await ask(session, values, () => {
        list[2].push(3);
        list[1].setTime(1);
        list.length = 4;
        bytes.fill(0);
        values[1] = 'changed';
      });
      assert.deepEqual([l, String(c), String(b)], [[1, '1970-01-01T00:00:00.000Z', [2]], '1', 'a']);
      assert.equal(reads, 1);
    }),
  {
    'cursor, with': 'settings end with their query',
    'cursor, with of a pool': 'settings end with their query'
  }
);

describe('Values', () => {
  covered(METHODS, {
    'simpleQuery, with, describe, copyTo, listen, connection, copyData, copyDone, copyFail': 'they take no values',
    'startQuery, getResults': 'test/core/steps.test.js',
    [ENDS]: 'they take no values'
  });

  it('are no pieces of sql in a row of copyFrom, nor is a row one: the error says what to pass', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE pieces_copied (v json)');
    const copy = async row => {
      const stream = client.copyFrom('COPY pieces_copied FROM STDIN', { columns: ['v'] });
      stream.end(row);
      await finished(stream);
    };
    for (const theirs of [sql, THEIRS])
      for (const [row, message] of [
        [[theirs.json([1])], /^row 0, column v: .*pass JSON\.stringify\(value\)$/],
        [theirs`1`, /^row 0: .*COPY takes values and no SQL$/]
      ])
        await assert.rejects(copy(row), { name: 'TypeError', message });
    await copy([JSON.stringify([1])]);
  });

  it('are read where a piece of sql is made', async () => {
    const client = await connected();
    let reads = 0;
    const [date, bytes, list] = [new Date(0), Buffer.from('a'), [1]];
    const object = { toJSON: () => ++reads };
    const piece = sql`SELECT ${date}::timestamptz AS d, ${bytes}::bytea AS b, ${list}::int[] AS l, ${object}::json AS o`;
    const row = sql.values([{ d: date, b: bytes, l: list, o: object }]);
    date.setTime(1e12);
    bytes.fill(0);
    list.push(2);
    await client.query('CREATE TEMP TABLE pieces (d timestamptz, b bytea, l int[], o json)');
    const insert = sql`INSERT INTO pieces ${row} RETURNING *`;
    for (const [sent, json] of [
      [piece, 1],
      [piece, 1],
      [insert, 2],
      [insert, 2]
    ]) {
      const [{ d, b, l, o }] = (await client.query(sent, { decode: true })).rows;
      assert.deepEqual([d.getTime(), String(b), l, o], [0, 'a', [1], json]);
    }
    assert.equal(reads, 2);
  });

  it('have one key only if the same bytes are sent', () => {
    const inputs = [];
    for (const [, [, make, expected]] of Object.entries(KINDS)) {
      if (expected instanceof RegExp) continue;
      for (const realm of Object.values(REALMS)) inputs.push([make(realm)], [[make(realm)]]);
    }
    for (const make of Object.values(JSON_LISTS)) inputs.push([make(globalThis)], [JSON.stringify(make(globalThis))]);
    inputs.push(
      [[{ a: 1 }]],
      [['{"a":1}']],
      [[[]]],
      [[]],
      [],
      [[Buffer.from([0])]],
      [['\\x00']],
      [['1']],
      [[1]],
      [[1n]]
    );
    inputs.push(
      [NaN],
      ['NaN'],
      [[NaN]],
      [[null]],
      [Buffer.from('a')],
      ['a'],
      [[true]],
      [['true']],
      [0],
      [-0],
      [[0]],
      [[-0]]
    );
    const textOr = work => {
      try {
        return work();
      } catch ({ message }) {
        return { refused: message };
      }
    };
    /** What is sent, with its format, whatever the type of the parameter is. */
    const sent = values =>
      values.map(value =>
        isList(value)
          ? [textOr(() => listText(value, false)), textOr(() => listText(value, true, 'it'))]
          : Buffer.isBuffer(value)
            ? { bytes: value.toString('hex') }
            : typeof value === 'number'
              ? numberText(value)
              : value
      );
    const byKey = new Map();
    for (const input of inputs) {
      const values = snapshot(input);
      const [key, bytes] = [keyOf(values), JSON.stringify(sent(values))];
      assert.equal(byKey.get(key) ?? bytes, bytes, key);
      byKey.set(key, bytes);
    }
    assert.ok(byKey.size > 100);
  });

  it('are structs in text and binary format: their bytes go with their types, in every method', async () => {
    const client = await connected();
    const types = { a: 'float4', b: 'timestamptz', c: 'jsonb', d: 'int[]', e: 'text', f: 'numeric' };
    const text = `SELECT 1.5::float4 AS a, '2024-01-01 00:00:00.123456+00'::timestamptz AS b, 'null'::jsonb AS c,
      '[0:1]={1,2}'::int[] AS d, E'x\\ty\\\\' AS e, 1e30::numeric AS f`;
    const again = `SELECT ${Object.keys(types).map((name, i) => `$${i + 1} AS ${name}`)}`;
    const asText = `SELECT ${Object.keys(types).map(name => `${name}::text`)} FROM`;
    const expected = (await client.query(`${asText} (${text}) t`)).arrays[0];
    await client.query(`CREATE TEMP TABLE structs (${Object.entries(types).map(each => each.join(' '))})`);
    for (const format of [0, 1]) {
      const [row] = (await client.query(text, [], { format })).rows;
      const typed = Object.values(types).map((type, i) => `$${i + 1}::${type}`);
      const insert = `INSERT INTO structs VALUES (${typed}) RETURNING structs.*`;
      const all = `WITH t AS (SELECT ${typed.map((each, i) => `${each} AS ${'abcdef'[i]}`)}) ${asText} t`;
      assert.deepEqual((await client.query(all, row)).arrays[0], expected);
      assert.deepEqual((await client.batch([[all, row]]))[0].arrays[0], expected);
      assert.deepEqual((await client.cursor(all, row).next()).value.toArray(), expected);
      await client.query(insert, row);
      if (format === 1) {
        await assert.rejects(client.query(again, row, { paramTypes: [23] }), {
          name: 'TypeError',
          message: /^paramTypes\[0\]/
        });
        assert.deepEqual((await client.query(`${asText} (${again}) t`, row)).arrays[0], expected);
      }
      const copy = pipeline([row], client.copyFrom('COPY structs FROM STDIN', { columns: Object.keys(types) }));
      if (format === 0) await copy;
      else await assert.rejects(copy, { name: 'TypeError', message: /^row 0: the row is in binary format/ });
      assert.throws(() => sql.values([row]), { name: 'TypeError', message: /rows\[0\] .* pass its toObject\(\)/ });
      assert.throws(() => {
        row.a = 1;
      }, /toObject\(\)/);
      assert.throws(() => new Function('row', 'row.a = 1')(row), { name: 'TypeError', message: /toObject\(\)/ });
    }
    const stored = (await client.query(`${asText} structs`)).arrays;
    assert.deepEqual(stored, [expected, expected, expected]);
  });

  it('and configs, maps and signals of another realm or copy are what they are', async () => {
    const { config } = await sharedServer();
    const href = `postgres://${config.user}@${encodeURIComponent(config.host)}:${config.port}/${config.database}`;
    /** As the package whatwg-url has it, and so Jest's jsdom. */
    class URL {
      href = href;
      toString = () => href;
      get [Symbol.toStringTag]() {
        return 'URL';
      }
    }
    const client = endAfterTest(new Client(new URL()));
    await client.connect();
    const { Map, Set, Promise } = REALMS.other;
    const pool = endAfterTest(new Pool(new URL()));
    const decode = new Map([[23, text => `int ${text}`]]);
    assert.equal((await pool.query('SELECT 1 AS n', [], { decode })).rows[0].n, 'int 1');
    assert.equal(
      (await pool.query('SELECT 1 AS n', [], { decode: new Map([['int4', () => 'by name']]) })).rows[0].n,
      'by name'
    );
    for (const [value, hint] of [
      [new Map(), /class Map: pass Object.fromEntries/],
      [new Set(), /class Set: pass \[\.\.\.set\]/],
      [Promise.resolve(), /class Promise: await it/],
      [new REALMS.other.Uint8Array(1), /class Uint8Array: pass/]
    ])
      assert.throws(() => sql.json(value), { name: 'TypeError', message: hint });
    assert.deepEqual(sql.json(new Date(0))[1], ['"1970-01-01T00:00:00.000Z"']);
    assert.deepEqual(sql.json(null)[1], ['null']);
    const signal = { [Symbol.toStringTag]: 'AbortSignal' };
    await assert.rejects(async () => pool.query('SELECT 1', [], signal), { name: 'TypeError', message: /signal/ });
  });

  it('of copyData, copyFail and separator may be bytes of another realm', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE foreign_bytes (v text)');
    await client.query('COPY foreign_bytes FROM STDIN');
    client.copyData(new REALMS.other.Uint8Array(Buffer.from('a\n')));
    assert.equal((await client.copyDone()).rowCount, 1);
  });
});
