'use strict';

const assert = require('node:assert/strict');
const { PassThrough } = require('node:stream');
const { inspect } = require('node:util');
const { Client, array } = require('../../..');
const { ConnectionError, PostgresError, UsageError } = require('../../../lib/core/protocol');
const {
  addHint,
  again,
  callerOf,
  explained,
  isStale,
  lossErrors,
  showAwaiting,
  showCaller,
  withQuery
} = require('../../../lib/core/pipeline/errors');
const { FakeServer } = require('../../support/connecting');
const { Pool } = require('../../../lib/pool');
const { connected, sharedServer } = require('../../support');

describe('showCaller', () => {
  it('gives an error the stack of a call, and keeps its name and message', () => {
    function ask() {
      return callerOf(ask);
    }
    const error = showCaller(new PostgresError({ message: 'two\nlines of $&' }), ask());
    assert.match(error.stack, /^PostgresError: two\nlines of \$&\n +at .*errors\.test\.js/);
    assert.ok(!error.stack.includes('at ask '));
  });

  it('leaves an error as it is where no call is known', () => {
    const error = new Error('no');
    const { stack } = error;
    assert.equal(showCaller(error, undefined).stack, stack);
  });
});

describe('A query that no code awaits', () => {
  it('rejects with the beginning of its SQL, without literals', async () => {
    const client = await connected();
    const pool = new Pool((await sharedServer()).config);
    for (const session of [client, pool]) {
      const promise = session.query("SELECT 1 / 0, 'a secret', $$another$$");
      await session.query('SELECT 1');
      while (session.pending > 0 || session.stats?.pending > 0) await new Promise(setImmediate);
      await new Promise(setImmediate);
      const { stack } = await new Promise(resolve => promise.then(undefined, resolve));
      assert.equal(
        stack,
        "PostgresError: division by zero\n    in a query that no known code awaits: SELECT … / …, '…', '…'"
      );
    }
    await pool.end();
  });

  it('has no frames of its own beside its stack, which Deno would print', () => {
    const { prepareStackTrace } = Error;
    const error = withQuery(new PostgresError({ message: 'no' }), 'SELECT 1');
    const prepared = [];
    Error.prepareStackTrace = each => String(prepared.push(each));
    try {
      showAwaiting(error);
    } finally {
      Error.prepareStackTrace = prepareStackTrace;
    }
    assert.ok(!prepared.includes(error));
  });
});

describe('A hint', () => {
  const hints = {
    'SELECT 1 FROM pg_class WHERE oid = ?': /\$1, \$2/,
    'SELECT 1 FROM pg_class WHERE oid = ? AND relname = ?': /\$1, \$2/,
    'SELECT 1 FROM pg_class WHERE oid = :oid': /\$1, \$2/,
    'SELEC 1': undefined
  };
  for (const [text, hint] of Object.entries(hints)) {
    it(`${hint ? 'says' : 'does not say'} what parameters are written like: ${text}`, async () => {
      const client = await connected();
      const error = await client.query(text).catch(error => error);
      if (hint) assert.match(error.hint, hint);
      else assert.equal(error.hint, undefined);
    });
  }

  it('names the parameter whose value has another type', async function () {
    const client = await connected();
    if (parseInt(client.serverParameters.server_version, 10) < 14) this.skip(); // it does not say which parameter
    await assert.rejects(client.query('SELECT $1::text, $2::int', ['a', 'b']), { hint: 'this is the value of $2' });
  });

  it('says what to write in place of connect() of a pool', () => {
    assert.throws(() => new Pool().connect(), { code: '0A000', message: /connection\(work\)/ });
  });
});

describe('The query of an error', () => {
  const hidden = (error, text) => {
    assert.equal(error.query, text);
    assert.ok(!inspect(error).includes('query:') && !JSON.stringify(error).includes('"query"'), inspect(error));
  };

  it('is the text of its request, which no log prints unasked; of a batch, that of the query that has failed', async () => {
    const client = await connected();
    const wrong = 'SELECT\n  $1::int / 0';
    const errors = await Promise.all(
      [
        client.query(wrong, [7]),
        client.batch(['SELECT 1', [wrong, [7]]]),
        client.simpleQuery('SELECT 1; SELECT 1 / 0'),
        client.transaction(tx => tx.query(wrong, [7])),
        client.cursor(wrong, [7]).next(),
        client.queryTo(new PassThrough(), wrong, [7]),
        client.with({ 'a.b': 1 }).query(wrong, [7])
      ].map(each =>
        each.then(
          () => assert.fail(),
          error => error
        )
      )
    );
    errors.forEach((error, i) => hidden(error, i === 2 ? 'SELECT 1; SELECT 1 / 0' : wrong));
    hidden(
      await client.query('SELECT pg_sleep(10)', [], { statement_timeout: 5 }).catch(error => error),
      'SELECT pg_sleep(10)'
    );
    hidden(await client.query('SELECT $1::int', []).catch(error => error), 'SELECT $1::int');
    await client.query('BEGIN; '.slice(0, 5));
    await client.query('SELECT 1 / 0').catch(() => {});
    hidden(await client.query('SELECT 2').catch(error => error), 'SELECT 2');
  });

  it('is that of each request of a lost connection, also of those that come later, and undefined if the error is shared', async () => {
    const client = await connected();
    const lost = Array.from({ length: 3000 }, (_, i) =>
      client.query(`SELECT pg_sleep(1), ${i}`, [], { cache: false }).catch(error => error)
    );
    const batch = client.batch(['SELECT 1', 'SELECT 2']).catch(error => error);
    client.destroy();
    const errors = await Promise.all(lost);
    errors.slice(0, 500).forEach((error, i) => hidden(error, `SELECT pg_sleep(1), ${i}`));
    hidden(errors[1500], undefined);
    hidden(await batch, 'SELECT 1; SELECT 2');
    hidden(await client.query('SELECT late').catch(error => error), 'SELECT late');
  });

  it('has the line and column of the position, in characters', async () => {
    const client = await connected();
    for (const [text, at] of [
      ['SELEC', { line: 1, column: 1 }],
      ['SELECT 1,\n  missing', { line: 2, column: 3 }],
      ["SELECT '𝄞€'\r\n\n, '𝄞', missing", { line: 3, column: 8 }],
      ['SELECT (', { line: 1, column: 9 }]
    ]) {
      const error = await client.query(text).catch(error => error);
      assert.deepEqual(error.at, at, text);
    }
    const { at } = await client.batch(['SELECT 1', 'SELECT\nmissing']).catch(error => error);
    assert.deepEqual(at, { line: 2, column: 1 });
    assert.equal((await client.query('SELECT 1 / 0').catch(error => error)).at, undefined);
    assert.deepEqual(withQuery(new PostgresError({ position: Infinity }), 'SELECT').at, { line: 1, column: 7 }); // of a broken server
  });
});

describe('again', () => {
  it('makes an error of the same class, message and fields, whose stack is that of the call', () => {
    const cause = new Error('why');
    const gone = new ConnectionError('gone', { code: '08003', cause, sent: false });
    const over = new UsageError('over', '25P01');
    function ask(error) {
      return again(error);
    }
    for (const error of [gone, over]) {
      const other = ask(error);
      assert.notEqual(other, error);
      assert.deepEqual(
        [other.constructor, other.message, { ...other }],
        [error.constructor, error.message, { ...error }]
      );
      assert.match(other.stack, /at ask /);
    }
    assert.equal(again(gone).cause, cause);
    assert.equal('cause' in again(new ConnectionError('gone')), false);
  });

  it("leaves what is the caller's", () => assert.equal(again(5), 5));
});

describe('isStale', () => {
  it('knows a statement that was lost, and a plan whose result has changed', () => {
    assert.deepEqual(
      [
        { code: '26000' },
        { code: '0A000', routine: 'RevalidateCachedQuery' },
        { code: '0A000', routine: 'transformStmt' },
        { code: 'XX000', routine: 'RevalidateCachedQuery' }
      ].map(isStale),
      [true, true, false, false]
    );
  });
});

describe('The error of a query whose statement does not exist', () => {
  it('is the error of the Parse, but where that may be otherwise the next time', () => {
    const lost = new PostgresError({ code: '26000' });
    const reasonOf = failure => explained(lost, { statement: { failure } }, 'I', false);
    assert.equal(reasonOf(new PostgresError({ code: '42P01', message: 'no table' })).message, 'no table');
    for (const code of ['40P01', '53200', '55P03', '57014']) {
      assert.equal(reasonOf(new PostgresError({ code })), lost);
    }
  });
});

describe('addHint', () => {
  const NO_VALUE = /^a parameter is a value of a query: write sql\.id\(name\) of quickgres\/sql/;
  const JSON_LIST =
    /^the value is a PostgreSQL array, as copyFrom sends a list: for json, write JSON\.stringify\(list\)$/;
  const LIST = /^a list is one parameter: write = ANY\(\$1\)/;

  it('says what to write where PostgreSQL takes no parameter, no list or no second statement', async () => {
    const client = await connected();
    for (const [text, values, code, hint] of [
      ['SELECT 1; SELECT 2', [], '42601', /^query takes one statement: write simpleQuery\(text\), or batch/],
      ['SELECT * FROM $1', ['users'], '42601', NO_VALUE],
      ['SET search_path = $1', ['a'], '42601', NO_VALUE],
      ['SELECT id FROM users WHERE id IN $1', [array([1])], '42601', LIST],
      ...[[1, 2], ['a', 'b'], ['a"b\\'], [{ a: 1 }], [[1]], [-1.5], [null], [true, false]].map((list, i) => [
        `SELECT $1::json -- ${i}`,
        [array(list)],
        '22P02',
        JSON_LIST
      ]),
      ...['{bad', '{"a":1,}', '[1', '{"a" 1}', 'NULL'].map(text => ['SELECT $1::jsonb', [text], '22P02', undefined]),
      ['SELECT id FROM users WHERE id IN ($1)', [array([1])], '22P02', LIST],
      ['SELECT id FROM users WHERE id IN ($1, $2)', [array([1]), 2], '22P02', undefined],
      ['SELECT id FROM users WHERE id = $1', [array([1])], '22P02', undefined],
      ['SELECT id FROM users WHERE id IN ($1)', ['one'], '22P02', undefined],
      ['SELECT 1 WHERE 1 IN ($1) AND now() > now() - INTERVAL $2', [1, '1 day'], '42601', NO_VALUE],
      ['SELECT 1 WHERE 1 IN ($1) AND $2::pg_namespace IS NULL', [1, '{"a":1}'], '22P02', undefined],
      ['SELEC $1', [1], '42601', undefined]
    ]) {
      const asks = [
        () => client.query(text, values),
        () => client.batch([[text, values]]),
        () => client.cursor(text, values).next()
      ];
      for (const ask of asks) {
        const error = await ask().catch(failed => failed);
        assert.equal(error.code, code, text);
        if (hint === undefined) assert.match(error.hint ?? '', /^(?:this is the value of \$\d)?$/, text);
        else assert.match(error.hint, hint, text);
      }
    }
  });

  it('says why a query in a failed transaction does not run, and what to do', async () => {
    const client = await connected();
    await assert.rejects(
      client.transaction(async tx => {
        await assert.rejects(tx.query('SELECT 1 / 0'), { code: '22012' });
        await tx.query('SELECT 1');
      }),
      {
        code: '25P02',
        hint: /^an earlier query of the transaction failed: run what may fail in tx\.transaction\(\)/
      }
    );
  });

  it('reads the statement of a batch that failed, and leaves a hint of the server as it is', async () => {
    const client = await connected();
    const error = await client
      .batch([
        ['SELECT 1 WHERE 1 IN ($1)', [1]],
        ['SELECT now() - INTERVAL $1', ['1 day']]
      ])
      .catch(failed => failed);
    assert.match(error.hint, NO_VALUE);
    const hinted = { code: '42601', message: 'syntax error at or near "$1"', hint: "the server's" };
    addHint(hinted, 'SELECT 1 WHERE 1 IN $1');
    assert.equal(hinted.hint, "the server's");
  });

  it('takes time in proportion to the text', () => {
    for (const [code, message] of [
      ['42601', 'syntax error at or near "$1"'],
      ['22P02', 'invalid input syntax for type integer: "{1}"']
    ]) {
      for (const piece of ['in ', 'in(', ' ', '(', '$1', '1', '1 '])
        addHint({ code, message }, `in $1${piece.repeat(1e5)},`);
      for (const piece of [' ', '(', 'in(', '1'])
        for (const start of ['in', 'in(', 'in($']) addHint({ code, message }, start + piece.repeat(1e5));
    }
  });
});

describe('lossErrors', () => {
  it('tell whether the request had been sent', () => {
    for (const [sent, message] of [
      [true, /the server may have carried it out$/],
      [false, /had not been sent$/]
    ]) {
      const next = lossErrors('gone', '08006', new Error('why'), sent);
      const [one, other] = [next(), next()];
      assert.notEqual(one, other);
      assert.match(one.message, message);
      assert.deepEqual([one.code, one.sent, one.cause.message], ['08006', sent, 'why']);
    }
  });
});

describe('lose', () => {
  it('rejects what waits for connect() with a TimeoutError if connect_timeout has passed', async () => {
    const silent = await new FakeServer(async () => {}).listen();
    const client = new Client({ ...silent.config, connect_timeout: 0.05 });
    const opening = assert.rejects(client.connect(), { name: 'TimeoutError', code: '08001' });
    await assert.rejects(client.query('SELECT 1'), { name: 'TimeoutError', code: '08001', sent: false });
    await opening;
    silent.stop();
  });
});
