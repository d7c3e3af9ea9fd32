'use strict';

const assert = require('node:assert/strict');
const { QueryRequest } = require('../../lib/query/query');
const { RowReader } = require('../../lib/rows');
const { Statements } = require('../../lib/query/statements');
const { MessageWriter } = require('../../lib/protocol/writer');
const { ANSWER, message, commandComplete, dataRow, rowDescription } = require('../support');

const PARSED = message('1');
const BOUND = message('2');
const NO_DATA = message('n');
const PARAMETERS = message('t', Buffer.from([0, 0]));
const DESCRIBED = rowDescription('a');
const ROW = dataRow('x');
const DONE = commandComplete('SELECT 1');

/** A request that has been sent, and what is needed to answer it. */
function sent({ text = 'SELECT a', values = [], cache = true, statements = new Statements(10) } = {}) {
  const request = new QueryRequest(text, values, 0, cache, undefined, new RowReader());
  const writer = new MessageWriter();
  request.encode(writer, statements);
  const pipeline = { statements, reader: { owned: false }, status: 'I', close() {} };
  return {
    request,
    written: Buffer.from(writer.take()),
    statements,
    pipeline,
    answer: (...messages) => messages.forEach(bytes => request.message(pipeline, bytes[0], bytes, 0, bytes.length, 1))
  };
}

/** The types of messages. */
function types(bytes) {
  let list = '';
  for (let off = 0; off < bytes.length; off += 1 + bytes.readInt32BE(off + 1)) list += String.fromCharCode(bytes[off]);
  return list;
}

describe('QueryRequest', () => {
  it('sends Parse and Describe with the first use of a text only', () => {
    const { written, statements } = sent();
    assert.equal(types(written), 'PDBES');
    assert.equal(types(sent({ statements }).written), 'BES');
    assert.equal(types(sent({ statements, cache: false }).written), 'PDBES');
    assert.equal(types(sent({ statements, text: 'SELECT b' }).written), 'PDBES');
  });

  it('is over with ReadyForQuery, not before', async () => {
    const { request, answer, pipeline } = sent();
    answer(PARSED, PARAMETERS, DESCRIBED, BOUND, ROW, DONE);
    assert.deepEqual([request.done, request.settled], [true, false]);
    request.ready(pipeline);
    const { rows, cmd } = await request.promise;
    assert.deepEqual([rows.map(row => row.a), cmd], [['x'], 'SELECT']);
  });

  it('takes BindComplete before the description, as QuestDB has it', async () => {
    for (const [description, values] of [[DESCRIBED, ['x']], [NO_DATA, []]]) {
      const { request, answer, pipeline } = sent();
      answer(PARSED, BOUND, PARAMETERS, description, ...values.length > 0 ? [ROW] : [], DONE);
      request.ready(pipeline);
      assert.deepEqual((await request.promise).rows.map(row => row.a), values);
    }
  });

  it('takes no other message out of order', () => {
    const whole = { T: DESCRIBED, n: NO_DATA, 2: BOUND, D: ROW, C: DONE, 1: PARSED, t: PARAMETERS, Z: ANSWER.ready, G: message('G', Buffer.from([0, 0, 0])),
      3: message('3', Buffer.alloc(0)), H: message('H', Buffer.from([0, 0, 0])), d: message('d', Buffer.from('x')), c: message('c', Buffer.alloc(0)),
      I: message('I', Buffer.alloc(0)), E: ANSWER.error('22012', 'division by zero') };
    for (const order of ['2', 't', 'T', 'n', '3', '13', '11', '1tTt', '1tT2d', '1tT2H', '1tT2I', '1tT2DI', '1tT2DH', '1tn2d', '1tn2c', '1tn2HC',
      '1tn2HH', '1tn2Hdcd', '1tn2Hdcc', 'EE', '1tT2DCEE', 'D', 'C', '1D', '1C', '1t22', '12tT2', '1tT2T', '1tT22', '1tT2C2', '1tT2CD', '1tT2CC', '1tn2D', '1tT2Z', '1tT2G', '1tT2DT']) {
      const { answer } = sent();
      const messages = [...order].map(type => whole[type]);
      const last = messages.pop();
      assert.doesNotThrow(() => answer(...messages), order);
      assert.throws(() => answer(last), { code: '08P01' }, order);
    }
  });

  it('takes no description of a statement that it has not asked to be described', () => {
    const { statements, answer } = sent();
    answer(PARSED, PARAMETERS, DESCRIBED, BOUND, DONE);
    for (const unasked of [PARSED, PARAMETERS, DESCRIBED, NO_DATA]) {
      assert.throws(() => sent({ statements }).answer(unasked), { code: '08P01' });
    }
  });

  it('leaves nothing behind of values that cannot be sent', () => {
    const statements = new Statements(10);
    const writer = new MessageWriter();
    const request = new QueryRequest('SELECT a', [{}], 0, true, undefined, new RowReader());
    assert.throws(() => request.encode(writer, statements), TypeError);
    assert.equal(types(sent({ statements }).written), 'PDBES', 'the next use of the text still prepares it');
  });

  it('knows what only reads', () => {
    for (const [text, reads] of [
      ['SELECT 1', true], ['  select * from t', true], ['(SELECT 1) UNION (SELECT 2)', true], ['TABLE t', true], ['VALUES (1)', true],
      ['WITH a AS (SELECT 1) SELECT * FROM a', true], ['SHOW all', true],
      ['WITH a AS (DELETE FROM t RETURNING *) SELECT * FROM a', false], ['SELECT 1 INTO t', false], ['SELECT * FROM t FOR UPDATE', false],
      ["SELECT nextval('s')", false], ["SELECT pg_advisory_lock(1)", false], ['INSERT INTO t VALUES (1)', false], ['CALL p()', false],
      ['EXPLAIN ANALYZE DELETE FROM t', false], ['selective', false]
    ]) assert.equal(new QueryRequest(text, [], 0, true, undefined, new RowReader()).onlyReads(), reads, text);
  });
});
