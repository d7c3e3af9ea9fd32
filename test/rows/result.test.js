'use strict';

const assert = require('node:assert/strict');
const { inspect } = require('node:util');
const { RowParser } = require('../../lib/rows/row-parser');
const { RowReader } = require('../../lib/rows/result');
const { hex, rowDescription, dataRow, commandComplete } = require('../support');

/** A reader of rows of these columns. */
function started(...names) {
  const reader = new RowReader();
  reader.start(new RowParser(rowDescription(...names)), 0);
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
    assert.deepEqual([reader.rows, reader.rowCount, reader.cmd, reader.oid, reader.rowParser],
      [[], 0, undefined, undefined, undefined]);
  });

  it('makes rows of all runs it was given, in their order', () => {
    const reader = started('a');
    receive(reader, false, dataRow('1'), dataRow('2'));
    receive(reader, true, dataRow('3'));
    receive(reader, false, dataRow('4'), dataRow('5'), dataRow('6'));
    assert.deepEqual(reader.rows.map(row => row.a), ['1', '2', '3', '4', '5', '6']);
    assert.equal(reader.rows, reader.rows, 'one array');
  });

  it('goes on after its rows were read', () => {
    const reader = started('a');
    receive(reader, false, dataRow('1'));
    const { rows } = reader;
    receive(reader, false, dataRow('2'));
    receive(reader, false, dataRow('3'));
    assert.deepEqual(reader.rows.map(row => row.a), ['1', '2', '3']);
    assert.equal(reader.rows, rows);
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
      assert.deepEqual(reader.rows.map(row => row.a), [text, text]);
    }
  });

  it('keeps many small results apart', () => {
    const readers = Array.from({ length: 1000 }, (_, index) => {
      const reader = started('a');
      receive(reader, false, dataRow(`result ${index} ${'-'.repeat(index)}`)).fill(0);
      return reader;
    });
    readers.forEach((reader, index) =>
      assert.equal(reader.rows[0].a, `result ${index} ${'-'.repeat(index)}`));
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
    assert.deepEqual([reader.format, reader.columnCount, reader.columnFormats, reader.cmd],
      [1, 2, [1, 1], 'COPY']);
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
    const packets = [rowDescription('a', 'b'), dataRow('1', null), dataRow('2', 'x'),
      commandComplete('SELECT 2')];
    for (const packet of packets) reader.write(packet);
    assert.deepEqual(reader.rows.map(row => row.toArray()), [['1', null], ['2', 'x']]);
    assert.deepEqual([reader.cmd, reader.rowCount], ['SELECT', 2]);
    const copy = new RowReader();
    copy.write(hex("64 00000006 'ab'"));
    assert.deepEqual(copy.rows.map(String), ['ab']);
  });

  it('decodes columns as its `decode` says', () => {
    const reader = started('a', 'b');
    reader.decode = { 25: text => text.toUpperCase() };
    receive(reader, false, dataRow('x', null));
    assert.deepEqual(reader.rows[0].toArray(), ['X', null]);
  });

  it('is readable when logged, and as JSON', () => {
    const reader = started('a');
    receive(reader, false, dataRow('1'));
    const complete = commandComplete('SELECT 1');
    reader.receive(67, complete, 0, complete.length);
    assert.equal(inspect(reader).replace(/\s+/g, ' '),
      "RowReader { cmd: 'SELECT', oid: undefined, rowCount: 1, rows: [ { a: '1' } ] }");
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
