'use strict';

const assert = require('node:assert/strict');
const { inspect } = require('node:util');
const { Memory, RowParser, RowReader } = require('../../../lib/core/rows');
const { connected, hex, rowDescription, dataRow, commandComplete } = require('../../support');

/** What the readers of connections share; their rows are those of a client, and strings. */
const onConnection = (asObjects = false) => ({
  memory: new Memory(),
  common: { decoding: { decode: false, asObjects } }
});
const connection = onConnection();

/** A reader of rows of these columns, on a connection that all share. */
function started(...names) {
  const reader = new RowReader();
  reader.start(new RowParser(rowDescription(...names)), 0, connection);
  return reader;
}

/** Gives the reader messages that follow each other in one memory. */
function receive(reader, owned, ...messages) {
  const memory = Buffer.concat(messages);
  reader.receiveData(memory, 0, memory.length, messages.length, owned);
  return memory;
}

describe('RowReader', () => {
  it('has no rows and no command before anything came', () => {
    const reader = new RowReader();
    assert.deepEqual(
      [reader.rows, reader.rowCount, reader.cmd, reader.oid, reader.rowParser],
      [[], 0, undefined, undefined, undefined]
    );
  });

  it('makes rows of all runs it was given, in their order', () => {
    const reader = started('a');
    receive(reader, false, dataRow('1'), dataRow('2'));
    receive(reader, true, dataRow('3'));
    receive(reader, false, dataRow('4'), dataRow('5'), dataRow('6'));
    assert.deepEqual(
      reader.rows.map(row => row.a),
      ['1', '2', '3', '4', '5', '6']
    );
    assert.equal(reader.rows, reader.rows, 'one array');
  });

  it('goes on after its rows were read', () => {
    const reader = started('a');
    receive(reader, false, dataRow('1'));
    const { rows } = reader;
    receive(reader, false, dataRow('2'));
    receive(reader, false, dataRow('3'));
    assert.deepEqual(
      reader.rows.map(row => row.a),
      ['1', '2', '3']
    );
    assert.equal(reader.rows, rows);
  });

  it('has its own rows where another reader takes turns with it, in the memory of one connection', () => {
    const connection = onConnection();
    const parser = new RowParser(rowDescription('a'));
    const readers = [new RowReader(), new RowReader()];
    for (const reader of readers) reader.start(parser, 0, connection);
    for (let i = 0; i < 500; i++) receive(readers[i % 2], false, dataRow(`row ${i}`));
    readers.forEach((reader, index) =>
      assert.deepEqual(
        reader.rows.map(row => row.a),
        Array.from({ length: 250 }, (_, i) => `row ${2 * i + index}`)
      )
    );
  });

  it('tells rows from the data of a COPY that comes behind them', () => {
    const reader = started('a');
    receive(reader, false, dataRow('1'));
    const response = hex('48 00000009 00 0001 0000');
    reader.receive(response[0], response, 0, response.length);
    receive(reader, false, hex("64 00000006 'ab'"));
    assert.deepEqual([reader.rows[0].a, String(reader.rows[1])], ['1', 'ab']);
  });

  it('gives its rows one at a time, without an array, also those that came since', () => {
    const reader = started('a');
    receive(reader, false, dataRow('1'), dataRow('2'));
    assert.deepEqual(
      Array.from(reader, row => row.a),
      ['1', '2']
    );
    const seen = [];
    for (const row of reader) {
      seen.push(row.a);
      if (row.a === '1') receive(reader, false, dataRow('3'));
    }
    assert.deepEqual(seen, ['1', '2', '3']);
    assert.notEqual([...reader][0], [...reader][0], 'they are made anew');
    const { rows } = reader;
    receive(reader, false, dataRow('4'));
    assert.deepEqual(
      Array.from(reader, row => row.a),
      ['1', '2', '3', '4']
    );
    assert.equal([...reader][0], rows[0], 'those that were made are the same');
    reader.rows = [];
    assert.deepEqual([...reader], []);
    assert.deepEqual([...new RowReader()], []);
  });

  it('refuses in a loop what its rows refuse', () => {
    const reader = started('a', 'b');
    receive(reader, false, dataRow('1', '2'), dataRow('1'));
    const seen = [];
    assert.throws(
      () => {
        for (const row of reader) seen.push(row.b);
      },
      { code: '08P01', message: /column count/ }
    );
    assert.deepEqual(seen, ['2']);
  });

  it('gives the data of a COPY one at a time, too', () => {
    const reader = new RowReader();
    receive(reader, false, hex("64 00000006 'ab' 64 00000005 'c'"));
    assert.deepEqual(Array.from(reader, String), ['ab', 'c']);
  });

  it('lets the caller replace its rows', () => {
    const reader = started('a');
    reader.rows = ['x'];
    assert.deepEqual(reader.rows, ['x']);
  });

  it('copies what was only lent, small or large', () => {
    for (const size of [1, 1000, 1024, 1025, 5000, 100_000]) {
      const reader = started('a');
      const text = 'x'.repeat(size);
      const memory = receive(reader, false, dataRow(text), dataRow(text));
      memory.fill(0);
      assert.deepEqual(
        reader.rows.map(row => row.a),
        [text, text]
      );
    }
  });

  it('keeps many small results apart', () => {
    const readers = Array.from({ length: 1000 }, (_, index) => {
      const reader = started('a');
      receive(reader, false, dataRow(`result ${index} ${'-'.repeat(index)}`)).fill(0);
      return reader;
    });
    readers.forEach((reader, index) => assert.equal(reader.rows[0].a, `result ${index} ${'-'.repeat(index)}`));
  });

  it('holds little more in memory than the bytes of its result', () => {
    const small = started('a');
    receive(small, false, dataRow('x'.repeat(100)));
    assert.ok(small.rows[0].rowBuffer.buffer.byteLength <= 4096);
    const large = started('a');
    receive(large, false, dataRow('x'.repeat(50_000)), dataRow('y'));
    const [first, second] = large.rows.map(row => row.rowBuffer);
    assert.equal(first.buffer.byteLength, first.length + second.length);
  });

  it('keeps what is its own without a copy', () => {
    const reader = started('a');
    const memory = receive(reader, true, dataRow('1'));
    assert.equal(reader.rows[0].rowBuffer.buffer, memory.buffer);
  });

  it('gives Buffers of the data of a COPY', () => {
    const reader = new RowReader();
    reader.receive(72, hex('48 0000000b 01 0002 0001 0001'), 0, 12);
    receive(reader, false, hex("64 00000006 'ab'"), hex("64 00000005 'c'"), hex('64 00000004'));
    reader.receive(99, hex('63 00000004'), 0, 5);
    assert.deepEqual(reader.rows.map(String), ['ab', 'c', '']);
    assert.deepEqual([reader.format, reader.columnCount, reader.columnFormats, reader.cmd], [1, 2, [1, 1], 'COPY']);
  });

  it('takes command, oid and row count of CommandComplete', () => {
    const reader = started('a');
    const complete = commandComplete('INSERT 0 3');
    reader.receive(67, complete, 0, complete.length);
    assert.deepEqual([reader.cmd, reader.oid, reader.rowCount], ['INSERT', '0', 3]);
  });

  it('tells an empty query, and a portal that was suspended', () => {
    const reader = new RowReader();
    reader.receive(73, hex('49 00000004'), 0, 5);
    assert.equal(reader.cmd, 'EMPTY');
    reader.receive(115, hex('73 00000004'), 0, 5);
    assert.equal(reader.cmd, 'SUSPENDED');
  });

  it('has no row parser where the command returns no rows', () => {
    const reader = new RowReader();
    reader.start(null, 0);
    assert.equal(reader.rowParser, undefined);
  });

  it('takes packets one by one as well', () => {
    const reader = new RowReader();
    const packets = [rowDescription('a', 'b'), dataRow('1', null), dataRow('2', 'x'), commandComplete('SELECT 2')];
    for (const packet of packets) reader.write(packet);
    assert.deepEqual(
      reader.rows.map(row => row.toArray()),
      [
        ['1', null],
        ['2', 'x']
      ]
    );
    assert.deepEqual([reader.cmd, reader.rowCount], ['SELECT', 2]);
    const copy = new RowReader();
    copy.write(hex("64 00000006 'ab'"));
    assert.deepEqual(copy.rows.map(String), ['ab']);
  });

  it('decodes columns as its `decode` says', () => {
    const decode = { 25: text => text.toUpperCase() };
    for (const [given, first, plain] of [
      [decode, 'X', true],
      [true, 'x', false],
      [false, 'x', true],
      [undefined, 'x', false]
    ]) {
      const reader = new RowReader({ decode: given });
      reader.start(new RowParser(rowDescription('a', 'b')), 0, onConnection(plain));
      receive(reader, false, dataRow('x', null));
      assert.deepEqual(reader.structs[0].toArray(), [first, null]);
      assert.equal(reader.rows, plain ? reader.objects : reader.structs);
      assert.deepEqual(reader.objects, [{ a: first, b: null }]);
    }
    for (const given of [null, 1, 'x', { 23: 'x' }]) {
      assert.throws(() => new RowReader({ decode: given }), { name: 'TypeError', message: /^decode/ });
    }
  });

  it('gives binary rows of packets as Buffers, where the description says that they are binary', () => {
    const reader = new RowReader({ decode: false });
    reader.write(new RowParser(rowDescription('a')).description(1));
    reader.write(dataRow('x'));
    assert.deepEqual(reader.rows[0].a, Buffer.from('x'));
    assert.deepEqual(reader.arrays, [[Buffer.from('x')]]);
  });

  it('refuses packets without a description, or of another length than they say', () => {
    assert.throws(() => new RowReader().write(dataRow('x')), { code: '08P01' });
    const reader = new RowReader();
    reader.write(rowDescription('a'));
    assert.throws(() => reader.write(dataRow('x').subarray(0, -1)), { code: '08P01' });
    assert.throws(() => reader.write(hex('64 ffffffff')), { code: '08P01' });
    assert.deepEqual(reader.rows, []);
  });

  it('is readable when logged, and as JSON', () => {
    const reader = started('a');
    receive(reader, false, dataRow('1'));
    const complete = commandComplete('SELECT 1');
    reader.receive(67, complete, 0, complete.length);
    assert.equal(
      inspect(reader).replace(/\s+/g, ' '),
      "RowReader { cmd: 'SELECT', oid: undefined, rowCount: 1, rows: [ { a: '1' } ] }"
    );
    assert.deepEqual(JSON.parse(JSON.stringify(reader)), { cmd: 'SELECT', rowCount: 1, rows: [{ a: '1' }] });
  });

  it('refuses rows with another count of columns than described', () => {
    const error = { name: 'ConnectionError', code: '08P01', message: /DataRow whose column count/ };
    for (const row of [dataRow(), dataRow('1'), dataRow('1', '2', '3')]) {
      const reader = started('a', 'b');
      receive(reader, false, dataRow('1', '2'), row, dataRow('1', '2'));
      assert.throws(() => reader.rows, error);
      assert.throws(() => reader.rows, error, 'again');
    }
  });
});

describe('one() and maybeOne() of a result', () => {
  it('give its row, and refuse another count of rows, with the text of the query', async () => {
    const client = await connected();
    const text = 'SELECT generate_series(1, $1::int) AS n';
    const [none, one, two] = await Promise.all([0, 1, 2].map(count => client.query(text, [count])));
    assert.equal(one.one(), one.rows[0]);
    assert.equal(one.maybeOne(), one.rows[0]);
    assert.equal(none.maybeOne(), undefined);
    const error = (code, message) => ({ name: 'UsageError', code, message, query: text });
    assert.throws(() => none.one(), error('02000', /^one\(\) of a result without rows/));
    assert.throws(() => two.one(), error('21000', 'one() of a result of 2 rows'));
    assert.throws(() => two.maybeOne(), error('21000', 'maybeOne() of a result of 2 rows'));
    assert.throws(
      () => two.one(),
      thrown => !Object.keys(thrown).includes('query')
    );
    assert.throws(() => new RowReader().one(), { code: '02000' });
  });
});

describe('objects and arrays of a result', () => {
  it('are plain, in the order of the columns', () => {
    const reader = started('b', 'a', '__proto__', 'b');
    receive(reader, false, dataRow('1', null, 'p', '2'), dataRow('', 'ä', null, '4'));
    assert.deepEqual(reader.arrays, [
      ['1', null, 'p', '2'],
      ['', 'ä', null, '4']
    ]);
    const [first, second] = reader.objects;
    assert.deepEqual(Object.entries(first), [
      ['b', '2'],
      ['a', null],
      ['__proto__', 'p']
    ]);
    assert.deepEqual(Object.entries({ ...second }), [
      ['b', '4'],
      ['a', 'ä'],
      ['__proto__', null]
    ]);
    assert.equal(Object.getPrototypeOf(first), Object.prototype);
    assert.equal(inspect(reader.arrays[0]), "[ '1', null, 'p', '2' ]");
    const plain = started('x', 'y');
    receive(plain, false, dataRow('1', '2'));
    assert.deepStrictEqual(plain.objects, [{ x: '1', y: '2' }]);
    assert.deepEqual(structuredClone(plain.objects), [{ x: '1', y: '2' }]);
    assert.equal(inspect(plain.objects), "[ { x: '1', y: '2' } ]");
  });

  it('are there before and after the rows, and are one array each', () => {
    for (const rowsFirst of [false, true]) {
      const reader = started('a');
      receive(reader, false, dataRow('1'), dataRow('2'));
      if (rowsFirst) assert.equal(reader.rows.length, 2);
      assert.deepEqual(reader.objects, [{ a: '1' }, { a: '2' }]);
      assert.equal(reader.objects, reader.objects);
      assert.deepEqual(reader.arrays, [['1'], ['2']]);
      assert.equal(reader.arrays, reader.arrays);
      assert.deepEqual(
        reader.rows.map(row => row.a),
        ['1', '2']
      );
      receive(reader, false, dataRow('3'));
      assert.deepEqual(reader.objects, [{ a: '1' }, { a: '2' }, { a: '3' }]);
      assert.deepEqual(reader.arrays, [['1'], ['2'], ['3']]);
      assert.deepEqual(
        reader.rows.map(row => row.a),
        ['1', '2', '3']
      );
    }
  });

  it('are right where they are read while more of a large result comes', () => {
    const reader = started('a', 'b');
    const expected = [];
    for (let i = 0; i < 2000; i++) {
      expected.push({ a: `a text of row ${i}`, b: `${i}` });
      receive(reader, false, dataRow(expected[i].a, expected[i].b));
      if (i % 300 === 0) assert.deepEqual(reader.objects, expected);
    }
    assert.deepEqual(reader.objects, expected);
    assert.deepEqual(
      reader.rows.map(row => row.toObject()),
      expected
    );
  });

  it('of many rows are right whether values repeat, are long, not ASCII, empty or NULL', () => {
    const words = [
      '',
      null,
      'a',
      'short',
      'twelve chars',
      'thirteen char',
      'ä',
      'naïve thirteen',
      'x'.repeat(63),
      'x'.repeat(64),
      'ü'.repeat(40)
    ];
    const expected = Array.from({ length: 9000 }, (_, i) => [
      words[i % words.length],
      `${i}`,
      `value number ${i % 700}`
    ]);
    for (const owned of [false, true]) {
      const reader = started('a', 'b', 'c');
      for (let i = 0; i < expected.length; i += 50) {
        receive(reader, owned, ...expected.slice(i, i + 50).map(values => dataRow(...values)));
      }
      assert.deepEqual(reader.arrays, expected);
      assert.deepEqual(
        reader.objects,
        expected.map(([a, b, c]) => ({ a, b, c }))
      );
      assert.deepEqual(
        reader.rows.map(row => row.toArray()),
        expected
      );
    }
  });

  it('have all columns, however many', () => {
    const names = Array.from({ length: 1600 }, (_, i) => `c${i}`);
    const reader = started(...names);
    receive(reader, false, dataRow(...names), dataRow(...names.map(() => null)));
    assert.deepEqual(reader.objects, [
      Object.fromEntries(names.map(name => [name, name])),
      Object.fromEntries(names.map(name => [name, null]))
    ]);
  });

  it('of a COPY are its data, of nothing none', () => {
    const reader = new RowReader();
    receive(reader, false, hex("64 00000006 'ab'"));
    assert.deepEqual(reader.objects.map(String), ['ab']);
    assert.deepEqual(reader.rows.map(String), ['ab']);
    assert.deepEqual(reader.arrays.map(String), ['ab']);
    assert.deepEqual([new RowReader().objects, new RowReader().arrays], [[], []]);
  });

  it('refuse what rows refuse', () => {
    for (const kind of ['objects', 'arrays']) {
      const reader = started('a');
      receive(reader, false, dataRow('1'), dataRow('1', '2'));
      assert.throws(() => reader[kind], {
        name: 'ConnectionError',
        code: '08P01',
        message: /DataRow whose column count/
      });
      const cut = started('a');
      receive(cut, false, hex("44 0000000b 0001 00000009 'a'"));
      assert.throws(() => cut[kind], { code: '08P01', message: /of a wrong length/ });
    }
  });
});
