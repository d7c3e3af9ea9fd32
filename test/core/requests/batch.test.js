'use strict';

const assert = require('node:assert/strict');
const { LEASE } = require('../../../lib/core/internal');
const { Client, RowReader } = require('../../..');
const { sql } = require('../../../lib/sql');
const { connected, proxied, answering, hex, message, dataRow, commandComplete, ANSWER } = require('../../support');

const EXECUTE = '45 00000009 00 00000000';

describe('batch', () => {
  it('gives a reader for each query, in order', async () => {
    const client = await connected();
    const results = await client.batch([
      ['CREATE TEMP TABLE t (a int, b text)'],
      ['INSERT INTO t VALUES ($1, $2), ($3, NULL)', [1, 'x', 2]],
      'SELECT * FROM t ORDER BY a',
      ['SELECT a FROM t WHERE a = $1', ['2'], { format: Client.BINARY }],
      ['']
    ]);
    assert.ok(results.every(result => result instanceof RowReader));
    assert.deepEqual(
      results.map(({ cmd, rowCount, rows }) => [cmd, rowCount, rows.map(row => row.toArray())]),
      [
        ['CREATE TABLE', 0, []],
        ['INSERT', 2, []],
        [
          'SELECT',
          2,
          [
            [1, 'x'],
            [2, null]
          ]
        ],
        ['SELECT', 1, [[2]]],
        ['EMPTY', 0, []]
      ]
    );
  });

  it('takes a list of queries, and says what to write in place of one query', async () => {
    const client = await connected();
    for (const one of [sql`SELECT ${'a'}::text`, sql`SELECT 1`, ['SELECT $1', [1]], ['SELECT 1', []]]) {
      await assert.rejects(client.batch(one), {
        name: 'TypeError',
        message: 'batch takes an array of queries, not one query: write batch([query])'
      });
    }
    for (const list of [
      [sql`SELECT ${1}::int`],
      ['SELECT 1', sql`SELECT ${'a'}::text`],
      Object.freeze(['SELECT 1', Object.freeze(['SELECT 2'])]),
      ['SELECT 1', ['SELECT 2']]
    ]) {
      assert.equal((await client.batch(list)).length, list.length);
    }
    await assert.rejects(client.batch([client.query('SELECT 1')]), {
      index: 0,
      message: /^queries\[0\]: a query of a batch is a text or .* not an object of class Promise$/
    });
  });

  it('shares one Sync, in one flight', async () => {
    const { client, wire } = await proxied();
    await client.query('SELECT 1');
    const from = wire.recorded.toServer.length;
    const { flights } = wire.stats;
    await client.batch([['SELECT 1'], ['SELECT $1::text', ['x'], { cache: false }], ['SELECT 1']]);
    const known = "42 00000010 00 's1' 00 0000 0000 0001 0000";
    assert.deepEqual(
      wire.recorded.toServer.subarray(from),
      hex(`${known} ${EXECUTE}
      50 00000017 00 'SELECT $1::text' 00 0000  44 00000006 53 00
      42 00000013 00 00 0000 0001 00000001 'x' 0001 0000 ${EXECUTE}
      ${known} ${EXECUTE}  53 00000004`)
    );
    assert.equal(wire.stats.flights.toServer - flights.toServer, 1);
  });

  it('parses a text once that it has several times', async () => {
    const { client, wire } = await proxied();
    const from = wire.recorded.toServer.length;
    const results = await client.batch(Array.from({ length: 5 }, (_, index) => ['SELECT $1::int AS a', [index]]));
    assert.deepEqual(
      results.map(({ rows }) => rows[0].a),
      [0, 1, 2, 3, 4]
    );
    const sent = wire.recorded.toServer.subarray(from).toString('latin1');
    assert.equal(sent.split('SELECT $1::int AS a').length, 2);
  });

  it('succeeds or fails as one', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE t (a int PRIMARY KEY)');
    const insert = 'INSERT INTO t VALUES ($1)';
    for (const [bad, code, index] of [
      [[insert, [1]], '23505', 2],
      [[insert, ['x']], '22P02', 2],
      [['SELEC'], '42601', 2],
      [[insert, []], '08P01', 2]
    ]) {
      const queries = [[insert, [1]], [insert, [2]], bad, [insert, [3]]];
      const error = await client.batch(queries).catch(error => error);
      assert.deepEqual([error.name, error.code, error.index], ['PostgresError', code, index]);
    }
    assert.equal((await client.query('SELECT count(*) FROM t')).rows[0][0], 0);
    await client.batch([
      [insert, [1]],
      [insert, [2]]
    ]);
    assert.equal((await client.query('SELECT count(*) FROM t')).rows[0][0], 2);
  });

  it('fails of no query in particular when the commit fails', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE t (a int UNIQUE DEFERRABLE INITIALLY DEFERRED)');
    const insert = ['INSERT INTO t VALUES (1)'];
    const error = await client.batch([insert, insert]).catch(error => error);
    assert.deepEqual([error.code, error.index], ['23505', undefined]);
    assert.equal((await client.query('SELECT count(*) FROM t')).rows[0][0], 0);
  });

  it('says which query has thrown in code of its own, whatever that was', async () => {
    const client = await connected();
    const frozen = Object.freeze(new Error('frozen'));
    const failing = thrown =>
      client.batch([
        'SELECT 1',
        [
          'SELECT 2',
          [],
          {
            get cache() {
              throw thrown;
            }
          }
        ]
      ]);
    await assert.rejects(failing(frozen), it => it === frozen);
    await assert.rejects(failing(null), { message: 'queries[1]: null was thrown', cause: null, index: 1 });
    await assert.rejects(failing(new RangeError('mine')), {
      name: 'RangeError',
      message: 'queries[1]: mine',
      index: 1
    });
  });

  it('of no queries gives no results', async () => {
    const client = await connected();
    assert.deepEqual(await client.batch([]), []);
  });

  it('of 5,000 queries gives 5,000 results', async () => {
    const client = await connected();
    const results = await client.batch(Array.from({ length: 5000 }, (_, index) => ['SELECT $1::int', [index]]));
    results.forEach(({ rows }, index) => assert.equal(rows[0][0], index));
  });

  it('is sent again where a statement of it was lost or is stale, and nothing was done that an error does not take back', async () => {
    const client = await connected();
    await client.batch([['CREATE TEMP TABLE t (a int)'], ['INSERT INTO t VALUES (1)']]);
    await client.query('SELECT * FROM t');
    await client.query('ALTER TABLE t ADD b int');
    const [{ rows }] = await client.batch([['SELECT * FROM t'], ['SELECT 1']]);
    assert.deepEqual(rows[0].toObject(), { a: 1, b: null });
    await client.query('SELECT * FROM t');
    await client.query('ALTER TABLE t ADD c int');
    const results = await client.batch([['INSERT INTO t VALUES (2)'], ['SELECT 1'], ['SELECT * FROM t']]);
    assert.deepEqual(
      results[2].rows.map(row => row.toArray()),
      [
        [1, null, null],
        [2, null, null]
      ],
      'inserted once'
    );
    await client.query('SELECT * FROM t');
    await client.query('ALTER TABLE t ADD d int');
    const error = await client.batch([['NOTIFY t'], ['SELECT * FROM t']]).catch(error => error);
    assert.deepEqual([error.code, error.index], ['0A000', 1]);
    assert.deepEqual(
      (await client.query('SELECT * FROM t')).rowParser.columnNames,
      ['a', 'b', 'c', 'd'],
      'next time it is prepared again'
    );
  });

  it('that was sent again fails with the error of the second time', async () => {
    const client = await connected();
    await client.batch(['CREATE TEMP TABLE t (a int)', 'INSERT INTO t VALUES (1)']);
    const text = 'SELECT *, 1 / a FROM t';
    await client.query(text);
    await client.batch(['ALTER TABLE t ADD b int', 'UPDATE t SET a = 0']);
    await assert.rejects(client.batch([text]), { code: '22012', index: 0 });
  });

  it('that was sent again is counted once', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE t (a int)');
    await client.query('SELECT * FROM t');
    await client.query('ALTER TABLE t ADD b int');
    const [{ rowParser }] = await client.batch(['SELECT * FROM t', 'SET application_name = a', 'SELECT 1']);
    assert.deepEqual(rowParser.columnNames, ['a', 'b']);
    await client.sync(); // the stale statement is closed
    const { pipeline } = client[LEASE];
    assert.deepEqual([pipeline.statements.disturbing, pipeline.pending], [undefined, 0]);
  });

  it('leaves the statement cache as the server has it, whichever query fails', async () => {
    const client = await connected({ statement_cache: 4 });
    for (let i = 0; i < 8; i++) {
      const queries = ['SELECT 1', 'SELECT 2', 'SELECT 3', `SELECT ${i % 4} AS x`, 'SELECT 4'].map(text => [text]);
      queries[i % 5] = ['SELECT 1/0'];
      await assert.rejects(client.batch(queries), { code: '22012', index: i % 5 });
      await client.batch([['SELECT 1'], ['SELECT 2'], ['SELECT 3'], ['SELECT 4'], ['SELECT 5']]);
      assert.equal((await client.query('SELECT 6')).rows[0][0], 6);
    }
    const [{ rows }] = await client.simpleQuery('SELECT count(*) FROM pg_prepared_statements');
    assert.ok(rows[0][0] <= 4, `${rows[0][0]} statements`);
  });

  it('that cannot be encoded leaves the statement cache as it was', async () => {
    const { client, wire } = await proxied();
    const texts = ['SELECT 1 AS n', 'SELECT 2 AS n'];
    await assert.rejects(client.batch([...texts, ['SELECT $1', [Symbol('x')]]]), TypeError);
    for (const text of texts) {
      await client.query(text);
      const from = wire.recorded.toServer.length;
      await client.query(text);
      assert.ok(!wire.recorded.toServer.subarray(from).includes(text));
    }
  });

  it('decodes as each query says', async () => {
    const client = await connected();
    const [decoded, text, own] = await client.batch([
      ['SELECT 1 AS a'],
      ['SELECT 1 AS a', [], { decode: false }],
      ['SELECT 1 AS a', [], { decode: { 23: value => [value] } }]
    ]);
    assert.deepEqual(
      [decoded, text, own].map(({ rows }) => rows[0].a),
      [1, '1', ['1']]
    );
  });

  it('refuses bad input, tells which query it is, and sends nothing', async () => {
    const { client, wire } = await proxied();
    const from = wire.recorded.toServer.length;
    for (const [bad, pattern] of [
      [['SELECT 1', [new Map()]], /values\[0\] is an object of class Map/],
      [[5], /text must be a string, not a number/],
      [['SELECT 1', 'x'], /values must be an array/],
      [['SELECT 1\0'], /null byte/],
      [['SELECT 1', [], { format: 7 }], /format must be/],
      [['COPY t FROM STDIN'], /COPY FROM STDIN cannot be part of a batch/],
      [['SELECT 1', [], { stream: {} }], /there is no option stream here/],
      [5, /a query of a batch is/],
      [null, /a query of a batch is/],
      [{ text: 'SELECT 1' }, /a query of a batch is/]
    ]) {
      const error = await client.batch([['SELECT 1'], bad, ['SELECT 2']]).catch(error => error);
      assert.deepEqual([error.name, error.index], ['TypeError', 1], String(error));
      assert.match(error.message, /^queries\[1\]: /);
      assert.match(error.message, pattern);
    }
    await assert.rejects(client.batch(new Array(2)), { name: 'TypeError', index: 0 });
    for (const bad of [undefined, 'SELECT 1', {}, 5]) {
      await assert.rejects(client.batch(bad), { name: 'TypeError', message: /batch takes an array/ });
    }
    await client.sync();
    assert.deepEqual(wire.recorded.toServer.subarray(from), hex('53 00000004'));
  });

  it('takes a signal', async () => {
    const client = await connected();
    const signal = AbortSignal.timeout(50);
    await assert.rejects(client.batch([['SELECT 1'], ['SELECT pg_sleep(60)']], { signal }), { name: 'AbortError' });
    assert.equal((await client.query('SELECT 1')).rows[0][0], 1);
  });

  it("works inside a transaction, where its failure is the transaction's", async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE t (a int)');
    await client.transaction(async tx => {
      await tx.batch([['INSERT INTO t VALUES (1)'], ['INSERT INTO t VALUES (2)']]);
    });
    await assert.rejects(
      client.transaction(async tx => {
        await tx.batch([['INSERT INTO t VALUES (3)'], ['SELECT 1/0']]);
      }),
      { code: '22012' }
    );
    assert.equal((await client.query('SELECT count(*) FROM t')).rows[0][0], 2);
  });

  it('refuses an answer that is not that of its queries, and ends the connection', async () => {
    const one = [ANSWER.described('a'), dataRow('1'), commandComplete('SELECT 1')];
    for (const [name, ...answer] of [
      ['too few results', ...one, ANSWER.ready],
      ['too many results', ...one, ...one, ...one, ANSWER.ready],
      ['rows before BindComplete', dataRow('1')],
      ['a message of no type after a batch', ...one, ...one, message('?')],
      ['a row after a batch', ...one, ...one, dataRow('1')]
    ]) {
      const client = await answering(...answer);
      const message = /after a batch/.test(name) ? /unexpected .*\(state Done\)/ : /unexpected /;
      await assert.rejects(client.batch([['SELECT 1 AS a'], ['SELECT 2 AS a']]), { code: '08P01', message }, name);
      assert.equal(client.state, 'closed');
    }
  });
});
