'use strict';

const assert = require('node:assert/strict');
const { RowReader } = require('../../..');
const {
  connected,
  proxied,
  faked,
  answering,
  hex,
  message,
  rowDescription,
  dataRow,
  commandComplete,
  ANSWER
} = require('../../support');

describe('simpleQuery', () => {
  it('gives a reader for each statement, in order', async () => {
    const client = await connected();
    const results = await client.simpleQuery(`
      SELECT 1 AS a, NULL AS b; CREATE TEMP TABLE t (x int); INSERT INTO t VALUES (1), (2);
      SELECT * FROM t; SELECT; UPDATE t SET x = 0 WHERE false`);
    assert.ok(results.every(result => result instanceof RowReader));
    assert.deepEqual(
      results.map(({ cmd, rowCount, rows }) => [cmd, rowCount, rows.map(row => row.toArray())]),
      [
        ['SELECT', 1, [[1, null]]],
        ['CREATE TABLE', 0, []],
        ['INSERT', 2, []],
        ['SELECT', 2, [[1], [2]]],
        ['SELECT', 1, [[]]],
        ['UPDATE', 0, []]
      ]
    );
    assert.deepEqual(results[0].rows[0].toObject(), { a: 1, b: null });
    assert.equal(results[2].oid, '0');
    assert.equal(results[1].rowParser, undefined);
  });

  it('is one Query message in one flight', async () => {
    const { client, wire } = await proxied();
    const from = wire.recorded.toServer.length;
    const { flights } = wire.stats;
    await client.simpleQuery('SELECT 1; SELECT 2');
    assert.deepEqual(wire.recorded.toServer.subarray(from), hex("51 00000017 'SELECT 1; SELECT 2' 00"));
    assert.equal(wire.stats.flights.toServer - flights.toServer, 1);
  });

  it('gives one empty result for an empty text', async () => {
    const client = await connected();
    for (const text of ['', ' ; ', '-- nothing']) {
      const results = await client.simpleQuery(text);
      assert.deepEqual(
        results.map(({ cmd, rows }) => [cmd, rows]),
        [['EMPTY', []]]
      );
    }
  });

  it('gives the data of COPY TO STDOUT among other results', async () => {
    const client = await connected();
    const text = "SELECT 1; COPY (VALUES (1, 'x'), (2, NULL)) TO STDOUT; SELECT 2";
    const results = await client.simpleQuery(text);
    assert.deepEqual(results[1].rows.map(String), ['1\tx\n', '2\t\\N\n']);
    assert.deepEqual([results[1].cmd, results[1].rowCount, results[1].columnCount], ['COPY', 2, 2]);
    assert.equal(results[2].rows[0][0], 2);
  });

  it("gives the rows that rules add in their statement's result, as pg and postgres do, with the last columns", async () => {
    const client = await connected();
    await client.simpleQuery(`
      CREATE TEMP TABLE t (x int); CREATE TEMP VIEW v AS SELECT 1 AS x;
      CREATE RULE one AS ON INSERT TO t DO ALSO SELECT 1 AS a, 'b' AS b;
      CREATE RULE two AS ON INSERT TO t DO ALSO SELECT new.x AS x;
      CREATE RULE _instead AS ON INSERT TO v DO INSTEAD (SELECT 8 AS a; INSERT INTO t VALUES (new.x))`);
    const results = await client.simpleQuery('INSERT INTO t VALUES (5); INSERT INTO v VALUES (7); SELECT 2 AS c');
    assert.deepEqual(
      results.map(({ cmd, rowCount, objects, rowParser }) => [cmd, rowCount, objects, rowParser.columns.at(-1).name]),
      [
        ['INSERT', 1, [{ a: 1, b: 'b' }, { x: 5 }], 'x'],
        ['INSERT', 1, [{ a: 8 }, { a: 1, b: 'b' }, { x: 7 }], 'x'],
        ['SELECT', 1, [{ c: 2 }], 'c']
      ]
    );
    assert.deepEqual((await client.query('INSERT INTO t VALUES (5)')).objects, []);
  });

  it('rejects with the first error, and nothing of the text is done', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE t (x int)');
    await assert.rejects(client.simpleQuery('INSERT INTO t VALUES (1); SELECT 1/0; SELECT 1'), { code: '22012' });
    await assert.rejects(client.simpleQuery('SELECT 1; SELEC'), { code: '42601', position: 11 });
    assert.equal((await client.query('SELECT count(*) FROM t')).rows[0][0], 0);
  });

  it('keeps what its own COMMIT has committed', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE t (x int)');
    await assert.rejects(client.simpleQuery('BEGIN; INSERT INTO t VALUES (1); COMMIT; SELECT 1/0'), { code: '22012' });
    assert.equal((await client.query('SELECT count(*) FROM t')).rows[0][0], 1);
  });

  it('goes along with other queries in the pipeline', async () => {
    const client = await connected();
    const results = await Promise.allSettled([
      client.query('SELECT 1'),
      client.simpleQuery('SELECT 2; SELECT 3'),
      client.query('SELECT 4'),
      client.simpleQuery('SELECT 1/0'),
      client.query('SELECT 5')
    ]);
    assert.deepEqual(
      results.map(({ value, reason }) =>
        reason
          ? reason.code
          : [value]
              .flat()
              .map(({ rows }) => rows[0][0])
              .join()
      ),
      ['1', '2,3', '4', '22012', '5']
    );
  });

  it('refuses COPY FROM STDIN, and loses nothing that was asked behind it', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE t (x int)');
    const copy = client.simpleQuery('SELECT 1; COPY t FROM STDIN');
    const behind = client.query('SELECT 2');
    const error = await copy.catch(error => error);
    assert.equal(error.code, '57014');
    assert.match(error.message, /simpleQuery cannot send data: use copyFrom, or query/);
    assert.equal((await behind).rows[0][0], 2);
  });

  it('makes the client forget its statements after DISCARD ALL', async () => {
    const client = await connected();
    await client.query('SELECT 1');
    const [, { rows }] = await client
      .simpleQuery('DISCARD ALL')
      .then(() => client.simpleQuery('SELECT 1; TABLE pg_prepared_statements'));
    assert.deepEqual(rows, []);
    assert.equal((await client.query('SELECT 1')).rows[0][0], 1);
  });

  it('ends the connection where it sets another encoding, of which the server says nothing before its rows', async () => {
    for (const set of [
      "SET LOCAL client_encoding = 'latin1'",
      'set client_encoding to latin1',
      "SET SESSION NAMES 'LATIN1'"
    ]) {
      for (const ask of [
        client => client.simpleQuery(`${set}; SELECT 'é' AS e`),
        client => client.batch([set, "SELECT 'é' AS e"]),
        client => client.simpleQuery(`BEGIN; ${set}; SELECT 'é'; COMMIT`)
      ]) {
        const client = await connected();
        await assert.rejects(ask(client), {
          name: 'ConnectionError',
          message: /client_encoding (?:was set to another encoding|to "LATIN1")/
        });
      }
    }
    const client = await connected();
    const text = "SET client_encoding = 'UTF8'; SET LOCAL client_encoding TO utf8; SET NAMES 'utf-8'; SELECT 'é' AS e";
    const results = await client.simpleQuery(text);
    assert.equal(results[3].rows[0].e, 'é');
    for (const same of [
      'SET client_encoding TO DEFAULT',
      'SET NAMES DEFAULT',
      'set names',
      "SET NAMES 'utf_8'",
      "SET app.note = 'set names latin1'",
      'SET app.note = 1 /* SET NAMES latin1 */'
    ])
      assert.equal((await client.simpleQuery(`${same}; SELECT 'é' AS e`))[1].rows[0].e, 'é', same);
  });

  it('works inside a transaction', async () => {
    const client = await connected();
    const results = await client.transaction(tx => tx.simpleQuery('SELECT 1; SELECT 2'));
    assert.deepEqual(
      results.map(({ rows }) => rows[0][0]),
      [1, 2]
    );
  });

  it('takes a signal', async () => {
    const client = await connected();
    const signal = AbortSignal.timeout(50);
    await assert.rejects(client.simpleQuery('SELECT pg_sleep(60)', { signal }), { name: 'AbortError' });
    assert.equal((await client.query('SELECT 1')).rows[0][0], 1);
  });

  it('ends the connection where a server asks for data again and again, and takes little memory for it', async () => {
    const copyIn = message('G', Buffer.from([0, 0, 0]));
    let written = 0;
    const client = await faked(async conversation => {
      await conversation.request();
      const many = Buffer.concat(Array(10000).fill(copyIn));
      for (let i = 0; i < 50; i++) conversation.say(many);
      conversation.socket.on('data', chunk => {
        written += chunk.length;
      });
    });
    await assert.rejects(client.simpleQuery('COPY t FROM STDIN'), { name: 'ConnectionError', code: '08P01' });
    assert.equal(client.state, 'closed');
    assert.ok(written < 1000, `${written} bytes of CopyFail`);
  });

  it('refuses an answer that is none, and ends the connection', async () => {
    const row = dataRow('1');
    for (const [name, ...answer] of [
      ['rows that were not described', row],
      ['rows of the statement before', rowDescription('a'), row, commandComplete('SELECT 1'), row],
      ['ReadyForQuery at once', ANSWER.ready],
      ['ReadyForQuery in the middle of the rows', rowDescription('a'), row, ANSWER.ready],
      ['BindComplete', ANSWER.bindComplete],
      ['more after an error', ANSWER.error('22012', 'no'), row],
      ['a message of no type', message('?')],
      ['an error after an error', ANSWER.error('22012', 'no'), ANSWER.error('22012', 'no')],
      ['data without CopyOutResponse', message('d', Buffer.from('1'))],
      ['data among rows', rowDescription('a'), row, message('d', Buffer.from('1'))],
      ['rows among data', message('H', Buffer.from([0, 0, 0])), message('d', Buffer.from('1')), row],
      ['CopyOutResponse among rows', rowDescription('a'), row, message('H', Buffer.from([0, 0, 0]))],
      ['CopyDone without CopyOutResponse', message('c')],
      ['PortalSuspended', rowDescription('a'), row, message('s')],
      ['a description cut short', hex("54 0000000a 0001 'a' 00 0000")]
    ]) {
      const client = await answering(...answer);
      const [first, second] = await Promise.allSettled([
        client.simpleQuery('SELECT a; SELECT b'),
        client.query('SELECT 1')
      ]);
      assert.equal(first.status, 'rejected', name);
      assert.equal(first.reason.code, '08P01', `${name}: ${first.reason}`);
      assert.equal(second.reason.code, '08P01', name);
      assert.equal(client.state, 'closed');
    }
  });
});
