'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const path = require('node:path');
const { inspect } = require('node:util');
const { ConnectionError } = require('../..');
const { WebSocketStream, HIGH_WATER, MAX_HELD } = require('../../lib/sockets/websocket');

// The fixtures' own dependency.
const ws = require(require.resolve('ws', { paths: [path.dirname(require.resolve('pg-test-fixtures'))] }));

/** A WebSocket that does what a test says. */
class FakeWebSocket extends EventTarget {
  readyState = 1;
  bufferedAmount = 0;
  url = 'ws://proxy.example/secret?token=secret';
  sent = [];
  closes = [];
  send(data) {
    this.sent.push(Buffer.from(data));
  }
  close(code) {
    this.closes.push(code);
  }
  say(type, fields) {
    this.dispatchEvent(Object.assign(new Event(type), fields));
  }
  data(text) {
    this.say('message', { data: new Uint8Array(Buffer.from(text)).buffer });
  }
}

/** A stream over a fake, with all that it emits. */
function faked(fields) {
  const socket = Object.assign(new FakeWebSocket(), fields);
  const stream = new WebSocketStream(socket);
  const events = [];
  for (const type of ['connect', 'drain', 'close']) stream.on(type, () => events.push(type));
  stream.on('data', chunk => events.push(String(chunk)));
  stream.on('error', error => events.push(error));
  return { socket, stream, events };
}

/** A turn of the event loop, in which a stream of Node.js emits what has happened. */
const turn = () => new Promise(setImmediate);

describe('WebSocketStream', () => {
  it('fails with what send() throws', async () => {
    const error = new Error('closed');
    const { stream, events } = faked({
      send() {
        throw error;
      }
    });
    stream.write('x');
    await turn();
    assert.deepEqual(events, [error, 'close']);
  });

  it('writes in messages of a bounded size, and says when what was written has gone', async () => {
    const { socket, stream, events } = faked();
    stream.write(Buffer.alloc(600000, 'x'));
    assert.deepEqual(
      socket.sent.map(({ length }) => length),
      [262144, 262144, 75712]
    );
    let looked = 0;
    let waiting = HIGH_WATER;
    Object.defineProperty(socket, 'bufferedAmount', { get: () => (looked++, waiting) });
    stream.write(Buffer.from('y'), () => events.push('taken'));
    while (looked < 4) await turn();
    assert.deepEqual(events, []);
    waiting = HIGH_WATER - 1;
    while (events.length === 0) await turn();
    stream.write(Buffer.from('z'), () => events.push('taken at once'));
    await turn();
    assert.deepEqual(events, ['taken', 'taken at once']);
  });

  it('holds what comes for a reader who waits, in order, and its end with it', async () => {
    for (const [code, end] of [
      [1000, 'close'],
      [1011, 'ConnectionError']
    ]) {
      const { socket, stream, events } = faked();
      await turn();
      socket.data('a');
      stream.pause();
      for (const text of 'bcd') socket.data(text);
      socket.say('close', { code });
      await turn();
      assert.deepEqual(events, ['a']);
      stream.once('data', () => stream.pause());
      stream.resume();
      await turn();
      assert.deepEqual(events, ['a', 'b']);
      stream.resume();
      await turn();
      assert.deepEqual(events.map(event => event.name ?? event).slice(0, 5), ['a', 'b', 'c', 'd', end]);
    }
  });

  it('cuts the WebSocket where that is possible, and looks at nothing any more, when it is destroyed', async () => {
    const timers = () => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length;
    const before = timers();
    let cuts = 0;
    const { socket, stream, events } = faked({
      bufferedAmount: HIGH_WATER,
      terminate: () => {
        cuts++;
      }
    });
    stream.write(Buffer.from('x'));
    assert.equal(timers(), before + 1);
    stream.destroy();
    stream.destroy();
    assert.equal(timers(), before);
    await turn();
    assert.deepEqual([cuts, socket.closes, events], [1, [], ['close']]);
  });

  it('is destroyed from the beginning over a WebSocket that is closing or closed', () => {
    const destroyed = [0, 1, 2, 3].map(readyState => faked({ readyState }).stream.destroyed);
    assert.deepEqual(destroyed, [false, false, true, true]);
  });

  it('holds a bounded amount', async () => {
    const { socket, stream, events } = faked();
    stream.pause();
    const data = new ArrayBuffer(MAX_HELD / 4);
    for (let i = 0; i < 4; i++) socket.say('message', { data });
    assert.deepEqual(events, []);
    stream.once('data', () => stream.pause());
    stream.resume();
    await turn();
    events.length = 0;
    socket.say('message', { data });
    await turn();
    assert.deepEqual(events, []); // what was taken does not count
    socket.data('x');
    await turn();
    assert.match(events[0].message, /a WebSocket cannot be paused: read large results with a cursor/);
    assert.equal(events[1], 'close');
    assert.equal(socket.closes.length, 1);
  });

  it('ends without an error when it is closed in good order', async () => {
    for (const code of [1000, 1005]) {
      const { socket, events } = faked();
      socket.say('close', { code });
      await turn();
      assert.deepEqual(events, ['close']);
    }
    const { socket, stream, events } = faked();
    stream.end();
    assert.deepEqual(socket.closes, [1000]);
    socket.say('close', { code: 1006 }); // it was closed by this side
    await turn();
    assert.deepEqual(events, ['close']);
  });

  it('fails with what the WebSocket tells, without its secrets', async () => {
    for (const [state, type, fields, code, expected] of [
      [
        1,
        'close',
        { code: 1006, reason: '' },
        'ECONNRESET',
        'the WebSocket ws://proxy.example was closed with code 1006'
      ],
      [
        1,
        'close',
        { code: 1011, reason: 'no\n' },
        '08006',
        'the WebSocket ws://proxy.example was closed with code 1011 "no\\n"'
      ],
      [1, 'error', {}, 'ECONNRESET', 'the WebSocket ws://proxy.example failed'],
      [0, 'error', { message: 'refused' }, '08001', 'the WebSocket ws://proxy.example could not be opened: refused'],
      [
        0,
        'error',
        { error: Object.assign(new Error('away'), { code: 'ENOTFOUND' }) },
        'ENOTFOUND',
        'the WebSocket ws://proxy.example could not be opened: away'
      ],
      [
        0,
        'error',
        { error: new Error("connection to 'ws://proxy.example/secret?token=secret' failed") },
        '08001',
        'the WebSocket ws://proxy.example could not be opened'
      ],
      [0, 'close', { code: 1006 }, '08001', 'the WebSocket ws://proxy.example could not be opened'],
      [1, 'message', { data: 'text' }, '08P01', 'protocol violation: a WebSocket message that is not binary']
    ]) {
      const { socket, stream, events } = faked({ readyState: state });
      assert.equal(stream.connecting, state === 0);
      socket.say(type, fields);
      if (type !== 'close') socket.say('close', { code: 1006 });
      while (!events.includes('close')) await turn();
      socket.data('too late');
      const [error, ...rest] = events;
      assert.ok(error instanceof ConnectionError);
      assert.deepEqual([error.code, error.message, rest], [code, expected, ['close']]);
      assert.doesNotMatch(inspect(error), /token/);
    }
  });

  it('knows of its URL who can listen', async () => {
    for (const [url, encrypted, local] of [
      ['wss://proxy.example', true, false],
      ['ws://proxy.example', false, false],
      ['ws://127.0.0.1:80', false, true],
      ['ws://[::1]/', false, true],
      ['wss://localhost', true, true],
      [null, false, false]
    ]) {
      const { stream } = faked({ url });
      assert.deepEqual([stream.encrypted, stream.local], [encrypted, local]);
    }
  });

  it('has a WebSocket wait that can, as that of the package ws: a reader who waits holds the server up', async () => {
    const server = new ws.WebSocketServer({ port: 0, host: '127.0.0.1' });
    await once(server, 'listening');
    const chunk = Buffer.alloc(1 << 20);
    let sent = 0;
    server.on('connection', socket => {
      const more = () => {
        for (; socket.bufferedAmount < 4 * chunk.length && sent < 4 * MAX_HELD; sent += chunk.length)
          socket.send(chunk);
        if (sent < 4 * MAX_HELD) setTimeout(more, 1);
        else socket.close(1000);
      };
      more();
    });
    const stream = new WebSocketStream(new ws.WebSocket(`ws://127.0.0.1:${server.address().port}`));
    let received = 0;
    stream.on('error', assert.fail);
    stream.on('data', ({ length }) => {
      received += length;
      // Three turns, in which a WebSocket that does not wait would read on.
      stream.pause();
      setImmediate(() => setImmediate(() => setImmediate(() => stream.resume())));
    });
    await once(stream, 'close');
    assert.equal(received, 4 * MAX_HELD);
    server.close();
  });
});
