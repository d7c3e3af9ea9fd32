'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { Answer } = require('../../lib/live/answer');
const { connected, commandComplete, dataRow, rowDescription } = require('../support');
const { messagesIn } = require('./serving');

const LIMITS = { max_bytes: 1e6, max_rows: 1000 };

/** Gives an answer messages as a receiver does; each list of rows is a chunk. */
function give(answer, ...chunks) {
  answer.start(undefined, { description: () => rowDescription('a') }, 0);
  for (const rows of chunks) {
    const bytes = Buffer.concat([Buffer.from('before'), ...rows.map(row => dataRow(row)), Buffer.from('behind')]);
    answer.messages(undefined, bytes, 6, bytes.length - 6, rows.length);
    bytes.fill(0); // the memory of a receiver is valid during the call
  }
  answer.message(undefined, commandComplete('SELECT 1'), 0);
  return answer;
}
const textOf = answer => messagesIn(answer.bytes).list.join();

describe('An answer', () => {
  it('is the bytes before if they are the same, whatever the chunks', () => {
    const { bytes } = give(new Answer(LIMITS), ['x', 'y'], ['z']);
    assert.equal(messagesIn(bytes).list.join(), 'T,D x,D y,D z,s');
    for (const chunks of [[['x', 'y', 'z']], [['x'], ['y'], ['z']]]) assert.equal(give(new Answer(LIMITS, bytes), ...chunks).bytes, bytes);
  });

  it('has the rows that differ from those before, wherever they are', () => {
    const { bytes } = give(new Answer(LIMITS), ['x', 'y', 'z']);
    const again = (...chunks) => textOf(give(new Answer(LIMITS, bytes), ...chunks));
    assert.equal(again(['x'], ['y'], ['a']), 'T,D x,D y,D a,s');
    assert.equal(again(['a'], ['y'], ['z']), 'T,D a,D y,D z,s');
    assert.equal(again(['x', 'y']), 'T,D x,D y,s');
    assert.equal(again(['x', 'y', 'z'], ['z']), 'T,D x,D y,D z,D z,s');
    assert.equal(again(), 'T,s');
    assert.equal(messagesIn(bytes).list.join(), 'T,D x,D y,D z,s');
  });

  it('begins anew when its query is repeated', () => {
    const { bytes } = give(new Answer(LIMITS), ['x']);
    assert.equal(textOf(give(give(new Answer(LIMITS, bytes), ['a'], ['b']), ['c'])), 'T,D c,s');
    assert.equal(give(give(new Answer(LIMITS, bytes), ['a']), ['x']).bytes, bytes);
  });

  it('is destroyed above its limits, and then takes nothing', async () => {
    for (const [limits, message] of [[{ max_bytes: 60, max_rows: 9 }, 'the result has more than 60 bytes (max_bytes)'],
      [{ max_bytes: 1e6, max_rows: 2 }, 'the result has more than 2 rows (max_rows)']]) {
      const answer = new Answer(limits);
      const failed = once(answer, 'error');
      give(answer, ['x', 'y'], ['z'.repeat(40)], ['more']);
      const [error] = await failed;
      assert.deepEqual([error.code, error.message], ['54000', message]);
      assert.ok(!textOf(answer).includes('more'));
    }
  });

  it('is an encoder and a target of queryTo', async () => {
    const client = await connected();
    const ask = async (text, before, limits = LIMITS) => {
      const answer = new Answer(limits, before);
      const { cmd, rowCount } = await client.queryTo(answer, text, [], { as: answer });
      return { cmd, rowCount, bytes: answer.bytes };
    };
    const many = "SELECT i AS a, repeat('x', 300) FROM generate_series(1, 1000) i";
    const { cmd, rowCount, bytes } = await ask(many);
    assert.deepEqual([cmd, rowCount, messagesIn(bytes).list.length], ['SELECT', 1000, 1002]);
    assert.equal((await ask(many, bytes)).bytes, bytes);
    await assert.rejects(ask(many, bytes, { max_bytes: 1e6, max_rows: 999 }), { name: 'UsageError', code: '54000' });
    await assert.rejects(ask("SELECT repeat('x', 300000) FROM generate_series(1, 1000000)"), { name: 'UsageError', code: '54000' });
    await assert.rejects(client.queryTo(new Answer(LIMITS), 'SELECT 1', [], { as: new Answer(LIMITS), format: 1 }), { message: /as: 'live' is made of columns in text format/ });
    assert.equal((await client.query('SELECT 1 AS n')).rows[0].n, '1');
  });
});
