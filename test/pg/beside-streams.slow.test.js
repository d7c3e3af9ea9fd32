'use strict';

// Sequences of cursors and streams beside node-postgres: pg-cursor, pg-query-stream and pg-copy-streams tell the same.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { createRequire } = require('node:module');
const path = require('node:path');
const { Readable, Writable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const ours = require('../../lib/pg');
const { sharedServer } = require('../support');
const { installed } = require('../support/folder');

const NUMBERS = 'SELECT n FROM generate_series(1, $1::int) n';
const FAILING = 'SELECT 10 / (3 - n) AS x FROM generate_series(1, 5) n';
const MANY = 'SELECT n FROM generate_series(1, 200000) n';

/** What is told of an error. */
const errorOf = ({ name, code, message }) => ({ name, code, message });
/** What a promise comes to. */
const outcome = promise => promise.then(value => value ?? null, errorOf);
const numbers = rows => rows.map(({ n }) => n);

/** Each has a connected client with a table `t (a int PRIMARY KEY, b text)`, the packages, and `tell`. */
const SEQUENCES = {
  async 'a cursor is read to its end, and then has nothing'({ client, Cursor, tell }) {
    const cursor = client.query(new Cursor(NUMBERS, [5]));
    for (const count of [2, 2, 2, 2]) tell(await cursor.read(count));
    await cursor.close();
  },
  async 'a cursor is read exactly to its end'({ client, Cursor, tell }) {
    const cursor = client.query(new Cursor(NUMBERS, [4]));
    for (const count of [4, 4]) tell(await cursor.read(count));
    tell(await outcome(cursor.close()));
  },
  async 'a cursor is read on in the callback of a read'({ client, Cursor, tell }) {
    const cursor = client.query(new Cursor(NUMBERS, [5]));
    await new Promise(resolve => {
      cursor.read(2, function next(error, rows) {
        tell(error ?? null, rows);
        if (rows.length > 0) cursor.read(2, next);
        else cursor.close(resolve);
      });
    });
  },
  async 'a cursor is closed before it is read'({ client, Cursor, tell }) {
    const cursor = client.query(new Cursor(NUMBERS, [5]));
    tell(await outcome(cursor.close()), (await client.query('SELECT 1 AS a')).rows);
  },
  async 'a cursor is closed twice'({ client, Cursor, tell }) {
    const cursor = client.query(new Cursor(MANY));
    tell(await cursor.read(2), await outcome(cursor.close()), await outcome(cursor.close()));
    tell((await client.query('SELECT 1 AS a')).rows);
  },
  async 'a closed cursor is read'({ client, Cursor, tell }) {
    const cursor = client.query(new Cursor(MANY));
    tell(await cursor.read(2), await outcome(cursor.close()), await outcome(cursor.read(2)));
  },
  async 'a cursor is closed while it is read'({ client, Cursor, tell }) {
    const cursor = client.query(new Cursor(NUMBERS, [50]));
    tell(...(await Promise.all([outcome(cursor.read(2)), outcome(cursor.close())])));
    tell((await client.query('SELECT 1 AS a')).rows);
  },
  async 'a query waits for the cursor before it'({ client, Cursor, tell }) {
    const cursor = client.query(new Cursor(MANY));
    const query = client.query('SELECT 1 AS a').then(({ rows }) => tell(rows));
    tell(await cursor.read(2));
    tell(await cursor.read(1));
    await cursor.close();
    await query;
  },
  async 'two cursors follow each other'({ client, Cursor, tell }) {
    const [one, other] = [3, 4].map(count => client.query(new Cursor(NUMBERS, [count])));
    tell(await one.read(9));
    tell(await one.read(9));
    tell(await other.read(2), await other.read(9), await other.read(9));
  },
  async 'a cursor whose text cannot be parsed'({ client, Cursor, tell }) {
    const cursor = client.query(new Cursor('SELEC 1'));
    tell(await outcome(cursor.read(2)), await outcome(cursor.read(2)));
    tell((await client.query('SELECT 1 AS a')).rows);
  },
  async 'a cursor that fails at its third row'({ client, Cursor, tell }) {
    const cursor = client.query(new Cursor(FAILING));
    for (const count of [1, 1, 1, 1]) tell(await outcome(cursor.read(count)));
    tell((await client.query('SELECT 1 AS a')).rows);
  },
  async 'a cursor that fails among the rows that are read'({ client, Cursor, tell }) {
    const cursor = client.query(new Cursor(FAILING));
    tell(await outcome(cursor.read(9)), await outcome(cursor.close()));
    tell((await client.query('SELECT 1 AS a')).rows);
  },
  async 'a cursor of INSERT … RETURNING'({ client, Cursor, tell }) {
    const cursor = client.query(new Cursor('INSERT INTO t SELECT n FROM generate_series(1, 5) n RETURNING a'));
    tell(await cursor.read(2), await outcome(cursor.close()));
    tell((await client.query('SELECT count(*) FROM t')).rows);
  },
  async 'cursors of statements without rows'({ client, Cursor, tell }) {
    for (const text of ['SET application_name = x', 'CREATE TEMP TABLE other (a int)', 'DELETE FROM t', '']) {
      const cursor = client.query(new Cursor(text));
      tell(text, await outcome(cursor.read(2)), await outcome(cursor.read(2)));
    }
  },
  async 'rows of a cursor as arrays, and of types of its own'({ client, Cursor, tell }) {
    const types = { getTypeParser: (oid, format) => text => [oid, format, String(text)] };
    for (const config of [{ rowMode: 'array' }, { types }, { rowMode: 'array', types }]) {
      const cursor = client.query(new Cursor("SELECT 1 AS a, 'x' AS b, NULL AS b", [], config));
      tell(await cursor.read(2), await cursor.read(2));
    }
  },
  async 'values of a cursor'({ client, Cursor, tell }) {
    const text =
      'SELECT $1::text AS a, $2::bytea AS b, $3::timestamptz AS c, $4::int[] AS d, $5::jsonb AS e, $6::text AS f';
    const values = [null, Buffer.from([0, 255]), new Date(0), [1, null], { a: [1] }, undefined];
    const cursor = client.query(new Cursor(text, values));
    tell(await cursor.read(2), await cursor.read(2));
  },
  async 'a cursor with a value that the type does not take'({ client, Cursor, tell }) {
    const cursor = client.query(new Cursor(NUMBERS, ['x']));
    tell(await outcome(cursor.read(2)));
    tell((await client.query('SELECT 1 AS a')).rows);
  },
  async 'callbacks of a cursor have its result'({ client, Cursor, tell }) {
    const cursor = client.query(new Cursor(NUMBERS, [3]));
    const read = count =>
      new Promise(resolve => {
        cursor.read(count, (error, rows, result) => {
          const { command, rowCount, fields } = result ?? {};
          resolve(
            tell(
              error ?? null,
              rows,
              command,
              rowCount,
              fields?.map(({ name, dataTypeID }) => [name, dataTypeID])
            )
          );
        });
      });
    for (const count of [2, 2, 2]) await read(count);
    await new Promise(resolve => cursor.close(error => resolve(tell(error ?? null))));
  },
  async 'events of a cursor'({ client, Cursor, tell }) {
    for (const text of ['SELECT n FROM generate_series(1, 3) n', 'SELECT 1 / 0']) {
      const cursor = client.query(new Cursor(text));
      cursor.on('row', (row, result) => tell('row', row, result.rows.length));
      cursor.on('end', ({ command, rowCount }) => tell('end', command, rowCount));
      cursor.on('error', error => tell('error', errorOf(error)));
      tell(await outcome(cursor.read(9)));
      await outcome(cursor.read(9));
    }
  },
  async 'a cursor that fails in a transaction'({ client, Cursor, tell }) {
    await client.query('BEGIN');
    const cursor = client.query(new Cursor(FAILING));
    tell(await outcome(cursor.read(9)));
    tell(await outcome(client.query('SELECT 1')), (await client.query('ROLLBACK')).command);
    tell((await client.query('SELECT 1 AS a')).rows);
  },
  async 'a cursor is open while its transaction goes on'({ client, Cursor, tell }) {
    await client.query('BEGIN');
    const cursor = client.query(new Cursor(NUMBERS, [9]));
    tell(await cursor.read(2));
    await cursor.close();
    tell((await client.query('INSERT INTO t VALUES (1) RETURNING a')).rows, (await client.query('COMMIT')).command);
  },
  async 'a client ends while a cursor is open'({ client, Cursor, tell }) {
    const cursor = client.query(new Cursor(MANY));
    tell(await cursor.read(2));
    tell(await outcome(client.end()));
  },
  async 'the server ends the connection while a cursor is open'({ client, Cursor, tell, kill }) {
    client.on('error', () => {});
    const cursor = client.query(new Cursor(MANY));
    tell(await cursor.read(2));
    const ended = new Promise(resolve => client.once('end', resolve)); // both know of the loss when they read
    await kill();
    await ended;
    tell((await outcome(cursor.read(2))).name);
  },
  async 'a cursor runs into statement_timeout'({ client, Cursor, tell }) {
    await client.query('SET statement_timeout = 100');
    const cursor = client.query(new Cursor('SELECT n, pg_sleep(n) FROM generate_series(0, 9) n'));
    tell(await outcome(cursor.read(9)));
    tell((await client.query('SELECT 1 AS a')).rows);
  },
  async 'a stream is read, one row and some rows at a time'({ client, QueryStream, tell }) {
    for (const batchSize of [1, 7, 1000]) {
      const rows = await client.query(new QueryStream(NUMBERS, [50], { batchSize, highWaterMark: 5 })).toArray();
      tell(numbers(rows));
    }
  },
  async 'a stream without rows'({ client, QueryStream, tell }) {
    for (const text of ['SELECT 1 WHERE false', 'SET application_name = x', ''])
      tell(await client.query(new QueryStream(text)).toArray());
  },
  async 'a loop over a stream is left, by break and by an error'({ client, QueryStream, tell }) {
    for await (const { n } of client.query(new QueryStream(MANY))) if (n === 150) break;
    tell((await client.query('SELECT 1 AS a')).rows);
    const loop = async () => {
      for await (const { n } of client.query(new QueryStream(MANY))) if (n === 150) throw new Error('enough');
    };
    tell(await outcome(loop()), (await client.query('SELECT 1 AS a')).rows);
  },
  async 'a stream that fails at once, and at its third row'({ client, QueryStream, tell }) {
    for (const text of ['SELEC 1', FAILING]) {
      for (const batchSize of [1, 100]) {
        const rows = [];
        const loop = async () => {
          for await (const row of client.query(new QueryStream(text, [], { batchSize }))) rows.push(row);
        };
        tell(await outcome(loop()), rows, (await client.query('SELECT 1 AS a')).rows);
      }
    }
  },
  async 'a stream is destroyed before it is read, with and without an error'({ client, QueryStream, tell }) {
    for (const reason of [undefined, new Error('enough')]) {
      const stream = client.query(new QueryStream(MANY)).on('error', error => tell(errorOf(error)));
      const closed = once(stream, 'close').catch(() => {});
      stream.destroy(reason);
      await closed;
      tell((await client.query('SELECT 1 AS a')).rows);
    }
  },
  async 'a pipeline of a stream has backpressure, and ends'({ client, QueryStream, tell }) {
    const seen = [];
    const slow = new Writable({
      objectMode: true,
      highWaterMark: 1,
      write: ({ n }, _, done) => setImmediate(done, seen.push(n) && null)
    });
    await pipeline(client.query(new QueryStream(NUMBERS, [300], { batchSize: 20 })), slow);
    tell(seen);
  },
  async 'a pipeline of a stream is aborted'({ client, QueryStream, tell }) {
    const controller = new AbortController();
    const slow = new Writable({
      objectMode: true,
      write: ({ n }, _, done) => setImmediate(done, n === 30 ? controller.abort() : null)
    });
    const work = pipeline(client.query(new QueryStream(MANY)), slow, { signal: controller.signal });
    tell(await outcome(work), (await client.query('SELECT 1 AS a')).rows);
  },
  async 'two streams and a query follow each other'({ client, QueryStream, tell }) {
    const streams = [3, 4].map(count => client.query(new QueryStream(NUMBERS, [count])));
    const query = client.query('SELECT 1 AS a');
    for (const stream of streams) tell(numbers(await stream.toArray()));
    tell((await query).rows);
  },
  async 'helpers of a stream'({ client, QueryStream, tell }) {
    const open = () => client.query(new QueryStream(NUMBERS, [50]));
    tell(
      await open().take(3).toArray(),
      await open()
        .filter(({ n }) => n % 9 === 0)
        .toArray()
    );
    tell(
      await open()
        .map(({ n }) => n * 2)
        .drop(47)
        .toArray(),
      (await client.query('SELECT 1 AS a')).rows
    );
  },
  async 'rows of a stream as arrays, and of types of its own'({ client, QueryStream, tell }) {
    const types = { getTypeParser: () => text => `${text}!` };
    for (const config of [{ rowMode: 'array' }, { types }])
      tell(await client.query(new QueryStream("SELECT 1 AS a, 'x' AS b", [], config)).toArray());
  },
  async 'COPY FROM STDIN takes pieces that end anywhere'({ client, copy, tell, rows }) {
    const bytes = Buffer.from('1\tx\n2\té\n3\t\\N\n');
    const stream = await copy('COPY t FROM STDIN', ...Array.from(bytes, byte => Buffer.from([byte])));
    tell(stream.rowCount, await rows());
  },
  async 'COPY FROM STDIN without data'({ client, copy, tell, rows }) {
    tell((await copy('COPY t FROM STDIN')).rowCount, await rows());
    tell((await copy('COPY t FROM STDIN', Buffer.alloc(0))).rowCount, await rows());
  },
  async 'COPY FROM STDIN of CSV with a header, and with \\.'({ client, copy, tell, rows }) {
    tell((await copy('COPY t FROM STDIN (FORMAT csv, HEADER)', 'a,b\n1,"x\ny"\n')).rowCount, await rows());
    tell((await copy('COPY t FROM STDIN', '2\tx\n\\.\n')).rowCount, await rows());
  },
  async 'COPY FROM STDIN that fails, for each of its reasons'({ client, copy, tell, rows }) {
    for (const [text, data] of [
      ['COPY t FROM STDIN', 'x\ty\n'],
      ['COPY t FROM STDIN', '1\tx\n1\ty\n'],
      ['COPY t FROM STDIN', '1\tx\ty\n'],
      ['COPY nothing FROM STDIN', '1\n'],
      ['COPY t FROM STDI', '1\n'],
      ['COPY t FROM STDIN (FORMAT binary)', 'x']
    ])
      tell(text, await outcome(copy(text, data)), await rows());
  },
  async 'COPY FROM STDIN is destroyed'({ client, from, tell, rows }) {
    for (const [text, reason] of [
      ['COPY t FROM STDIN', undefined],
      ['COPY t FROM STDIN', new Error('enough')],
      ['TRUNCATE t; COPY t FROM STDIN', new Error('enough')]
    ]) {
      const stream = client.query(from(text)).on('error', error => tell(errorOf(error)));
      stream.write('1\tx\n');
      const closed = once(stream, 'close').catch(() => {});
      stream.destroy(reason);
      await closed;
      tell(await rows());
    }
  },
  async 'COPY FROM STDIN in a transaction'({ client, copy, tell, rows }) {
    await client.query('BEGIN');
    await copy('COPY t FROM STDIN', '1\tx\n');
    tell(await rows(), (await client.query('ROLLBACK')).command, await rows());
    await client.query('BEGIN');
    tell(await outcome(copy('COPY t FROM STDIN', 'x\n')), await outcome(client.query('SELECT 1')));
    tell((await client.query('COMMIT')).command, await rows());
  },
  async 'COPY FROM STDIN with statements around it'({ client, copy, tell, rows }) {
    await client.query('INSERT INTO t VALUES (9)');
    for (const text of [
      'TRUNCATE t; COPY t FROM STDIN',
      'BEGIN; DELETE FROM t; COPY t FROM STDIN; COMMIT',
      'TRUNCATE t; COPY t FROM STDIN; ANALYZE t'
    ])
      tell(text, await outcome(copy(text, '1\tx\n').then(({ rowCount }) => rowCount)), await rows());
  },
  async 'a query waits for the copy before it'({ client, from, tell }) {
    const stream = client.query(from('COPY t FROM STDIN'));
    const query = client.query('SELECT a FROM t');
    stream.end('1\tx\n');
    tell((await query).rows);
  },
  async 'COPY TO STDOUT, as text, CSV and binary, and of nothing'({ client, to, tell }) {
    await client.query("INSERT INTO t VALUES (1, 'é'), (2, NULL)");
    for (const text of [
      't TO STDOUT',
      't TO STDOUT (FORMAT csv, HEADER)',
      't TO STDOUT (FORMAT binary)',
      '(SELECT 1 WHERE false) TO STDOUT'
    ]) {
      const stream = client.query(to(`COPY ${text}`));
      tell(Buffer.concat(await stream.toArray()).toString('hex'), stream.rowCount);
    }
  },
  async 'COPY TO STDOUT that fails at once, and among its rows'({ client, to, tell }) {
    for (const text of ['COPY nothing TO STDOUT', 'COPY t TO STDOU', `COPY (${FAILING}) TO STDOUT`])
      tell(await outcome(client.query(to(text)).toArray()), (await client.query('SELECT 1 AS a')).rows);
  },
  async 'COPY TO STDOUT into a slow stream'({ client, to, tell }) {
    let length = 0;
    const slow = new Writable({
      highWaterMark: 1,
      write: (piece, _, done) => setImmediate(done, (length += piece.length) && null)
    });
    await pipeline(client.query(to(`COPY (${MANY}) TO STDOUT`)), slow);
    tell(length, (await client.query('SELECT 1 AS a')).rows);
  },
  async 'COPY goes from one client to another'({ client, other, from, to, tell, rows }) {
    await pipeline(
      other.query(to("COPY (SELECT n, 'x' FROM generate_series(1, 1000) n) TO STDOUT")),
      client.query(from('COPY t FROM STDIN'))
    );
    tell((await rows()).length);
  }
};

describe('Sequences of cursors and streams beside pg', function () {
  this.timeout(30000);
  let implementations;
  let packages;
  const { noDeprecation } = process;
  after(() => {
    process.noDeprecation = noDeprecation;
  });
  before(function () {
    process.noDeprecation = true; // pg's, of queries that wait for each other
    const load = createRequire(path.join(installed(this, 'ecosystem'), 'package.json'));
    const { from, to } = load('pg-copy-streams');
    packages = { Cursor: load('pg-cursor'), QueryStream: load('pg-query-stream'), from, to };
    implementations = [load('pg'), ours];
  });

  /** What a sequence tells with the client of an implementation. */
  async function told({ Client }, sequence) {
    const { config } = await sharedServer();
    const clients = [1, 2].map(() => new Client(config));
    const [client, other] = clients;
    await Promise.all(clients.map(each => each.connect()));
    const said = [];
    try {
      const { rows: pids } = await client.query('SELECT pg_backend_pid() AS pid');
      await client.query('CREATE TEMP TABLE t (a int PRIMARY KEY, b text)');
      await sequence({
        client,
        other,
        ...packages,
        tell: (...what) => said.push(JSON.parse(JSON.stringify(what))),
        kill: () => other.query('SELECT pg_terminate_backend($1)', [pids[0].pid]),
        rows: async () => (await client.query('SELECT * FROM t ORDER BY a')).rows,
        async copy(text, ...pieces) {
          const stream = client.query(packages.from(text));
          await pipeline(Readable.from(pieces), stream);
          return stream;
        }
      });
      return said;
    } finally {
      await Promise.all(clients.map(each => each.end()));
    }
  }

  for (const [title, sequence] of Object.entries(SEQUENCES)) {
    it(title, async () => {
      const [theirs, found] = await Promise.all(implementations.map(each => told(each, sequence)));
      assert.ok(theirs.length > 0);
      assert.deepEqual(found, theirs);
    });
  }
});
