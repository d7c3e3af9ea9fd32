'use strict';

const assert = require('node:assert/strict');
const { getEventListeners, once } = require('node:events');
const net = require('node:net');
const { Readable } = require('node:stream');
const { finished, pipeline } = require('node:stream/promises');
const { setImmediate: turn, setTimeout: sleep } = require('node:timers/promises');
const { Client, ConnectionError } = require('../../..');
const { ANSWER, answering, commandComplete, connected, hex, message, proxied, sharedServer } = require('../../support');
const { Pool } = require('../../../lib/pool');
const { endAfterTest } = require('../../support/hooks');
const { goesOn, isIdle } = require('../../support/copy-streams');
const { standstill, until } = require('../../support/kit');
const { heldTimers } = require('../../pool/pools');

/** A source of rows of eight bytes, up to so many bytes or until it is told that it is enough. */
function endless(most) {
  return {
    given: 0,
    enough: false,
    async *[Symbol.asyncIterator]() {
      while (this.given < most && !this.enough) {
        this.given += 65536;
        yield Buffer.alloc(65536, '1234567\n');
      }
    }
  };
}

/** Runs work with the stream of a COPY into a table that another session has locked. */
async function locked(client, work, columns = undefined) {
  await client.query('CREATE UNLOGGED TABLE locked_for_copy (a int, list int[], CHECK (a = list[1]))');
  const holder = await (await sharedServer()).session();
  try {
    await holder.query('BEGIN; LOCK TABLE locked_for_copy');
    await work(client.copyFrom(`COPY locked_for_copy (${columns ?? 'a'}) FROM STDIN`, { columns }), () =>
      holder.query('COMMIT')
    );
  } finally {
    holder.close();
    await client.query('DROP TABLE locked_for_copy');
  }
}

describe('copyFrom', () => {
  it('asks to wait at 262,144 bytes, or 1,024 rows, unless highWaterMark says otherwise', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE waiting (a int)');
    for (const [options, limit] of [
      [{}, 262144],
      [{ columns: ['a'] }, 1024],
      [{ highWaterMark: 5 }, 5]
    ]) {
      const stream = client.copyFrom('COPY waiting FROM STDIN', options);
      assert.equal(stream.writableHighWaterMark, limit);
      await pipeline([], stream);
    }
  });

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
    assert.deepEqual(
      rows.map(row => row.a),
      [12, 34, 5, 6]
    );
  });

  it('stores nothing of no rows', async () => {
    const stream = client.copyFrom('COPY numbers FROM STDIN');
    stream.end();
    await once(stream, 'finish');
    assert.deepEqual([stream.rowCount, await stored()], [0, 0]);
  });

  it('is a simple Query with its data right behind, one round trip of few rows', async () => {
    const { client, wire } = await proxied({}, { delay: 10 });
    await client.query('CREATE TEMP TABLE numbers (a int)');
    const [from, before] = [wire.recorded.toServer.length, wire.stats.flights.toServer];
    const stream = client.copyFrom('COPY numbers FROM STDIN');
    stream.write('1\n');
    stream.end('2\n');
    await once(stream, 'finish');
    assert.equal(wire.stats.flights.toServer - before, 1);
    const text = Buffer.from('Q\0\0\0\x1cCOPY numbers FROM STDIN\0');
    assert.deepEqual(
      wire.recorded.toServer.subarray(from),
      Buffer.concat([text, message('d', '1\n'), message('d', '2\n'), message('c')])
    );
    assert.equal(stream.rowCount, 2);
    const begun = wire.stats.flights.toServer;
    await client.transaction(tx => pipeline(['3\n'], tx.copyFrom('COPY numbers FROM STDIN')));
    assert.equal(wire.stats.flights.toServer - begun, 3, 'BEGIN alone, COPY, COMMIT');
    assert.equal((await client.query('SELECT sum(a) AS sum FROM numbers')).rows[0].sum, 6);
  });

  it('whose data came before the server had said no, leaves nothing behind', async () => {
    for (const end of [true, false]) {
      const stream = client.copyFrom('COPY nowhere FROM STDIN');
      stream.write('1\n'.repeat(100));
      if (end) stream.end('2\n');
      const [error] = await once(stream, 'error');
      assert.equal(error.code, '42P01');
      assert.equal(await stored(), 0);
      assert.equal(client.pending, 0);
    }
  });

  it('reads a row when it is written, so that its object may be used again', async () => {
    await locked(
      await connected(),
      async (stream, unlock) => {
        const row = { a: 0, list: [0] };
        let reads = 0;
        for (let i = 1; i <= 5000; i++) {
          row.a = i;
          row.list[0] = {
            toJSON() {
              reads++;
              return i;
            }
          };
          stream.write(row);
        }
        row.a = row.list[0] = 5001;
        stream.end(row);
        row.a = row.list[0] = -1;
        await unlock();
        await finished(stream);
        assert.equal(stream.rowCount, 5001);
        assert.equal(reads, 5000);
      },
      ['a', 'list']
    );
  });

  it('asks its source to wait while the server does not take what it has', async () => {
    await locked(client, async (stream, unlock) => {
      const source = endless(20e6);
      const done = pipeline(source, stream);
      const given = await standstill(() => source.given);
      assert.ok(given < 1e6, `${given} bytes were taken`);
      source.enough = true;
      await unlock();
      await done;
      assert.equal(stream.rowCount, source.given / 8);
    });
  });

  for (const [what, socket] of [
    ['connection', undefined],
    // As the caller's may be.
    [
      'Duplex that cannot gather writes',
      address => Object.assign(net.connect(address), { cork: undefined, uncork: undefined })
    ]
  ]) {
    it(`asks its source to wait while a ${what} takes nothing`, async () => {
      const { client, proxy } = await proxied({ socket });
      await client.query('CREATE TEMP TABLE numbers (a int)');
      const stream = client.copyFrom('COPY numbers FROM STDIN');
      await new Promise(resolve => stream.write('1234567\n', resolve));
      proxy.stall();
      const source = endless(64e6);
      const done = pipeline(source, stream);
      const given = await standstill(() => source.given);
      assert.ok(given < 32e6, `${given} bytes were taken`);
      source.enough = true;
      proxy.resume();
      await done;
      assert.equal(stream.rowCount, source.given / 8 + 1);
    });
  }

  it('does not read memory any more that it has said to be taken', async () => {
    const stream = client.copyFrom('COPY numbers FROM STDIN');
    const written = [];
    for (let i = 0; i < 40; i++) {
      // Small ones and large ones, which go different ways.
      const chunk = Buffer.alloc(i % 4 === 1 ? 80 : 80000, '1234567\n');
      written.push(
        new Promise(resolve => {
          stream.write(chunk, () => {
            chunk.fill('x');
            resolve();
          });
        })
      );
    }
    stream.end();
    await Promise.all([...written, once(stream, 'finish')]);
    assert.deepEqual([stream.rowCount, stream.bytes], [300100, 8 * 300100]);
    const { rows } = await client.query('SELECT DISTINCT a FROM numbers');
    assert.deepEqual(
      rows.map(row => row.a),
      [1234567]
    );
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
    await assert.rejects(pipeline(Readable.from(['1\n']), client.copyFrom('COPY missing FROM STDIN')), {
      code: '42P01'
    });
    const stream = client.copyFrom('COPY missing FROM STDIN');
    const [error] = await once(stream, 'error');
    assert.equal(error.code, '42P01');
    assert.match(error.stack, /copy-from\.test\.js/);
    await goesOn(client);
  });

  it('reports an error that comes with the end of the data', async () => {
    await client.query('CREATE TEMP TABLE checked (a int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED)');
    await assert.rejects(pipeline(Readable.from(['1\n1\n']), client.copyFrom('COPY checked FROM STDIN')), {
      code: '23505'
    });
    await goesOn(client);
  });

  it('stores nothing when the source fails, and tells the server why', async () => {
    const { client, wire } = await proxied();
    await client.query('CREATE TEMP TABLE numbers (a int)');
    const stream = client.copyFrom('COPY numbers FROM STDIN');
    await new Promise(resolve => stream.write('1\n', resolve));
    stream.on('error', () => {});
    stream.destroy(new Error('the source ran dry'));
    assert.equal((await client.query('SELECT count(*) FROM numbers')).rows[0].count, 0);
    assert.ok(wire.recorded.toServer.includes(message('f', 'the source ran dry\0')));
  });

  it('fails with the error of its source', async () => {
    const source = async function* () {
      yield '1\n';
      throw new Error('the source ran dry');
    };
    await assert.rejects(pipeline(source, client.copyFrom('COPY numbers FROM STDIN')), /the source ran dry/);
    assert.equal(await stored(), 0);
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

  it('tells with the error of its signal whether bytes have left', async () => {
    for (const isSent of [true, false]) {
      const controller = new AbortController();
      const transaction = isSent ? undefined : client.transaction(tx => tx.query('SELECT pg_sleep(0.1)'));
      const stream = client.copyFrom('COPY numbers FROM STDIN', { signal: controller.signal });
      stream.write('1\n');
      const failed = once(stream, 'error');
      setImmediate(() => controller.abort());
      const [{ name, sent }] = await failed;
      assert.deepEqual([name, sent], ['AbortError', isSent]);
      await transaction;
    }
    const stream = client.copyFrom('COPY numbers FROM STDIN', { signal: AbortSignal.abort() });
    assert.equal((await once(stream, 'error'))[0].sent, false);
    assert.equal(await stored(), 0);
  });

  it('fails if its source brings nothing for stall_timeout, and counts neither the wait for the server nor that for the connection', async () => {
    for (const options of [{}, { columns: ['a'] }]) {
      const stream = client.copyFrom('COPY numbers FROM STDIN', { stall_timeout: 20, ...options });
      stream.write(options.columns ? [1] : '1\n');
      await assert.rejects(finished(stream), {
        name: 'TimeoutError',
        code: '57014',
        sent: true,
        message: /source of copyFrom brought nothing for 20 ms/
      });
      const never = client.copyFrom('COPY numbers FROM STDIN', { stall_timeout: 0, ...options });
      await sleep(50);
      never.end();
      await finished(never);
    }
    assert.equal(await stored(), 0);
    await locked(client, async (other, unlock) => {
      await once(other.on('error', () => {}).destroy(), 'close');
      const stream = client.copyFrom('COPY locked_for_copy (a) FROM STDIN', { stall_timeout: 20 });
      for (let i = 0; i < 2; i++) stream.write(Buffer.alloc(100000, '1\n')); // the second one waits for the server
      const behind = client.copyFrom('COPY numbers FROM STDIN', { stall_timeout: 20 });
      await sleep(60);
      assert.equal(stream.destroyed, false);
      stream.end();
      await unlock();
      await finished(stream);
      assert.equal(behind.destroyed, false);
      behind.end('1\n');
      await finished(behind);
    });
    assert.equal(await stored(), 1);
  });

  describe('looks whether its source has brought something', () => {
    /** Holds the timers from now on: `watched` waits for that of stall_timeout, a minute, which `look` lets pass. */
    const looking = () => {
      const timers = heldTimers();
      const watches = () => timers.filter(({ delay }) => delay === 60000);
      const watched = async () => {
        while (watches().length === 0) await turn();
      };
      const look = async () => {
        for (const { callback } of watches()) callback();
        await turn();
      };
      return { look, watched };
    };
    const written = (stream, chunk) => new Promise(taken => stream.write(chunk, taken));

    for (const [what, chunk, options] of [
      ['a byte', '1', {}],
      ['a row', [1], { columns: ['a'] }]
    ]) {
      it(`and does not fail while that is ${what} each time`, async () => {
        const { look, watched } = looking();
        const stream = client.copyFrom('COPY numbers FROM STDIN', options);
        const failed = assert.rejects(finished(stream), { code: '57014' });
        await watched();
        for (let i = 0; i < 3; i++) {
          await written(stream, chunk);
          await look();
        }
        assert.equal(stream.destroyed, false);
        await look();
        await failed;
      });
    }

    it('and does not fail while a byte of that waits for the server', async () => {
      const { look, watched } = looking();
      await locked(client, async (stream, unlock) => {
        await written(stream, Buffer.alloc(65536, '1\n'));
        stream.write('1');
        await watched();
        for (let i = 0; i < 3; i++) await look();
        assert.equal(stream.destroyed, false);
        await unlock();
        stream.end('1\n');
        await finished(stream);
        assert.equal(stream.rowCount, 32769);
      });
    });
  });

  it('does not hold a pool: uploads that bring nothing more end, and the next request has a connection', async () => {
    const { config } = await sharedServer();
    const pool = endAfterTest(new Pool(config, { size: 2 }));
    await pool.query('CREATE UNLOGGED TABLE IF NOT EXISTS uploads (a int)');
    const uploads = Array.from({ length: 2 }, () => {
      const upload = pool.copyFrom('COPY uploads FROM STDIN', { stall_timeout: 20 });
      upload.write('1\n');
      return assert.rejects(finished(upload), { code: '57014' });
    });
    const next = pool.transaction(async tx => (await tx.query('SELECT count(*)::text AS n FROM uploads')).rows[0].n);
    await Promise.all(uploads);
    assert.equal(await next, '0');
    await pool.query('DROP TABLE uploads');
  });

  it('is cancelled while it waits for a lock', async () => {
    await locked(client, async stream => {
      stream.write('1\n');
      await until(async () => !(await isIdle(client)));
      stream.destroy();
      await goesOn(client);
    });
  });

  it('is not sent when its signal has aborted before', async () => {
    const target = client.copyFrom('COPY numbers FROM STDIN', { signal: AbortSignal.abort() });
    assert.equal(target.destroyed, false, 'a pipeline of Node.js 26 takes no destroyed stream');
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
      const { toServer } = wire.stats.flights;
      const stream = client.copyFrom('COPY numbers FROM STDIN');
      work(stream);
      await until(() => wire.stats.flights.toServer > toServer, 'COPY to be sent');
      wire.reset();
      const [error] = await once(stream, 'error');
      assert.ok(error instanceof ConnectionError);
    }
  });

  it('keeps other requests waiting until it is over, in their order', async () => {
    const order = [];
    const stream = client.copyFrom('COPY numbers FROM STDIN');
    const count = client.query('SELECT count(*) AS n FROM numbers').then(({ rows }) => order.push(rows[0].n));
    const second = pipeline(Readable.from(['2\n']), client.copyFrom('COPY numbers FROM STDIN')).then(() =>
      order.push('second')
    );
    stream.on('finish', () => order.push('first'));
    stream.end('1\n');
    await Promise.all([count, second]);
    assert.deepEqual(order, ['first', 1, 'second']);
  });

  it('ends with its transaction, which waits for one that has all of its data', async () => {
    await client.transaction(async tx => {
      tx.copyFrom('COPY numbers FROM STDIN').end('1\n');
    });
    assert.equal(await stored(), 1);
    let error;
    await client.transaction(async tx => {
      error = once(tx.copyFrom('COPY numbers FROM STDIN'), 'error');
    });
    assert.equal((await error)[0].name, 'UsageError');
    assert.equal(await stored(), 1);
  });

  it('is waited for by end()', async () => {
    const stream = client.copyFrom('COPY numbers FROM STDIN');
    await new Promise(resolve => stream.write('1\n', resolve));
    const ended = client.end();
    stream.end('2\n');
    await Promise.all([once(stream, 'finish'), ended]);
    assert.equal(stream.rowCount, 2);
  });

  it('takes nothing but COPY FROM STDIN', () => {
    for (const text of [
      'SELECT 1',
      'COPY users TO STDOUT',
      undefined,
      "COPY stdin FROM PROGRAM 'echo stdin from stdin >/dev/null; echo 5'"
    ]) {
      assert.throws(() => client.copyFrom(text), {
        name: 'TypeError',
        message: text === undefined ? 'text must be a string, not undefined' : 'copyFrom takes COPY … FROM STDIN'
      });
    }
  });

  it('fails for what is neither text nor bytes, and for text that is cut within a character: nothing is stored', async () => {
    const surrogate = { name: 'TypeError', code: '22021', message: /^the text has half of a surrogate pair at 1,/ };
    for (const [chunk, expected] of [
      [{ a: 1 }, { name: 'TypeError', message: /^copyFrom takes text and Buffers, not an object/ }],
      [['1'], { name: 'TypeError', message: /not an array/ }],
      [5, { name: 'TypeError', message: /not a number/ }],
      ['1\ud83d', surrogate],
      ['2\ude00', surrogate]
    ]) {
      for (const give of [
        stream => pipeline(Readable.from(['1\n', chunk]), stream), // in a pipe, nothing may be thrown
        stream => finished(stream.end(chunk)),
        stream => new Promise((resolve, reject) => stream.on('error', reject).write(chunk))
      ]) {
        await assert.rejects(give(client.copyFrom('COPY numbers FROM STDIN')), expected, String(give));
        assert.equal(await stored(), 0);
      }
    }
    await pipeline(
      Readable.from(['1', Buffer.from('2'), new Uint8Array([10])]),
      client.copyFrom('COPY numbers FROM STDIN')
    );
    assert.equal(await stored(), 1);
  });

  it('reports a server that takes no data', async () => {
    const client = await answering(commandComplete('COPY 5'), ANSWER.ready);
    const stream = client.copyFrom('COPY numbers FROM STDIN');
    const [error] = await once(stream.on('finish', assert.fail), 'error');
    assert.equal(error.code, '08P01');
  });

  describe('while the connection ends', () => {
    /** The only error of a stream. */
    const errorOf = async stream => {
      const errors = [];
      stream.on('error', error => errors.push(error));
      if (!stream.closed) await once(stream, 'close').catch(() => {});
      await new Promise(setImmediate);
      assert.equal(errors.length, 1);
      return errors[0];
    };
    const COPY_IN = message('G', hex('00 0001 0000'));
    const FATAL = message('E', 'SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0');

    it('fails once where the server takes data and ends in one packet', async () => {
      for (let i = 0; i < 36; i++) {
        const client = await answering(COPY_IN, FATAL);
        const stream = client.copyFrom('COPY numbers FROM STDIN');
        if (i % 4 > 0) stream.write('1\n'.repeat(10 ** ((i % 4) + 2)));
        if (i % 3 === 0) stream.end();
        assert.equal((await errorOf(stream)).code, '57P01');
      }
    });

    it('fails once when the client is destroyed, at whatever moment', async () => {
      const { config } = await sharedServer();
      for (let i = 0; i < 45; i++) {
        const client = new Client(config);
        await client.connect();
        client.query('CREATE TEMP TABLE numbers (a int)').catch(() => {});
        const stream = client.copyFrom('COPY numbers FROM STDIN');
        const failed = errorOf(stream);
        failed.catch(() => {}); // the stream may finish
        stream.write('1\n'.repeat(10 ** ((i % 5) + 1)));
        if (i % 3 === 0) stream.end('2\n');
        for (let j = 0; j < i % 15; j++) await new Promise(setImmediate);
        client.destroy();
        if (!stream.writableFinished) assert.ok((await failed) instanceof ConnectionError);
      }
    });

    it('fails once when its backend is terminated, at whatever moment', async () => {
      const server = await sharedServer();
      const killer = await connected();
      for (let i = 0; i < 40; i++) {
        const client = new Client(server.config);
        await client.connect();
        await client.query('CREATE TEMP TABLE numbers (a int)');
        const killed = killer.query(`SELECT pg_terminate_backend($1), pg_sleep(${(i % 5) / 1000})`, [client.processId]);
        for (let j = 0; j < i % 10; j++) await new Promise(setImmediate);
        if (client.state === 'closed') continue;
        const stream = client.copyFrom('COPY numbers FROM STDIN');
        stream.write('1\n'.repeat(10 ** ((i % 5) + 1)));
        const error = await errorOf(stream);
        assert.ok(error.code === '57P01' || error instanceof ConnectionError, error.stack);
        await killed;
      }
    });
  });
});

describe('One signal for many copyFrom', () => {
  it('has one listener, and Node.js warns of nothing', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE many (i int)');
    const { signal } = new AbortController();
    const warnings = [];
    const listen = warning => warnings.push(warning.message);
    process.on('warning', listen);
    const streams = Array.from({ length: 20 }, () => client.copyFrom('COPY many FROM STDIN', { signal }));
    assert.equal(getEventListeners(signal, 'abort').length, 1);
    await Promise.all(streams.map(stream => pipeline(['1\n'], stream)));
    await new Promise(setImmediate);
    process.off('warning', listen);
    assert.deepEqual(warnings, []);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  });
});
