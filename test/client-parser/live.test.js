'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const http = require('node:http');
const { setImmediate: turn, setTimeout: sleep } = require('node:timers/promises');
const { dataRow, message, rowDescription } = require('../support');
const { afterTest, shorten } = require('../support/hooks');
const { until } = require('../support/kit');

const TYPE = 'application/x-postgresql-live';
const END = message('s');
const copy = (position, count) => message('A', 0, `copy\0${position} ${count}\0`);
const whole = (...rows) => Buffer.concat([rowDescription('a', 'b'), ...rows.map(row => dataRow(...row)), END]);

describe('live', () => {
  let live, rows;
  before(async () => {
    ({ live } = await import('../../client-parser/live.js'));
    rows = list => list.map(({ a, b }) => [a, b]);
  });

  /** A server whose connections are given one after the other: `next()` gives the response to the next request. */
  async function serving() {
    const waiting = [];
    let wake = () => {};
    const server = http.createServer((request, response) => {
      waiting.push({ request, response });
      wake();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    afterTest(() => {
      server.close();
      server.closeAllConnections();
    });
    const next = async (bytes, headers = { 'content-type': TYPE }, status = 200) => {
      while (waiting.length === 0)
        await new Promise(resolve => {
          wake = resolve;
        });
      const { request, response } = waiting.shift();
      response.writeHead(status, headers);
      response.write(bytes);
      return { request, response };
    };
    return { url: `http://127.0.0.1:${server.address().port}/`, next, server, waiting };
  }

  /** Writes, and waits until the system has it. */
  const flushed = (response, bytes) => new Promise(resolve => response.write(bytes, resolve));

  /** A page and its server; it leaves after the test. */
  async function reading(options) {
    const server = await serving();
    const page = live(server.url, options);
    afterTest(() => page.return());
    const value = async () => (await page.next()).value;
    return { ...server, page, value };
  }

  it('gives each state as an array, in which rows that did not change are the same objects', async () => {
    const { next, value } = await reading({ headers: { 'x-own': 'yes' } });
    const first = value();
    const { request, response } = await next(whole(['1', 'x'], ['2', 'y'], ['3', null]));
    assert.deepEqual([request.headers.accept, request.headers['x-own']], [TYPE, 'yes']);
    const before = await first;
    assert.deepEqual(rows(before), [
      ['1', 'x'],
      ['2', 'y'],
      ['3', null]
    ]);
    assert.deepEqual([before.connected, before.columns.map(({ name }) => name)], [true, ['a', 'b']]);
    const second = value();
    response.write(Buffer.concat([copy(2, 1), dataRow('4', 'z'), copy(0, 2), END]));
    const after = await second;
    assert.deepEqual(rows(after), [
      ['3', null],
      ['4', 'z'],
      ['1', 'x'],
      ['2', 'y']
    ]);
    assert.notEqual(after, before);
    assert.deepEqual(
      [before[2], before[0], before[1]].map((row, i) => row === after[[0, 2, 3][i]]),
      [true, true, true]
    );
  });

  it('decodes values, or leaves strings with decode: false', async () => {
    const described = Buffer.from(rowDescription('a', 'b'));
    described.writeUInt32BE(23, 7 + 2 + 6);
    for (const [options, expected] of [
      [undefined, 7],
      [{ decode: true }, 7],
      [{ decode: { 23: Number } }, 7],
      [{ decode: {} }, '7'],
      [{ decode: false }, '7']
    ]) {
      const { next, value } = await reading(options);
      const first = value();
      await next(Buffer.concat([described, dataRow('7', 'x'), END]));
      const [row] = await first;
      assert.deepEqual(row, { a: expected, b: 'x' });
    }
  });

  it('never gives a part of a state, whatever the chunks', async () => {
    const { next, value } = await reading();
    const first = value();
    const bytes = whole(['1', 'x'], ['2', 'y']);
    const { response } = await next(bytes.subarray(0, 3));
    for (let i = 3; i < bytes.length; i += 7) {
      await flushed(response, bytes.subarray(i, i + 7));
      await turn();
    }
    assert.equal((await first).length, 2);
    let isGiven = false;
    const second = value().then(list => ((isGiven = true), list));
    response.write(Buffer.concat([copy(0, 2), dataRow('3', 'z')]));
    await sleep(20);
    assert.equal(isGiven, false);
    response.write(END);
    assert.equal((await second).length, 3);
  });

  it('keeps rows and columns together if the connection is lost within a state of other columns', async () => {
    const { next, value } = await reading();
    const first = value();
    const { response } = await next(whole(['1', 'x']));
    const before = await first;
    const other = Buffer.concat([rowDescription('a', 'c'), dataRow('1', 'x')]);
    await flushed(response, other);
    await turn();
    response.destroy();
    const lost = await value();
    assert.deepEqual(
      [lost.connected, lost[0] === before[0], lost.columns.map(({ name }) => name)],
      [false, true, ['a', 'b']]
    );
    const third = value();
    await next(Buffer.concat([other, END]));
    const after = await third;
    assert.deepEqual([after[0], after.columns.map(({ name }) => name)], [{ a: '1', c: 'x' }, ['a', 'c']]);
  });

  it('skips to the newest state', async () => {
    const { next, value, page } = await reading();
    const first = value();
    const { response } = await next(whole(['1', 'x']));
    await first;
    response.write(
      Buffer.concat([dataRow('2', 'y'), END, copy(0, 1), dataRow('3', 'z'), END, copy(0, 2), dataRow('4', ''), END])
    );
    assert.deepEqual(rows(await value()), [
      ['2', 'y'],
      ['3', 'z'],
      ['4', '']
    ]);
    await page.return();
  });

  it('connects again, says so, and knows the rows that it has', async () => {
    const { next, value } = await reading();
    const first = value();
    const { response } = await next(whole(['1', 'x'], ['2', 'y']));
    const before = await first;
    const lost = value();
    await flushed(response, copy(0, 1)); // half of a state
    await turn();
    response.destroy();
    const kept = await lost;
    assert.deepEqual([kept.connected, kept[0] === before[0], kept.length], [false, true, 2]);
    const again = value();
    await next(whole(['2', 'y'], ['3', 'z']));
    const after = await again;
    assert.deepEqual([after.connected, after[0] === before[1], after[1].b], [true, true, 'z']);
  });

  it('begins anew with other columns', async () => {
    const { next, value } = await reading();
    const first = value();
    const { response } = await next(whole(['1', 'x']));
    const [before] = await first;
    const second = value();
    response.write(Buffer.concat([rowDescription('c'), dataRow('1'), END]));
    const [after] = await second;
    assert.deepEqual([before, after], [{ a: '1', b: 'x' }, { c: '1' }]);
  });

  it('connects again without a word when the server sends it away, and after 5xx, 408, 425 and 429', async () => {
    const { next, value } = await reading();
    const first = value();
    for (const status of [503, 429]) (await next('later', {}, status)).response.end();
    (await next(whole(['1', 'x']))).response.end();
    assert.equal((await first).connected, true);
    const second = value();
    await next(whole(['2', 'x']));
    assert.deepEqual(rows(await second), [['2', 'x']]);
  });

  it('connects again after too long a silence, which messages that keep it alive break', async () => {
    const set = [];
    const cleared = new Set();
    const { clearTimeout: clear, setTimeout: make } = global;
    shorten(global, 'setTimeout', (callback, delay, ...args) => {
      const timer = make(callback, delay, ...args);
      if (delay === 54321) set.push({ callback, timer });
      return timer;
    });
    shorten(global, 'clearTimeout', timer => {
      cleared.add(timer);
      clear(timer);
    });
    const { next, value, waiting } = await reading({ timeout: 54321 });
    const first = value();
    const { response } = await next(whole(['1', 'x']));
    await first;
    const second = value();
    for (let i = 0; i < 3; i++) {
      const before = set.at(-1).timer;
      response.write(message('n'));
      await until(() => cleared.has(before) && set.at(-1).timer !== before);
    }
    assert.equal(waiting.length, 0);
    set.at(-1).callback();
    assert.equal((await second).connected, false);
    await next(whole(['1', 'x']));
    assert.equal((await value()).connected, true);
  });

  it('throws for 4xx, and for what is no live result', async () => {
    const cases = [
      ['no', {}, 403, { name: 'ResponseError', status: 403 }],
      [
        '<html>',
        { 'content-type': 'text/html' },
        200,
        { name: 'ProtocolError', message: 'the response is no live result' }
      ],
      ['<html>', { 'content-type': TYPE }, 200, { name: 'ProtocolError' }],
      [
        dataRow('x'),
        { 'content-type': TYPE },
        200,
        { name: 'ProtocolError', message: 'a live result without a RowDescription' }
      ],
      [
        Buffer.concat([whole(['1', 'x']), copy(0, 2)]),
        { 'content-type': TYPE },
        200,
        { message: 'a copy of rows that are not there' }
      ],
      [
        Buffer.concat([whole(), message('A', 0, 'other\0x\0')]),
        { 'content-type': TYPE },
        200,
        { message: 'a copy of rows that are not there' }
      ]
    ];
    for (const [bytes, headers, status, expected] of cases) {
      const { next, page } = await reading();
      const all = (async () => {
        for await (const each of page) assert.equal(each.connected, true);
      })();
      await next(bytes, headers, status);
      await assert.rejects(all, expected);
      assert.deepEqual(await page.next(), { value: undefined, done: true });
    }
    await assert.rejects(live('http://').next(), TypeError);
    await assert.rejects((await reading({ headers: { 'bad header': 'x' } })).page.next(), TypeError);
  });

  it('refuses a response without a body, copies of copies without bound, and wrong options', async () => {
    const { next, page } = await reading();
    const failed = assert.rejects(page.next(), { name: 'ProtocolError', message: 'the response is no live result' });
    (await next('', { 'content-type': TYPE }, 204)).response.end();
    await failed;
    const bomb = await reading();
    const all = (async () => {
      for await (const each of bomb.page) assert.ok(each.length <= 1e6);
    })();
    const doubled = Array.from({ length: 25 }, (_, i) => Buffer.concat([copy(0, 2 ** i), copy(0, 2 ** i), END]));
    await bomb.next(Buffer.concat([whole(['1', 'x']), ...doubled]));
    await assert.rejects(all, { name: 'ProtocolError', message: 'a live result of more than 1000000 rows' });
    for (const timeout of [0, -1, NaN, ''])
      assert.throws(() => live('/', { timeout }), { name: 'TypeError', message: /timeout must be/ });
  });

  it('takes any timeout, such as Infinity', async () => {
    const { next, value, waiting } = await reading({ timeout: Infinity });
    const first = value();
    await next(whole(['1', 'x']));
    assert.equal((await first).connected, true);
    await sleep(50);
    assert.equal(waiting.length, 0);
  });

  it('throws what a decoder throws', async () => {
    const { next, page } = await reading({
      decode: {
        25() {
          throw new RangeError('mine');
        }
      }
    });
    const first = page.next();
    await next(whole(['1', 'x']));
    await assert.rejects(first, { name: 'RangeError', message: 'mine' });
  });

  it('gives each call of next() a state of its own, and ends them all', async () => {
    const { next, page, value } = await reading();
    const values = [value(), value(), value()];
    const { response } = await next(whole(['1', 'x']));
    assert.deepEqual(rows(await values[0]), [['1', 'x']]);
    response.write(Buffer.concat([dataRow('2', 'y'), END]));
    assert.deepEqual(rows(await values[1]), [['2', 'y']]);
    await page.return();
    assert.equal(await values[2], undefined);
  });

  it('leaves no timer and no listener behind when it connects again', async () => {
    const listeners = new Set();
    globalThis.addEventListener = (type, listener) => listeners.add(listener);
    globalThis.removeEventListener = (type, listener) => listeners.delete(listener);
    afterTest(() => {
      delete globalThis.addEventListener;
      delete globalThis.removeEventListener;
    });
    const { next, page, value } = await reading();
    for (let i = 0; i < 3; i++) {
      const state = value();
      const { response } = await next(whole([`${i}`, 'x']));
      await state;
      assert.equal(listeners.size, 0);
      response.end();
      await until(() => listeners.size !== 0);
    }
    await page.return();
    assert.equal(listeners.size, 0);
  });

  it('ends by break, which ends the request', async () => {
    const { next, page } = await reading();
    const loop = (async () => {
      for await (const each of page) if (each.length > 0) break;
    })();
    const { response } = await next(whole(['1', 'x']));
    await loop;
    await once(response, 'close');
    assert.deepEqual(await page.next(), { value: undefined, done: true });
  });

  it('ends by its signal with its reason, connected, between two attempts, and before', async () => {
    const aborted = live('http://localhost:1/', { signal: AbortSignal.abort(new Error('before')) });
    await assert.rejects(aborted.next(), { message: 'before' });
    for (const url of [undefined, 'http://127.0.0.1:1/']) {
      const controller = new AbortController();
      const server = await serving();
      const page = live(url ?? server.url, { signal: controller.signal });
      const first = page.next();
      if (url === undefined) await server.next(Buffer.alloc(0));
      else await sleep(50);
      controller.abort(new Error('enough'));
      await assert.rejects(first, { message: 'enough' });
      assert.deepEqual(await page.next(), { value: undefined, done: true });
    }
  });

  it('waits at most for a bounded time between two attempts', async () => {
    const pauses = [];
    const { fetch, setTimeout: wait } = globalThis;
    let attempts = 0;
    globalThis.fetch = async () => {
      throw new TypeError(`attempt ${++attempts}`);
    };
    globalThis.setTimeout = (callback, time, ...args) => {
      pauses.push(time);
      return wait(callback, 0, ...args);
    };
    const page = live('http://localhost/');
    const ended = page.next().catch(() => {});
    while (attempts < 40)
      await new Promise(resolve => {
        setImmediate(resolve);
      });
    Object.assign(globalThis, { fetch, setTimeout: wait });
    await page.return();
    await ended;
    const longest = Math.max(...pauses.filter(time => time !== 60000));
    assert.ok(longest > 5000 && longest <= 30000, `${longest}`);
  });
});
