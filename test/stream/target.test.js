'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const http = require('node:http');
const { PassThrough, Writable } = require('node:stream');
const { setImmediate: turn } = require('node:timers/promises');
const { Sink, isPlainResponse, watch } = require('../../lib/stream/target');

/** A Writable that takes what it is given when `go` is called. */
class Slow extends Writable {
  _write(chunk, encoding, callback) { this.go = callback; }
}

describe('A sink', () => {
  it('says why its target is gone', async () => {
    const broken = new Error('broken');
    for (const [end, name] of [[target => target.destroy(), 'AbortError'], [target => target.end(), 'AbortError'],
      [target => target.destroy(broken), 'Error']]) {
      const target = new PassThrough().resume();
      const sink = new Sink(target);
      const gone = new Promise(resolve => sink.watch(resolve));
      assert.equal(sink.gone, false);
      end(target);
      const error = await gone;
      assert.equal(error.name, name);
      assert.equal(sink.gone, true);
      assert.throws(() => sink.write(Buffer.from('a')), error);
      await assert.rejects(sink.end(), error);
    }
  });

  it('tells when the target has taken everything, ended or not', async () => {
    for (const end of [false, true]) {
      const target = new Slow();
      const sink = new Sink(target);
      let taken = false;
      sink.watch();
      sink.write(Buffer.from('a'));
      const result = (end ? sink.end() : sink.flushed()).then(() => { taken = true; });
      await turn();
      assert.equal(taken, false);
      assert.equal(sink.queued, 1);
      target.go();
      await result;
      sink.release();
      assert.equal(target.writableFinished, end);
      if (!end) assert.equal(target.listenerCount('close') + target.listenerCount('error'), 0);
    }
    await new Sink(new Slow()).flushed();
  });

  it('rejects when the target fails before it has taken everything', async () => {
    for (const end of [false, true]) {
      const target = new Slow();
      const sink = new Sink(target);
      sink.watch();
      sink.write(Buffer.from('a'));
      const result = end ? sink.end() : sink.flushed();
      target.destroy();
      await assert.rejects(result, { name: 'AbortError' });
    }
  });

  it('knows when its target is gone that does not say so', async () => {
    const target = new Slow({ emitClose: false });
    const sink = new Sink(target);
    const gone = new Promise(resolve => sink.watch(resolve));
    sink.write(Buffer.from('a'));
    const taken = sink.flushed();
    target.destroy();
    target.go();
    assert.equal((await gone).name, 'AbortError');
    await assert.rejects(taken, { name: 'AbortError' });
  });

  it('is gone when a WHATWG stream was closed by somebody else', async () => {
    const target = new WritableStream();
    await target.close();
    const sink = new Sink(target);
    const error = await new Promise(resolve => sink.watch(resolve));
    assert.equal(error.name, 'AbortError');
  });

  it('calls back once when the target can take more, or never will', async () => {
    for (const work of [target => target.emit('drain'), target => target.destroy()]) {
      const target = new Slow();
      let calls = 0;
      new Sink(target).wait(() => calls++);
      work(target);
      target.emit('drain');
      await turn();
      assert.equal(calls, 1);
      assert.equal(target.listenerCount('drain') + target.listenerCount('close'), 0);
    }
  });

  it('has its target watched once, however many there are', async () => {
    const target = new PassThrough();
    const told = [];
    const stops = Array.from({ length: 20 }, (_, i) => watch(target, () => told.push(i)));
    assert.ok(target.listenerCount('close') <= 2);
    for (const stop of stops.slice(0, 18)) stop();
    target.destroy();
    await once(target, 'close');
    assert.deepEqual(told, [18, 19]);
    for (const stop of stops) stop();
  });

  it('knows the responses that give memory back from those with something in front of them', () => {
    const response = new http.ServerResponse({ method: 'GET' });
    assert.equal(isPlainResponse(response), true);
    const { write } = response;
    response.write = (...args) => write.apply(response, args);
    assert.equal(isPlainResponse(response), false);
    delete response.write;
    assert.equal(isPlainResponse(response), true);
    response.end = () => {};
    assert.equal(isPlainResponse(response), false);
    class Other extends http.ServerResponse {
      write(...args) { return super.write(...args); }
    }
    for (const target of [new Other({ method: 'GET' }), new PassThrough(), undefined, null, {}]) {
      assert.equal(isPlainResponse(target), false);
    }
  });
});
