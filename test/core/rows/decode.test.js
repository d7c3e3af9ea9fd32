'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const { inspect, promisify } = require('node:util');
const { Client, oid } = require('../../..');
const { checkDecode, decoders, exact } = require('../../../lib/core/rows');
const { connected } = require('../../support');

const TEXT = `SELECT 7::int2 AS i2, -7::int4 AS i4, 9007199254740993::int8 AS i8, 1.5::float8 AS f8,
  true AS b, 'ä' AS t, '\\x00ff'::bytea AS bytes, '2024-02-29 12:34:56.789+02'::timestamptz AS at, '{"a": [1, null]}'::json AS j, '{"b": 2}'::jsonb AS jb,
  ARRAY[1, NULL, 3] AS a,
  1.50::numeric AS n, '2024-02-29'::date AS d, NULL::int AS missing`;
const VALUES = {
  i2: 7,
  i4: -7,
  i8: '9007199254740993',
  f8: 1.5,
  b: true,
  t: 'ä',
  bytes: Buffer.from([0, 255]),
  at: new Date('2024-02-29T10:34:56.789Z'),
  j: { a: [1, null] },
  jb: { b: 2 },
  a: [1, null, 3],
  n: '1.50',
  d: '2024-02-29',
  missing: null
};

/** How rows are asked for, where a query can say `decode`. */
const ASKS = {
  query: (client, text, options) => client.query(text, [], options),
  'query in binary': (client, text, options) => client.query(text, [], { format: Client.BINARY, ...options }),
  simpleQuery: async (client, text, options) => (await client.simpleQuery(text, options))[0],
  batch: async (client, text, options) => (await client.batch([[text, [], options]]))[0]
};

describe('decode: true', () => {
  it('gives values of JavaScript, the same from text and from binary', async () => {
    const client = await connected();
    for (const [name, ask] of Object.entries(ASKS)) {
      const result = await ask(client, TEXT, { decode: true });
      assert.deepEqual(result.objects, [VALUES], name);
      assert.equal(Object.getPrototypeOf(result.objects[0]), Object.prototype);
      assert.ok(Buffer.isBuffer(result.rows[0].bytes));
      assert.equal(result.rows, result.rows);
      assert.equal(result.structs, result.rows);
      assert.deepEqual(
        [...result].map(row => row.toObject()),
        [VALUES]
      );
      assert.deepEqual(result.arrays, [Object.values(VALUES)]);
    }
    for await (const row of client.cursor(TEXT, [], { decode: true })) assert.deepEqual(row.toObject(), VALUES);
  });

  it('gives structs of these values', async () => {
    const client = await connected();
    for (const [name, ask] of Object.entries(ASKS)) {
      const result = await ask(client, TEXT, { decode: true });
      const [row] = result.structs;
      assert.equal(result.structs, result.structs);
      assert.deepEqual(row.toObject(), VALUES, name);
      assert.deepEqual(row.toArray(), Object.values(VALUES));
      for (const name in VALUES) {
        assert.deepEqual(row[name], VALUES[name], name);
        assert.deepEqual(row.get(name), VALUES[name], name);
      }
      assert.deepEqual([...row], Object.values(VALUES));
      assert.equal(row[1], -7);
    }
  });

  it('leaves the form of rows as it is, whatever decodes them', async () => {
    const client = await connected();
    for (const [name, ask] of Object.entries(ASKS)) {
      const one = name === 'query in binary' ? Buffer.from([0, 0, 0, 1]) : '1';
      for (const [decode, value] of [
        [{}, one],
        [new Map(), one],
        [false, one],
        [true, 1],
        [undefined, 1]
      ]) {
        const { rows, structs, objects } = await ask(client, 'SELECT 1 AS a', { decode });
        assert.equal(rows, structs);
        assert.deepEqual(rows[0].toArray(), [value], name);
        assert.deepEqual(objects, [{ a: value }]);
      }
    }
  });

  it('makes rows when they are read, and not before', async () => {
    const client = await connected();
    let decoded = 0;
    const result = await client.query('SELECT n FROM generate_series(1, 10) n', [], {
      decode: { 23: () => ++decoded }
    });
    assert.equal(result.rowCount, 10);
    assert.equal(decoded, 0);
    const rows = result[Symbol.iterator]();
    assert.deepEqual([rows.next().value.n, decoded], [1, 1]);
    assert.equal(result.rows.length, 10);
    assert.equal(decoded, 1);
    assert.equal(result.objects.length, 10);
    assert.equal(decoded, 11);
    assert.equal(result.objects[9].n, 11);
    assert.equal(decoded, 11);
  });

  it('gives bytea as Buffers of their own, from each format of the server', async () => {
    for (const bytea_output of ['hex', 'escape']) {
      const client = await connected({ bytea_output });
      const all = Buffer.from(Array.from({ length: 256 }, (_, code) => code));
      for (const format of [Client.STRING, Client.BINARY]) {
        const {
          objects: [row],
          structs: [struct]
        } = await client.query(
          `SELECT $1::bytea AS a, ARRAY[NULL, bytea '', '\\x5c'] AS b,
          decode(repeat('00ff', 100000), 'hex') AS c`,
          [all],
          { format, decode: true }
        );
        assert.deepEqual(row, {
          a: all,
          b: [null, Buffer.alloc(0), Buffer.from('\\')],
          c: Buffer.from('00ff'.repeat(100000), 'hex')
        });
        assert.ok([row.a, row.b[1], row.b[2], row.c].every(Buffer.isBuffer));
        row.a.fill(0);
        assert.deepEqual(struct.a, all);
      }
    }
  });

  it('is on unless it is false, also for the same statement', async () => {
    const client = await connected();
    const ask = async decode => (await client.query('SELECT 1 AS a', [], { decode })).rows[0].a;
    assert.equal(await ask(undefined), 1);
    assert.equal(await ask(true), 1);
    assert.equal(await ask(false), '1');
    assert.equal(await ask(true), 1);
    assert.equal((await client.query('SELECT 1 AS a')).rows[0].a, 1);
  });

  it('decodes rows of many columns', async () => {
    const client = await connected();
    const list = Array.from({ length: 40 }, (_, index) => `${index} AS c${index}`);
    const {
      objects: [object],
      structs: [row]
    } = await client.query(`SELECT ${list}`, [], { decode: true });
    for (let i = 39; i >= 0; i--) assert.equal(row[`c${i}`], i);
    assert.deepEqual(
      Object.values(object),
      Array.from({ length: 40 }, (_, index) => index)
    );
  });

  it('makes columns of any name own properties', async () => {
    const client = await connected();
    const text = 'SELECT 1 AS "__proto__", 2 AS constructor, 4 AS a, 5 AS a, 6 AS "toObject", 7 AS "0"';
    const {
      objects: [row],
      structs: [struct]
    } = await client.query(text, [], { decode: true });
    assert.deepEqual(Object.entries(row), [
      ['0', 7],
      ['__proto__', 1],
      ['constructor', 2],
      ['a', 5],
      ['toObject', 6]
    ]);
    assert.equal(Object.getPrototypeOf(row), Object.prototype);
    assert.deepEqual(struct.toObject(), row);
    const {
      objects: [plain]
    } = await client.query('SELECT 2 AS constructor, 4 AS a, 5 AS a', [], { decode: true });
    assert.deepEqual(Object.entries(plain), [
      ['constructor', 2],
      ['a', 5]
    ]);
  });

  it('is seen when a struct is logged', async () => {
    const client = await connected();
    const {
      structs: [row]
    } = await client.query("SELECT 1 AS a, '{}'::json AS j", [], { decode: true });
    assert.equal(inspect(row), '{ a: 1, j: {} }');
  });
});

describe('A map of decoders', () => {
  it('decodes the types it has, and leaves the others as they are', async () => {
    const client = await connected();
    const decode = { 23: text => Number(text) * 2, 16: text => text === 't' };
    const {
      objects: [row]
    } = await client.query('SELECT 21 AS i, true AS b, 1::int8 AS big, NULL::int AS n', [], { decode });
    assert.deepEqual(row, { i: 42, b: true, big: '1', n: null });
  });

  it('may be a Map', async () => {
    const client = await connected();
    const decode = new Map([[23, text => Number(text) * 2]]);
    const {
      objects: [row]
    } = await client.query('SELECT 21 AS i, 1::int8 AS big', [], { decode });
    assert.deepEqual(row, { i: 42, big: '1' });
  });

  it("gets a string in text format, a Buffer in binary, and the column's description", async () => {
    const client = await connected();
    const seen = [];
    const decode = { 23: (value, column) => seen.push([value, column.name, column.typeOid]) };
    for (const format of [Client.STRING, Client.BINARY]) {
      assert.equal((await client.query('SELECT 7 AS seven', [], { format, decode })).objects.length, 1);
    }
    assert.deepEqual(seen, [
      ['7', 'seven', 23],
      [Buffer.from([0, 0, 0, 7]), 'seven', 23]
    ]);
  });

  it('takes pairs for text and binary, such as those of `exact`, which lose nothing', async () => {
    const client = await connected({ TimeZone: 'UTC' });
    assert.equal(exact, (await import('quickgres/client-parser')).exact);
    for (const format of [Client.STRING, Client.BINARY]) {
      const { objects } = await client.query(
        `SELECT 7 AS i, 9007199254740993 AS n, '2024-02-29 01:02:03.456789+00'::timestamptz AS at,
        ARRAY[8, NULL] AS list, '{9,NULL}'::int8[] AS ns, '{infinity,NULL,2024-02-29 00:00:00+00}'::timestamptz[] AS ats`,
        [],
        { format, decode: { ...decoders, ...exact } }
      );
      assert.deepEqual(objects, [
        {
          i: 7,
          n: 9007199254740993n,
          at: '2024-02-29 01:02:03.456789+00',
          list: [8, null],
          ns: [9n, null],
          ats: ['infinity', null, '2024-02-29 00:00:00+00']
        }
      ]);
    }
  });

  it('reads arrays of an enum by the OID of their type', async () => {
    const client = await connected();
    await client.query("CREATE TYPE pg_temp.mood AS ENUM ('sad', 'süß')");
    const {
      rows: [{ oid }]
    } = await client.query("SELECT 'pg_temp.mood[]'::regtype::oid AS oid", [], { decode: true });
    const text = "SELECT 'süß'::pg_temp.mood AS one, '{sad,NULL}'::pg_temp.mood[] AS all";
    for (const format of [Client.STRING, Client.BINARY]) {
      const { objects } = await client.query(text, [], { format, decode: { ...decoders, [oid]: decoders[1009] } });
      assert.deepEqual(objects, [{ one: 'süß', all: ['sad', null] }]);
    }
    assert.deepEqual((await client.query(text, [], { decode: { [oid]: String } })).objects, [
      { one: 'süß', all: '{sad,NULL}' }
    ]);
  });

  it('takes nothing from the prototypes of objects', async () => {
    const client = await connected();
    const decode = Object.create({ 23: () => 'inherited' });
    assert.equal((await client.query('SELECT 1 AS a', [], { decode })).rows[0].a, '1');
  });

  it('whose decoder throws, throws where the values are read, and nowhere else', async () => {
    const client = await connected();
    const decode = {
      23: () => {
        throw new RangeError('no');
      }
    };
    const error = { name: 'RangeError', message: 'no' };
    const result = await client.query("SELECT 1 AS a, 'x' AS b", [], { decode });
    for (let i = 0; i < 2; i++) {
      assert.throws(() => result.objects, error);
      assert.throws(() => result.arrays, error);
    }
    assert.throws(() => result.structs[0].a, error);
    assert.equal(result.structs[0].b, 'x');
    assert.throws(() => result.rows[0].toObject(), error);
    assert.equal((await client.query('SELECT 1')).rows[0][0], 1);
  });

  it('may have the names of `oid` as its keys', async () => {
    const client = await connected();
    for (const decode of [
      { [oid.int4]: () => 'int4', [oid._text]: () => '_text' },
      new Map([
        [oid.int4, () => 'int4'],
        [oid._text, () => '_text']
      ])
    ]) {
      assert.deepEqual((await client.query("SELECT 1 AS a, '{}'::text[] AS b", [], { decode })).objects, [
        { a: 'int4', b: '_text' }
      ]);
    }
  });

  it('whose key is no type says so', async () => {
    const client = await connected();
    const maps = [
      { '-1': () => 0 },
      { 0: () => 0 },
      { '': () => 0 },
      { '1e3': () => 0 },
      { 'mood\0': () => 0 },
      { 4294967296: () => 0 },
      new Map([['23', () => 0]]),
      new Map([[2.5, () => 0]]),
      new Map([[null, () => 0]]),
      new Map([[NaN, () => 0]])
    ];
    for (const decode of maps) {
      const [key] = decode instanceof Map ? decode.keys() : Object.keys(decode);
      const error = {
        name: 'TypeError',
        message: `decode has the key ${
          typeof key === 'string' ? `'${key}'` : key
        }, which is no type: write its name, or its OID, such as [oid.timestamptz], of the export oid`
      };
      await assert.rejects(client.query('SELECT 1 AS a', [], { decode }), error);
      await assert.rejects(client.simpleQuery('SELECT 1 AS a', { decode }), error);
      await assert.rejects(new Client({ ...client.config, decode }).connect(), error);
    }
    assert.equal(client.pending, 0);
  });

  it('that has something else for a type says so', async () => {
    const client = await connected();
    for (const decode of [{ 23: 'number' }, { 23: [5] }, new Map([[23, 5]])]) {
      const error = { name: 'TypeError', message: 'decode[23] must be a function, or a pair of them' };
      await assert.rejects(client.query('SELECT 1 AS a', [], { decode }), error);
      assert.throws(() => client.cursor('SELECT 1 AS a', [], { decode }), error);
      await assert.rejects(client.batch([['SELECT 1 AS a', [], { decode }]]), { name: 'TypeError', index: 0 });
    }
    assert.equal(client.pending, 0);
  });
});

describe('decode in the config', () => {
  const TEXT = 'SELECT 7::int8 AS n, true AS b';
  const asks = {
    ...Object.fromEntries(
      Object.entries(ASKS).map(([name, ask]) => [
        name,
        async (client, options) => (await ask(client, TEXT, options)).rows[0]
      ])
    ),
    cursor: async (client, options) => (await client.cursor(TEXT, [], options).next()).value
  };
  const own = {
    'query as in kig/quickgres 0.4': async client => (await client.query(TEXT, [], Client.STRING, true)).rows[0],
    getResults: async client => {
      client.startQuery(TEXT);
      return (await client.getResults()).rows[0];
    }
  };

  it('is that of whatever says nothing of it, in a transaction too', async () => {
    const map = new Map([
      [20, value => [Buffer.isBuffer(value) ? value.readInt32BE(4) : Number(value)]],
      [16, () => true]
    ]);
    for (const [decode, n] of [
      [true, 7],
      [{ ...decoders, ...exact }, 7n],
      [map, [7]]
    ]) {
      const client = await connected({ decode });
      for (const [name, ask] of Object.entries({ ...asks, ...own })) {
        assert.deepEqual((await ask(client)).toObject(), { n, b: true }, name);
        if (name !== 'getResults')
          await client.transaction(async tx => assert.deepEqual((await ask(tx)).toObject(), { n, b: true }, name));
      }
    }
  });

  it('gives way to that of a query, also to false', async () => {
    const client = await connected({ decode: { ...decoders, ...exact } });
    for (const [name, ask] of Object.entries(asks)) {
      const raw = name === 'query in binary' ? [Buffer.from([0, 0, 0, 0, 0, 0, 0, 7]), Buffer.from([1])] : ['7', 't'];
      assert.deepEqual((await ask(client, { decode: false })).toArray(), raw, name);
      assert.deepEqual((await ask(client, { decode: {} })).toArray(), raw, name);
      assert.deepEqual((await ask(client, { decode: true })).toArray(), [7, true], name);
      assert.deepEqual((await ask(client, { decode: undefined })).toArray(), [7n, true], name);
    }
  });
});

describe('Rows of a BINARY CURSOR', () => {
  it('have values for columns by simpleQuery, and Buffers without decoders', async () => {
    const client = await connected();
    const results = await client.simpleQuery(
      `BEGIN; DECLARE c BINARY CURSOR FOR SELECT 7 AS i, 'x' AS t;
      FETCH c; COMMIT; SELECT 7 AS i`,
      { decode: false }
    );
    assert.deepEqual(results[2].rows[0].toArray(), [Buffer.from([0, 0, 0, 7]), Buffer.from('x')]);
    assert.deepEqual(results[2].objects, [{ i: Buffer.from([0, 0, 0, 7]), t: Buffer.from('x') }]);
    assert.equal(results[2].rows[0].dataFormat, 1);
    assert.deepEqual(results[4].arrays, [['7']]);
    const decoded = await client.simpleQuery(
      "BEGIN; DECLARE c BINARY CURSOR FOR SELECT 7 AS i, 'x' AS t; FETCH c; COMMIT"
    );
    assert.deepEqual(decoded[2].rows[0].toArray(), [7, 'x']);
  });
});

describe('checkDecode', () => {
  it('gives back what is a boolean, a map or nothing, and refuses the rest', () => {
    for (const decode of [undefined, true, false, {}, new Map(), decoders, exact]) {
      assert.equal(checkDecode(decode), decode);
    }
    for (const decode of [null, 0, 'true', () => {}]) {
      assert.throws(() => checkDecode(decode), {
        name: 'TypeError',
        message: /^decode must be a boolean or an object of decoders by type, not \S/
      });
    }
  });
});

describe('The decoders', () => {
  it('are loaded when a row is read that needs them, and not before', async () => {
    const program = `const { RowReader } = require(${JSON.stringify(require.resolve('../../..'))});
      const loaded = () => Object.keys(require.cache).some(name => name.endsWith('types.js'));
      const reader = new RowReader();
      console.log(loaded(), reader.rows.length, loaded());`;
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', program]);
    assert.equal(stdout, 'false 0 false\n');
  });
});
