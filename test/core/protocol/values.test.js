'use strict';

const assert = require('node:assert/strict');
const { PassThrough } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { runInNewContext } = require('node:vm');
const { decoders, exact, oid } = require('../../..');
const { respond } = require('../../../lib/http');
const { Pool } = require('../../../lib/pool');
const {
  array,
  checkText,
  checkValues,
  isList,
  kindOf,
  listText,
  readValue,
  readValues,
  snapshot
} = require('../../../lib/core/protocol');
const { RowParser } = require('../../../lib/core/rows');
const { sql } = require('../../../lib/sql');
const { endAfterTest } = require('../../support/hooks');
const { seeded } = require('../../support/kit');
const { connected, proxied, rowDescription, dataRow, sharedServer } = require('../../support');

describe('kindOf', () => {
  it('says what a value is and shows nothing of it', () => {
    for (const [value, kind] of [
      [undefined, 'undefined'],
      [null, 'null'],
      [5, 'a number'],
      ['secret', 'a string'],
      [Symbol('s'), 'a symbol'],
      [() => {}, 'a function'],
      [true, 'a boolean'],
      [[1], 'an array'],
      [{ a: 1 }, 'an object'],
      [Object.create(null), 'an object'],
      [Object.create(Object.create(null)), 'an object'],
      [Buffer.alloc(1), 'an object of class Buffer'],
      [new Map(), 'an object of class Map']
    ])
      assert.equal(kindOf(value), kind);
    const Row = new RowParser(rowDescription('constructor'))[0];
    assert.equal(kindOf(new Row(dataRow('x'))), 'an object');
  });
});

describe('checkText', () => {
  it('takes any string of Unicode without a null byte', () => {
    for (const text of ['', 'SELECT 1', '😀']) checkText(text, 'text');
  });

  it('refuses what is no string, by name and kind, without showing it', () => {
    for (const [text, kind] of [
      [undefined, 'undefined'],
      [null, 'null'],
      [5, 'a number'],
      [{}, 'an object'],
      [Buffer.alloc(1), 'an object of class Buffer'],
      [Symbol('s'), 'a symbol'],
      [() => {}, 'a function'],
      [Object.create(null), 'an object'],
      [true, 'a boolean']
    ]) {
      assert.throws(() => checkText(text, 'text'), {
        name: 'TypeError',
        message: `text must be a string, not ${kind}`
      });
    }
  });

  it('refuses a null byte and half of a surrogate pair', () => {
    for (const [text, wrong] of [
      ['SELECT\0', 'a null byte at 6'],
      ['😀\0\ud800', 'a null byte at 2'],
      ['😀\ude00', 'half of a surrogate pair at 2'],
      ['\ud83d', 'half of a surrogate pair at 0']
    ])
      assert.throws(() => checkText(text, 'text'), {
        name: 'TypeError',
        message: `text has ${wrong}, which PostgreSQL cannot take`,
        code: '22021'
      });
  });
});

describe('checkValues', () => {
  it('takes arrays of up to 65,535 values, and rows', () => {
    checkValues([]);
    checkValues(new Array(65535));
    checkValues(new new RowParser(rowDescription('a'))[0](dataRow('x')));
    checkValues({ rowBuffer: dataRow() });
  });

  it('refuses more values than the protocol can count', () => {
    assert.throws(() => checkValues(new Array(65536)), {
      name: 'RangeError',
      message: '65536 values: a query takes at most 65535 parameters'
    });
  });

  it('refuses what is no list, without showing it', () => {
    for (const [values, kind] of [
      [null, 'null'],
      [undefined, 'undefined'],
      ['secret', 'a string'],
      [5, 'a number'],
      [{ 0: 'a', length: 1 }, 'an object'],
      [Buffer.from('a'), 'an object of class Buffer'],
      [new Map(), 'an object of class Map']
    ]) {
      assert.throws(() => checkValues(values), {
        name: 'TypeError',
        message: `values must be an array or a row, not ${kind}: all values go into one array, query(text, [value, …], options)`
      });
    }
  });
});

/** The text that is sent of a value; of a list, the array. */
function textOf(value, what, isJson = false) {
  const read = readValue(value, what);
  return isList(read) ? listText(read, isJson, what) : read;
}

describe('A value of no kind that PostgreSQL has', () => {
  it('is told what to write in its place', () => {
    let fromEngine;
    try {
      JSON.stringify(1n);
    } catch (error) {
      fromEngine = error.message;
    }
    for (const [value, hint] of [
      [Promise.resolve(), 'await it'],
      [() => {}, 'call it, and pass what it returns'],
      [/a/, 'pass value.source'],
      [new ArrayBuffer(1), 'pass Buffer.from(value)'],
      [
        new Uint16Array(1),
        'pass [...value] as an array, or Buffer.from(value.buffer, value.byteOffset, value.byteLength) as bytes'
      ],
      [new DataView(new ArrayBuffer(1)), 'pass Buffer.from(value.buffer, value.byteOffset, value.byteLength)'],
      [new Number(1), 'pass value.valueOf()'],
      [new Map(), 'pass Object.fromEntries(map) as JSON, or [...map.keys()] as an array'],
      [new Set(), 'pass [...set] as an array'],
      [new (class Money {})(), 'pass String(value) as text, or { ...value } as JSON'],
      [Symbol('a'), 'pass String(value)'],
      [{ a: 1n }, fromEngine],
      [{ toJSON() {} }, 'it has no JSON'],
      [sql`a`, 'put it into sql`…`, and that into query(sql`…`)']
    ]) {
      for (const [each, place] of [
        [value, 'it'],
        [[[1], [value]], 'it[1][0]']
      ]) {
        assert.throws(
          () => textOf(each, 'it'),
          ({ name, message }) =>
            name === 'TypeError' && message.startsWith(`${place} is `) && message.includes(`: ${hint}`),
          hint
        );
      }
    }
    assert.throws(() => textOf([[[[[[[1]]]]]]], 'it'), {
      name: 'TypeError',
      message: /^it(\[0\]){6} is nested deeper than the 6 dimensions/
    });
  });
});

describe('A value', () => {
  const OBJECTS = [
    [[1, null, 'a "b"', [2n]], '{1,NULL,"a \\"b\\"",{2}}'],
    [[], '{}'],
    [{ a: [1] }, '{"a":[1]}'],
    [Object.create(null), '{}'],
    [runInNewContext('({ a: 1 })'), '{"a":1}'],
    [runInNewContext('[1]'), '{1}'],
    [{ toJSON: () => ['x'] }, '["x"]'],
    [
      new (class {
        toJSON() {
          return { b: 1 };
        }
      })(),
      '{"b":1}'
    ],
    [new URL('http://a/?b=c'), 'http://a/?b=c'],
    [[{ a: 'x' }, new URL('a:b')], '{"{\\"a\\":\\"x\\"}","a:b"}']
  ];

  it('is an array where it is a list, JSON where it is a plain object or has toJSON, and a URL its href', () => {
    for (const [value, text] of OBJECTS) {
      assert.equal(textOf(value, 'it'), text);
      const texts = values => values.map(each => (isList(each) ? listText(each, false, 'it') : each));
      assert.deepEqual(texts(readValues([1, value, null])), [1, text, null]);
      assert.deepEqual(texts(snapshot([value])), [text]);
    }
  });

  it('means the same in every method of a client, a transaction and a pool', async () => {
    const client = await connected();
    const pool = endAfterTest(new Pool((await sharedServer()).config));
    const values = [[1, 2], { a: 'b' }, [{ c: 1 }], new Date(0), null];
    const text =
      "SELECT ($1::int[])[2] || ' ' || ($2::jsonb ->> 'a') || ($3::jsonb[])[1] || extract(epoch FROM $4::timestamptz)::int AS a, $5::text AS b";
    const collected = async run => {
      const target = new PassThrough();
      const [chunks] = await Promise.all([target.toArray(), run(target)]);
      return JSON.parse(Buffer.concat(chunks).toString())[0].a;
    };
    const ways = {
      query: async session => (await session.query(text, values)).rows[0].a,
      batch: async session => (await session.batch([[text, values]]))[0].rows[0].a,
      cursor: async session => (await session.cursor(text, values).next()).value.a,
      queryTo: session => collected(target => session.queryTo(target, text, values, { as: 'json' }))
    };
    for (const session of [client, pool]) {
      for (const [name, ask] of Object.entries(ways)) {
        assert.equal(await ask(session), '2 b{"c": 1}0', name);
        assert.equal(await session.transaction(ask), '2 b{"c": 1}0', `${name} in a transaction`);
      }
    }
    const response = await respond(pool, new Request('http://a/'), text, values, { as: 'json' });
    assert.equal((await response.json())[0].a, '2 b{"c": 1}0');
  });

  it('whose toJSON sends a query tears no message apart', async () => {
    const client = await connected();
    const inner = [];
    const hostile = session => [
      'SELECT $1::json AS a',
      [
        {
          toJSON() {
            inner.push(session.query('SELECT 1 AS a'));
            return 5;
          }
        }
      ]
    ];
    const both = session => session.batch([hostile(session), hostile(session)]);
    const results = [
      ...(await both(client)),
      await client.query(...hostile(client)),
      ...(await client.transaction(both)),
      ...(await Promise.all(inner))
    ];
    assert.deepEqual(
      results.map(({ rows }) => rows[0].a),
      [5, 5, 5, 5, 5, 1, 1, 1, 1, 1]
    );
  });

  it('that may have been changed by its caller is repeated as it was', async () => {
    const client = await connected();
    const value = { a: 1 };
    await client.query('CREATE TEMP TABLE changing (a json)');
    await client.query('SELECT a, $1::json AS b FROM changing', [value]);
    await client.query('INSERT INTO changing VALUES (NULL)');
    await client.query('ALTER TABLE changing ALTER a TYPE text');
    const repeated = client.query('SELECT a, $1::json AS b FROM changing', [value]);
    value.a = 2;
    assert.deepEqual((await repeated).rows[0].b, { a: 1 });
  });
});

describe('snapshot', () => {
  it('is not changed by what the caller does to the values later', () => {
    const buffer = Buffer.from('abc');
    const values = ['x', buffer, 5, null, 7n, false, new Date(0)];
    const copy = snapshot(values);
    buffer.fill(0);
    values[6].setTime(1);
    values[0] = 'y';
    values.length = 1;
    assert.deepEqual(copy, ['x', Buffer.from('abc'), 5, null, '7', 'false', '1970-01-01T00:00:00.000Z']);
  });

  it('of a row keeps its bytes and their format', () => {
    const memory = dataRow('x');
    const copy = snapshot(new new RowParser(rowDescription('a'))[1](memory));
    memory.fill(0);
    assert.deepEqual(copy, { rowBuffer: dataRow('x'), dataFormat: 1, rowParser: copy.rowParser });
  });

  it('is null where there are more bytes of Buffers than it is to copy', () => {
    const values = [Buffer.from('ab'), Buffer.from('c')];
    const copies = snapshot(values, 3);
    for (const value of values) value.fill(0);
    assert.deepEqual(copies, [Buffer.from('ab'), Buffer.from('c')]);
    assert.equal(snapshot([Buffer.from('ab'), Buffer.from('cd')], 3), null);
    assert.deepEqual(snapshot(['a long text'], 3), ['a long text']);
  });

  it('refuses what Bind refuses', () => {
    assert.throws(() => snapshot([Promise.resolve()]), {
      message: 'values[0] is an object of class Promise: await it'
    });
    assert.throws(() => snapshot(['a', new Map()]), {
      name: 'TypeError',
      message: /^values\[1\] is an object of class Map: /
    });
    assert.throws(() => snapshot(['a\0']), { name: 'TypeError', message: /^values\[0\] has a null byte at 1/ });
    assert.throws(() => snapshot([new Date(NaN)]), { name: 'TypeError', message: 'values[0] is an invalid Date' });
  });
});

describe('A Date as a value', () => {
  it('may be of another realm', () => {
    assert.equal(textOf(runInNewContext('new Date(5)'), 'values[0]'), '1970-01-01T00:00:00.005Z');
  });

  const at = (year, month = 0, day = 1) => {
    const date = new Date(0);
    date.setUTCFullYear(year, month, day);
    return date;
  };

  it('is ISO 8601 in UTC, also before Christ and after the year 9999', () => {
    for (const [date, text] of [
      [new Date('2024-02-29T12:34:56.789+02:00'), '2024-02-29T10:34:56.789Z'],
      [at(1), '0001-01-01T00:00:00.000Z'],
      [at(9999, 11, 31), '9999-12-31T00:00:00.000Z'],
      [at(10000), '10000-01-01T00:00:00.000Z'],
      [at(275760, 8, 13), '275760-09-13T00:00:00.000Z'],
      [at(0), '0001-01-01T00:00:00.000Z BC'],
      [at(-43, 2, 15), '0044-03-15T00:00:00.000Z BC'],
      [at(-4713, 10, 24), '4714-11-24T00:00:00.000Z BC']
    ])
      assert.equal(textOf(date, 'it'), text);
    for (const date of [at(-4713, 10, 23), at(-10000), new Date(-8.64e15)])
      assert.throws(() => textOf(date, 'it'), {
        name: 'TypeError',
        message: 'it is before 24 November 4714 BC, the first date of PostgreSQL'
      });
  });

  it('is a TypeError where it is invalid', () => {
    assert.throws(() => textOf(new Date(NaN), 'values[3]'), {
      name: 'TypeError',
      message: 'values[3] is an invalid Date'
    });
  });

  it('is the same moment for the server, as far as its years go', async () => {
    const client = await connected();
    await client.query("SET TimeZone = 'America/St_Johns'");
    for (const date of [
      new Date(0),
      at(1),
      at(10000),
      at(275760, 8, 13),
      at(0),
      at(-43, 2, 15),
      at(-4700),
      new Date(1e12 + 1)
    ]) {
      const {
        rows: [row]
      } = await client.query('SELECT (extract(epoch FROM $1::timestamptz) * 1000)::numeric(30, 0) AS ms', [date]);
      assert.equal(Number(row.ms), date.getTime(), date.toISOString());
    }
    const {
      rows: [row]
    } = await client.query('SELECT extract(epoch FROM ($1::timestamptz[])[2]) AS s', [array([null, at(-43)])]);
    assert.equal(Number(row.s) * 1000, at(-43).getTime());
  });
});

describe('-0 as a value', () => {
  it('keeps its sign, also in an array and where it is kept for later', async () => {
    assert.deepEqual(snapshot([-0, 0]), [-0, 0]);
    assert.equal(array([-0, [0]]), '{-0,{0}}');
    const client = await connected();
    const ask = () => client.query('SELECT $1::float8 AS a, $2::float8[] AS b', [-0, array([-0])], { decode: true });
    const results = await Promise.all([
      ask(),
      ask(),
      client.batch([['SELECT $1::float8 AS a', [-0], { decode: true }]])
    ]);
    for (const { rows } of results.flat()) assert.ok(Object.is(rows[0].a, -0));
    assert.ok(Object.is(results[0].rows[0].b[0], -0));
  });
});

describe('array', () => {
  it('is the literal of a PostgreSQL array', () => {
    for (const [values, text] of [
      [[], '{}'],
      [[[], []], '{}'],
      [[null, 1], '{NULL,1}'],
      [[1, -2.5, 3n, true, null], '{1,-2.5,3,true,NULL}'],
      [['a', '', 'NULL', 'a"b\\c', '{}', 'ä, b', '{1}'], '{"a","","NULL","a\\"b\\\\c","{}","ä, b","{1}"}'],
      [
        [
          [1, 2],
          [3, 4]
        ],
        '{{1,2},{3,4}}'
      ],
      [[Buffer.from([0, 255]), new Uint8Array(0)], '{"\\\\x00ff","\\\\x"}'],
      [[new Uint8Array([1, 2, 3]).subarray(1, 2)], '{"\\\\x02"}'],
      [[new Date(0)], '{"1970-01-01T00:00:00.000Z"}']
    ])
      assert.equal(array(values), text);
  });

  it('refuses elements of another kind, and names their place', () => {
    for (const [values, message] of [
      [[1, new Map()], /^values\[1\] is an object of class Map: pass/],
      [[1, undefined], /^values\[1\] is undefined: pass null for NULL$/],
      [[, 1], /^values\[0\] is undefined: pass null for NULL$/],
      [[[1], [Symbol('s')]], /^values\[1\]\[0\] is a symbol/],
      [['a\0'], /^values\[0\] has a null byte at 1/],
      [[new Date(NaN)], /^values\[0\] is an invalid Date$/]
    ])
      assert.throws(() => array(values), { name: 'TypeError', message });
    for (const values of [undefined, 'a', {}, new Set()]) {
      assert.throws(() => array(values), { name: 'TypeError', message: `array takes an array, not ${kindOf(values)}` });
    }
  });

  it('leaves it to the server to say that rows are of different lengths', async () => {
    const client = await connected();
    await assert.rejects(client.query('SELECT $1::int[]', [array([[1], [2, 3]])]), { code: '22P02' });
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
  });

  it('is what it was after a round trip, for random nested arrays of these types', async () => {
    const client = await connected();
    const seed = Math.floor(Math.random() * 2 ** 32);
    const random = seeded(seed);
    const characters = ['a', 'B', ' ', '"', "'", '\\', '{', '}', ',', '\n', 'ä', '€', '😀', 'NULL', '\t', ';', '\x01'];
    const kinds = {
      text: () => Array.from({ length: random.below(6) }, () => random.pick(characters)).join(''),
      int: () => random.below(2 ** 32) - 2 ** 31,
      bytea: () => Buffer.from(Array.from({ length: random.below(5) }, () => random.below(256))),
      // From 4713 before Christ, where PostgreSQL begins, to 275760, where JavaScript ends.
      timestamptz: () =>
        new Date(-2.1e14 + Math.floor((8.64e15 + 2.1e14) * (random.below(2 ** 32) / 2 ** 32) ** random.pick([1, 8]))),
      numeric: () => (random.chance(0.5) ? 1n : -1n) * BigInt(random.below(2 ** 32)) ** BigInt(random.below(8)),
      int8: () => (BigInt(random.below(2 ** 32)) << 32n) + BigInt(random.below(2 ** 32)) - (1n << 63n),
      float8: () => random.pick([NaN, Infinity, -Infinity, 0, 5e-324, 1e308, -1.5, random.below(2 ** 32) / 7, 0.1]),
      jsonb: () => JSON.stringify(random.pick([{ a: [1, '"\\{}'] }, 'text', null, [], 5])),
      bool: () => random.chance(0.5)
    };
    /** What an element is to be in JSON. */
    const plain = value =>
      Buffer.isBuffer(value)
        ? `\\x${value.toString('hex')}`
        : value instanceof Date
          ? value.getTime()
          : typeof value === 'bigint'
            ? String(value)
            : value;
    const deep = (value, convert) => (Array.isArray(value) ? value.map(each => deep(each, convert)) : convert(value));
    const asJson = {
      bytea: 'e::text',
      // Of the whole seconds: the epoch is a float8 before PostgreSQL 14.
      timestamptz: "round(extract(epoch FROM date_trunc('second', e))) * 1000 + to_char(e, 'MS')::int",
      numeric: 'e::text',
      int8: 'e::text',
      float8: 'e::text',
      jsonb: 'e::text'
    };
    const decode = { ...decoders, 20: exact[20], 1016: exact[1016] };
    /** What an element is when it is decoded. */
    const decoded = { numeric: String, jsonb: JSON.parse };
    for (let round = 0; round < 300; round++) {
      const type = random.pick(Object.keys(kinds));
      const lengths = Array.from({ length: 1 + random.below(3) }, () => 1 + random.below(3));
      const make = depth =>
        depth === lengths.length
          ? random.chance(0.1)
            ? null
            : kinds[type]()
          : Array.from({ length: lengths[depth] }, () => make(depth + 1));
      const values = make(0);
      const {
        rows: [row]
      } = await client.query(
        `SELECT array_to_json(ARRAY(SELECT ${asJson[type] ?? 'e'} FROM unnest($1::${type}[]) e)) AS flat,
        array_dims($1::${type}[]) AS dims`,
        [array(values)]
      );
      const about = `seed ${seed}, round ${round}: ${type} ${array(values)}`;
      assert.equal(row.dims, lengths.map(length => `[1:${length}]`).join(''), about);
      const {
        rows: [back]
      } = await client.query(`SELECT $1::${type}[] AS a`, [array(values)], { decode });
      assert.deepEqual(
        back.a,
        deep(values, value => (value === null || !(type in decoded) ? value : decoded[type](value))),
        about
      );
      if (type === 'float8' || type === 'jsonb') continue; // which the server writes in another way
      assert.deepEqual(row.flat, deep(values, plain).flat(Infinity), about);
    }
  });
});

describe('An error of a value', () => {
  it('has the SQLSTATE that the server would give', async () => {
    const client = await connected();
    for (const [value, code] of [
      ['a\0', '22021'],
      [new Date(NaN), '22007']
    ]) {
      await assert.rejects(client.query('SELECT $1', [value]), { name: 'TypeError', code });
      await assert.rejects(client.batch([['SELECT $1', [value]]]), { name: 'TypeError', code });
      assert.throws(() => array([value]), { name: 'TypeError', code });
    }
    await assert.rejects(client.query('SELECT \0'), { name: 'TypeError', code: '22021' });
  });
});

describe('A list for json', () => {
  const LISTS = [[], [1, 2], ['a', null], [{ a: [] }], [[]], [[1], []]];
  const table = async client =>
    client.query('CREATE TEMP TABLE lists (id int GENERATED ALWAYS AS IDENTITY, j jsonb, k json, a int[])');
  const stored = async client =>
    (await client.query('SELECT j FROM lists WHERE j IS NOT NULL ORDER BY id')).rows.map(({ j }) => j);

  it('is JSON where the parameter is json, which a new text is asked for in a round trip of its own', async () => {
    const { client, wire } = await proxied();
    await table(client);
    let flights = wire.stats.flights.toServer;
    for (const list of LISTS) await client.query('INSERT INTO lists (j, a) VALUES ($1, $2)', [list, []]);
    assert.equal(wire.stats.flights.toServer - flights, LISTS.length + 1);
    assert.deepEqual(await stored(client), LISTS);
    flights = wire.stats.flights.toServer;
    for (const list of LISTS) await client.query('INSERT INTO lists (j, a) VALUES ($1, $2)', [list, []]);
    assert.equal(wire.stats.flights.toServer - flights, LISTS.length);
    await client.query('DELETE FROM lists');
    for (const list of LISTS)
      await client.query('INSERT INTO lists (j, a) VALUES ($1, $2)', [list, []], {
        paramTypes: [oid.jsonb],
        cache: false
      });
    await client.transaction(async tx => {
      await tx.query('INSERT INTO lists (j, a) VALUES ($1, $2)', [[], []]);
    });
    assert.deepEqual(await stored(client), [...LISTS, []]);
    assert.deepEqual(
      (await client.query('SELECT DISTINCT a FROM lists')).rows.map(({ a }) => a),
      [[]]
    );
  });

  it('is JSON in requests that are sent together, though the server has not seen their text: the first one is sent alone', async () => {
    for (const session of [await connected(), endAfterTest(new Pool((await sharedServer()).config, { size: 1 }))]) {
      const asked = LISTS.map(list => session.query('SELECT $1::jsonb AS j', [list]));
      assert.deepEqual(
        (await Promise.all(asked)).map(({ rows }) => rows[0].j),
        LISTS
      );
      const results = await session.batch([
        ['SELECT $1::json AS j, $2::int[] AS a', [[1], []]],
        ['SELECT $1::json AS j', [[2]]],
        ['SELECT $1::json AS j', [[3]]]
      ]);
      assert.deepEqual(
        results.map(({ rows }) => rows[0].j),
        [[1], [2], [3]]
      );
    }
  });

  it('is JSON without prepared statements as well, whose parameters are known after the first time', async () => {
    const { client, wire } = await proxied({ statement_cache: 0 });
    for (const more of [2, 1, 1]) {
      const before = wire.stats.flights.toServer;
      assert.deepEqual((await client.query('SELECT $1::json AS j', [[1]])).rows[0].j, [1]);
      assert.equal(wire.stats.flights.toServer - before, more);
    }
    await assert.rejects(client.query('SELECT $1::json AS j, $2::int AS i', [[1], 'x']), { code: '22P02' });
  });

  it('is JSON where a parameter has become json, though the text of an empty array would be an object', async () => {
    const { client, wire } = await proxied({ statement_cache: 0 });
    await client.simpleQuery(
      'CREATE TABLE lists_before (a int[]); CREATE SCHEMA later; CREATE TABLE later.lists_before (a jsonb)'
    );
    const ask = list =>
      client.query('INSERT INTO lists_before VALUES ($1) RETURNING a', [list]).then(({ rows }) => rows[0].a);
    await ask([1]);
    const { toServer } = wire.stats.flights;
    assert.deepEqual([await ask([]), await ask([[], []])], [[], []]);
    assert.equal(wire.stats.flights.toServer - toServer, 4, 'an empty array asks each time');
    for (const list of [[], [[], []], [1], []]) {
      await client.query("SELECT set_config('search_path', 'public', false)");
      await ask([1]);
      await client.query("SELECT set_config('search_path', 'later', false)");
      assert.deepEqual(await ask(list), list);
    }
    const before = wire.stats.flights.toServer;
    assert.deepEqual(await ask([]), []);
    assert.equal(wire.stats.flights.toServer - before, 1, 'JSON does not');
    await client.simpleQuery('DROP TABLE public.lists_before; DROP SCHEMA later CASCADE');
  });

  it('is JSON for a domain over json, which the server is asked for once, in every method', async () => {
    const admin = await connected();
    await admin.simpleQuery(
      'CREATE DOMAIN docs AS jsonb; CREATE DOMAIN more_docs AS docs; CREATE TYPE moods AS ENUM ($$a$$)'
    );
    const text = 'SELECT $1::more_docs AS j, $2::moods[] AS m';
    const batch = session => session.batch(['SELECT 1', [text, [[], ['a']]]]).then(results => results[1].rows);
    const asks = {
      query: session => session.query(text, [[], ['a']]).then(({ rows }) => rows),
      'the unnamed statement': session => session.query(text, [[], ['a']], { cache: false }).then(({ rows }) => rows),
      'a statement that is known': async session => {
        await session.query(text, [null, null]);
        return (await session.query(text, [[], ['a']])).rows;
      },
      batch,
      cursor: async session => [(await session.cursor(text, [[], ['a']]).next()).value]
    };
    for (const [name, ask] of Object.entries(asks)) {
      for (const within of [client => ask(client), client => client.transaction(ask)]) {
        const { client, wire } = await proxied();
        assert.deepEqual((await within(client))[0].toObject(), { j: [], m: ['a'] }, name);
        const { toServer } = wire.stats.flights;
        await ask(client);
        assert.ok(wire.stats.flights.toServer - toServer <= 3, `${name} asks again`);
        assert.equal(client.pendingRequests ?? 0, 0);
        await client.end();
      }
    }
    await admin.simpleQuery('DROP DOMAIN more_docs, docs; DROP TYPE moods');
  });

  it('is JSON for a domain that the same block, or the same batch, has made', async () => {
    const client = await connected();
    await client.query('BEGIN');
    for (const [place, ask] of Object.entries({
      'behind a query': domain => client.batch(['SELECT 1', [`SELECT $1::${domain} AS j`, [[1, 'a']]]]),
      'behind its DDL': domain =>
        client.batch([
          `DROP DOMAIN ${domain}`,
          `CREATE DOMAIN ${domain} AS json`,
          [`SELECT $1::${domain} AS j`, [[1, 'a']], { cache: false }],
          [`SELECT $1::text AS t, $2::${domain} AS j`, ['x', [1, 'a']]]
        ]),
      'of a query': domain => client.query(`SELECT $1::${domain} AS j`, [[1, 'a']])
    })) {
      const domain = `later_${place.replaceAll(' ', '_')}`;
      await client.simpleQuery(`CREATE DOMAIN ${domain} AS jsonb`);
      const { rows } = [await ask(domain)].flat().at(-1);
      assert.deepEqual(rows[0].j, [1, 'a'], place);
    }
  });

  it('that the type of its parameter refuses is a TypeError, and nothing of its batch is done', async () => {
    const client = await connected();
    await table(client);
    const deep = [[[[[[[1]]]]]]];
    const wrong = { name: 'TypeError', message: /values\[0\](\[0\]){6} is nested deeper than the 6 dimensions/ };
    await client.transaction(async tx => {
      await assert.rejects(tx.query('INSERT INTO lists (a) VALUES ($1)', [deep]), wrong);
      await tx.query('INSERT INTO lists (j) VALUES ($1)', [deep]); // the block has not failed
      await assert.rejects(tx.cursor('SELECT $1::int[]', [deep]).next(), wrong);
    });
    assert.deepEqual(await stored(client), [deep]);
    const failed = await client
      .batch([
        ['INSERT INTO lists (k) VALUES ($1)', [[]]],
        ['INSERT INTO lists (a) VALUES ($1) ', [deep]]
      ])
      .catch(error => error);
    assert.deepEqual([failed.name, failed.index], ['TypeError', 1]);
    assert.equal((await client.query('SELECT count(*)::int AS n FROM lists')).rows[0].n, 1);
    await assert.rejects(client.query('SELECT $1::json', [[[1n]]]), {
      name: 'TypeError',
      message: 'values[0][0][0] is a bigint, which JSON has not: pass String(value)'
    });
    await assert.rejects(client.query('SELECT $1::json', [[Buffer.alloc(1)]]), {
      message: /^values\[0\]\[0\] is bytes/
    });
    class Money {
      amount = 5;
    }
    assert.deepEqual((await client.query('SELECT $1::json AS j', [[new Money()]])).rows[0].j, [{ amount: 5 }]);
    await assert.rejects(client.query('SELECT $1::text[]', [[new Money()]]), {
      message: /is an object of class Money: pass/
    });
  });

  it('that was given up, or whose statement fails, leaves the connection as it was', async () => {
    const client = await connected();
    await assert.rejects(client.query('SELECT nothing($1)', [[1]]), { code: '42883' });
    await assert.rejects(client.batch(['SELECT 1', ['SELECT nothing($1)', [[1]]], 'SELECT 2']), {
      code: '42883',
      index: 1
    });
    await assert.rejects(client.batch(['SELECT nothing()', ['SELECT $1::json AS a', [[1]]]]), {
      code: '42883',
      index: 0
    });
    await assert.rejects(client.with({ work_mem: 'bad' }).query('SELECT $1::json AS b', [[1]]), { code: '22023' });
    const controller = new AbortController();
    const given = client.query('SELECT $1::json AS c', [[1]], { signal: controller.signal });
    const other = client.batch(['SELECT 1', ['SELECT $1::json AS d', [[1]]]], { signal: controller.signal });
    controller.abort();
    for (const each of [given, other]) await assert.rejects(each, { name: 'AbortError' });
    assert.deepEqual((await client.query('SELECT $1::json AS c', [[2]])).rows[0].c, [2]);
    assert.equal(client.transactionStatus, 'I');
  });

  it('is JSON by values, set, batch, and in a block that has not seen the text; in copyFrom json refuses it', async () => {
    const client = await connected();
    await table(client);
    await client.query(
      sql`INSERT INTO lists ${sql.values([
        { j: [], k: [1] },
        { j: [{}], k: [] }
      ])}`
    );
    await client.query(sql`UPDATE lists SET ${sql.set({ j: [] })}`);
    assert.deepEqual((await client.query('SELECT j, k FROM lists ORDER BY id')).objects, [
      { j: [], k: [1] },
      { j: [], k: [] }
    ]);
    await client.transaction(tx => tx.query('INSERT INTO lists (k) VALUES ($1)', [[]]));
    await client.query('INSERT INTO lists (k, j) VALUES ($1, $2)', [[], []], { cache: false });
    for (const list of [[], [1], ['a', null]]) {
      const copy = client.copyFrom('COPY lists (j) FROM STDIN', { columns: ['j'] });
      await assert.rejects(pipeline([[list]], copy), {
        code: '22P02',
        hint: /for json, write JSON.stringify\(list\)$/
      });
    }
    assert.equal((await client.query("SELECT count(*) AS n FROM lists WHERE j = '{}' OR k::text = '{}'")).rows[0].n, 0);
    const [
      ,
      {
        rows: [row]
      }
    ] = await client.batch([['INSERT INTO lists (a) VALUES ($1)', [[]]], 'SELECT a FROM lists WHERE a IS NOT NULL']);
    assert.deepEqual(row.a, []);
  });
});

describe('A value of Temporal', () => {
  /** As Node.js 26 has them; before, what the texts are made of. */
  const made = (name, text, zone = '') =>
    globalThis.Temporal?.[name].from(text + zone) ??
    Object.assign(Object.create({ [Symbol.toStringTag]: `Temporal.${name}`, toJSON: () => text }), {
      toString: options => text + (options?.timeZoneName === 'never' ? '' : zone)
    });

  it('is sent as its ISO text, alone and in a list', async () => {
    const client = await connected({ TimeZone: 'UTC', IntervalStyle: 'postgres' });
    for (const [value, type, expected] of [
      [made('Instant', '2024-02-29T12:34:56.123456Z'), 'timestamptz', '2024-02-29 12:34:56.123456+00'],
      [made('ZonedDateTime', '2024-02-29T12:34:56+01:00', '[Europe/Paris]'), 'timestamptz', '2024-02-29 11:34:56+00'],
      [made('PlainDate', '2024-02-29'), 'date', '2024-02-29'],
      [made('PlainTime', '12:34:56.5'), 'time', '12:34:56.5'],
      [made('PlainDateTime', '2024-02-29T12:34:56'), 'timestamp', '2024-02-29 12:34:56'],
      [made('Duration', 'P1Y2M3DT4H5M6.5S'), 'interval', '1 year 2 mons 3 days 04:05:06.5'],
      [made('Duration', '-P1DT0.5S'), 'interval', '-1 days -00:00:00.5']
    ]) {
      const {
        rows: [row]
      } = await client.query(`SELECT $1::${type}::text AS one, ($2::${type}[])[1]::text AS item`, [value, [value]]);
      assert.deepEqual(row.toObject(), { one: expected, item: expected });
    }
  });
});
