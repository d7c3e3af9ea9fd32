'use strict';

const assert = require('node:assert/strict');
const { Writable } = require('node:stream');
const { mock } = require('node:test');
const { setImmediate: turn } = require('node:timers/promises');
const zlib = require('node:zlib');
const { Backlog, TAKING_LIMIT } = require('../../../lib/core/stream/backlog');
const { connected, proxied, sharedServer } = require('../../support');
const { slow, standstill, until } = require('../../support/kit');

/** Bytes that a runtime reads at once, without the ticks and promises between two reads: 32 times, as libuv does. */
const AT_ONCE = 32 * 65536;

const waiting = targets => targets.reduce((sum, { writableLength }) => sum + writableLength, 0);

/** Waits until nothing more comes. */
const untilQuiet = wire => standstill(() => wire.stats.bytes.toClient);

describe('The backlog of a connection', () => {
  it('forgets a target that has taken everything', async () => {
    const looked = [];
    const targetOf = name => ({
      get unsent() {
        looked.push(name);
        return 0;
      }
    });
    const [taken, waiting] = [targetOf('taken'), targetOf('waiting')];
    const backlog = new Backlog({ maxBuffered: 10, head: { next: null }, socket: { pause() {}, resume() {} } });
    backlog.add(taken, 5);
    backlog.remove(taken, 5, true);
    backlog.add(waiting, 20);
    backlog.remove(waiting, 20, true);
    assert.deepEqual(looked, ['waiting']);
  });

  it('does not read the connection while the target of a long result asks to wait, without any bytes in it', () => {
    const calls = [];
    const socket = { pause: () => calls.push('pause'), resume: () => calls.push('resume') };
    const backlog = new Backlog({ maxBuffered: 10, head: null, socket });
    const target = { unsent: 0 };
    backlog.pauseFor(target);
    assert.deepEqual(calls, ['pause']);
    backlog.resumeFor({});
    assert.deepEqual(calls, ['pause']);
    backlog.resumeFor(target);
    assert.deepEqual(calls, ['pause', 'resume']);
  });

  it('tells a sink once that the bytes of a read were taken', () => {
    const backlog = new Backlog({});
    let told = 0;
    backlog.unflushed = { flushLater: () => told++ };
    backlog.flushLater();
    backlog.flushLater();
    assert.equal(told, 1);
  });

  it('knows the targets that have not taken everything, in whatever order the others have', () => {
    for (const order of ['abc', 'acb', 'bac', 'bca', 'cab', 'cba']) {
      let looked = [];
      const targets = Object.fromEntries(
        [...'abcd'].map(name => [
          name,
          {
            get unsent() {
              looked.push(name);
              return 0;
            }
          }
        ])
      );
      const backlog = new Backlog({ maxBuffered: 10, head: { next: null }, socket: { pause() {}, resume() {} } });
      for (const name of 'abc') backlog.add(targets[name], 1);
      for (let taken = 1; taken <= 3; taken++) {
        backlog.remove(targets[order[taken - 1]], 1, true);
        looked = [];
        backlog.add(targets.d, 20); // it begins a pause, and looks
        backlog.remove(targets.d, 20, true);
        assert.deepEqual(looked.sort(), [...order.slice(taken), 'd'].sort(), order);
      }
    }
  });

  it('is at most max_buffer_bytes, however many slow readers there are, and all get their results', async () => {
    const { client, wire } = await proxied({ max_buffer_bytes: 10_000_000 });
    const targets = Array.from({ length: 3000 }, () => slow());
    const results = targets.map(target =>
      client.queryTo(target, "SELECT repeat('x', 20000)", [], { stall_timeout: 0 })
    );
    await until(() => waiting(targets) >= 10_000_000);
    await untilQuiet(wire);
    const most = waiting(targets);
    assert.ok(most < 10_000_000 + AT_ONCE, `${most} bytes wait`);
    for (const target of targets) target.hurry();
    await Promise.all(results);
    for (const { taken } of targets) if (taken < 20000) assert.fail(`${taken} bytes`);
  });

  it('counts what `end: false` and a stream of query leave in a target until it takes that or is destroyed', async () => {
    const { client, wire } = await proxied({ max_buffer_bytes: 100_000 });
    for (const ask of [
      stream => client.query("SELECT repeat('x', 90000)", [], { stream }),
      target => client.queryTo(target, "SELECT repeat('x', 90000)", [], { end: false })
    ]) {
      for (const let_go of [target => target.hurry(), target => target.destroy()]) {
        const [first, second] = [slow(), slow()];
        const results = [first, second].map(target => ask(target).catch(error => error));
        const other = client.query('SELECT 7 AS a');
        await until(() => second.writableLength !== 0);
        const third = client.query("SELECT repeat('x', 300000)");
        const before = wire.stats.bytes.toClient;
        await untilQuiet(wire);
        let answered = false;
        third.then(() => {
          answered = true;
        });
        await (await sharedServer()).sql('SELECT 1');
        assert.equal(answered, false, `${before}`);
        let_go(first);
        let_go(second);
        await Promise.all([...results, other, third]);
      }
    }
  });

  it('gives up the targets that take nothing while others wait, but none that has taken everything', async () => {
    const given_up = [];
    const target = name => ({ unsent: 5, giveUp: ({ message }) => given_up.push([name, message]) });
    const [stuck, part, done] = ['stuck', 'part', 'done'].map(target);
    const socket = { pause() {}, resume() {} };
    const backlog = new Backlog({ maxBuffered: 10, head: { next: null }, socket });
    mock.timers.enable({ apis: ['setInterval', 'setTimeout'] });
    try {
      for (const each of [stuck, part, done]) backlog.add(each, 10);
      backlog.remove(part, 5, false);
      backlog.remove(done, 10, true);
      mock.timers.tick(TAKING_LIMIT);
      await turn();
      assert.deepEqual(
        given_up,
        ['stuck', 'part'].map(name => [name, 'the target took nothing for 5000 ms (other requests waited for it)'])
      );
      backlog.remove(stuck, 10, true);
      backlog.remove(part, 5, true);
    } finally {
      mock.timers.reset();
    }
  });

  it('gives up all of them together, although the first one ends the pause and the clock goes on between two', async () => {
    const given_up = [];
    const socket = { pause() {}, resume() {} };
    const backlog = new Backlog({ maxBuffered: 15, head: { next: null }, socket });
    const target = name => ({
      get unsent() {
        if (!this.isKnown) mock.timers.tick(1);
        this.isKnown = true;
        return 10;
      },
      giveUp() {
        given_up.push(name);
        backlog.remove(this, 10, true);
      }
    });
    mock.timers.enable({ apis: ['setInterval', 'setTimeout'] });
    try {
      for (const name of ['first', 'second']) backlog.add(target(name), 10);
      for (const time of [TAKING_LIMIT - 1, 1, TAKING_LIMIT]) {
        mock.timers.tick(time);
        await turn();
      }
      assert.deepEqual([given_up, backlog.bytes], [['first', 'second'], 0]);
    } finally {
      mock.timers.reset();
    }
  });

  it('looks no more for targets that take nothing when the connection is lost', async () => {
    let looks = 0;
    const pipeline = {
      maxBuffered: 1,
      socket: { pause() {}, resume() {} },
      get head() {
        looks++;
        return null;
      }
    };
    mock.timers.enable({ apis: ['setInterval', 'setTimeout'] });
    try {
      new Backlog(pipeline).add({ unsent: 5, giveUp: assert.fail }, 10);
      pipeline.socket = null;
      for (let i = 0; i < 3; i++) {
        mock.timers.tick(TAKING_LIMIT);
        await turn();
      }
    } finally {
      mock.timers.reset();
    }
    assert.equal(looks, 2);
  });

  it('does not give up the target of the only request', () => {
    const target = { unsent: 5, giveUp: () => assert.fail() };
    const pipeline = { maxBuffered: 1, head: { next: null, receiver: { target } }, socket: { pause() {} } };
    const backlog = new Backlog(pipeline);
    mock.timers.enable({ apis: ['setInterval', 'setTimeout'] });
    try {
      backlog.add(target, 10);
      for (let i = 0; i < 4; i++) mock.timers.tick(TAKING_LIMIT / 2);
    } finally {
      mock.timers.reset();
      pipeline.socket = null; // it looks no more
    }
  });

  it('keeps its targets when one that it does not have has taken all', () => {
    const backlog = new Backlog({ maxBuffered: 100, head: { next: null }, socket: { pause() {}, resume() {} } });
    const target = { unsent: 10 };
    backlog.add(target, 10);
    backlog.remove({ unsent: 0 }, 0, true);
    backlog.remove(target, 10, true);
    assert.equal(backlog.bytes, 0);
  });

  it('does not count what compressing middleware has taken, although that drops callbacks, and adds one listener', async () => {
    const client = await connected({ max_buffer_bytes: 500_000 });
    const pieces = [];
    const target = new Writable({
      highWaterMark: 1000,
      write(chunk, encoding, callback) {
        pieces.push(chunk);
        setTimeout(callback, 1);
      }
    });
    const { end, on, write } = target;
    const gzip = zlib.createGzip({ level: 1 });
    gzip.on('data', chunk => {
      if (!write.call(target, chunk)) gzip.pause();
    });
    gzip.on('end', () => end.call(target));
    target.on('drain', () => gzip.resume());
    target.write = chunk => gzip.write(chunk);
    target.end = chunk => gzip.end(chunk);
    target.on = (type, listener) => (type === 'drain' ? gzip.on(type, listener) : on.call(target, type, listener));
    const { bytes } = await client.queryTo(
      target,
      'SELECT md5(i::text) AS a FROM generate_series(1, 200000) AS i',
      [],
      { as: 'ndjson' }
    );
    assert.equal(zlib.gunzipSync(Buffer.concat(pieces)).length, bytes);
    assert.equal(gzip.listenerCount('drain'), 1);
  });

  for (const isReady of [true, false]) {
    it(`is not full for ever behind middleware whose write drops callbacks and gives ${isReady}`, async () => {
      const client = await connected({ max_buffer_bytes: 1000 });
      const target = new Writable({
        write() {},
        final(callback) {
          callback();
        }
      });
      target.write('one piece that is never taken');
      let bytes = 0;
      target.write = chunk => {
        bytes += chunk.length;
        if (!isReady) setImmediate(() => target.emit('drain'));
        return isReady;
      };
      const text = "SELECT repeat('x', 1000) AS a FROM generate_series(1, 5000)";
      const result = await client.queryTo(target, text, [], { as: 'ndjson', end: false, buffer: 1e9 });
      assert.equal(result.rowCount, 5000);
      assert.equal(bytes, result.bytes);
    });
  }

  it('does not keep a reader that takes what it gets from its result', async () => {
    const client = await connected({ max_buffer_bytes: 0 });
    const target = slow();
    target.hurry();
    const { rowCount } = await client.queryTo(target, "SELECT repeat('x', 1000) FROM generate_series(1, 20000)");
    assert.equal(rowCount, 20000);
  });
});
