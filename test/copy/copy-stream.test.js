'use strict';

const assert = require('node:assert/strict');
const { createHash } = require('node:crypto');
const { once } = require('node:events');
const { PassThrough, Readable, Transform, Writable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { setTimeout: sleep } = require('node:timers/promises');
const { PostgresError, ConnectionError } = require('../..');
const { FLAT, GIGABYTE, watchAlone } = require('../slow-reader');
const { ANSWER, answering, commandComplete, connected, proxied, sharedServer } = require('../support');

/** `COPY_ROWS=10000000 npx mocha test/copy-stream.test.js -g "copy a table"` is the full measure. */
const ROWS = Number(process.env.COPY_ROWS || 1000000);

/** Passes bytes on in pieces of odd sizes, so that rows are split anywhere; sums them up. */
class Splitter extends Transform {
  constructor() {
    super();
    this.hash = createHash('md5');
    this.length = 0;
  }

  _transform(chunk, encoding, callback) {
    this.hash.update(chunk);
    for (let off = 0, size = 1; off < chunk.length; off += size, size = size * 3 % 65537) {
      this.push(chunk.subarray(off, off + size));
    }
    this.length += chunk.length;
    callback();
  }
}

/** Whether the server process of a client has nothing to do. */
async function isIdle(client) {
  const [row] = await (await sharedServer()).sql(`SELECT state FROM pg_stat_activity WHERE pid = ${client.processId}`);
  return row.state === 'idle';
}

/** All that a readable gives. */
async function collect(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** That the connection goes on. */
async function goesOn(client) { assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, '7'); }

describe('copyTo and copyFrom', () => {
  describe(`copy a table of ${ROWS} rows out and into another through a Transform`, function () {
    this.timeout(60000 + ROWS / 20);
    let source;
    let target;
    before(async () => {
      const server = await sharedServer();
      await server.sql(`CREATE UNLOGGED TABLE big AS SELECT i, md5(i::text) AS hash, i / 3.0::float8 AS third,
        CASE i % 3 WHEN 0 THEN E'back\\\\slash, "quote"\\n\\tline' WHEN 1 THEN '' END AS text, '\\x00ff'::bytea AS bytes
        FROM generate_series(1, ${ROWS}) AS i; GRANT ALL ON big TO PUBLIC; GRANT ALL ON SCHEMA public TO PUBLIC`);
    });
    beforeEach(async () => {
      source = await connected();
      target = await connected();
      await target.query('CREATE TEMP TABLE copy (LIKE big)');
    });
    after(async () => (await sharedServer()).sql('DROP TABLE big'));

    for (const format of ['text', 'csv', 'binary']) {
      it(`as ${format}, byte for byte`, async () => {
        const out = source.copyTo(`COPY big TO STDOUT (FORMAT ${format})`);
        const into = target.copyFrom(`COPY copy FROM STDIN (FORMAT ${format})`);
        const splitter = new Splitter();
        await pipeline(out, splitter, into);
        assert.deepEqual([out.rowCount, into.rowCount], [ROWS, ROWS]);
        assert.deepEqual([out.bytes, into.bytes], [splitter.length, splitter.length]);
        assert.equal(out.format, format === 'binary' ? 1 : 0);
        const again = createHash('md5');
        await pipeline(target.copyTo(`COPY copy TO STDOUT (FORMAT ${format})`), again);
        assert.equal(again.digest('hex'), splitter.hash.digest('hex'));
      });
    }
  });

  describe('copyTo', () => {
    it('gives the bytes of COPY, to a loop, to events and to a pipe', async () => {
      const client = await connected();
      const text = "COPY (VALUES (1, 'a'), (2, NULL)) TO STDOUT";
      const expected = '1\ta\n2\t\\N\n';
      assert.equal(String(await collect(client.copyTo(text))), expected);
      const stream = client.copyTo(text);
      let data = '';
      stream.setEncoding('utf8').on('data', piece => { data += piece; });
      await once(stream, 'end');
      assert.equal(data, expected);
      assert.deepEqual([stream.rowCount, stream.bytes, stream.format, stream.columnCount], [2, 9, 0, 2]);
      const piped = new PassThrough();
      client.copyTo(text).pipe(piped);
      assert.equal(String(await collect(piped)), expected);
    });

    it('gives nothing for an empty table, and the header of an empty binary one', async () => {
      const client = await connected();
      const empty = client.copyTo('COPY (SELECT 1 WHERE false) TO STDOUT');
      assert.equal((await collect(empty)).length, 0);
      assert.equal(empty.rowCount, 0);
      assert.equal((await collect(client.copyTo('COPY (SELECT 1 WHERE false) TO STDOUT BINARY'))).length, 21);
    });

    it('gives a row of 100 MB in pieces', async () => {
      const client = await connected();
      let length = 0;
      let longest = 0;
      for await (const chunk of client.copyTo("COPY (SELECT repeat('x', 100000000)) TO STDOUT")) {
        length += chunk.length;
        longest = Math.max(longest, chunk.length);
      }
      assert.equal(length, 100000001);
      assert.ok(longest <= 65536);
    });

    it('reports an error of the query, before and after the first bytes', async () => {
      const client = await connected();
      for (const query of ['SELECT * FROM missing', 'SELECT 1 / (50000 - i) FROM generate_series(1, 100000) AS i']) {
        await assert.rejects(collect(client.copyTo(`COPY (${query}) TO STDOUT`)), PostgresError);
        await goesOn(client);
      }
    });

    it('cancels the COPY when the loop is left, when it is destroyed and when its signal aborts', async () => {
      const client = await connected();
      const controller = new AbortController();
      const text = `COPY (${GIGABYTE}) TO STDOUT`;
      for await (const chunk of client.copyTo(text)) if (chunk) break;
      await goesOn(client);
      const destroyed = client.copyTo(text);
      await once(destroyed, 'data');
      destroyed.destroy();
      await goesOn(client);
      assert.ok(await isIdle(client));
      const aborted = client.copyTo(text, { signal: controller.signal });
      await once(aborted, 'data');
      controller.abort();
      await assert.rejects(once(aborted, 'end'), { name: 'AbortError' });
      await goesOn(client);
      const waiting = client.copyTo('COPY (SELECT pg_sleep(60)) TO STDOUT');
      while (await isIdle(client)) await sleep(5);
      waiting.destroy();
      await goesOn(client);
    });

    it('is not sent when its signal has aborted before', async () => {
      const client = await connected();
      const source = client.copyTo('COPY users TO STDOUT', { signal: AbortSignal.abort() });
      await assert.rejects(source.toArray(), { name: 'AbortError' });
      assert.throws(() => client.copyTo('COPY users TO STDOUT', { signal: 5 }), TypeError);
      assert.equal(client.pending, 0);
      await goesOn(client);
    });

    it('is not sent when it was destroyed while it waited', async () => {
      const client = await connected();
      const transaction = client.transaction(tx => tx.query('SELECT 1'));
      client.copyTo('COPY (SELECT pg_sleep(60)) TO STDOUT').destroy();
      await transaction;
      await goesOn(client);
    });

    it('rejects in a pipeline whose target fails', async () => {
      const client = await connected();
      const target = new Writable({ write(chunk, encoding, callback) { callback(new Error('disk full')); } });
      await assert.rejects(pipeline(client.copyTo(`COPY (${GIGABYTE}) TO STDOUT`), target), /disk full/);
      await goesOn(client);
    });

    it('fails when the connection is lost', async () => {
      const { client, wire } = await proxied();
      const stream = client.copyTo(`COPY (${GIGABYTE}) TO STDOUT`);
      await once(stream, 'data');
      wire.reset();
      await assert.rejects(once(stream, 'end'), ConnectionError);
    });

    it('takes nothing but COPY TO STDOUT', async () => {
      const client = await connected();
      for (const text of ['SELECT 1', 'COPY users FROM STDIN', "COPY users TO '/tmp/stdout_'", undefined,
        "COPY (SELECT ' to stdout') TO PROGRAM 'cat >/dev/null'"]) {
        assert.throws(() => client.copyTo(text), TypeError);
      }
      client.destroy();
      assert.throws(() => client.copyTo('COPY users TO STDOUT'), ConnectionError);
    });

    it('works in a transaction, beside other queries', async () => {
      const client = await connected();
      await client.transaction(async tx => {
        await tx.query('CREATE TEMP TABLE inside ON COMMIT DROP AS SELECT 5 AS a');
        assert.equal(String(await collect(tx.copyTo('COPY inside TO STDOUT'))), '5\n');
        await pipeline(Readable.from(['6\n']), tx.copyFrom('COPY inside FROM STDIN'));
        assert.equal((await tx.query('SELECT sum(a) AS sum FROM inside')).rows[0].sum, '11');
      });
    });

    it('does not keep a transaction waiting whose function has returned', async () => {
      const client = await connected();
      for (const open of [tx => tx.copyTo(`COPY (${GIGABYTE}) TO STDOUT`), tx => tx.copyFrom('COPY inside FROM STDIN')]) {
        let error;
        const result = client.transaction(async tx => {
          await tx.query('CREATE TEMP TABLE inside (a int)');
          const stream = open(tx).on('error', caught => { error = caught; });
          if (stream.write) await new Promise(resolve => stream.write('1\n', resolve));
          else await once(stream, 'readable');
        });
        await assert.rejects(result, { code: '25P02' });
        assert.equal(error.code, '25P01');
        await goesOn(client);
      }
      await client.transaction(async tx => {
        await tx.query('CREATE TEMP TABLE inside (a int)');
        tx.copyFrom('COPY inside FROM STDIN').end('5\n'); // ended, though not awaited
      });
      assert.equal((await client.query('SELECT a FROM inside')).rows[0].a, '5');
    });

    it('keeps memory flat while its reader takes 1 MB/s of a gigabyte, and after', async () => {
      const client = await connected();
      const { length, most } = await watchAlone((await sharedServer()).url, 'copyTo', 2);
      assert.ok(length > 1e9);
      assert.ok(most < FLAT, `${most} MB`);
    });
  });

  describe('copyFrom', () => {
    let client;
    beforeEach(async () => {
      client = await connected();
      await client.query('CREATE TEMP TABLE numbers (a int)');
    });

    /** How many rows were stored. */
    const stored = async () => Number((await client.query('SELECT count(*) AS n FROM numbers')).rows[0].n);

    it('stores rows that are split anywhere, given as strings and bytes', async () => {
      const stream = client.copyFrom('COPY numbers FROM STDIN');
      for (const piece of ['1', '2\n3', Buffer.from('4\n'), new Uint8Array([53, 10]), '']) stream.write(piece);
      stream.end('6');
      await once(stream, 'finish');
      assert.deepEqual([stream.rowCount, stream.bytes], [4, 9]);
      const { rows } = await client.query('SELECT a FROM numbers');
      assert.deepEqual(rows.map(row => row.a), ['12', '34', '5', '6']);
    });

    it('stores nothing of no rows', async () => {
      const stream = client.copyFrom('COPY numbers FROM STDIN');
      stream.end();
      await once(stream, 'finish');
      assert.deepEqual([stream.rowCount, await stored()], [0, 0]);
    });

    it('takes one chunk of many megabytes without having it twice in memory', async () => {
      const chunk = Buffer.alloc(100e6, '1234567\n');
      const before = process.memoryUsage.rss();
      const stream = client.copyFrom('COPY numbers FROM STDIN');
      let most = 0;
      const timer = setInterval(() => { most = Math.max(most, process.memoryUsage.rss() - before); }, 5);
      stream.end(chunk);
      await once(stream, 'finish');
      clearInterval(timer);
      assert.equal(stream.rowCount, 12500000);
      assert.ok(most < 50e6, `${most / 1e6} MB`);
    });

    it('asks its source to wait while the server does not take what it has', async () => {
      const server = await sharedServer();
      await client.query('CREATE UNLOGGED TABLE locked_for_copy (a int)');
      const holder = await server.session();
      try {
        await holder.query('BEGIN; LOCK TABLE locked_for_copy');
        const stream = client.copyFrom('COPY locked_for_copy FROM STDIN');
        let given = 0;
        const source = async function* () {
          while (given < 20e6) {
            given += 65536;
            yield Buffer.alloc(65536, '1234567\n');
          }
        };
        const done = pipeline(source, stream);
        await sleep(200);
        assert.ok(given < 1e6, `${given} bytes were taken`);
        await holder.query('COMMIT');
        await done;
        assert.equal(stream.rowCount, given / 8);
      } finally {
        holder.close();
        await client.query('DROP TABLE locked_for_copy');
      }
    });

    it('does not read memory any more that it has said to be taken', async () => {
      const stream = client.copyFrom('COPY numbers FROM STDIN');
      const written = [];
      for (let i = 0; i < 40; i++) {
        // Small ones and large ones, which go different ways.
        const chunk = Buffer.alloc(i % 4 === 1 ? 80 : 80000, '1234567\n');
        written.push(new Promise(resolve => {
          stream.write(chunk, () => {
            chunk.fill('x');
            resolve();
          });
        }));
      }
      stream.end();
      await Promise.all([...written, once(stream, 'finish')]);
      assert.deepEqual([stream.rowCount, stream.bytes], [300100, 8 * 300100]);
      const { rows } = await client.query('SELECT DISTINCT a FROM numbers');
      assert.deepEqual(rows.map(row => row.a), ['1234567']);
    });

    it('reports a bad row in the middle at once, and stores nothing', async () => {
      let given = 0;
      const source = async function* () {
        for (; given < 100000; given++) yield given === 1000 ? 'x\n' : '1\n'.repeat(1000);
      };
      const error = await pipeline(source, client.copyFrom('COPY numbers FROM STDIN')).catch(error => error);
      assert.equal(error.code, '22P02');
      assert.match(error.where, /COPY numbers, line 1000001, column a: "x"/);
      assert.ok(given < 100000, 'the source was stopped');
      assert.equal(await stored(), 0);
    });

    it('reports what is wrong with the command', async () => {
      await assert.rejects(pipeline(Readable.from(['1\n']), client.copyFrom('COPY missing FROM STDIN')), { code: '42P01' });
      const stream = client.copyFrom('COPY missing FROM STDIN');
      const [error] = await once(stream, 'error');
      assert.equal(error.code, '42P01');
      await goesOn(client);
    });

    it('reports an error that comes with the end of the data', async () => {
      await client.query('CREATE TEMP TABLE checked (a int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED)');
      await assert.rejects(pipeline(Readable.from(['1\n1\n']), client.copyFrom('COPY checked FROM STDIN')), { code: '23505' });
      await goesOn(client);
    });

    it('stores nothing when the source fails, and tells the server why', async () => {
      const server = await sharedServer();
      const source = async function* () {
        yield '1\n';
        throw new Error('the source ran dry');
      };
      await assert.rejects(pipeline(source, client.copyFrom('COPY numbers FROM STDIN')), /the source ran dry/);
      assert.equal(await stored(), 0);
      assert.match(server.log(), /COPY from stdin failed: the source ran dry/);
    });

    it('stores nothing when it is destroyed or its signal aborts', async () => {
      const controller = new AbortController();
      const destroyed = client.copyFrom('COPY numbers FROM STDIN');
      destroyed.write('1\n');
      destroyed.destroy();
      const aborted = client.copyFrom('COPY numbers FROM STDIN', { signal: controller.signal });
      await new Promise(resolve => aborted.write('1\n', resolve));
      controller.abort();
      assert.equal((await once(aborted, 'error'))[0].name, 'AbortError');
      assert.equal(await stored(), 0);
    });

    it('is cancelled while it waits for a lock', async () => {
      const server = await sharedServer();
      await client.query('CREATE UNLOGGED TABLE locked_for_copy (a int)');
      const holder = await server.session();
      try {
        await holder.query('BEGIN; LOCK TABLE locked_for_copy');
        const stream = client.copyFrom('COPY locked_for_copy FROM STDIN');
        stream.write('1\n');
        while (await isIdle(client)) await sleep(5);
        stream.destroy();
        await goesOn(client);
      } finally {
        await holder.query('COMMIT');
        holder.close();
        await client.query('DROP TABLE locked_for_copy');
      }
    });

    it('is not sent when its signal has aborted before', async () => {
      const target = client.copyFrom('COPY numbers FROM STDIN', { signal: AbortSignal.abort() });
      await assert.rejects(pipeline(['1\n'], target), { name: 'AbortError' });
      assert.throws(() => client.copyFrom('COPY numbers FROM STDIN', { signal: 5 }), TypeError);
      assert.equal(client.pending, 0);
      assert.equal(await stored(), 0);
    });

    it('is not sent when it was destroyed while it waited', async () => {
      const transaction = client.transaction(tx => tx.query('SELECT 1'));
      const stream = client.copyFrom('COPY numbers FROM STDIN');
      stream.write('1\n');
      stream.destroy();
      await transaction;
      assert.equal(await stored(), 0);
    });

    it('fails when the connection is lost, whether it has been written to or not', async () => {
      for (const work of [stream => stream.write('1\n'), () => {}]) {
        const { client, wire } = await proxied();
        await client.query('CREATE TEMP TABLE numbers (a int)');
        const stream = client.copyFrom('COPY numbers FROM STDIN');
        work(stream);
        await sleep(20);
        wire.reset();
        const [error] = await once(stream, 'error');
        assert.ok(error instanceof ConnectionError);
      }
    });

    it('keeps other requests waiting until it is over, in their order', async () => {
      const order = [];
      const stream = client.copyFrom('COPY numbers FROM STDIN');
      const count = client.query('SELECT count(*) AS n FROM numbers').then(({ rows }) => order.push(rows[0].n));
      const second = pipeline(Readable.from(['2\n']), client.copyFrom('COPY numbers FROM STDIN')).then(() => order.push('second'));
      stream.on('finish', () => order.push('first'));
      stream.end('1\n');
      await Promise.all([count, second]);
      assert.deepEqual(order, ['first', '1', 'second']);
    });

    it('takes nothing but COPY FROM STDIN', () => {
      for (const text of ['SELECT 1', 'COPY users TO STDOUT', undefined,
        "COPY stdin FROM PROGRAM 'echo stdin from stdin >/dev/null; echo 5'"]) {
        assert.throws(() => client.copyFrom(text), TypeError);
      }
    });

    it('reports a server that takes no data', async () => {
      const client = await answering(ANSWER.parseComplete, ANSWER.noParameters, ANSWER.noData, ANSWER.bindComplete,
        commandComplete('COPY 5'), ANSWER.ready);
      const stream = client.copyFrom('COPY numbers FROM STDIN');
      const [error] = await once(stream.on('finish', assert.fail), 'error');
      assert.equal(error.code, '42601');
    });
  });
});
