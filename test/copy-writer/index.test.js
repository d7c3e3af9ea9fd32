'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { Readable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { Client, array } = require('../..');
const { CopyWriter } = require('../../lib/copy-writer');
const { connected, hex } = require('../support');

/** The bytes that a writer makes of rows. */
async function write(rows, options) {
  const writer = new CopyWriter(options);
  Readable.from(rows).pipe(writer);
  return Buffer.concat(await writer.toArray());
}

const SIGNATURE = hex("'PGCOPY' 0a ff 0d 0a 00 00000000 00000000");

describe('CopyWriter', () => {
  describe('in the text format', () => {
    it('separates values by tabs, rows by line feeds, and marks NULL', async () => {
      const rows = [[1, 'a', true, null], [2n, '', false, undefined], [-0.5, 'é', NaN, Infinity]];
      assert.equal(String(await write(rows)), '1\ta\ttrue\t\\N\n2\t\tfalse\t\\N\n-0.5\té\tNaN\tInfinity\n');
      assert.equal((await write([])).length, 0);
    });

    it('escapes what would be taken for something else', async () => {
      assert.equal(String(await write([['a\\b\tc\nd\re', '\\N', '\\.']])), 'a\\\\b\\tc\\nd\\re\t\\\\N\t\\\\.\n');
    });

    it('writes bytes as bytea and Dates as ISO 8601', async () => {
      const rows = [[Buffer.from([0, 255]), new Uint8Array([1]), new Date(0)]];
      assert.equal(String(await write(rows)), '\\\\x00ff\t\\\\x01\t1970-01-01T00:00:00.000Z\n');
    });
  });

  describe('of objects', () => {
    it('takes the keys that columns names, in their order', async () => {
      const rows = [{ b: 'x', a: 1, c: true }, Object.assign(Object.create({ b: 'inherited' }), { a: undefined, b: null }), [2, 'y']];
      assert.equal(String(await write(rows, { columns: ['a', 'b'] })), '1\tx\n\\N\t\\N\n2\ty\n');
      const bytes = await write([{ a: 'x', b: 1 }], { columns: ['b', 'a'], types: ['int4', 'text'], format: 'binary' });
      assert.equal(bytes.subarray(19, -2).toString('hex'), '00020000000400000001000000017' + '8');
    });

    it('copies what JavaScript has into a table', async () => {
      const client = await connected();
      await client.query('CREATE TEMP TABLE made (id int8, name text, at timestamptz)');
      const rows = Array.from({ length: 10000 }, (_, i) => ({ name: `User ${i}\t\\`, at: new Date(i), id: i, more: {} }));
      await pipeline(rows, new CopyWriter({ columns: ['id', 'name'] }), client.copyFrom('COPY made (id, name) FROM STDIN'));
      const { rows: [row] } = await client.query('SELECT count(*) AS n, max(name) FILTER (WHERE id = 7) AS name, sum(id) AS sum FROM made');
      assert.deepEqual([row.n, row.name, row.sum], ['10000', 'User 7\t\\', '49995000']);
    });

    it('refuses an object without columns, without one of its keys, and wrong columns', async () => {
      await assert.rejects(write([{ a: 1 }]), { name: 'TypeError', message: 'row 0, column 0: a row is an object: name its keys by the option columns' });
      await assert.rejects(write([{ a: 1, b: 1 }, { a: 1 }], { columns: ['a', 'b'] }), { name: 'TypeError', message: 'row 1, column b: the object does not have this key: write null for NULL' });
      await assert.rejects(write([{}], { columns: ['toString'] }), TypeError);
      await assert.rejects(write([{ a: {} }], { columns: ['a'] }), { message: /^row 0, column a: the value is an object/ });
      await assert.rejects(write([[1]], { columns: ['a', 'b'] }), { name: 'RangeError', message: /1 values for 2 columns/ });
      for (const columns of ['a', [1], {}]) assert.throws(() => new CopyWriter({ columns }), { name: 'TypeError', message: 'columns must be an array of strings' });
      assert.throws(() => new CopyWriter({ columns: ['a'], types: [] }), RangeError);
    });
  });

  describe('in the binary format', () => {
    it('writes header, rows and trailer', async () => {
      const bytes = await write([[1, 'a'], [null, undefined]], { format: 'binary', types: ['int4', 'text'] });
      assert.deepEqual(bytes, Buffer.concat([SIGNATURE, hex(`
        0002 00000004 00000001 00000001 'a'
        0002 ffffffff ffffffff
        ffff`)]));
      assert.deepEqual(await write([], { format: 'binary' }), Buffer.concat([SIGNATURE, hex('ffff')]));
    });

    it('writes every type, by name and by OID', async () => {
      for (const [type, oid, value, expected] of [
        ['bool', 16, true, '01'], ['bytea', 17, Buffer.from([7, 8]), '0708'], ['int8', 20, -2n, 'fffffffffffffffe'],
        ['int8', 20, 5, '0000000000000005'], ['int2', 21, -3, 'fffd'], ['int4', 23, 1n, '00000001'],
        ['text', 25, 'é', 'c3a9'], ['oid', 26, 4294967295, 'ffffffff'], ['json', 114, '{}', '7b7d'],
        ['float4', 700, 0.5, '3f000000'], ['float8', 701, -1, 'bff0000000000000'], ['varchar', 1043, '', ''],
        ['date', 1082, new Date('1999-12-31T12:00:00Z'), 'ffffffff'], ['timestamptz', 1184, new Date('2000-01-01T00:00:00.001Z'),
          '00000000000003e8'], ['uuid', 2950, '00112233-4455-6677-8899-AABBCCDDEEFF', '00112233445566778899aabbccddeeff'],
        ['jsonb', 3802, '1', '0131'], ['int4', 23, Buffer.from([1, 2, 3, 4]), '01020304']
      ]) {
        for (const name of [type, oid]) {
          const bytes = await write([[value]], { format: 'binary', types: [name] });
          assert.equal(bytes.subarray(25, -2).toString('hex'), expected, `${name} ${value}`);
          assert.equal(bytes.readInt32BE(21), expected.length / 2);
        }
      }
    });

    it('needs no types for strings, booleans and bytes', async () => {
      const bytes = await write([['a', true, Buffer.from([9])]], { format: 'binary' });
      assert.deepEqual(bytes.subarray(19, -2), hex("0003 00000001 'a' 00000001 01 00000001 09"));
    });

    it('refuses values out of range or of the wrong kind, and says where', async () => {
      for (const [types, row, message] of [
        [['int2'], [32768], 'row 0, column 0: 32768 is out of range for int2'],
        [['int8'], [2n ** 63n], 'row 0, column 0: 9223372036854775808 is out of range for int8'],
        [['float4'], [1e39], 'row 0, column 0: 1e+39 is out of range for float4'],
        [['float4'], [-1e-50], 'row 0, column 0: -1e-50 is out of range for float4'],
        [['float8'], [10n ** 400n], `row 0, column 0: 1${'0'.repeat(400)} is out of range for float8`],
        [['int4'], [1.5], 'row 0, column 0: a number cannot be sent as int4'],
        [['int4'], ['1'], 'row 0, column 0: a string cannot be sent as int4'],
        [['text', 'text'], ['a', 5], 'row 0, column 1: a number cannot be sent as text'],
        [['bool'], [1], 'row 0, column 0: a number cannot be sent as bool'],
        [['uuid'], ['x'], 'row 0, column 0: a string cannot be sent as uuid'],
        [['uuid'], [5], 'row 0, column 0: a number cannot be sent as uuid'],
        [['timestamptz'], [new Date(NaN)], 'row 0, column 0: an object of class Date cannot be sent as timestamptz'],
        [['bytea'], ['x'], 'row 0, column 0: a string cannot be sent as bytea'],
        [undefined, [5], 'row 0, column 0: a number needs the type of its column: give types'],
        [['text'], ['a', 'b'], 'row 0, column 0: 2 values for 1 types']
      ]) {
        await assert.rejects(write([row], { format: 'binary', types }), { message });
      }
    });
  });

  it('refuses what is no row, what is no value, and options that are wrong', async () => {
    for (const [row, message] of [
      [5, 'row 1, column 0: a row must be an array or an object, not a number'], [{ a: 1 }, /a row is an object: name its keys by the option columns/],
      [['a', {}], 'row 1, column 1: the value is an object: write JSON.stringify(value) for json, String(value) for text'],
      [['a', [1]], /the value is an array: write array\(value\)/], [[Symbol('a')], /the value is a symbol/],
      [[new Date(NaN)], /the value is an invalid Date/],
      [['a\0'], /null byte/]
    ]) {
      await assert.rejects(write([['fine'], row]), { name: 'TypeError', message });
    }
    for (const options of [{ format: 'csv' }, { types: 'int4' }, { format: 'binary', types: ['numeric'] },
      { format: 'binary', types: [5] }, { format: 'binary', types: ['constructor'] }, { type: ['int4'] }]) {
      assert.throws(() => new CopyWriter(options), TypeError);
    }
  });

  it('splits what it makes into pieces of about 64 KB', async () => {
    const rows = Array.from({ length: 20000 }, (_, i) => [i, `row ${i}`]);
    for (const options of [{}, { format: 'binary', types: ['int4', 'text'] }]) {
      const lengths = [];
      const writer = new CopyWriter(options).on('data', piece => lengths.push(piece.length));
      await pipeline(rows, writer);
      assert.equal(writer.rowCount, 20000);
      assert.ok(lengths.length > 3 && lengths.every(length => length < 80000));
    }
    const lengths = [];
    const writer = new CopyWriter({ format: 'binary' }).on('data', piece => lengths.push(piece.length));
    await pipeline([[Buffer.alloc(1e6)], ['a']], writer);
    assert.deepEqual(lengths, [19, 2 + 4 + 1e6, 2 + 4 + 1, 2]);
  });

  it('writes points in time of any year, the same in both formats', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE times (a timestamptz)');
    const years = [-4712, -1, 0, 1, 99, 1999, 9999, 10000, 275000];
    const rows = years.map(year => {
      const time = new Date('2000-02-29T23:59:59.999Z');
      time.setUTCFullYear(year);
      return [time];
    });
    for (const format of ['text', 'binary']) {
      const to = client.copyFrom(`COPY times FROM STDIN (FORMAT ${format})`);
      await pipeline(Readable.from(rows), new CopyWriter({ format, types: ['timestamptz'] }), to);
    }
    const { rows: stored } = await client.query('SELECT extract(epoch FROM a) * 1000 AS ms, count(*) FROM times GROUP BY a ORDER BY a');
    assert.deepEqual(stored.map(row => [Number(row.ms), row.count]), rows.map(([time]) => [time.getTime(), '2']));
  });

  const TYPES = ['int4', 'text', 'float8', 'bool', 'timestamptz', 'bytea', 'jsonb', 'uuid', 'date'];
  it('keeps every kind of value whole where its memory has to grow', async () => {
    const values = [7, 0.5, new Date(0), 'x', true, '00000000-0000-0000-0000-000000000000'];
    const types = ['int8', 'float8', 'timestamptz', 'text', 'bool', 'uuid'];
    const expected = (await write([values], { format: 'binary', types })).subarray(21, -2);
    // Behind a filling of every length around the size of the memory, each field meets its end somewhere.
    for (let length = 81830; length < 81930; length++) {
      const filling = Buffer.alloc(length);
      const bytes = await write([[filling, ...values]], { format: 'binary', types: ['bytea', ...types] });
      assert.ok(bytes.subarray(25 + length, -2).equals(expected), `behind ${length} bytes`);
    }
  });

  for (const [format, types] of [['text'], ['binary', TYPES]]) {
    it(`fills a table in the ${format} format with what it was given`, async () => {
      const client = await connected();
      await client.query(`CREATE TEMP TABLE made (${TYPES.map((type, i) => `c${i} ${type}`)})`);
      const time = new Date('2026-01-02T03:04:05.678Z');
      const rows = Array.from({ length: 10000 }, (_, i) => i % 10 === 0 ? TYPES.map(() => null) : [
        i, `tab\tline\nback\\slash ${i}`, i / 3, i % 2 === 0, time, Buffer.from([0, i & 255]), `{"i": ${i}}`,
        `00000000-0000-0000-0000-${String(i).padStart(12, '0')}`, time
      ]);
      const into = client.copyFrom(`COPY made FROM STDIN (FORMAT ${format})`);
      await pipeline(rows, new CopyWriter({ format, types }), into);
      assert.equal(into.rowCount, 10000);
      await client.query("SET TIME ZONE 'UTC'");
      const stored = await client.query('SELECT * FROM made ORDER BY c0');
      const sorted = [...rows.filter(row => row[0] !== null), ...rows.filter(row => row[0] === null)];
      assert.deepEqual(stored.rows.map(row => row.toArray()), sorted.map(row => row[0] === null ? row : [
        String(row[0]), row[1], String(row[2]), row[3] ? 't' : 'f', '2026-01-02 03:04:05.678+00',
        `\\x${row[5].toString('hex')}`, row[6], row[7], '2026-01-02'
      ]));
    });
  }

  it('takes arrays as the literals that array() makes', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE lists (texts text[], times timestamptz[])');
    const rows = [[array(['a\tb\n', 'c\\"d', null]), array([new Date(0)])], [array([]), null]];
    await pipeline(rows, new CopyWriter(), client.copyFrom('COPY lists FROM STDIN'));
    const { rows: stored } = await client.query('SELECT * FROM lists ORDER BY 2', [], { decode: true });
    assert.deepEqual(stored.map(row => row.texts), [['a\tb\n', 'c\\"d', null], []]);
  });

  it('takes the rows of a result as they are', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE made (LIKE users)');
    for (const format of [Client.STRING, Client.BINARY]) {
      const name = format === Client.BINARY ? 'binary' : 'text';
      const into = client.copyFrom(`COPY made FROM STDIN (FORMAT ${name})`);
      const other = await connected();
      await pipeline(other.cursor('SELECT * FROM users', [], { format }), new CopyWriter({ format: name }), into);
      assert.equal(into.rowCount, 1000);
    }
    const { rows } = await client.query('SELECT count(*) AS n FROM (SELECT * FROM made EXCEPT SELECT * FROM users) AS x');
    assert.equal(rows[0].n, '0');
  });

  it('makes the COPY fail, and the connection go on, when a row is wrong', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE made (a int)');
    const rows = async function* () {
      for (let i = 0; i < 20000; i++) yield [i];
      yield [{}];
    };
    await assert.rejects(pipeline(rows, new CopyWriter(), client.copyFrom('COPY made FROM STDIN')),
      /row 20000, column 0: the value is an object/);
    assert.equal((await client.query('SELECT count(*) AS n FROM made')).rows[0].n, '0');
  });

  it('asks its source to wait', async () => {
    const writer = new CopyWriter();
    while (writer.write(['x'.repeat(1000)]));
    assert.ok(writer.writableLength + writer.readableLength < 1e6);
    writer.resume();
    await once(writer, 'drain');
  });
});
