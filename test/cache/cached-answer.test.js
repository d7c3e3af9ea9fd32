'use strict';

const assert = require('node:assert/strict');
const { Recorder, TOO_LARGE } = require('../../lib/cache/cached-answer');
const { Payload } = require('../../lib/stream/values');
const { RowParser } = require('../../lib/rows/row-parser');
const { RowReader } = require('../../lib/rows/result');
const { commandComplete, rowDescription, dataRow } = require('../support');

/** Records a result of rows with two columns. */
function record(rows, { format = 0, limit = 1e9 } = {}) {
  let large = 0;
  const recorder = new Recorder(limit, () => { large++; });
  const messages = rows.map(row => dataRow(...row));
  recorder.start(new RowParser(rowDescription('a', 'b')), format);
  const memory = Buffer.concat(messages);
  if (rows.length > 0) recorder.receiveData(memory, 0, memory.length, rows.length, false);
  const complete = commandComplete(`SELECT ${rows.length}`);
  recorder.receive(67, complete, 0, complete.length);
  memory.fill(0);
  return { recorder, messages, complete, large: () => large };
}

describe('An answer', () => {
  const rows = Array.from({ length: 50 }, (_, i) => [`row ${i}`, i % 3 === 0 ? null : 'x'.repeat(i)]);

  it('has the bytes that the server has sent, with the description, in memory of its own', () => {
    const { recorder, messages, complete } = record(rows);
    const answer = recorder.answer(() => true);
    assert.deepEqual(answer.body, Buffer.concat([rowDescription('a', 'b'), ...messages, complete]));
    assert.equal(answer.body.buffer.byteLength, answer.body.length);
    assert.deepEqual([answer.count, answer.rowCount, answer.cmd, answer.size], [50, 50, 'SELECT', answer.body.length]);
  });

  it('is replayed as often as one likes, and nobody can change it for the next', () => {
    const answer = record(rows).recorder.answer(() => true);
    for (let i = 0; i < 3; i++) {
      const { rows: replayed, rowCount } = answer.replay(new RowReader(), true);
      assert.deepEqual(replayed.map(row => row.toArray()), rows);
      assert.equal(rowCount, 50);
      for (const row of replayed) row.rowBuffer.fill(0);
      const { rowParser } = replayed[0];
      for (const bytes of [rowParser.buffer, rowParser.description(0), rowParser.description(1)]) bytes.fill(0);
      assert.deepEqual(rowParser.description(0), rowDescription('a', 'b'));
      assert.throws(() => { replayed[0].rowParser.columns[0].name = 'changed'; }, TypeError);
    }
    const binary = record(rows, { format: 1 }).recorder.answer(() => true);
    for (let i = 0; i < 2; i++) {
      const [row] = binary.replay(new RowReader(), true).rows;
      assert.equal(String(row.a), 'row 0');
      assert.equal(row.rowParser.columns[0].binary, 1);
      row.a.fill(0);
    }
  });

  it('comes in pieces that are whole rows, or their values', () => {
    const many = Array.from({ length: 5000 }, (_, i) => [`row ${i}`, 'x'.repeat(100)]);
    const answer = record(many).recorder.answer(() => true);
    const pieces = [...answer.pieces()];
    assert.ok(pieces.length > 3);
    assert.ok(Buffer.concat(pieces).equals(answer.body));
    const values = Buffer.concat([...answer.pieces(new Payload(Buffer.from('\n')))].map(piece => Buffer.from(piece)));
    assert.equal(values.toString(), many.map(row => row.join('')).join('\n'));
    assert.equal([...record([]).recorder.answer(() => true).pieces()].length, 1);
  });

  it('is kept only if it is that of a SELECT with columns, and it is allowed', () => {
    assert.equal(record(rows).recorder.answer(() => true).storable(), true);
    assert.equal(record(rows).recorder.answer(() => false).storable(), false);
    const recorder = new Recorder(1000, () => {});
    recorder.start(null, 0);
    const insert = commandComplete('INSERT 0 1');
    recorder.receive(67, insert, 0, insert.length);
    assert.equal(recorder.answer(() => true).storable(), false);
  });

  it('that is too long is told of, and takes no memory', () => {
    for (const limit of [0, 10, 500]) {
      const { recorder, large } = record(rows, { limit });
      assert.equal(large(), 1);
      assert.ok(recorder.pieces.length < 2);
    }
    assert.deepEqual([TOO_LARGE.large, TOO_LARGE.size], [true, 0]);
  });

  it('takes long rows in parts', () => {
    const recorder = new Recorder(1e9, () => {});
    recorder.start(new RowParser(rowDescription('a', 'b')), 0);
    const row = dataRow('x'.repeat(1000), 'y');
    recorder.receivePart(68, row, 0, 300, row.length - 300);
    recorder.receivePart(68, row, 300, row.length, 0);
    const complete = commandComplete('SELECT 1');
    recorder.receive(67, complete, 0, complete.length);
    const answer = recorder.answer(() => true);
    assert.equal(answer.count, 1);
    assert.deepEqual(answer.replay(new RowReader(), true).rows[0].toArray(), ['x'.repeat(1000), 'y']);
  });
});
