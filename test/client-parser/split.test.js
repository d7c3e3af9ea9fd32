'use strict';

const assert = require('node:assert/strict');
const { startServer } = require('pg-test-fixtures');
const { int16, int32, message, record } = require('./query');

const query = text => message('Q', `${text}\0`);

/** Parse, Bind, Describe, Execute and Sync; binary results for format 1. */
const extended = (name, text, format, limit = 0) =>
  Buffer.concat([
    ...(text === null ? [] : [message('P', `${name}\0${text}\0`, int16(0))]),
    message('B', `\0${name}\0`, int16(0), int16(0), int16(1), int16(format)),
    message('D', 'P\0'),
    message('E', '\0', int32(limit)),
    message('S')
  ]);

const SESSION = [
  query('CREATE TEMP TABLE t (a int, b text)'),
  query("DO $$ BEGIN RAISE NOTICE 'first'; END $$"),
  query("LISTEN c; NOTIFY c, 'payload'"),
  query(''),
  query("SELECT 1 AS one, NULL AS nothing, 'ä' AS \"Ä\"; SELECT repeat('long ', 100) AS long"),
  extended('s', "SELECT i, i::text AS t, now() > '2000-01-01' AS b FROM generate_series(1, 20) AS i", 1),
  extended('s', null, 0),
  extended('', "SELECT '\\x00ff'::bytea AS bytes, 2.50 AS n", 1),
  extended('', 'SELECT * FROM generate_series(1, 5)', 0, 3),
  extended('', "INSERT INTO t VALUES (1, 'x'), (2, NULL)", 0),
  extended('', 'SELECT 1 / 0', 0),
  query('SELEC'),
  query('COPY t FROM STDIN'),
  message('d', '3\tthree\n4\t\\N\n'),
  message('c'),
  query('COPY t TO STDOUT'),
  query('COPY (SELECT 1) TO STDOUT (FORMAT binary)'),
  query('SELECT FROM t'),
  query('SELECT 1 AS a, 2 AS a')
];

describe('client-parser, a recorded session', () => {
  let Client;
  let server;
  let bytes;

  before(async () => {
    ({ Client } = await import('../../client-parser/index.js'));
    server = await startServer({ auth: 'trust' });
    bytes = await record(server, SESSION);
  });
  after(() => server?.stop());

  /** What becomes of the session when it arrives in these chunks. */
  function read(chunks) {
    const client = new Client(0, { decode: true });
    const errors = [];
    const take = step => {
      try {
        step();
      } catch (error) {
        if (error.name !== 'PostgresError') throw error;
        errors.push([client.stream.structs.length, error.code, error.message]);
        take(() => client.onData(new Uint8Array(0)));
      }
    };
    for (const chunk of chunks) take(() => client.onData(Uint8Array.from(chunk)));
    client.end();
    const { structs, cmd, rowCount } = client.stream;
    const values = structs.map(row => (row.toArray ? [row.toObject(), row.toArray()] : row));
    return { rows: values, cmd, rowCount, errors };
  }

  function cut(size) {
    const chunks = [];
    for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
    return chunks;
  }

  it('is read whole', () => {
    const { rows, cmd, rowCount, errors } = read([bytes]);
    assert.deepEqual(rows[0], [{ one: 1, nothing: null, Ä: 'ä' }, [1, null, 'ä']]);
    assert.deepEqual(rows[1], [{ long: 'long '.repeat(100) }, ['long '.repeat(100)]]);
    assert.deepEqual(rows[2], [{ i: 1, t: '1', b: true }, [1, '1', true]]);
    assert.deepEqual(rows[22], rows[2]);
    assert.deepEqual(rows[42][1], [Uint8Array.of(0, 255), '2.50']);
    assert.deepEqual(
      rows.slice(43, 46).map(row => row[1]),
      [[1], [2], [3]]
    );
    assert.deepEqual(
      rows.slice(46, 50).map(row => Buffer.from(row).toString()),
      ['1\tx\n', '2\t\\N\n', '3\tthree\n', '4\t\\N\n']
    );
    assert.equal(Buffer.from(rows[50]).toString('latin1', 0, 6), 'PGCOPY');
    assert.deepEqual(rows.slice(-5), [...Array(4).fill([{}, []]), [{ a: 2 }, [1, 2]]]);
    assert.deepEqual([cmd, rowCount], ['SELECT', 1]);
    assert.deepEqual(
      errors.map(([, code]) => code),
      ['22012', '42601']
    );
  });

  it('is read the same in chunks of any size', () => {
    const whole = read([bytes]);
    for (const size of [1, 2, 3, 5, 7, 11, 13, 64, 100, 1000]) {
      assert.deepEqual(read(cut(size)), whole, `${size}`);
    }
  });

  it('is read the same when cut at any byte', () => {
    const whole = read([bytes]);
    for (let at = 1; at < bytes.length; at++) {
      assert.deepEqual(read([bytes.subarray(0, at), bytes.subarray(at)]), whole, `at ${at}`);
    }
  });
});
