'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { PassThrough, Readable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { PostgresError, ConnectionError } = require('../../..');
const { Backlog } = require('../../../lib/core/stream/backlog');
const { ROWS } = require('../../support/slow-reader');
const { connected, proxied, running } = require('../../support');
const { collect, goesOn, isIdle } = require('../../support/copy-streams');
const { shorten } = require('../../support/hooks');
const { failing, standstill, until } = require('../../support/kit');

describe('copyTo', () => {
  it('gives the bytes of COPY, to a loop, to events and to a pipe', async () => {
    const client = await connected();
    const text = "COPY (VALUES (1, 'a'), (2, NULL)) TO STDOUT";
    const expected = '1\ta\n2\t\\N\n';
    assert.equal(String(await collect(client.copyTo(text))), expected);
    const stream = client.copyTo(text);
    let data = '';
    stream.setEncoding('utf8').on('data', piece => {
      data += piece;
    });
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

  it('reports an error of the query, before and after the first bytes', async () => {
    const client = await connected();
    for (const query of ['SELECT * FROM missing', 'SELECT 1 / (50000 - i) FROM generate_series(1, 100000) AS i']) {
      await assert.rejects(
        collect(client.copyTo(`COPY (${query}) TO STDOUT`)),
        error => error instanceof PostgresError && error.stack.includes('copy-to.test.js')
      );
      await goesOn(client);
    }
  });

  it('ends a program that listens to no error of it, as any stream does', async () => {
    const client = await connected();
    const [uncaught] = process.rawListeners('uncaughtException');
    process.removeListener('uncaughtException', uncaught); // mocha's
    try {
      const thrown = once(process, 'uncaughtException');
      client.copyTo('COPY missing TO STDOUT').resume();
      assert.equal((await thrown)[0].code, '42P01');
    } finally {
      process.on('uncaughtException', uncaught);
    }
    await goesOn(client);
  });

  it('cancels the COPY when the loop is left, when it is destroyed and when its signal aborts', async () => {
    const client = await connected();
    const controller = new AbortController();
    const text = `COPY (${ROWS}) TO STDOUT`;
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
    await until(async () => !(await isIdle(client)));
    waiting.destroy();
    await goesOn(client);
  });

  it('is a simple Query, and is pipelined: ten at once are one round trip, behind which others go', async () => {
    const { client, wire } = await proxied({}, { delay: 10 });
    const [from, before] = [wire.recorded.toServer.length, wire.stats.flights.toServer];
    const all = Promise.all(
      Array.from({ length: 10 }, (_, i) => collect(client.copyTo(`COPY (SELECT ${i}) TO STDOUT`)))
    );
    const behind = client.query('SELECT 11 AS i', [], { cache: false });
    assert.deepEqual(
      (await all).map(String),
      Array.from({ length: 10 }, (_, i) => `${i}\n`)
    );
    assert.equal((await behind).rows[0].i, 11);
    assert.equal(wire.stats.flights.toServer - before, 1);
    const first = Buffer.from('Q\0\0\0\x1eCOPY (SELECT 0) TO STDOUT\0');
    assert.deepEqual(wire.recorded.toServer.subarray(from, from + first.length), first);
  });

  it('is dropped, not cancelled, where another was sent behind it', async () => {
    const { client, proxy, wire } = await proxied();
    const left = client.copyTo('COPY (SELECT pg_sleep(0.1)) TO STDOUT');
    const behind = client.query('SELECT pg_sleep(0.1), 2 AS two');
    await until(() => wire.stats.flights.toServer > 1, 'COPY to be sent');
    left.destroy();
    assert.equal((await behind).rows[0].two, 2);
    assert.equal(proxy.connections.length, 1);
    const alone = client.copyTo('COPY (SELECT pg_sleep(60)) TO STDOUT', { alone: true });
    const waiting = client.query('SELECT 3 AS three');
    await running(client);
    alone.destroy();
    assert.equal((await waiting).rows[0].three, 3);
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
    const target = failing(new Error('disk full'));
    await assert.rejects(pipeline(client.copyTo(`COPY (${ROWS}) TO STDOUT`), target), /disk full/);
    await goesOn(client);
  });

  it('fails when the connection is lost', async () => {
    const { client, wire } = await proxied();
    const stream = client.copyTo(`COPY (${ROWS}) TO STDOUT`);
    await once(stream, 'data');
    wire.reset();
    await assert.rejects(once(stream, 'end'), ConnectionError);
  });

  it('takes nothing but COPY TO STDOUT', async () => {
    const client = await connected();
    for (const text of [
      'SELECT 1',
      'COPY users FROM STDIN',
      "COPY users TO '/tmp/stdout_'",
      "COPY (SELECT ' to stdout') TO PROGRAM 'cat >/dev/null'"
    ]) {
      assert.throws(() => client.copyTo(text), { name: 'TypeError', message: /^copyTo takes COPY … TO STDOUT/ });
    }
    assert.throws(() => client.copyTo(undefined), {
      name: 'TypeError',
      message: 'text must be a string, not undefined'
    });
  });

  it('works in a transaction, beside other queries', async () => {
    const client = await connected();
    await client.transaction(async tx => {
      await tx.query('CREATE TEMP TABLE inside ON COMMIT DROP AS SELECT 5 AS a');
      assert.equal(String(await collect(tx.copyTo('COPY inside TO STDOUT'))), '5\n');
      await pipeline(Readable.from(['6\n']), tx.copyFrom('COPY inside FROM STDIN'));
      assert.equal((await tx.query('SELECT sum(a) AS sum FROM inside')).rows[0].sum, 11);
    });
  });

  it('does not keep a transaction waiting whose function has returned', async () => {
    const client = await connected();
    for (const open of [tx => tx.copyTo(`COPY (${ROWS}) TO STDOUT`), tx => tx.copyFrom('COPY inside FROM STDIN')]) {
      let error;
      const result = client.transaction(async tx => {
        await tx.query('CREATE TEMP TABLE inside (a int)');
        const stream = open(tx).on('error', caught => {
          error = caught;
        });
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
    assert.equal((await client.query('SELECT a FROM inside')).rows[0].a, 5);
  });

  it('outlives its transaction once everything has come', async () => {
    const client = await connected();
    const stream = await client.transaction(async tx => {
      const copied = tx.copyTo("COPY (SELECT repeat('x', 100) FROM generate_series(1, 5000)) TO STDOUT");
      await tx.query('SELECT 1');
      return { copied };
    });
    assert.equal((await collect(stream.copied)).length, 505000);
  });

  it('is in the backlog while it keeps pieces, whether these are read or it is destroyed', async () => {
    const client = await connected();
    const kept = new Set();
    let left;
    const { add, remove } = Backlog.prototype;
    shorten(Backlog.prototype, 'add', function (target, length) {
      kept.add(target);
      return add.call(this, target, length);
    });
    shorten(Backlog.prototype, 'remove', function (target, ...rest) {
      remove.call(this, target, ...rest);
      left.push([target.waiting === undefined, this.bytes]);
    });
    for (const take of [collect, stream => stream.destroy()]) {
      const stream = client.copyTo("COPY (SELECT repeat('x', 1000) FROM generate_series(1, 30000)) TO STDOUT");
      kept.clear();
      left = [];
      await until(() => kept.size > 0, 'a piece to be kept');
      await take(stream);
      await goesOn(client);
      assert.deepEqual(
        left.map(([isOut]) => isOut),
        left.map(([, bytes]) => bytes === 0)
      );
      assert.deepEqual(left.at(-1), [true, 0]);
    }
  });

  it('is destroyed when its reader takes nothing for the stall_timeout, and the connection goes on', async () => {
    const client = await connected();
    const text = "COPY (SELECT repeat('x', 1000) FROM generate_series(1, 30000)) TO STDOUT";
    const stream = client.copyTo(text, { stall_timeout: 50 });
    const failed = once(stream, 'error');
    await once(stream, 'readable');
    const other = client.query('SELECT 7 AS a');
    const [error] = await failed;
    assert.deepEqual(
      [error.name, error.message],
      ['TimeoutError', 'the target took nothing for 50 ms (stall_timeout)']
    );
    assert.equal((await other).rows[0].a, 7);
    const patient = client.copyTo(text, { stall_timeout: 0 });
    await once(patient, 'readable');
    await standstill(() => patient.readableLength);
    assert.equal((await collect(patient)).length, 30000 * 1001);
    for (const value of [-1, '1', null]) {
      assert.throws(() => client.copyTo('COPY users TO STDOUT', { stall_timeout: value }), {
        name: 'TypeError',
        message: /^stall_timeout/
      });
    }
  });
});
