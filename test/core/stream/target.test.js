'use strict';

const assert = require('node:assert/strict');
const { AsyncLocalStorage } = require('node:async_hooks');
const { EventEmitter, once } = require('node:events');
const http = require('node:http');
const net = require('node:net');
const { PassThrough, Writable } = require('node:stream');
const { setImmediate: turn } = require('node:timers/promises');
const { setTimeout: sleep } = require('node:timers/promises');
const { Target } = require('../../../lib/core/stream');
const { connected } = require('../../support');
const { gc } = require('../../support/gc');
const { afterTest, shorten } = require('../../support/hooks');
const { slow } = require('../../support/kit');

describe('A target', () => {
  it('says why it is gone', async () => {
    const broken = new Error('broken');
    for (const [end, name] of [
      [stream => stream.destroy(), 'AbortError'],
      [stream => stream.end(), 'AbortError'],
      [stream => stream.destroy(broken), 'Error']
    ]) {
      const stream = new PassThrough().resume();
      const target = new Target(stream);
      const gone = new Promise(resolve => target.watch(resolve));
      assert.equal(target.gone, false);
      end(stream);
      const error = await gone;
      assert.equal(error.name, name);
      assert.equal(target.gone, true);
      assert.throws(() => target.write(Buffer.from('a')), error);
      await assert.rejects(target.end(), error);
    }
  });

  it('is no object that has only half of what a stream has', () => {
    for (const half of [{ write() {} }, { on() {} }, {}, null, undefined])
      assert.throws(() => new Target(half), /^TypeError: the target must be a writable stream/);
  });

  it('may be a WHATWG stream, which takes the writes one after the other and is unlocked in the end', async () => {
    const taken = [];
    const stream = new WritableStream({ write: chunk => void taken.push(String(chunk)) });
    const target = new Target(stream);
    target.watch(() => {});
    for (const letter of 'abc') target.write(Buffer.from(letter));
    await target.flushed();
    assert.deepEqual(taken, ['a', 'b', 'c']);
    assert.equal(stream.locked, true);
    target.release();
    assert.equal(stream.locked, false);
  });

  it('may be a WHATWG stream that transfers the memory of its chunks', async () => {
    const taken = [];
    const write = chunk => void taken.push(Buffer.from(structuredClone(chunk.buffer, { transfer: [chunk.buffer] })));
    const target = new Target(new WritableStream({ write }));
    const block = Buffer.from('abc');
    for (const piece of [block.subarray(0, 1), block.subarray(1)]) target.write(piece);
    await target.end();
    assert.deepEqual(taken.map(String), ['a', 'bc']);
    assert.equal(String(block), 'abc');
  });

  it('tells the backlog how much it has not taken, and when that is nothing', async () => {
    const callbacks = [];
    const stream = new Writable({ write: (chunk, encoding, callback) => callbacks.push(callback) });
    const told = [];
    const target = new Target(stream);
    target.watch(() => {});
    target.backlog = {
      add: (from, length) => told.push(['add', length]),
      remove: (from, length, isAll) => told.push(['remove', length, isAll])
    };
    for (const piece of ['abc', 'de']) target.write(Buffer.from(piece));
    for (let writes = 0; writes < 2; writes++) {
      callbacks.shift()();
      await turn();
    }
    assert.deepEqual(told, [
      ['add', 3],
      ['add', 2],
      ['remove', 3, false],
      ['remove', 2, true]
    ]);
    target.release();
    stream.destroy();
  });

  it('tells the backlog nothing of what is taken at once, or given to middleware that may drop callbacks', async () => {
    const taking = new Writable({ write: (chunk, encoding, callback) => callback() });
    const wrapped = Object.assign(slow(), { write: () => true });
    Writable.prototype.write.call(wrapped, 'a piece that waits');
    for (const stream of [taking, wrapped]) {
      const target = new Target(stream);
      target.watch(() => {});
      target.backlog = { add: () => assert.fail('added'), remove: () => assert.fail('removed') };
      target.write(Buffer.from('abc'));
      await turn();
      target.release();
      stream.destroy();
    }
  });

  it('is the HTTP/2 stream behind a response, but no other `stream`, and none behind middleware', () => {
    const behind = slow();
    const response = { createPushResponse() {}, stream: behind };
    const wrapped = { ...response, write: () => true };
    for (const [given, isBehind] of [
      [Object.assign(slow(), response), true],
      [Object.assign(slow(), { stream: behind }), false],
      [Object.assign(slow(), wrapped), false]
    ])
      assert.equal(new Target(given).stream, isBehind ? behind : given);
  });

  it('is destroyed if its write or end throws, since a stream of Node.js then calls back no more', async () => {
    const broken = new Error('broken');
    for (const use of [target => target.write(Buffer.from('a')), target => target.end(Buffer.from('a'))]) {
      for (const thrown of [broken, 'broken']) {
        const fail = () => {
          throw thrown;
        };
        const stream = new Writable({ write: fail });
        stream.on('error', () => {});
        const target = new Target(stream);
        const gone = new Promise(resolve => target.watch(resolve));
        const expected = thrown === broken ? broken : { name: 'AbortError', cause: 'broken' };
        assert.throws(() => use(target), expected);
        assert.equal(await gone, target.error);
        assert.equal(stream.destroyed, true);
      }
    }
  });

  it('has the error with which it was destroyed before anybody watched', () => {
    const broken = new Error('broken');
    assert.equal(new Target(new PassThrough().on('error', () => {}).destroy(broken)).error, broken);
    assert.equal(new Target(new PassThrough().destroy()).error.name, 'AbortError');
  });

  it('has taken its writes before those that come behind them in the same stream', async () => {
    const callbacks = [];
    const stream = new Writable({ write: (chunk, encoding, callback) => callbacks.push(callback) });
    const taken = [];
    const targets = ['first', 'second', 'third'].map(name => {
      const target = new Target(stream);
      target.watch(() => {});
      target.write(Buffer.from('a'));
      target.flushed().then(() => taken.push(name));
      return target;
    });
    for (const expected of [['first'], ['first', 'second'], ['first', 'second', 'third']]) {
      callbacks.shift()();
      await turn();
      assert.deepEqual(taken, expected);
    }
    for (const target of targets) target.release();
    stream.destroy();
  });

  it('tells when it has taken everything, ended or not', async () => {
    for (const end of [false, true]) {
      const stream = slow();
      const target = new Target(stream);
      let taken = false;
      target.watch(() => {});
      target.write(Buffer.from('a'));
      const result = (end ? target.end() : target.flushed()).then(() => {
        taken = true;
      });
      await turn();
      assert.equal(taken, false);
      assert.equal(target.buffered, 1);
      stream.go();
      await result;
      target.release();
      assert.equal(stream.writableFinished, end);
      if (!end)
        assert.deepEqual(
          ['close', 'error', 'finish'].map(event => stream.listenerCount(event)),
          [1, 1, 1]
        );
    }
    await new Target(slow()).flushed();
  });

  it('rejects when it fails before it has taken everything', async () => {
    for (const end of [false, true]) {
      const stream = slow();
      const target = new Target(stream);
      target.watch(() => {});
      target.write(Buffer.from('a'));
      const result = end ? target.end() : target.flushed();
      stream.destroy();
      await assert.rejects(result, { name: 'AbortError' });
    }
  });

  it('knows when it is gone though its stream does not say so', async () => {
    const stream = slow({ emitClose: false });
    const target = new Target(stream);
    const gone = new Promise(resolve => target.watch(resolve));
    target.write(Buffer.from('a'));
    const taken = target.flushed();
    stream.destroy();
    stream.go();
    assert.equal((await gone).name, 'AbortError');
    await assert.rejects(taken, { name: 'AbortError' });
  });

  it('is gone when a WHATWG stream was closed by somebody else', async () => {
    const stream = new WritableStream();
    await stream.close();
    const target = new Target(stream);
    const error = await new Promise(resolve => target.watch(resolve));
    assert.equal(error.name, 'AbortError');
  });

  it('has an AbortError when the reader of a WHATWG stream cancels, whatever the reason', async () => {
    for (const reason of [undefined, null, 'enough', {}, Symbol('enough')]) {
      const { readable, writable } = new TransformStream();
      const target = new Target(writable);
      const gone = new Promise(resolve => target.watch(resolve));
      await readable.cancel(reason);
      const { name, cause } = await gone;
      assert.deepEqual([name, cause], ['AbortError', reason ?? undefined]);
      target.release();
    }
  });

  it('has an AbortError when a WHATWG stream fails without an error, at any call', async () => {
    for (const sink of [
      { write: () => Promise.reject() },
      { write: (chunk, controller) => controller.error() },
      { close: () => Promise.reject() }
    ]) {
      const target = new Target(new WritableStream(sink));
      target.write(Buffer.from('a'));
      await assert.rejects(target.end(), { name: 'AbortError' });
      target.release();
    }
  });

  it('calls back once when it can take more, or never will', async () => {
    for (const work of [stream => stream.emit('drain'), stream => stream.destroy()]) {
      const stream = slow();
      const target = new Target(stream);
      const watched = stream.listenerCount('close'); // until it has closed
      let calls = 0;
      target.wait(() => calls++);
      work(stream);
      stream.emit('drain');
      await turn();
      assert.equal(calls, 1);
      target.release();
      assert.equal(stream.listenerCount('drain'), 0);
      assert.equal(stream.listenerCount('close'), stream.destroyed ? 0 : watched);
    }
  });

  it('has taken everything, or rejects, in the call, as streams of readable-stream 3, minipass and streamx do', async () => {
    class Other extends EventEmitter {
      fails;
      write(chunk) {
        return chunk.length > 0; // and calls nothing back
      }
      end() {
        if (this.fails) this.emit('error', new Error('failed'));
        else this.emit('finish');
      }
    }
    for (const fails of [false, true]) {
      const stream = Object.assign(new Other(), { fails });
      const target = new Target(stream);
      target.watch(() => {});
      target.write(Buffer.from('a'));
      assert.equal(target.flushed(), undefined);
      if (fails) await assert.rejects(target.end(), { message: 'failed' });
      else assert.equal(target.end(), undefined);
      target.release();
    }
  });

  it('does not give up a stream without a writableLength, such as those of readable-stream 2', async () => {
    const stream = Object.defineProperty(slow(), 'writableLength', { value: undefined });
    const target = new Target(stream, 5);
    target.watch(error => assert.fail(error));
    target.write(Buffer.from('a'));
    const waiting = new Promise(resolve => target.wait(resolve));
    await sleep(20);
    stream.emit('drain');
    await waiting;
    target.release();
  });

  it('gives up a stream that takes nothing for the stall_timeout, and destroys it', async () => {
    for (const wait of [
      target => new Promise(resolve => target.wait(resolve)),
      target => target.flushed(),
      target => target.end()
    ]) {
      const stream = slow();
      const target = new Target(stream, 20);
      const gone = new Promise(resolve => target.watch(resolve));
      target.write(Buffer.from('a'));
      const begun = performance.now();
      const waiting = wait(target).catch(error => error);
      const error = await gone;
      assert.deepEqual(
        [error.name, error.message],
        ['TimeoutError', 'the target took nothing for 20 ms (stall_timeout)']
      );
      assert.ok(performance.now() - begun > 15);
      assert.equal(stream.destroyed, true);
      assert.ok([undefined, error].includes(await waiting));
      target.release();
    }
  });

  it('waits longer for a stream on a socket with megabytes in the buffer of the system, which show no progress', async () => {
    for (const [megabytes, times] of [
      [0.9, 1],
      [1.5, 2],
      [3.1, 4],
      [100, 5]
    ]) {
      const socket = { bytesWritten: 5e6 };
      const stream = Object.assign(slow(), { socket });
      const target = new Target(stream, 20);
      const lost = new Promise(resolve => target.watch(resolve));
      target.write(Buffer.alloc(20000));
      socket.bytesWritten += 20000 + megabytes * 2 ** 20;
      target.wait(() => {});
      assert.equal((await lost).message, `the target took nothing for ${20 * times} ms (stall_timeout)`);
      target.release();
    }
  });

  it('does not give up a stream that has taken everything and gets nothing more for the stall_timeout', async () => {
    const stream = slow({ highWaterMark: 1 });
    const target = new Target(stream, 20);
    target.watch(assert.fail);
    assert.equal(target.write(Buffer.from('a')), false);
    const ready = new Promise(resolve => {
      target.wait(resolve);
    });
    stream.go();
    await ready;
    await sleep(100);
    target.release();
    assert.equal(stream.destroyed, false);
  });

  it('waits for a stream that takes little at a time, and for any where the stall_timeout is 0', async () => {
    for (const [timeout, pause] of [
      [40, 15],
      [0, 60]
    ]) {
      const stream = slow();
      const target = new Target(stream, timeout);
      target.watch(assert.fail);
      for (let i = 0; i < 6; i++) target.write(Buffer.from('a'));
      const taken = target.flushed();
      for (let i = 0; i < 6; i++) {
        await sleep(pause);
        stream.go();
      }
      await taken;
      target.release();
    }
  });

  describe('that is an HTTP/1.1 response', () => {
    /** The responses to so many requests that come on one connection, with what closes both. */
    async function responses(count) {
      const list = [];
      const server = http
        .createServer((request, response) => {
          list.push(response);
          if (list.length === count) server.emit('all');
        })
        .listen(0, '127.0.0.1');
      await once(server, 'listening');
      const socket = net.connect(server.address().port, '127.0.0.1');
      socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(count));
      await once(server, 'all');
      return { list, socket, stop: () => server.close().closeAllConnections() };
    }

    it('waits for its turn while responses to earlier requests are not over', async () => {
      const {
        list: [first, second],
        stop
      } = await responses(2);
      assert.equal(new Target(first).untilFirst(), undefined);
      const STALL = 54321;
      const watching = new Set();
      const { clearInterval: clear, setInterval: set } = global;
      shorten(global, 'setInterval', (callback, time, ...rest) => {
        const timer = set(callback, time, ...rest);
        if (time === STALL) watching.add(timer);
        return timer;
      });
      shorten(global, 'clearInterval', timer => {
        watching.delete(timer);
        clear(timer);
      });
      const target = new Target(second, STALL);
      target.watch(() => {});
      let begun = false;
      const turned = target.untilFirst().then(() => {
        begun = true;
      });
      await turn();
      assert.deepEqual([begun, watching.size], [false, 1]);
      first.end('first');
      await turned;
      assert.equal(watching.size, 0); // while its query runs, it has nothing to take
      assert.equal(target.untilFirst(), undefined);
      assert.equal(second.listenerCount('socket'), 0);
      second.end();
      stop();
    });

    it('has no turn without a connection, or when it is gone before', async () => {
      const {
        list: [, second],
        stop
      } = await responses(2);
      assert.equal(new Target(new http.ServerResponse(new http.IncomingMessage())).untilFirst(), undefined);
      assert.equal(new Target(second.destroy()).untilFirst(), undefined);
      stop();
    });

    it('tells of a connection that fails in its turn', async () => {
      const {
        list: [first, second],
        stop
      } = await responses(2);
      const target = new Target(second);
      const gone = new Promise(resolve => target.watch(resolve));
      const turned = target.untilFirst();
      // The connection has failed before what waits for the turn continues.
      second.once('socket', socket => process.nextTick(() => socket.destroy(new Error('reset'))));
      first.end('first');
      await turned;
      assert.equal((await gone).name, 'AbortError');
      stop();
    });

    it('does not wait for its turn when the connection is gone, and leaves no listener at it', async () => {
      const { list, socket, stop } = await responses(20);
      const waiting = list.slice(1).map(response => {
        const target = new Target(response);
        target.watch(() => {});
        return target.untilFirst();
      });
      const connection = list[0].socket;
      const listeners = connection.listenerCount('close');
      assert.ok(listeners < 10);
      const closed = new Promise(resolve => {
        connection.on('error', () => {}).once('close', resolve); // an error in Deno alone
      });
      socket.destroy();
      for (const turned of waiting) await assert.rejects(turned, { name: 'AbortError' });
      await closed;
      assert.ok(connection.listenerCount('close') < listeners);
      stop();
    });
  });

  // Otherwise results into one stream, 100 in flight, cost up to 1.5 × on Node.js 26.
  it('is garbage behind its result, for the collections of the new space, however many follow', async () => {
    const LENGTH = 10000;
    const ROUNDS = 200;
    const storage = new AsyncLocalStorage();
    const client = await connected();
    const stream = new PassThrough().resume();
    // A target keeps the context of its request.
    const pass = () => storage.run(new Array(LENGTH).fill(0), () => client.query('SELECT 1', [], { stream }));
    const run = async rounds => {
      for (let i = 0; i < rounds; i += 10) await Promise.all(Array.from({ length: 10 }, pass));
    };
    const used = () => {
      for (let i = 0; i < 2; i++) gc({ type: 'minor' }); // the second one moves what the first one has left
      return process.memoryUsage().heapUsed;
    };
    await run(50); // compiles
    gc();
    const moved = run(10);
    used(); // what is under way goes to the old space
    await moved;
    const before = used();
    await run(ROUNDS);
    const kept = (used() - before) / ROUNDS / (LENGTH * 8);
    assert.ok(kept < 0.3, `${kept.toFixed(2)} of what each has kept`);
  });

  it('runs the code of a stream in the AsyncLocalStorage context of its request', async () => {
    const storage = new AsyncLocalStorage();
    afterTest(() => storage.disable()); // on Node.js 20 it makes every promise dearer
    const client = await storage.run('connecting', () => connected());
    const text = "SELECT repeat('x', 1000) FROM generate_series(1, 1500)";
    // Takes nothing until the client waits for 'drain': a result that ends while something waits has none.
    function untilAwaited(callback) {
      const isAwaited = this.listenerCount('drain') > 1 || this.writableEnded;
      setImmediate(isAwaited ? callback : () => untilAwaited.call(this, callback));
    }
    const seen = new Set();
    const tell = (name, event) => seen.add(`${name} ${event} in ${storage.getStore()}`);
    const events = (stream, name, ...names) =>
      names.reduce((last, event) => last.on(event, () => tell(name, event)), stream);
    const targetOf = (name, take) =>
      events(
        new Writable({
          highWaterMark: 1, // each write waits for 'drain', however little of the result has come
          write(chunk, encoding, callback) {
            tell(name, 'write');
            take.call(this, callback);
          },
          final(callback) {
            tell(name, 'final');
            callback();
          },
          destroy(error, callback) {
            tell(name, 'destroy');
            callback(error);
          }
        }),
        name,
        'drain',
        'error',
        'finish',
        'close'
      );
    const ask = user =>
      storage.run(user, () =>
        Promise.all([
          client.queryTo(targetOf('slow', untilAwaited), text),
          assert.rejects(
            client.queryTo(
              targetOf('stalled', () => {}),
              text,
              [],
              { stall_timeout: 5 }
            ),
            { name: 'TimeoutError' }
          ),
          client.query(text, [], { stream: targetOf('query', setImmediate) }),
          once(events(client.copyTo(`COPY (${text}) TO STDOUT`), 'copyTo', 'data', 'end', 'close'), 'close')
        ])
      );
    const expected = user =>
      Object.entries({
        copyTo: ['close', 'data', 'end'],
        query: ['drain', 'write'],
        slow: ['close', 'destroy', 'drain', 'final', 'finish', 'write'],
        stalled: ['close', 'destroy', 'error', 'write']
      }).flatMap(([name, events]) => events.map(event => `${name} ${event} in ${user}`));
    await Promise.all(['a', 'b'].map(ask));
    assert.deepEqual([...seen].sort(), ['a', 'b'].flatMap(expected).sort());
  });
});
