'use strict';

const assert = require('node:assert/strict');
const { oid } = require('../../..');
const { LEASE } = require('../../../lib/core/internal');
const { QueryRequest, executionOf } = require('../../../lib/core/requests');
const { MessageWriter, State, listText } = require('../../../lib/core/protocol');
const { RowReader } = require('../../../lib/core/rows');
const { Pipeline } = require('../../../lib/core/pipeline');
const { Statements } = require('../../../lib/core/pipeline/statements');
const { typesOf } = require('../../support/kit');
const { connected, proxied, ANSWER, message, commandComplete, dataRow, rowDescription } = require('../../support');

const PARSED = message('1');
const BOUND = message('2');
const NO_DATA = message('n');
const PARAMETERS = message('t', Buffer.from([0, 0]));
const DESCRIBED = rowDescription('a');
const ROW = dataRow('x');
const DONE = commandComplete('SELECT 1');

/** A request that has been sent, and what is needed to answer it. */
function sent({ text = 'SELECT a', values = [], cache = true, statements = new Statements(10) } = {}) {
  const request = new QueryRequest(text, values, executionOf({ cache }), new RowReader());
  const writer = new MessageWriter();
  request.promise = request.open({ pipeline: { rejecting: 0 } });
  request.write(writer, statements, request);
  writer.sync();
  const pipeline = {
    statements,
    reader: { owned: false },
    status: 'I',
    common: { decoding: { decode: true, asObjects: false } },
    rowParserOf: Pipeline.prototype.rowParserOf
  };
  return {
    request,
    written: Buffer.from(writer.take()),
    statements,
    pipeline,
    answer: (...messages) => messages.forEach(bytes => request.message(pipeline, bytes[0], bytes, 0, bytes.length, 1))
  };
}

describe('QueryRequest', () => {
  it('sends Parse and Describe with the first use of a text only', () => {
    const { written, statements, answer } = sent();
    assert.equal(typesOf(written), 'PDBES');
    statements.lastParsed = undefined; // something else was sent behind it
    assert.equal(typesOf(sent({ statements, text: 'SELECT a' }).written), 'PDBES', 'the first Parse may fail yet');
    answer(PARSED, PARAMETERS, DESCRIBED);
    assert.equal(typesOf(sent({ statements }).written), 'BES');
    assert.equal(typesOf(sent({ statements, cache: false }).written), 'PDBES');
    assert.equal(typesOf(sent({ statements, text: 'SELECT b' }).written), 'PDBES');
  });

  it('lets the reader of its rows go when it fails: others wait for it no longer', () => {
    const { request, answer } = sent();
    let gone = 0;
    request.receiver = {
      start() {},
      receive() {},
      drop: () => {
        gone++;
      }
    };
    answer(PARSED, PARAMETERS, DESCRIBED, BOUND);
    assert.equal(gone, 0);
    answer(ANSWER.error('22012', 'division by zero'));
    assert.equal(gone, 1);
  });

  it('is over with ReadyForQuery, not before', async () => {
    const { request, answer, pipeline } = sent();
    answer(PARSED, PARAMETERS, DESCRIBED, BOUND, ROW, DONE);
    assert.deepEqual([request.state, request.pending], [State.Done, true]);
    request.ready(pipeline);
    const { rows, cmd } = await request.promise;
    assert.deepEqual([rows.map(row => row.a), cmd], [['x'], 'SELECT']);
  });

  it('takes BindComplete before the description, as QuestDB has it', async () => {
    for (const [description, values] of [
      [DESCRIBED, ['x']],
      [NO_DATA, []]
    ]) {
      const { request, answer, pipeline } = sent();
      answer(PARSED, BOUND, PARAMETERS, description, ...(values.length > 0 ? [ROW] : []), DONE);
      request.ready(pipeline);
      assert.deepEqual(
        (await request.promise).rows.map(row => row.a),
        values
      );
    }
  });

  it('takes no other message out of order', () => {
    const whole = {
      T: DESCRIBED,
      n: NO_DATA,
      2: BOUND,
      D: ROW,
      C: DONE,
      1: PARSED,
      t: PARAMETERS,
      Z: ANSWER.ready,
      G: message('G', Buffer.from([0, 0, 0])),
      3: message('3', Buffer.alloc(0)),
      H: message('H', Buffer.from([0, 0, 0])),
      d: message('d', Buffer.from('x')),
      c: message('c', Buffer.alloc(0)),
      I: message('I', Buffer.alloc(0)),
      E: ANSWER.error('22012', 'division by zero')
    };
    for (const order of [
      '2',
      't',
      'T',
      'n',
      '3',
      '13',
      '11',
      '1tTt',
      '1tT2d',
      '1tT2H',
      '1tT2I',
      '1tT2DI',
      '1tT2DH',
      '1tn2d',
      '1tn2c',
      '1tn2HC',
      '1tn2HH',
      '1tn2Hdcd',
      '1tn2Hdcc',
      'EE',
      '1tT2DCEE',
      'D',
      'C',
      '1D',
      '1C',
      '1t2',
      '12tT2',
      '1tT2T',
      '1tT22',
      '1tT2C2',
      '1tT2CD',
      '1tT2CC',
      '1tn2D',
      '1tT2Z',
      '1tT2G',
      '1tT2DT'
    ]) {
      const { answer } = sent();
      const messages = [...order].map(type => whole[type]);
      const last = messages.pop();
      assert.doesNotThrow(() => answer(...messages), order);
      assert.throws(() => answer(last), { code: '08P01' }, order);
    }
  });

  it('takes no message with a body that has none', () => {
    for (const [before, type] of [
      [[], '1'],
      [[PARSED, PARAMETERS], 'n'],
      [[PARSED, PARAMETERS, DESCRIBED], '2'],
      [[PARSED, PARAMETERS, NO_DATA, BOUND], 'I']
    ]) {
      const { answer } = sent();
      answer(...before);
      assert.throws(() => answer(message(type, 'x')), { code: '08P01', message: /of a wrong length$/ }, type);
    }
  });

  it('takes no description of a statement that it has not asked to be described', () => {
    const { statements, answer } = sent();
    answer(PARSED, PARAMETERS, DESCRIBED, BOUND, DONE);
    for (const unasked of [PARSED, PARAMETERS, DESCRIBED, NO_DATA]) {
      assert.throws(() => sent({ statements }).answer(unasked), { code: '08P01' });
    }
  });

  it('takes lists without objects as they are, and texts of objects when it is made', () => {
    const made = values => new QueryRequest('SELECT a', values).values;
    const [, of] = made([2, [1]]);
    assert.deepEqual([listText(of, false), listText(of, true)], ['{1}', '[1]']);
    for (const values of [[1, 'a', null, undefined, true, 2n], [], null, 5, new Array(1e9)])
      assert.equal(made(values), values);
    const list = [1];
    assert.deepEqual(made([2, Buffer.from('a'), { list }, null]), [2, Buffer.from('a'), '{"list":[1]}', null]);
  });

  it('leaves nothing behind of values that cannot be sent', async () => {
    const { client, wire } = await proxied({ statement_cache: 1 });
    const sentBy = async (text, value) => {
      const from = wire.recorded.toServer.length;
      await client.query(text, [value]).catch(error => assert.ok(error instanceof TypeError));
      return typesOf(wire.recorded.toServer, from);
    };
    assert.equal(await sentBy('SELECT $1 AS a', Symbol('x')), '');
    assert.equal(await sentBy('SELECT $1 AS b', 1), 'PDBES', 'nothing is closed, since nothing was prepared');
    assert.equal(await sentBy('SELECT $1 AS b', 2), 'BES');
  });

  it('lets its receiver go when it was given up, and gives it nothing any more', async () => {
    const { request, answer, pipeline } = sent();
    const { receiver } = request;
    let dropped = 0;
    receiver.drop = () => dropped++;
    answer(PARSED, PARAMETERS, DESCRIBED, BOUND, ROW);
    assert.equal(request.giveUp(new Error('given up'), pipeline), true);
    answer(ROW, DONE);
    await assert.rejects(request.promise, /given up/);
    assert.deepEqual([receiver.rows.length, receiver.cmd, dropped], [1, undefined, 1]);
  });

  it('says whether it may drop statements, and whether it may begin or end a block', () => {
    const kindOf = text => {
      const { request, statements } = sent({ text });
      return [statements.disturbing === request, request.controlsBlock];
    };
    assert.deepEqual(['SET a = b', 'COMMIT', 'SELECT 1'].map(kindOf), [
      [true, false],
      [false, true],
      [false, false]
    ]);
  });

  it('disturbs nothing if its values cannot be sent', async () => {
    const client = await connected();
    const { statements } = client[LEASE].pipeline;
    await assert.rejects(client.query('SET a.b = c', [Symbol('a')]), TypeError);
    assert.equal(statements.disturbing, undefined);
  });

  it("keeps the values of a statement that may be stale, and never changes the caller's", () => {
    const values = Object.freeze([1, Object.freeze(['x']).length, Buffer.from('ab')]);
    const { request } = sent({ text: 'SELECT $1, $2, $3', values });
    assert.notEqual(request.values, values);
    const plain = ['x'];
    assert.notEqual(sent({ text: 'SELECT $1', values: plain }).request.values, plain);
    values[2].fill(0);
    assert.deepEqual(request.values, [1, 1, Buffer.from('ab')]);
    assert.equal(
      sent({ text: 'SELECT $1, $2', values: [Buffer.alloc(8193)] }).request.values,
      null,
      'too many to keep'
    );
  });

  it('is forgotten with its error: before BindComplete, or of a class that tells of what has changed', () => {
    for (const [messages, code, forgotten] of [
      [[], '26000', true],
      [[BOUND], '26000', true],
      [[], '22P02', true],
      [[BOUND], '42703', true],
      [[BOUND], 'XX000', true],
      [[BOUND], '23505', false],
      [[BOUND, ROW], '22012', false]
    ]) {
      const statements = new Statements(10);
      sent({ statements }).answer(PARSED, PARAMETERS, DESCRIBED, BOUND, DONE);
      const { request, answer } = sent({ statements });
      answer(...messages, ANSWER.error(code, 'no'));
      assert.equal(request.canResend(), messages.length === 0, code);
      assert.deepEqual(statements.closing, forgotten ? ['s1'] : [], code);
      const expected = !forgotten ? 'BES' : statements.common.isPooled ? 'PDBES' : 'CPDBES';
      assert.equal(typesOf(sent({ statements }).written), expected, code);
    }
  });

  it('that carries its Parse is forgotten where that has failed, and no other error of it is of the statement', () => {
    const statements = new Statements(10);
    sent({ statements }).answer(ANSWER.error('42P01', 'no table'));
    assert.equal(typesOf(sent({ statements }).written), 'PDBES');
    assert.deepEqual(statements.closing, [], 'the server has none');
    const other = new Statements(10);
    sent({ statements: other }).answer(PARSED, PARAMETERS, DESCRIBED, ANSWER.error('22P02', 'the value'));
    assert.equal(typesOf(sent({ statements: other }).written), 'BES');
  });

  it('that used a Parse which failed rejects with the reason of that', async () => {
    const statements = new Statements(10);
    const first = sent({ statements });
    const second = sent({ statements });
    assert.equal(typesOf(second.written), 'BES');
    first.answer(ANSWER.error('42P01', 'no table'));
    second.answer(ANSWER.error('26000', 'no statement'));
    second.request.ready(second.pipeline);
    await assert.rejects(second.request.promise, { name: 'PostgresError', code: '42P01', message: 'no table' });
  });
});

describe('The values of a query', () => {
  it('are never written to, and may be frozen', async () => {
    const client = await connected();
    const text = 'SELECT $1::int AS a, $2::text AS b, $3::bytea AS c, $4::timestamptz AS d, $5::text AS e';
    const bytes = Buffer.from('ab');
    const values = Object.freeze([1, 'x', bytes, new Date(0), null]);
    const { signal } = new AbortController();
    for (let i = 0; i < 3; i++) {
      await client.query(text, values);
      await client.query(text, values, { cache: false });
      await client.query(text, values, { signal });
      await Promise.all([client.query('SELECT 1', [], { signal }), client.query(text, values)]);
      await client.batch([
        [text, values],
        [text, values]
      ]);
      await client.transaction(tx => Promise.all([tx.query(text, values), tx.cursor(text, values).next()]));
      await client.cursor(text, values).next();
      client.startQuery(text, values);
      await client.getResults();
      await client.sync();
    }
    assert.equal(values[2], bytes);
    assert.deepEqual(values, [1, 'x', Buffer.from('ab'), new Date(0), null]);
  });

  it('are sent as they were at the call, wherever the query has to wait', async () => {
    const client = await connected();
    const text = 'SELECT $1::text AS a, encode($2::bytea, $3) AS b';
    const { signal } = new AbortController();
    const read = ({ rows: [row] }) => row.toArray();
    for (const ask of [
      values => client.query(text, values).then(read),
      values => client.query(text, values, { signal }).then(read),
      values => client.batch([[text, values]]).then(([reader]) => read(reader)),
      values =>
        client
          .cursor(text, values)
          .next()
          .then(({ value }) => value.toArray()),
      values => client.transaction(tx => tx.query(text, values)).then(read),
      values => {
        client.startQuery(text, values);
        const results = client.getResults().then(read);
        return client.sync().then(() => results);
      }
    ]) {
      for (const blocked of [false, true]) {
        const before = blocked ? client.query('SELECT pg_sleep(0.01)', [], { signal }) : undefined;
        const bytes = Buffer.from('ab');
        const values = ['x', bytes, 'escape'];
        const promise = ask(values);
        if (!String(ask).includes('transaction')) {
          // whose function is called later
          bytes.fill('z');
          values[0] = 'y';
          values.length = 1;
        }
        assert.deepEqual(await promise, ['x', 'ab'], String(ask));
        await before;
      }
    }
  });

  it('have the types that `paramTypes` has at the call', async () => {
    const client = await connected();
    const text = 'SELECT pg_typeof($1)::text AS type';
    for (const ask of [
      options => client.query(text, ['1'], options),
      options => client.batch([[text, ['1'], options]]).then(([result]) => result),
      options => client.query(text, ['1'], { ...options, cache: false })
    ]) {
      const slow = client.query('SELECT pg_sleep(0.01)', [], { alone: true });
      const paramTypes = [oid.int8];
      const result = ask({ paramTypes });
      paramTypes[0] = oid.text;
      assert.deepEqual((await result).objects, [{ type: 'bigint' }], String(ask));
      await slow;
    }
  });

  it('may be a row, whose bytes are taken at the call', async () => {
    const client = await connected();
    const [row] = (await client.query("SELECT 'x' AS a, '1' AS b")).rows;
    const slow = client.query('SELECT pg_sleep(0.01)', [], { signal: new AbortController().signal });
    assert.deepEqual((await client.query('SELECT $1::text, $2::int', row)).rows[0].toArray(), ['x', 1]);
    await slow;
  });
});

describe('A wrong number of values', () => {
  it('is an error with both numbers, prepared or not, whose `query` is the text', async () => {
    const client = await connected();
    const text = 'SELECT $1::int + $2::int';
    const wrong = given => ({
      name: 'PostgresError',
      code: '08P01',
      message: `the query takes 2 parameters, but was given ${given}`,
      severity: 'ERROR'
    });
    for (let round = 0; round < 2; round++) {
      await assert.rejects(client.query(text, [1]), wrong('1 value'));
      await assert.rejects(client.query(text, [1, 2, 3]), wrong('3 values'));
      await assert.rejects(client.query(text), wrong('0 values'));
      await assert.rejects(client.query(text, [1], { cache: false }), wrong('1 value'));
      await assert.rejects(client.batch([[text, [1]]]), wrong('1 value'));
      await assert.rejects(client.cursor(text, [1]).next(), wrong('1 value'));
      assert.equal((await client.query(text, [1, 2])).rows[0][0], 3);
    }
    await assert.rejects(client.query('SELECT 1', [1]), {
      message: 'the query takes 0 parameters, but was given 1 value'
    });
    await assert.rejects(
      client.query(`SELECT ${'1, '.repeat(100)}$1::int`),
      ({ message, query }) => message.length < 100 && query.length > 300
    );
  });
});
