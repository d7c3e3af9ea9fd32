'use strict';

const assert = require('node:assert/strict');
const { LEASE } = require('../../lib/core/internal');
const { Answer } = require('../../lib/live/answer');
const { send } = require('../../lib/core/pipeline');
const { backend } = require('../../lib/core/protocol');
const { connected, commandComplete, dataRow, rowDescription } = require('../support');
const { messagesIn } = require('./serving');

const LIMITS = { max_bytes: 1e6, max_rows: 1000 };

/** Gives an answer messages as a receiver does; each list of rows is a chunk. */
function give(answer, ...chunks) {
  answer.start({ description: () => rowDescription('a') }, 0);
  for (const rows of chunks) {
    const bytes = Buffer.concat([Buffer.from('before'), ...rows.map(row => dataRow(row)), Buffer.from('behind')]);
    answer.receiveData(bytes, 6, bytes.length - 6, rows.length);
    bytes.fill(0); // the memory of a receiver is valid during the call
  }
  const end = commandComplete('SELECT 1');
  answer.receive(backend.CommandComplete, end, 0, end.length);
  return answer;
}
const textOf = answer => messagesIn(answer.bytes).list.join();

describe('An answer', () => {
  it('is the bytes before if they are the same, whatever the chunks', () => {
    const { bytes } = give(new Answer(LIMITS), ['x', 'y'], ['z']);
    assert.equal(messagesIn(bytes).list.join(), 'T,D x,D y,D z,s');
    for (const chunks of [[['x', 'y', 'z']], [['x'], ['y'], ['z']]])
      assert.equal(give(new Answer(LIMITS, bytes), ...chunks).bytes, bytes);
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

  it('takes the result of a query, which is given up above its limits', async () => {
    const client = await connected();
    const ask = async (text, before, limits = LIMITS) => {
      const answer = new Answer(limits, before);
      await send(client[LEASE], 'shared', {}, () => answer.request({ text, values: [] }));
      return answer;
    };
    const many = "SELECT i AS a, repeat('x', 300) FROM generate_series(1, 1000) i";
    const { cmd, bytes } = await ask(many);
    assert.deepEqual([cmd, messagesIn(bytes).list.length], ['SELECT', 1002]);
    assert.equal((await ask(many, bytes)).bytes, bytes);
    const refuses = (asked, message) => assert.rejects(asked, { name: 'UsageError', code: '54000', message });
    await refuses(ask(many, bytes, { max_bytes: 1e6, max_rows: 999 }), 'the result has more than 999 rows (max_rows)');
    await refuses(
      ask("SELECT repeat('x', 300000) FROM generate_series(1, 1000000)"),
      'the result has more than 1000000 bytes (max_bytes)'
    );
    assert.equal((await client.query('SELECT 1 AS n')).rows[0].n, 1);
  });

  it('makes no request when it was given up while that waited for a connection', () => {
    const answer = new Answer(LIMITS);
    const error = new Error('no');
    answer.giveUp(error);
    assert.throws(() => answer.request({ text: 'SELECT 1', values: [] }), error);
  });
});
