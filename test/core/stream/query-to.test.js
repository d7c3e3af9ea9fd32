'use strict';

const assert = require('node:assert/strict');
const { createHash } = require('node:crypto');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { PassThrough, Writable } = require('node:stream');
const { setImmediate: turn, setTimeout: sleep } = require('node:timers/promises');
const zlib = require('node:zlib');
const { skipUnless } = require('pg-test-fixtures');
const { Client, AbortError, ConnectionError, PostgresError } = require('../../..');
const { LEASE } = require('../../../lib/core/internal');
const { ROWS } = require('../../support/slow-reader');
const {
  ANSWER,
  activity,
  answering,
  commandComplete,
  connected,
  dataRow,
  faked,
  hex,
  message,
  proxied,
  running,
  sharedServer
} = require('../../support');
const { collector, slow, standstill, until } = require('../../support/kit');
const { SESSIONS, table } = require('../../rules/kit');
const { read } = require('./targets');

/** Waits until the server process of a client has nothing to do; gives the milliseconds it took. */
async function untilIdle(client) {
  const start = performance.now();
  await until(async () => (await activity(client)) === 'idle');
  return performance.now() - start;
}

describe('queryTo', () => {
  describe('as protocol', () => {
    const TEXT = 'SELECT id, name, email FROM users WHERE email::int < $1 ORDER BY email::int';

    it('writes bytes that need no earlier state to be read, however often the statement was used', async () => {
      const client = await connected();
      const expected = (await client.query(TEXT, [5])).rows.map(row => row.toArray());
      for (const cache of [true, true, false]) {
        const target = collector();
        const result = await client.queryTo(target, TEXT, [5], { cache });
        assert.deepEqual(result, { cmd: 'SELECT', rowCount: 5, bytes: target.bytes.length });
        assert.deepEqual(await read(target.bytes), {
          rows: expected,
          error: undefined,
          columns: ['id', 'name', 'email'],
          cmd: 'SELECT',
          rowCount: 5
        });
      }
    });

    it('says in the RowDescription that columns are binary', async () => {
      const client = await connected();
      const target = collector();
      await client.queryTo(target, 'SELECT 1::int4 AS a, 2::int8 AS b', [], { format: Client.BINARY });
      assert.deepEqual((await read(target.bytes, { decode: true })).rows, [[1, 2]]);
    });

    it('passes on a large result byte for byte', async () => {
      const client = await connected();
      const text = "SELECT i, md5(i::text), repeat('ab', i % 700) FROM generate_series(1, 20000) AS i";
      const hash = createHash('sha256');
      const { bytes } = await client.queryTo(hash, text);
      // The same, put together from single messages.
      const expected = createHash('sha256');
      let length = 0;
      await client.query(text, [], Client.STRING, true, {
        write(packet) {
          expected.update(packet);
          length += packet.length;
        }
      });
      assert.equal(bytes, length);
      assert.equal(hash.read().toString('hex'), expected.digest('hex'));
    });

    it('passes on commands without rows, empty queries and COPY TO STDOUT', async () => {
      const client = await connected();
      const target = collector();
      assert.deepEqual(await client.queryTo(target, 'CREATE TEMP TABLE passed (a int)', [], { end: false }), {
        cmd: 'CREATE TABLE',
        rowCount: 0,
        bytes: 18
      });
      assert.deepEqual(await client.queryTo(target, '', [], { end: false }), { cmd: undefined, rowCount: 0, bytes: 5 });
      assert.deepEqual(target.bytes, Buffer.concat([commandComplete('CREATE TABLE'), message('I')]));
      const copied = collector();
      assert.equal((await client.queryTo(copied, 'COPY (VALUES (1), (2)) TO STDOUT')).rowCount, 2);
      assert.deepEqual(
        copied.bytes,
        Buffer.concat([
          message('H', hex('00 0001 0000')),
          message('d', '1\n'),
          message('d', '2\n'),
          message('c'),
          commandComplete('COPY 2')
        ])
      );
    });

    it('ends the stream after an error on row 50,000 with severity, code and message only', async () => {
      const client = await connected();
      const target = collector();
      const error = await client
        .queryTo(target, 'SELECT 1 / (50000 - i) FROM generate_series(1, 100000) AS i')
        .catch(error => error);
      assert.equal(error.code, '22012');
      assert.equal(error.routine, 'int4div');
      assert.match(error.stack, /query-to\.test\.js/);
      assert.ok(target.writableFinished);
      const result = await read(target.bytes);
      assert.equal(result.rows.length, 49999);
      assert.equal(result.error.name, 'PostgresError');
      assert.deepEqual({ ...result.error }, { severity: 'ERROR', code: '22012' });
      assert.equal(result.error.message, 'division by zero');
      assert.equal((await client.query('SELECT 1 AS a')).rows[0].a, 1);
    });

    it('tells the reader that the connection was lost, and nothing of where to', async () => {
      const { client, wire } = await proxied();
      const target = slow({ highWaterMark: 1 });
      const result = client.queryTo(target, ROWS);
      await target.asked();
      wire.reset();
      target.hurry();
      await assert.rejects(result, ConnectionError);
      await once(target, 'finish');
      const { error } = await read(target.bytes);
      assert.deepEqual({ ...error }, { severity: 'FATAL', code: '08006' });
      assert.equal(error.message, 'the connection to the database was lost');
    });
  });

  it('rejects in the order of the calls if a stream that stays open got nothing', async () => {
    const client = await faked(async conversation => {
      await conversation.request();
      await conversation.request();
      const rest = Buffer.concat([ANSWER.described('a'), commandComplete('SELECT 0'), ANSWER.ready]);
      conversation.say(ANSWER.error('42601', 'syntax error'), ANSWER.ready, rest); // read together
    });
    const over = [];
    await Promise.all([
      client.queryTo(collector(), 'SELECT 1', [], { end: false }).catch(({ code }) => over.push(code)),
      client.query('SELECT 2').then(({ cmd }) => over.push(cmd))
    ]);
    assert.deepEqual(over, ['42601', 'SELECT']);
  });

  it('passes on the rows that were read together with what has ended the connection', async () => {
    for (const end of [true, false]) {
      const target = collector();
      const client = await faked(async conversation => {
        await conversation.request();
        conversation.say(ANSWER.described('a'), dataRow('one'));
        await until(() => target.taken > 0);
        conversation.say(dataRow('two'), 'no message');
      });
      await assert.rejects(client.queryTo(target, 'SELECT a', [], { end }), { code: '08P01' });
      const { rows, error } = await read(target.bytes);
      assert.deepEqual([rows, error.code], [[['one'], ['two']], '08006']);
    }
  });

  describe('as values', () => {
    it('writes a JSON column as psql prints it', async function () {
      skipUnless(this, 'psql');
      const server = await sharedServer();
      const client = await connected();
      const target = collector();
      const text = 'SELECT json_agg(u) FROM users u';
      const { bytes, rowCount } = await client.queryTo(target, text, [], { as: 'values' });
      assert.equal(`${target.text}\n`, await server.psql(text));
      assert.equal(JSON.parse(target.text).length, 1000);
      assert.deepEqual([bytes, rowCount], [target.bytes.length, 1]);
    });

    it('writes a separator between the rows: lines of JSON need no parsing either', async function () {
      skipUnless(this, 'psql');
      const server = await sharedServer();
      const client = await connected();
      const text = 'SELECT to_json(u) FROM users u ORDER BY email::int';
      for (const separator of ['\n', Buffer.from('\n')]) {
        const target = collector();
        await client.queryTo(target, text, [], { as: 'values', separator });
        assert.equal(`${target.text}\n`, await server.psql(text));
      }
    });

    it('writes separators of any length, in large results and small ones', async () => {
      const client = await connected();
      const values = (i, columns) => Array.from({ length: columns }, (_, j) => (i % (j + 3) === 0 ? '' : `${i}_${j}`));
      for (let length = 0; length < 14; length++) {
        const separator = '-'.repeat(length);
        const columns = (length % 3) + 1;
        const list = Array.from({ length: columns }, (_, j) => `CASE WHEN i % ${j + 3} <> 0 THEN i || '_${j}' END`);
        for (const count of [3, 8000]) {
          const target = collector();
          const text = `SELECT ${list} FROM generate_series(1, ${count}) AS i`;
          await client.queryTo(target, text, [], { as: 'values', separator });
          const rows = Array.from({ length: count }, (_, i) => values(i + 1, columns).join(''));
          assert.ok(target.text === rows.join(separator), `separator of ${length}, ${count} rows`);
        }
      }
    });

    it('writes the values of several columns one after another, and nothing for NULL', async () => {
      const client = await connected();
      const target = collector();
      await client.queryTo(
        target,
        `VALUES ('a', '1'), (NULL, repeat('x', 50)), ('', NULL), (NULL, NULL), ('é', '2')`,
        [],
        { as: 'values', separator: ', ' }
      );
      assert.equal(target.text, `a1, ${'x'.repeat(50)}, , , é2`);
    });

    it('writes the bytes of binary columns, and nothing for no rows', async () => {
      const client = await connected();
      const target = collector();
      await client.queryTo(target, "SELECT '\\x00ff10'::bytea", [], {
        as: 'values',
        format: Client.BINARY,
        end: false
      });
      await client.queryTo(target, 'SELECT 1 WHERE false', [], { as: 'values', end: false });
      assert.deepEqual(target.bytes, hex('00ff10'));
      const { bytes, rowCount } = await client.queryTo(target, 'SELECT 1 WHERE false', [], { as: 'values' });
      assert.deepEqual([bytes, rowCount, target.writableFinished, target.bytes.length], [0, 0, true, 3]);
    });

    it('writes the data of COPY TO STDOUT: a table as CSV', async () => {
      const client = await connected();
      const target = collector();
      const { rowCount } = await client.queryTo(target, "COPY (VALUES (1, 'a,b'), (2, NULL)) TO STDOUT CSV", [], {
        as: 'values'
      });
      assert.equal(target.text, '1,"a,b"\n2,\n');
      assert.equal(rowCount, 2);
    });

    it('destroys the target when the query fails after something was written', async () => {
      const client = await connected();
      const target = collector();
      const text = 'SELECT 10000000 + 1 / (50000 - i) FROM generate_series(1, 100000) AS i';
      const result = client.queryTo(target, text, [], {
        as: 'values'
      });
      await assert.rejects(result, { code: '22012' });
      assert.equal(target.destroyed, true);
      assert.equal(target.writableFinished, false);
      assert.equal(target.errored.code, '22012');
    });

    it('does not show what lies behind a row that claims to be longer than it is', async () => {
      for (const row of ["0001 00000005 'abcd'", "0001 fffffffe 'abcd'", '0002 00000000', '0001', '0001 00 00', '']) {
        const client = await answering(
          ANSWER.described('a'),
          message('D', hex(row)),
          commandComplete('SELECT 1'),
          ANSWER.ready
        );
        const target = collector();
        await assert.rejects(client.queryTo(target, 'SELECT 1', [], { as: 'values' }), error => {
          assert.match(error.message, /protocol violation/, row);
          return error.code === '08P01';
        });
        assert.equal(target.bytes.length, 0);
        assert.equal(client.state, 'closed');
      }
    });
  });

  for (const [as, failing] of [
    ['protocol', 'SELECT 1 / 0'],
    ['values', 'SELECT 1 / 0'],
    ['protocol', 'no SQL']
  ]) {
    it(`leaves the target as it was when '${failing}' fails before anything was written as ${as}`, async () => {
      const client = await connected();
      const target = collector();
      await assert.rejects(client.queryTo(target, failing, [], { as }), PostgresError);
      assert.deepEqual([target.chunks.length, target.writableEnded, target.destroyed], [0, false, false]);
      assert.deepEqual([target.listenerCount('error'), target.listenerCount('close')], [1, 1]); // until it has closed
      await client.queryTo(target, "SELECT 'still usable'", [], { as: 'values' });
      assert.equal(target.text, 'still usable');
    });
  }

  it('writes nothing of a result whose commit fails', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE deferred (a int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED)');
    const target = collector();
    const inserted = client.queryTo(target, 'INSERT INTO deferred VALUES (1), (1) RETURNING a');
    await assert.rejects(inserted, { code: '23505' });
    assert.equal(target.chunks.length, 0);
  });

  it('leaves the target open with end: false, for more results in the order of the calls', async () => {
    const client = await connected();
    const target = collector();
    const options = { as: 'values', end: false };
    await Promise.all(
      Array.from({ length: 30 }, (_, i) => client.queryTo(target, 'SELECT $1::text', [`${i} `], options))
    );
    assert.equal(target.text, Array.from({ length: 30 }, (_, i) => `${i} `).join(''));
    assert.equal(target.writableEnded, false);
    assert.deepEqual([target.listenerCount('error'), target.listenerCount('close')], [1, 1]);
  });

  it('resolves when the target has taken everything, and not before', async () => {
    const client = await connected();
    for (const end of [true, false]) {
      const target = slow();
      let resolved = false;
      const result = client.queryTo(target, 'SELECT 1', [], { end }).then(() => {
        resolved = true;
      });
      await target.asked();
      await client.query('SELECT 1');
      assert.equal(resolved, false);
      target.go();
      await result;
    }
  });

  describe('takes as a target', () => {
    const TEXT = "SELECT i, repeat('x', 100) FROM generate_series(1, 20000) AS i";
    let expected;
    before(async () => {
      const client = await connected();
      const target = collector();
      await client.queryTo(target, TEXT);
      expected = target.bytes;
      assert.ok(expected.length > 2000000);
    });

    it('a file', async () => {
      const client = await connected();
      const file = path.join(await fs.promises.mkdtemp(path.join(os.tmpdir(), 'query-to-')), 'result');
      try {
        assert.equal((await client.queryTo(fs.createWriteStream(file), TEXT)).bytes, expected.length);
        assert.ok(fs.readFileSync(file).equals(expected));
      } finally {
        await fs.promises.rm(path.dirname(file), { recursive: true });
      }
    });

    for (const [name, compress, decompress] of [
      ['gzip', zlib.createGzip, zlib.gunzipSync],
      [
        'Brotli',
        () => zlib.createBrotliCompress({ params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } }),
        zlib.brotliDecompressSync
      ]
    ]) {
      it(`a ${name} stream`, async () => {
        const client = await connected();
        const compressed = collector();
        const stream = compress();
        stream.pipe(compressed);
        await Promise.all([client.queryTo(stream, TEXT), once(compressed, 'finish')]);
        assert.ok(decompress(compressed.bytes).equals(expected));
      });
    }

    it('a WHATWG WritableStream, whose pace it keeps', async () => {
      const client = await connected();
      const chunks = [];
      let writing = 0;
      let closed = false;
      const stream = new WritableStream({
        async write(chunk) {
          assert.equal(++writing, 1);
          await turn();
          chunks.push(chunk);
          writing--;
        },
        close() {
          closed = true;
        }
      });
      await client.queryTo(stream, TEXT, [], { end: false });
      assert.equal(closed, false);
      assert.equal(stream.locked, false);
      await client.queryTo(stream, TEXT);
      assert.equal(closed, true);
      assert.ok(Buffer.concat(chunks).equals(Buffer.concat([expected, expected])));
    });

    it('a WHATWG WritableStream that queues nothing, and is never ready', async () => {
      const client = await connected();
      const chunks = [];
      const stream = new WritableStream({ write: chunk => void chunks.push(chunk) }, { highWaterMark: 0 });
      await client.queryTo(stream, TEXT, [], { stall_timeout: 1000 });
      assert.ok(Buffer.concat(chunks).equals(expected));
    });

    it('a WHATWG TransformStream that compresses', async () => {
      const client = await connected();
      const { readable, writable } = new CompressionStream('gzip');
      const [, compressed] = await Promise.all([client.queryTo(writable, TEXT), new Response(readable).arrayBuffer()]);
      assert.ok(zlib.gunzipSync(compressed).equals(expected));
    });

    it('any stream, and nothing else', async () => {
      const client = await connected();
      for (const target of [undefined, null, 1, 'a', {}, { write() {} }]) {
        await assert.rejects(client.queryTo(target, TEXT), TypeError);
      }
      const locked = new WritableStream();
      locked.getWriter();
      await assert.rejects(client.queryTo(locked, TEXT), TypeError);
    });
  });

  it('rejects wrong options with a TypeError before anything is sent', async () => {
    const { client, proxy } = await proxied();
    const before = proxy.stats.bytes.toServer;
    const target = collector();
    for (const options of [
      { as: 'rows' },
      { format: 2 },
      { separator: 1 },
      { signal: 1 },
      { paramTypes: 1 },
      { stall_timeout: -1 },
      { timeout: 1 }
    ]) {
      await assert.rejects(client.queryTo(target, 'SELECT 1', [], options), TypeError);
    }
    for (const [as, what] of [
      ['rows', "'rows'"],
      [1, 'a number'],
      [{}, 'an object']
    ])
      await assert.rejects(client.queryTo(target, 'SELECT 1', [], { as }), {
        name: 'TypeError',
        message: `as must be 'protocol' or 'values' or 'json' or 'ndjson', not ${what}`
      });
    await assert.rejects(client.queryTo(target, 'COPY users FROM STDIN'), TypeError);
    await assert.rejects(client.queryTo(target, 1), TypeError);
    await assert.rejects(client.queryTo(target, 'SELECT $1', [new Map()]), TypeError);
    assert.equal(proxy.stats.bytes.toServer, before);
    assert.deepEqual([target.writableEnded, target.destroyed], [false, false]);
  });

  describe('with a slow target', () => {
    it('does not read the connection once the buffer is full, so that little is in memory, and others wait', async () => {
      const client = await connected();
      const target = slow();
      const result = client.queryTo(target, ROWS);
      await target.asked();
      let answered = false;
      const other = client.query('SELECT 1').then(() => {
        answered = true;
      });
      const memory = process.memoryUsage.rss();
      await standstill(() => target.writableLength);
      assert.equal(answered, false);
      assert.ok(target.writableLength < 1.4e6, `${target.writableLength} bytes wait`);
      assert.ok(process.memoryUsage.rss() - memory < 16e6);
      assert.equal(await activity(client), 'active');
      client.destroy();
      target.destroy();
      await assert.rejects(result, ConnectionError);
      await assert.rejects(other, ConnectionError);
    });

    it('waits for one in object mode, too, which counts chunks instead of bytes', async () => {
      const client = await connected();
      const target = slow({ objectMode: true });
      const result = client.queryTo(target, ROWS);
      await target.asked();
      await standstill(() => target.writableLength);
      assert.ok(target.writableLength < 300, `${target.writableLength} chunks wait`);
      target.destroy();
      await assert.rejects(result, AbortError);
      assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, 7);
    });

    it('keeps nobody waiting once its result has been read', async () => {
      const client = await connected();
      const target = slow({ highWaterMark: 1 });
      const result = client.queryTo(target, "SELECT repeat('x', 50000)");
      await client.query('SELECT 1');
      target.hurry();
      await result;
    });
  });

  describe('with a target that goes away', () => {
    it('cancels a query whose stream stays open, on a connection that is there, before the first byte', async () => {
      const client = await connected();
      const target = slow();
      const result = client.query('SELECT pg_sleep(600)', [], { stream: target });
      await running(client);
      target.destroy();
      await assert.rejects(result, AbortError);
      assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, 7);
    });

    /** Reads so many bytes of the result, then is gone. */
    const leaving = (bytes, error) =>
      new Writable({
        write(chunk, encoding, callback) {
          bytes -= chunk.length;
          if (bytes <= 0) this.destroy(error);
          else callback();
        }
      });

    it('cancels the query: the server is free within a second, and the next query is right', async () => {
      const client = await connected();
      for (const target of [leaving(10000), leaving(30e6)]) {
        const result = client.queryTo(target, ROWS);
        await assert.rejects(result, { name: 'AbortError', code: 'ABORT_ERR' });
        const [idle, { rows }] = await Promise.all([untilIdle(client), client.query('SELECT 7 AS a')]);
        assert.ok(idle < 1000, `${idle} ms`);
        assert.equal(rows[0].a, 7);
      }
    });

    it('cancels a query that has no rows yet', async () => {
      const client = await connected();
      const target = new PassThrough();
      const result = client.queryTo(target, 'SELECT pg_sleep(60)');
      await until(async () => (await activity(client)) === 'active');
      target.destroy();
      await assert.rejects(result, AbortError);
      await untilIdle(client);
      assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, 7);
    });

    it('never harms a neighbour: what was sent behind it is answered after the rest has been read', async () => {
      const client = await connected();
      const results = [client.queryTo(leaving(10000), "SELECT i, repeat('x', 1000) FROM generate_series(1, 100000) i")];
      for (let i = 0; i < 20; i++) results.push(client.query('SELECT $1::int AS a, pg_sleep(0.002)', [i]));
      const [first, ...others] = await Promise.allSettled(results);
      assert.equal(first.reason.name, 'AbortError');
      assert.deepEqual(
        others.map(({ value }) => value.rows[0].a),
        Array.from({ length: 20 }, (_, i) => i)
      );
    });

    it('sends nothing behind a large result', async () => {
      const { client, proxy } = await proxied();
      const target = slow({ highWaterMark: 1 });
      const text = "SELECT i, repeat('x', 1000) FROM generate_series(1, $1::int) i";
      const result = client.queryTo(target, text, [5000]);
      while (target.bytes.length < 2e6) {
        await target.asked();
        target.go();
      }
      const before = proxy.stats.bytes.toServer;
      const behind = client.query('SELECT 1');
      await (await sharedServer()).sql('SELECT 1');
      assert.equal(proxy.stats.bytes.toServer, before);
      target.hurry();
      await Promise.all([result, behind]);
    });

    it('does not send what waited for its turn', async () => {
      const client = await connected();
      await client.query('CREATE TEMP TABLE run (a int)');
      const target = new PassThrough();
      const begun = new Promise(resolve => target.once('begun', resolve));
      const transaction = client.transaction(async tx => {
        await tx.query('SELECT 1');
        target.emit('begun');
        await turn(); // in which queryTo is called
        target.destroy();
        await tx.query('SELECT 1');
      });
      await begun;
      const result = client.queryTo(target, 'INSERT INTO run VALUES (1)');
      await assert.rejects(result, { name: 'AbortError' });
      await transaction;
      assert.equal((await client.query('SELECT count(*) AS n FROM run')).rows[0].n, 0);
    });

    it('does not send anything for a target that was gone before', async () => {
      const client = await connected();
      const destroyed = new PassThrough().destroy();
      const ended = new PassThrough();
      ended.end();
      for (const target of [destroyed, ended]) {
        const result = client.queryTo(target, 'SELECT pg_sleep(60)');
        const { pending } = client;
        await assert.rejects(result, AbortError);
        assert.equal(pending, 0);
      }
    });

    it('rejects with the error of a target that has failed, and cancels the query', async () => {
      const { client, wire } = await proxied();
      const broken = new Error('disk full');
      await assert.rejects(client.queryTo(leaving(10000, broken), ROWS), error => error === broken);
      const throwing = new Writable({
        write() {
          throw broken;
        }
      });
      await assert.rejects(client.queryTo(throwing, ROWS), error => error === broken);
      const stream = new WritableStream({
        write() {
          throw broken;
        }
      });
      await assert.rejects(client.queryTo(stream, ROWS), error => error === broken);
      assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, 7);
      assert.ok(wire.stats.bytes.toClient < 5e8, `${wire.stats.bytes.toClient} bytes`);
    });

    it('rejects at once with what its write throws, also for a second result, and keeps nobody waiting', async () => {
      const broken = new Error('disk full');
      const ways = {
        query: (client, stream, text) => client.query(text, [], { stream }),
        queryTo: (client, stream, text) => client.queryTo(stream, text),
        'queryTo, end: false': (client, stream, text) => client.queryTo(stream, text, [], { end: false })
      };
      for (const [name, way] of Object.entries(ways))
        for (const text of ['SELECT 1', ROWS]) {
          const client = await connected();
          const stream = new Writable({
            write() {
              throw broken;
            }
          });
          stream.on('error', () => {});
          for (const result of [1, 2]) {
            await assert.rejects(way(client, stream, text), broken, `${name}, ${text}, ${result}`);
            assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, 7);
          }
        }
    });

    it('rejects when it has all of the result, but was closed before it took it', async () => {
      const client = await connected();
      const target = slow();
      const result = client.queryTo(target, 'SELECT 1');
      await target.asked();
      await client.query('SELECT 1');
      target.destroy();
      await assert.rejects(result, AbortError);
    });
  });

  it('cancels the query when its signal aborts, and tells the reader', async () => {
    const client = await connected();
    const controller = new AbortController();
    const target = collector();
    const result = client.queryTo(target, ROWS, [], { signal: controller.signal });
    await until(() => target.chunks.length >= 3);
    controller.abort();
    await assert.rejects(result, AbortError);
    await once(target, 'finish');
    const { error } = await read(target.bytes);
    assert.deepEqual([error.severity, error.code, error.message], ['ERROR', '57014', 'the query was aborted']);
    assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, 7);
  });

  it('does not wait for a target that does not take the last of it when its signal aborts', async () => {
    const client = await connected();
    for (const [stuck, options] of [
      [{ write() {} }, {}],
      [{ write() {} }, { end: false }],
      [
        {
          write(chunk, encoding, callback) {
            callback();
          },
          final() {}
        },
        {}
      ]
    ]) {
      const controller = new AbortController();
      const target = new Writable(stuck);
      const result = client.queryTo(target, 'SELECT 1', [], { ...options, signal: controller.signal });
      await client.query('SELECT 2'); // the result is the target's by now
      controller.abort(new Error('why'));
      await assert.rejects(result, ({ name, cause }) => name === 'AbortError' && cause.message === 'why');
      assert.equal(target.destroyed, false);
      target.destroy();
    }
  });

  it('rejects, and waits for no target, when its signal aborts right behind the answer', async () => {
    const answer = Buffer.concat([ANSWER.described('a'), commandComplete('SELECT 0'), ANSWER.ready]);
    for (const end of [true, false]) {
      const client = await faked(async conversation => {
        await conversation.request();
        await conversation.request();
        conversation.say(answer, answer); // read together
      });
      const controller = new AbortController();
      const target = slow({ highWaterMark: 1 });
      target.write('taken by nothing');
      const first = client.query('SELECT 1').then(() => controller.abort());
      const result = client.queryTo(target, 'SELECT 2', [], { end, signal: controller.signal });
      await assert.rejects(result, { name: 'AbortError', sent: true });
      await first;
    }
  });

  describe('with a target that fails late', () => {
    const late = new Error('late');

    /** Targets that fail, at the last write, at their end, or a while after. */
    const FAILING = {
      'a WHATWG stream whose write rejects': () =>
        new WritableStream({
          write() {
            return Promise.reject(late);
          }
        }),
      'a WHATWG stream whose second write rejects later': () => {
        let writes = 0;
        return new WritableStream({
          async write() {
            await turn();
            if (++writes === 2) throw late;
          }
        });
      },
      'a WHATWG stream that cannot be closed': () =>
        new WritableStream({
          close() {
            return Promise.reject(late);
          }
        }),
      'a WHATWG stream that has failed before its end': () =>
        new WritableStream({
          write(chunk, controller) {
            controller.error(late);
          }
        }),
      'a Writable whose last write fails': () =>
        new Writable({
          write(chunk, encoding, callback) {
            setImmediate(callback, late);
          }
        }),
      'a Writable whose end fails': () =>
        new Writable({
          write(chunk, encoding, callback) {
            callback();
          },
          final(callback) {
            setTimeout(callback, 1, late);
          }
        }),
      'a Writable that fails by itself': () => {
        const target = slow({ highWaterMark: 1 });
        setTimeout(() => target.destroy(late), 2);
        return target;
      }
    };
    const TEXTS = ['SELECT 1', "SELECT repeat('x', 1000) FROM generate_series(1, 2000)"];

    for (const [name, make] of Object.entries(FAILING)) {
      it(`rejects with its error: ${name}, 30 of 30`, async () => {
        const client = await connected();
        for (let i = 0; i < 30; i++) {
          const end = name.includes('end') || name.includes('closed') ? true : i % 4 > 1;
          const text = name.includes('second') ? TEXTS[1] : TEXTS[i % 2];
          await assert.rejects(client.queryTo(make(), text, [], { end }), error => error === late, `${i}`);
        }
        assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, 7);
      });

      it(`rejects once where the query ends too: ${name}, 30 of 30`, async () => {
        const server = await sharedServer();
        let client = await connected();
        for (let i = 0; i < 30; i++) {
          const controller = new AbortController();
          const options = [{ signal: controller.signal }, { statement_timeout: 1 + (i % 5) }, {}][i % 3];
          const result = client.queryTo(make(), TEXTS[1], [], options);
          if (i % 3 === 0) setTimeout(() => controller.abort(), i % 7);
          if (i % 3 === 2) {
            await sleep(i % 4);
            if (i % 2) client.destroy();
            else await server.sql(`SELECT pg_terminate_backend(${client.processId})`);
          }
          await assert.rejects(result, Error);
          if (i % 3 === 2) client = await connected();
        }
        assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, 7);
      });
    }

    it('rejects once where the query and the target fail in the same tick', async () => {
      for (let i = 0; i < 30; i++) {
        let conversation;
        const client = await faked(async given => {
          conversation = given;
          await conversation.request();
          conversation.say(ANSWER.described('a'), message('D', hex("0001 00000001 'x'")));
        });
        const target = new Writable({
          write(chunk, encoding, callback) {
            if (i % 2) callback(late);
            else this.destroy(late);
            conversation.say(ANSWER.error('22012', 'division by zero'), ANSWER.ready);
          }
        });
        await assert.rejects(client.queryTo(target, 'SELECT 1'), Error);
        assert.equal(client.pending <= 1, true);
      }
    });
  });

  describe('into a stream that stays open', () => {
    const SHORT = "SELECT repeat('x', 1000) AS a";
    const LONG = "SELECT repeat('x', 100000) AS a FROM generate_series(1, 20)";
    const late = new Error('late');
    const signal = () => new AbortController().signal;
    const WAYS = {
      'query with a stream': (session, stream, text = SHORT) => session.query(text, [], { stream }),
      'query with a stream and a signal': (session, stream, text = SHORT) =>
        session.query(text, [], { stream, signal: signal() }),
      'queryTo with end: false': (session, stream, text = SHORT) => session.queryTo(stream, text, [], { end: false }),
      'queryTo with end: false and a signal': (session, stream, text = SHORT) =>
        session.queryTo(stream, text, [], { end: false, signal: signal() }),
      getResults: async (client, stream, text = SHORT) => {
        client.startQuery(text);
        const result = client.getResults(0, stream);
        await Promise.allSettled([result, client.sync()]);
        return result;
      }
    };
    const except = Object.fromEntries(
      Object.keys(SESSIONS).flatMap(name => (name === 'client' ? [] : [[`getResults, ${name}`, 'it is a step']]))
    );

    table(
      'What fails in the tick of the last write rejects with its error',
      {
        way: WAYS,
        stream: {
          'by its callback': () => new Writable({ write: (chunk, encoding, callback) => callback(late) }),
          'by its callback in this tick': () =>
            new Writable({ write: (chunk, encoding, callback) => process.nextTick(callback, late) }),
          'by itself': () =>
            new Writable({
              write() {
                this.destroy(late);
              }
            })
        },
        session: SESSIONS
      },
      async (ask, make, run) => {
        await run(async session => {
          await assert.rejects(ask(session, make()), error => error === late);
        });
      },
      except
    );

    table(
      'A WHATWG stream is not locked any more, and takes the next result',
      {
        way: Object.fromEntries(Object.entries(WAYS).filter(([name]) => name.startsWith('queryTo'))),
        session: SESSIONS
      },
      async (ask, run) => {
        let bytes = 0;
        const stream = new WritableStream({
          write({ length }) {
            bytes += length;
          }
        });
        await run(async session => {
          await ask(session, stream);
          assert.equal(stream.locked, false);
          await ask(session, stream);
          assert.ok(bytes > 2000);
        });
      }
    );

    table(
      'A slow one keeps no listener of a long result for its room',
      { way: WAYS, session: SESSIONS },
      async (ask, run) => {
        const stream = slow({ highWaterMark: 1 });
        let waits = 0;
        stream.on('newListener', event => {
          if (event === 'drain') setImmediate(() => stream.hurry(waits++));
        });
        await run(session => ask(session, stream, LONG));
        assert.deepEqual([waits, stream.listenerCount('drain')], [1, 0]);
      },
      except
    );
  });

  describe('behind node:http', () => {
    /** A server that answers a path by a function, and what sends requests to it and leaves. */
    async function serving(answer) {
      const server = http.createServer(answer).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const open = (...paths) => {
        const socket = net.connect(server.address().port, '127.0.0.1').on('error', () => {});
        socket.write(paths.map(path => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
        return socket;
      };
      return { open, server, stop: () => server.close().closeAllConnections() };
    }
    const LARGE = "SELECT i, repeat('x', 1000) FROM generate_series(1, 5000) i";
    /** The server makes its rows as they are taken, so no system holds all of them. */
    const ENDLESS = "SELECT repeat('x', 1000), generate_series(1, 1000000000)";

    it('ends no program when readers disconnect, with a signal of the request', async () => {
      const client = await connected();
      const results = [];
      const { open, stop } = await serving((request, response) => {
        const controller = new AbortController();
        response.on('close', () => controller.abort());
        if (request.url === '/last') return void response.end();
        results.push(
          client.queryTo(response, LARGE, [], { signal: controller.signal }).then(
            () => 'ok',
            error => error.code
          )
        );
      });
      for (let i = 0; i < 30; i++) {
        const socket = open('/');
        if (i % 3 === 0) socket.resume();
        await sleep(i % 10);
        if (i % 2) socket.destroy();
        else socket.resetAndDestroy();
      }
      await once(open('/last'), 'data');
      for (const code of await Promise.all(results))
        assert.ok(['ABORT_ERR', 'ECONNRESET', 'EPIPE', 'ok'].includes(code), code);
      assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, 7);
      stop();
    });

    it('goes on for others when two pipelined requests are not read and their reader has gone', async () => {
      const client = await connected();
      const results = [];
      const { open, stop } = await serving((request, response) => {
        results.push(client.queryTo(response, ENDLESS).catch(error => error.name));
      });
      const socket = open('/', '/');
      await until(() => results.length >= 2);
      await until(() => client[LEASE].pipeline.holds > 0); // the first result has filled what holds it
      socket.destroy();
      assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, 7);
      assert.deepEqual(await Promise.all(results), ['AbortError', 'AbortError']);
      stop();
    });

    it('does not let a response that waits for its turn keep the connection from others', async () => {
      const client = await connected();
      let first;
      const results = [];
      const { open, stop } = await serving((request, response) => {
        if (request.url === '/first') first = response;
        else results.push(client.queryTo(response, LARGE));
      });
      const socket = open('/first', '/second');
      let length = 0;
      socket.on('data', chunk => {
        length += chunk.length;
      });
      await until(() => results.length >= 1);
      // The second response's query was asked before the first one's.
      const { rowCount } = await client.queryTo(first, LARGE);
      assert.equal(rowCount, 5000);
      assert.equal((await results[0]).rowCount, 5000);
      await until(() => length >= 1e7);
      socket.destroy();
      stop();
    });

    it('asks with the values of the call when it is its turn', async () => {
      const client = await connected();
      const values = [5];
      let first;
      let result;
      const { open, stop } = await serving((request, response) => {
        if (request.url === '/first') first = response;
        else result = client.queryTo(response, 'SELECT generate_series(1, $1::int)', values);
      });
      const socket = open('/first', '/second').resume();
      await until(() => result !== undefined);
      values[0] = 7;
      first.end();
      assert.equal((await result).rowCount, 5);
      socket.destroy();
      stop();
    });

    it('waits for no turn any more when its signal aborts', async () => {
      const client = await connected();
      const controller = new AbortController();
      let result;
      const { open, stop } = await serving((request, response) => {
        if (request.url === '/second') result = client.queryTo(response, LARGE, [], { signal: controller.signal });
      });
      const socket = open('/first', '/second');
      await until(() => result !== undefined);
      controller.abort();
      await assert.rejects(result, { name: 'AbortError', sent: false });
      assert.equal(client.pending, 0);
      socket.destroy();
      stop();
    });

    it('waits no longer than its stall_timeout for the end of what waits for its own transaction', async () => {
      const client = await connected();
      const results = [];
      const { open, stop } = await serving(async (request, response) => {
        if (request.url === '/first') await until(() => results.length !== 0);
        const ask = session => session.queryTo(response, 'SELECT 7 AS a', [], { stall_timeout: 50 });
        results.push(request.url === '/first' ? ask(client) : client.transaction(ask));
      });
      const socket = open('/first', '/second').resume();
      await until(() => results.length >= 2);
      await assert.rejects(results[0], {
        name: 'TimeoutError',
        code: '57014',
        message: 'the target took nothing for 50 ms (stall_timeout)'
      });
      assert.equal((await results[1]).rowCount, 1);
      socket.destroy();
      stop();
    });

    it('gives up a reader that takes nothing for the stall_timeout, and goes on for others', async () => {
      const client = await connected();
      const text = "SELECT generate_series(1, 1000000000), repeat('x', 1000)"; // a terabyte
      const results = [];
      const { open, stop } = await serving((request, response) => {
        results.push(client.queryTo(response, text, [], { stall_timeout: 100, alone: true }));
      });
      const socket = open('/').pause();
      await until(() => results.length >= 1);
      const other = client.query('SELECT 7 AS a');
      await assert.rejects(results[0], {
        name: 'TimeoutError',
        sent: true,
        message: /^the target took nothing for [1-5]00 ms \(stall_timeout\)$/
      });
      assert.equal((await other).rows[0].a, 7);
      socket.destroy();
      stop();
    });
  });

  it('lets the next query wait for at most one result when ten readers of 5 MB leave at once that are alone', async () => {
    const { client, wire } = await proxied();
    const text = "SELECT i, repeat('x', 1000) FROM generate_series(1, 5000) i";
    const targets = Array.from({ length: 10 }, () => slow({ highWaterMark: 1 }));
    const results = targets.map(target => client.queryTo(target, text, [], { alone: true }).catch(error => error.name));
    await targets[0].asked();
    for (const target of targets) target.destroy();
    const before = wire.stats.bytes.toClient;
    assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, 7);
    assert.ok(wire.stats.bytes.toClient - before < 6e6, `${wire.stats.bytes.toClient - before} bytes`);
    assert.deepEqual(await Promise.all(results), new Array(10).fill('AbortError'));
  });

  it('cancels ten results of 50 MB that nobody takes one after the other, also where the statement was known for short ones', async () => {
    const { client, wire } = await proxied();
    const ask = (target, count) =>
      client.queryTo(target, "SELECT repeat('x', 1000) FROM generate_series(1, $1::int) i", [count]);
    await ask(collector(), 1);
    const targets = Array.from({ length: 10 }, () => slow({ highWaterMark: 1 }));
    const results = targets.map(target => ask(target, 50000).catch(error => error.name));
    await targets[0].asked();
    for (const target of targets) target.destroy();
    const before = wire.stats.bytes.toClient;
    assert.deepEqual(await Promise.all(results), new Array(10).fill('AbortError'));
    assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, 7);
    assert.ok(wire.stats.bytes.toClient - before < 250e6, `${wire.stats.bytes.toClient - before} bytes`);
  });

  // Before that, nothing was sent behind a new text, and a pool gave each result a connection. What protects other requests
  // now is in each title; for pools in pool/streams.test.js, for signals and time limits in query/abort.test.js.
  describe('is pipelined', () => {
    /** The flights of the client while `work` runs. */
    async function flights(wire, work) {
      const from = wire.stats.flights.toServer;
      await work();
      return wire.stats.flights.toServer - from;
    }
    const LONG = "SELECT repeat('x', 1000) FROM generate_series(1, $1::int)";

    it('like query: a hundred texts leave at once, new ones too', async () => {
      const { client, wire } = await proxied();
      const ask = i => client.queryTo(collector(), `SELECT ${i % 50}::int AS a${i}`);
      const all = () => Promise.all(Array.from({ length: 100 }, (_, i) => (i % 2 ? client.query('SELECT 1') : ask(i))));
      assert.equal(await flights(wire, all), 1);
      assert.equal(await flights(wire, all), 1);
    });

    it('also by query with a stream', async () => {
      const { client, wire } = await proxied();
      const all = () =>
        Promise.all(
          Array.from({ length: 20 }, (_, i) => client.query(`SELECT ${i} AS a`, [], { stream: collector() }))
        );
      assert.equal(await flights(wire, all), 1);
    });

    it('where one fails, the others are answered', async () => {
      const client = await connected();
      const texts = ['SELECT 1 AS a', 'no SQL', 'SELECT 1 / 0 AS a', 'SELECT 4 AS a'];
      const targets = texts.map(() => collector());
      const results = await Promise.allSettled(
        texts.map((text, i) => client.queryTo(targets[i], text, [], { as: 'json' }))
      );
      assert.deepEqual(
        results.map(({ reason }) => reason?.code),
        [undefined, '42601', '22012', undefined]
      );
      assert.deepEqual(
        targets.map(({ text }) => text),
        ['[{"a":1}]', '', '', '[{"a":4}]']
      );
    });

    it('a slow reader of up to `buffer` bytes holds nobody up', async () => {
      const client = await connected();
      const targets = [900, 1000, 90].map(() => slow({ highWaterMark: 1 }));
      const results = [
        client.queryTo(targets[0], LONG, [900]),
        client.query(LONG, [900], { stream: targets[1] }),
        client.queryTo(targets[2], LONG, [90], { buffer: 100000 })
      ];
      assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, 7);
      for (const target of targets) target.hurry();
      await Promise.all(results);
    });

    it('a result of more than `buffer` bytes is held to the pace of its reader', async () => {
      const { client, wire } = await proxied();
      const target = slow({ highWaterMark: 1 });
      const result = client.queryTo(target, LONG, [50000], { buffer: 100000 });
      await target.asked();
      const before = await standstill(() => target.writableLength);
      assert.ok(before < 500000, `${before} bytes wait`); // 256 kB, a piece, and what was read with it
      assert.ok(wire.stats.bytes.toClient < 30e6, `${wire.stats.bytes.toClient} bytes came`);
      target.hurry();
      assert.equal((await result).rowCount, 50000);
    });

    for (const [what, ask] of [
      ['queryTo', (client, target, count) => client.queryTo(target, LONG, [count], { alone: true })],
      ['query with a stream', (client, stream, count) => client.query(LONG, [count], { stream, alone: true })]
    ]) {
      it(`${what}: has nothing behind it that is alone`, async () => {
        const { client, wire } = await proxied();
        const beside = count =>
          flights(wire, () => Promise.all([ask(client, collector(), count), client.query('SELECT 1')]));
        assert.equal(await beside(1), 2);
        assert.equal(await beside(5000), 2);
      });

      it(`${what}: a reader of a long result that is alone cancels it by leaving`, async () => {
        const { client, wire } = await proxied();
        const target = slow({ highWaterMark: 1 });
        const result = ask(client, target, 500000);
        const other = client.query('SELECT 7 AS a');
        await target.asked();
        const before = wire.stats.bytes.toClient;
        target.destroy();
        await assert.rejects(result, AbortError);
        assert.equal((await other).rows[0].a, 7);
        assert.ok(wire.stats.bytes.toClient - before < 100e6, `${wire.stats.bytes.toClient - before} bytes`);
      });
    }

    it('a reader that leaves while others were sent behind it has the rest read and dropped', async () => {
      const { client, wire } = await proxied();
      const target = slow({ highWaterMark: 1 });
      const result = client.queryTo(target, LONG, [20000]);
      const others = Array.from({ length: 20 }, (_, i) => client.query('SELECT $1::int AS a', [i]));
      await target.asked();
      target.destroy();
      await assert.rejects(result, AbortError);
      assert.deepEqual(
        (await Promise.all(others)).map(({ rows }) => rows[0].a),
        Array.from({ length: 20 }, (_, i) => i)
      );
      assert.ok(wire.stats.bytes.toClient > 20e6, 'nobody was cancelled');
    });

    it('takes a buffer in bytes, and nothing else', async () => {
      const client = await connected();
      for (const buffer of [-1, NaN, '1', null, true]) {
        await assert.rejects(client.queryTo(collector(), 'SELECT 1', [], { buffer }), {
          name: 'TypeError',
          message: /^buffer must be/
        });
        await assert.rejects(client.query('SELECT 1', [], { stream: collector(), buffer }), {
          name: 'TypeError',
          message: /^buffer must be/
        });
      }
    });
  });
});
