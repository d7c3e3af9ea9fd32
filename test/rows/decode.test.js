'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const { inspect, promisify } = require('node:util');
const { Client, oid } = require('../..');
const { checkDecode, decoders, dates, jsonDecoders } = require('../../lib/rows');
const { connected } = require('../support');

const TEXT = `SELECT 7::int2 AS i2, -7::int4 AS i4, 9007199254740993::int8 AS i8, 1.5::float8 AS f8,
  true AS b, 'ä' AS t, '\\x00ff'::bytea AS bytes, '{"a": [1, null]}'::json AS j, '{"b": 2}'::jsonb AS jb,
  ARRAY[1, NULL, 3] AS a,
  1.50::numeric AS n, '2024-02-29'::date AS d, NULL::int AS missing`;
const VALUES = {
  i2: 7, i4: -7, i8: 9007199254740993n, f8: 1.5, b: true, t: 'ä', bytes: new Uint8Array([0, 255]),
  j: { a: [1, null] },
  jb: { b: 2 }, a: [1, null, 3], n: '1.50', d: '2024-02-29', missing: null
};

/** The same with every view of bytes as a plain array of numbers. */
const comparable = object =>
  JSON.parse(JSON.stringify(object, (key, value) => typeof value === 'bigint' ? `${value}n`
  : value instanceof Uint8Array ? [...value] : value && value.type === 'Buffer' ? value.data : value));

describe('decode: true', () => {
  it('gives values of JavaScript, the same from text and from binary', async () => {
    const client = await connected();
    for (const format of [Client.STRING, Client.BINARY]) {
      const { rows: [row] } = await client.query(TEXT, [], { format, decode: true });
      assert.deepEqual(comparable(row.toObject()), comparable(VALUES));
      assert.deepEqual(comparable(row.toArray()), comparable(Object.values(VALUES)));
      for (const name in VALUES) {
        assert.deepEqual(comparable(row[name]), comparable(VALUES[name]), name);
        assert.deepEqual(comparable(row.get(name)), comparable(VALUES[name]), name);
      }
      assert.deepEqual(comparable([...row]), comparable(Object.values(VALUES)));
      assert.equal(row[1], -7);
    }
  });

  it('is off unless it is asked for, also for the same statement', async () => {
    const client = await connected();
    const ask = async decode => (await client.query('SELECT 1 AS a', [], { decode })).rows[0].a;
    assert.equal(await ask(undefined), '1');
    assert.equal(await ask(true), 1);
    assert.equal(await ask(false), '1');
    assert.equal(await ask(true), 1);
    assert.equal((await client.query('SELECT 1 AS a')).rows[0].a, '1');
  });

  it('decodes rows of many columns', async () => {
    const client = await connected();
    const list = Array.from({ length: 40 }, (_, index) => `${index} AS c${index}`);
    const { rows: [row] } = await client.query(`SELECT ${list}`, [], { decode: true });
    for (let i = 39; i >= 0; i--) assert.equal(row[`c${i}`], i);
    assert.deepEqual(row.toArray(), Array.from({ length: 40 }, (_, index) => index));
  });

  it('is seen when the row is logged', async () => {
    const client = await connected();
    const { rows: [row] } = await client.query("SELECT 1 AS a, '{}'::json AS j", [], { decode: true });
    assert.equal(inspect(row), '{ a: 1, j: {} }');
  });
});

describe('A map of decoders', () => {
  it('decodes the types it has, and leaves the others as they are', async () => {
    const client = await connected();
    const decode = { 23: text => Number(text) * 2, 16: text => text === 't' };
    const { rows: [row] } = await client.query('SELECT 21 AS i, true AS b, 1::int8 AS big, NULL::int AS n',
      [], { decode });
    assert.deepEqual(row.toArray(), [42, true, '1', null]);
  });

  it('may be a Map', async () => {
    const client = await connected();
    const decode = new Map([[23, text => Number(text) * 2]]);
    const { rows: [row] } = await client.query('SELECT 21 AS i, 1::int8 AS big', [], { decode });
    assert.deepEqual(row.toArray(), [42, '1']);
  });

  it('gets a string in text format, a Buffer in binary, and the column\'s description', async () => {
    const client = await connected();
    const seen = [];
    const decode = { 23: (value, column) => seen.push([value, column.name, column.typeOid]) };
    for (const format of [Client.STRING, Client.BINARY]) {
      (await client.query('SELECT 7 AS seven', [], { format, decode })).rows[0].toArray();
    }
    assert.deepEqual(seen, [['7', 'seven', 23], [Buffer.from([0, 0, 0, 7]), 'seven', 23]]);
  });

  it('takes pairs for text and binary, as client-parser exports them', async () => {
    assert.equal(decoders, (await import('quickgres/client-parser')).decoders);
    const client = await connected();
    for (const format of [Client.STRING, Client.BINARY]) {
      const { rows: [row] } = await client.query("SELECT 7 AS i, '2024-02-29'::date AS d", [],
        { format, decode: { ...decoders, ...dates } });
      assert.equal(row.i, 7);
      assert.equal(row.d.toISOString(), '2024-02-29T00:00:00.000Z');
    }
  });

  it('takes nothing from the prototypes of objects', async () => {
    const client = await connected();
    const decode = Object.create({ 23: () => 'inherited' });
    assert.equal((await client.query('SELECT 1', [], { decode })).rows[0][0], '1');
  });

  it('whose decoder throws, throws where the column is read, and nowhere else', async () => {
    const client = await connected();
    const decode = { 23: () => { throw new RangeError('no'); } };
    const { rows: [row] } = await client.query("SELECT 1 AS a, 'x' AS b", [], { decode });
    assert.throws(() => row.a, { name: 'RangeError', message: 'no' });
    assert.equal(row.b, 'x');
    assert.equal((await client.query('SELECT 1')).rows[0][0], '1');
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
    query: async (client, options) => (await client.query(TEXT, [], options)).rows[0],
    'query in binary': async (client, options) => (await client.query(TEXT, [], { format: Client.BINARY, ...options })).rows[0],
    simpleQuery: async (client, options) => (await client.simpleQuery(TEXT, options))[0].rows[0],
    batch: async (client, options) => (await client.batch([[TEXT, [], options]]))[0].rows[0],
    cursor: async (client, options) => (await client.cursor(TEXT, [], options).next()).value
  };
  const own = {
    'query as in Quickgres': async client => (await client.query(TEXT, [], Client.STRING, true)).rows[0],
    getResults: async client => {
      client.startQuery(TEXT);
      return (await client.getResults()).rows[0];
    }
  };

  it('is that of whatever says nothing of it, in a transaction too', async () => {
    const map = new Map([[20, value => [Buffer.isBuffer(value) ? value.readInt32BE(4) : Number(value)]], [16, () => true]]);
    for (const [decode, n] of [[true, 7n], [jsonDecoders, 7], [map, [7]]]) {
      const client = await connected({ decode });
      for (const [name, ask] of Object.entries({ ...asks, ...own })) {
        assert.deepEqual((await ask(client)).toObject(), { n, b: true }, name);
        await client.transaction(async tx => assert.deepEqual((await ask(tx)).toArray(), [n, true], name));
      }
    }
  });

  it('gives way to that of a query, also to false', async () => {
    for (const [decode, n, b] of [[false, '7', 't'], [true, 7n, true]]) {
      const client = await connected({ decode: jsonDecoders });
      for (const [name, ask] of Object.entries(asks)) {
        const expected = name === 'query in binary' && !decode ? [Buffer.from([0, 0, 0, 0, 0, 0, 0, 7]), Buffer.from([1])] : [n, b];
        assert.deepEqual((await ask(client, { decode })).toArray(), expected, name);
        assert.equal((await ask(client, { decode: undefined })).n, 7, name);
      }
    }
  });
});

describe('Rows of a BINARY CURSOR', () => {
  it('have Buffers for columns by simpleQuery', async () => {
    const client = await connected();
    const results = await client.simpleQuery(`BEGIN; DECLARE c BINARY CURSOR FOR SELECT 7 AS i, 'x' AS t;
      FETCH c; COMMIT; SELECT 7 AS i`);
    assert.deepEqual(results[2].rows[0].toArray(), [Buffer.from([0, 0, 0, 7]), Buffer.from('x')]);
    assert.deepEqual(results[2].objects, [{ i: Buffer.from([0, 0, 0, 7]), t: Buffer.from('x') }]);
    assert.equal(results[2].rows[0].dataFormat, 1);
    assert.deepEqual(results[4].arrays, [['7']]);
  });
});

describe('jsonDecoders', () => {
  it('give bytea as the hexadecimal digits that the server prints', async () => {
    for (const bytea_output of ['hex', 'escape']) {
      const client = await connected({ bytea_output });
      for (const format of [Client.STRING, Client.BINARY]) {
        const { objects } = await client.query("SELECT bytea '\\x00ff41' AS a, ARRAY[NULL, bytea '', '\\x5c'] AS b", [],
          { format, decode: jsonDecoders });
        assert.deepEqual(objects, [{ a: '\\x00ff41', b: [null, '\\x', '\\x5c'] }]);
      }
    }
  });

  it('give int8 as a number where it is exact, else as a string', async () => {
    const client = await connected();
    for (const format of [Client.STRING, Client.BINARY]) {
      const { rows: [row] } = await client.query(`SELECT 7::int8 AS safe, 9007199254740991 AS largest,
        -9007199254740991 AS least, 9007199254740992 AS larger, -9223372036854775808 AS longest,
        ARRAY[1, NULL, 9007199254740993]::int8[] AS list, true AS b`, [], { format, decode: jsonDecoders });
      assert.equal(JSON.stringify(row), '{"safe":7,"largest":9007199254740991,"least":-9007199254740991,' +
        '"larger":"9007199254740992","longest":"-9223372036854775808","list":[1,null,"9007199254740993"],"b":true}');
    }
  });
});

describe('checkDecode', () => {
  it('gives back what is a boolean, a map or nothing, and refuses the rest', () => {
    for (const decode of [undefined, true, false, {}, new Map(), decoders, dates]) {
      assert.equal(checkDecode(decode), decode);
    }
    for (const decode of [null, 0, 'true', () => {}]) {
      assert.throws(() => checkDecode(decode), { name: 'TypeError', message: /^decode must be a boolean or an object/ });
    }
  });
});

describe('A map of decoders', () => {
  it('has OIDs as its keys, and leads from a name to them', () => {
    for (const decode of [{ timestamptz: String }, new Map([['int8', Number]]), { [oid.int8]: Number, date: String }, { '-1': Number }]) {
      assert.throws(() => checkDecode(decode), { name: 'TypeError', message: /^decode has the key (?:timestamptz|int8|date|-1): keys are OIDs, such as \[oid\.timestamptz\]/ });
    }
    checkDecode({ [oid.timestamptz]: String });
    checkDecode(new Map([[oid.int8, Number]]));
  });
});

describe('The decoders', () => {
  it('are loaded when a row is read that needs them, and not before', async () => {
    const program = `const { RowReader } = require(${JSON.stringify(require.resolve('../..'))});
      const loaded = () => Object.keys(require.cache).some(name => name.endsWith('types.js'));
      const reader = new RowReader({ decode: true });
      console.log(loaded(), reader.rows.length, loaded());`;
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', program]);
    assert.equal(stdout, 'false 0 false\n');
  });
});
