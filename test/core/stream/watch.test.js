'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const http = require('node:http');
const { Duplex, PassThrough, Writable } = require('node:stream');
const { setImmediate: turn } = require('node:timers/promises');
const { Target } = require('../../../lib/core/stream');
const { unwatch, watch } = require('../../../lib/core/stream/watch');

const ended = stream => new Promise(over => watch(stream, { over }));

describe('watch', () => {
  it('tells when a stream has finished, with an AbortError when it is closed before, with its error when it fails', async () => {
    const broken = new Error('broken');
    for (const make of [
      () => new PassThrough().resume(),
      () =>
        new Writable({
          write(chunk, encoding, callback) {
            callback();
          }
        }),
      () =>
        new Duplex({
          write(chunk, encoding, callback) {
            callback();
          },
          read() {}
        }),
      () =>
        new Writable({
          emitClose: false,
          autoDestroy: false,
          write(chunk, encoding, callback) {
            callback();
          }
        })
    ]) {
      const streams = [make(), make(), make()];
      const ends = streams.map(ended);
      streams[0].end('a');
      streams[2].destroy(broken);
      assert.equal(await ends[0], undefined);
      assert.equal(await ends[2], broken);
      if (!streams[1].emitClose) streams[1].emit('close');
      assert.equal((await ends[1]).name, 'AbortError');
    }
  });

  it('tells of what was so already', async () => {
    const broken = new Error('broken');
    const failed = new PassThrough().on('error', () => {}).destroy(broken);
    const closed = new PassThrough().destroy();
    const finished = new PassThrough().resume().end();
    await once(finished, 'finish');
    assert.equal(await ended(finished), undefined);
    assert.ok((await ended(closed)) instanceof Error);
    assert.equal(await ended(failed), broken);
  });

  it('tells nothing more to a watcher that was taken away, and still tells the one that is there', async () => {
    const told = [];
    const [one, other] = ['one', 'other'].map(name => ({ over: () => told.push(name) }));
    const stream = new PassThrough();
    watch(stream, one);
    watch(stream, other);
    for (let i = 0; i < 2; i++) unwatch(stream, one);
    await once(stream.destroy(), 'close');
    unwatch(stream, other);
    assert.deepEqual(told, ['other']);
  });

  it('has one listener of each kind at an HTTP response, and none when that is over', async () => {
    const told = [];
    let response;
    const server = http
      .createServer((request, given) => {
        response = given;
        watch(given, { over: error => told.push(error) });
        watch(given, { over: error => told.push(error) });
        assert.deepEqual([given.listenerCount('close'), given.listenerCount('error')], [1, 1]);
        given.end('a');
      })
      .listen(0, '127.0.0.1');
    await once(server, 'listening');
    await (await fetch(`http://127.0.0.1:${server.address().port}`)).text();
    while (told.length < 2) await turn();
    assert.deepEqual(told, [undefined, undefined]);
    assert.equal(response.listenerCount('error'), 0);
    server.close().closeAllConnections();
  });

  it('has its stream watched once, however many there are', async () => {
    const stream = new PassThrough();
    const told = [];
    const targets = Array.from({ length: 20 }, (_, i) => {
      const target = new Target(stream);
      target.watch(() => told.push(i));
      return target;
    });
    assert.ok(stream.listenerCount('close') <= 3);
    assert.ok(stream.listenerCount('error') <= 2);
    for (const target of targets.slice(0, 18)) target.release();
    stream.destroy();
    await once(stream, 'close');
    assert.deepEqual(told, [18, 19]);
    for (const target of targets) target.release();
  });

  it('keeps an error of its stream from ending the program until that has closed, and then leaves no listener', async () => {
    const stream = new PassThrough();
    const before = stream.eventNames().map(event => stream.listenerCount(event));
    for (let i = 0; i < 3; i++) {
      const target = new Target(stream);
      target.watch(() => {});
      target.release();
    }
    assert.equal(stream.listenerCount('error'), 1);
    stream.destroy(new Error('late'));
    await once(stream, 'close').catch(() => {});
    await turn();
    assert.deepEqual(
      stream.eventNames().map(event => stream.listenerCount(event)),
      before
    );
  });
});
