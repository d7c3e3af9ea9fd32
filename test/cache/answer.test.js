'use strict';

const assert = require('node:assert/strict');
const { Writable } = require('node:stream');
const { setImmediate: turn } = require('node:timers/promises');
const { RowReader } = require('../..');
const { Collector, isRead, read, write } = require('../../lib/cache/answer');
const { limitOf } = require('../../lib/cache/limit');
const { commandComplete, rowDescription, dataRow, hex, message } = require('../support');

const ROWS = Array.from({ length: 50 }, (_, i) => [`row ${i}`, i % 3 === 0 ? null : 'x'.repeat(i)]);
const RESULT = Buffer.concat([
  rowDescription('a', 'b'),
  ...ROWS.map(row => dataRow(...row)),
  commandComplete('SELECT 50')
]);
const answerOf = (body, more) => ({ body, cmd: 'SELECT', rowCount: 50, form: {}, ...more });

/** What `write` needs of a Target, which takes one piece at a time and does with it what it likes. */
class SlowTarget {
  pieces = [];
  ended = undefined;
  write(piece) {
    this.pieces.push(Buffer.from(piece));
    piece.fill(0);
    return false;
  }

  wait(callback) {
    setImmediate(callback);
  }

  async end(piece, rowCount) {
    this.write(piece);
    this.ended = rowCount;
  }

  async flushed() {}
}

describe('An answer', () => {
  describe('that is collected', () => {
    it('has all bytes, in memory of its own', async () => {
      const collector = new Collector(1000);
      for (const text of ['one', 'two', 'three']) collector.write(Buffer.from(text));
      const body = collector.take();
      assert.equal(String(body), 'onetwothree');
      assert.equal(body.buffer.byteLength, 11);
      assert.equal(collector.large, false);
    });

    it('is large beyond the limit, and ends the writing', () => {
      const collector = new Collector(10);
      collector.write(Buffer.alloc(10));
      assert.equal(collector.large, false);
      collector.on('error', () => {}).write(Buffer.alloc(1));
      assert.equal(collector.large, true);
      assert.equal(collector.destroyed, true);
      assert.equal(collector.take().length, 0);
    });
  });

  it('is that of a read where the tag is SELECT, and there are columns', () => {
    assert.equal(isRead(answerOf(RESULT)), true);
    assert.equal(isRead(answerOf(RESULT, { cmd: 'INSERT' })), false);
    assert.equal(isRead(answerOf(commandComplete('SELECT 1'))), false);
    assert.equal(isRead(answerOf(Buffer.from('[]'), { form: { as: 'values' } })), true);
  });

  it('is read as often as one likes, and nobody can change it for the next', () => {
    for (const format of [undefined, 0, 1]) {
      const answer = answerOf(RESULT, { form: { format } });
      for (let i = 0; i < 3; i++) {
        const reader = new RowReader();
        assert.equal(read(answer, reader), reader);
        assert.deepEqual([reader.cmd, reader.rowCount, reader.rows.length], ['SELECT', 50, 50]);
        assert.deepEqual(
          reader.rows.map(row => row.toArray().map(value => value && String(value))),
          ROWS.map(row => row.map(value => value || (value === '' && format === 1 ? '' : value)))
        );
        assert.equal(reader.binary, format ?? 0);
        for (const row of reader.rows) row.rowBuffer.fill(0);
      }
    }
  });

  it('may be without rows, without columns, or that of COPY', () => {
    assert.deepEqual(
      read(answerOf(Buffer.concat([rowDescription('a'), commandComplete('SELECT 0')])), new RowReader()).rows,
      []
    );
    assert.equal(read(answerOf(commandComplete('SHOW')), new RowReader()).cmd, 'SHOW');
    const copy = Buffer.concat([
      message('H', hex('00 0000')),
      message('d', 'one\n'),
      message('d', 'two\n'),
      message('c'),
      commandComplete('COPY 2')
    ]);
    const { rows, rowCount } = read(answerOf(copy), new RowReader());
    assert.deepEqual([rows.map(String), rowCount], [['one\n', 'two\n'], 2]);
  });

  it('is written in pieces, each when the one before was taken; what the target does with them changes nothing', async () => {
    for (const [length, pieces] of [
      [0, 1],
      [131072, 1],
      [131073, 2],
      [300000, 4]
    ]) {
      const body = Buffer.alloc(length, 'abcdefg');
      const target = new SlowTarget();
      await write(answerOf(body), target, true, limitOf({}));
      assert.equal(target.pieces.length, pieces);
      assert.ok(Buffer.concat(target.pieces).equals(Buffer.alloc(length, 'abcdefg')));
      assert.equal(target.ended, 50);
      assert.ok(body.equals(Buffer.alloc(length, 'abcdefg')));
    }
  });

  it('leaves the target open where it is to, when that has taken it', async () => {
    for (const [text, pieces] of [
      ['x', ['x']],
      ['', []]
    ]) {
      const target = new SlowTarget();
      let isTaken = false;
      target.flushed = async () => {
        await turn();
        isTaken = true;
      };
      await write(answerOf(Buffer.from(text)), target, false, limitOf({}));
      assert.equal(isTaken, true);
      assert.equal(target.ended, undefined);
      assert.deepEqual(target.pieces.map(String), pieces);
    }
  });

  it('waits for a target no longer than the limit lets it', async () => {
    const target = new SlowTarget();
    target.wait = () => {};
    const limit = limitOf({});
    const writing = write(answerOf(Buffer.alloc(300000)), target, true, limit);
    limit.fail(new Error('enough'));
    await assert.rejects(writing, /enough/);
  });

  it('is collected from any writer of streams', async () => {
    const collector = new Collector(100);
    assert.ok(collector instanceof Writable);
    await new Promise(resolve => collector.end('x', resolve));
    assert.equal(String(collector.take()), 'x');
  });
});
