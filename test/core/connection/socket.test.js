'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const net = require('node:net');
const { Duplex, PassThrough } = require('node:stream');
const tls = require('node:tls');
const { makeCertificates } = require('pg-test-fixtures');
const { Socket } = require('../../../lib/core/connection/socket');

/** A listener whose members can be replaced, and that takes whatever comes. */
const listening = () => ({ chunk() {}, closed() {}, drained() {} });

/** Resolves with what a member of the listener is called with. */
const called = (listener, name) =>
  new Promise(resolve => {
    listener[name] = (...args) => resolve(args);
  });

/** Sends bytes as the client does. @returns {boolean} whether their memory may be used again */
function write(socket, bytes) {
  let isFree = false;
  socket.flush({
    length: bytes.length,
    take: () => bytes,
    reuse() {
      isFree = true;
    }
  });
  return isFree;
}

describe('Socket', () => {
  let server;
  let sockets; // the server's ends

  before(done => {
    server = net
      .createServer(socket => {
        sockets.push(socket.on('error', () => {}));
        server.emit('accepted', socket);
      })
      .listen(0, '127.0.0.1', done);
  });
  after(() => server.close());
  beforeEach(() => {
    sockets = [];
  });
  afterEach(() => sockets.forEach(socket => socket.destroy()));

  /** A Socket over TCP, its listener, and the server's end. */
  async function open() {
    const listener = listening();
    const socket = new Socket(listener);
    const accepted = once(server, 'accepted');
    socket.attach(net.connect({ port: server.address().port, host: '127.0.0.1', onread: socket.onread }));
    const [peer] = await accepted;
    if (socket.stream.connecting) await once(socket.stream, 'connect');
    return { socket, listener, peer };
  }

  it('reads a socket into the same memory again and again', async () => {
    const { socket, listener, peer } = await open();
    const memories = [];
    for (const text of ['one', 'two', 'three']) {
      peer.write(text);
      const [chunk, length] = await called(listener, 'chunk');
      assert.equal(chunk.toString('latin1', 0, length), text);
      memories.push(chunk);
    }
    assert.equal(memories[0], memories[1]);
    assert.equal(memories[0], memories[2]);
    socket.destroy();
  });

  /** What a socket reads of pieces that are sent one after the other, if a listener fails in its first reads. */
  async function readPieces(pieces, failures, fail) {
    const { socket, listener, peer } = await open();
    let read = Buffer.alloc(0);
    for (const piece of pieces) {
      const end = read.length + piece.length;
      await new Promise(resolve => {
        listener.chunk = (bytes, length) => {
          read = Buffer.concat([read, bytes.subarray(0, length)]);
          if (read.length === end) setImmediate(resolve);
          if (failures-- > 0) fail(new Error('of the listener'));
        };
        peer.write(piece);
      });
    }
    socket.destroy();
    return read;
  }

  it('reads what was sent, with larger memory once a read has filled the first, also after a listener has thrown', async () => {
    const theirs = process.rawListeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    let thrown = 0;
    process.on('uncaughtException', () => {
      thrown++;
    });
    const bytes = length => Buffer.alloc(length, 'abcdefg');
    const lists = [
      [bytes(2048), Buffer.alloc(100), bytes(300), Buffer.alloc(60000), bytes(300), Buffer.alloc(2048), bytes(300000)],
      [bytes(10), bytes(2048), Buffer.alloc(60000), bytes(1), bytes(2048), Buffer.alloc(1), bytes(65536), bytes(300)],
      [bytes(65536), Buffer.alloc(300), bytes(65536), bytes(300)],
      [bytes(2048), bytes(32768), Buffer.alloc(60000), bytes(300), Buffer.alloc(300), bytes(65536)]
    ];
    const asTheClient = error =>
      process.nextTick(() => {
        throw error;
      }); // what a listener of the caller's has thrown
    const directly = error => {
      throw error;
    };
    try {
      for (const pieces of lists) {
        for (const failures of [0, 1, 2, 4]) {
          for (const fail of [asTheClient, directly]) {
            assert.ok(
              (await readPieces(pieces, failures, fail)).equals(Buffer.concat(pieces)),
              `${failures} times ${fail}`
            );
          }
        }
      }
      assert.equal(thrown, lists.length * 2 * 7);
    } finally {
      process.removeAllListeners('uncaughtException');
      for (const listener of theirs) process.on('uncaughtException', listener);
    }
  });

  it('uses little memory until a read has filled it', async () => {
    const { socket, listener, peer } = await open();
    const sizes = [];
    for (const length of [2047, 2048, 60000]) {
      peer.write(Buffer.alloc(length, 'x'));
      sizes.push((await called(listener, 'chunk'))[0].length);
    }
    assert.deepEqual(sizes, [2048, 2048, 32768]);
    socket.destroy();
  });

  it('delivers what any other Duplex emits, and writes to it', async () => {
    const readable = new PassThrough();
    const writable = new PassThrough();
    const listener = listening();
    const socket = new Socket(listener);
    socket.attach(Duplex.from({ readable, writable }));
    readable.write('hello');
    const [chunk, length] = await called(listener, 'chunk');
    assert.equal(chunk.toString('latin1', 0, length), 'hello');
    const memory = Buffer.from('answer');
    assert.equal(write(socket, memory), true);
    memory.fill(0); // the next query overwrites it
    assert.equal(String((await once(writable, 'data'))[0]), 'answer');
    socket.destroy();
  });

  it('tells who takes over what was left unread, and that the connection is over already', async () => {
    const { socket, listener, peer } = await open();
    peer.destroy();
    await called(listener, 'closed');
    const chunks = [];
    const next = { chunk: (bytes, length) => chunks.push(bytes.toString('latin1', 0, length)) };
    const closed = called(next, 'closed');
    socket.handOver(next);
    socket.deliver(Buffer.from('unread'));
    await closed;
    assert.deepEqual(chunks, ['unread']);
  });

  it('says that memory may be used again exactly when the system has taken everything', async () => {
    const { socket, listener, peer } = await open();
    peer.pause();
    assert.equal(write(socket, Buffer.from('short')), true);
    const large = Buffer.alloc(64 << 20);
    assert.equal(write(socket, large), false);
    assert.ok(socket.bufferedBytes > 0);
    const drained = called(listener, 'drained');
    peer.resume();
    await drained;
    assert.equal(socket.bufferedBytes, 0);
    assert.equal(write(socket, Buffer.from('short')), true);
    socket.destroy();
  });

  it('writes several pieces as one, and tells when the system has taken all; not when the connection is lost', async () => {
    const { socket, listener, peer } = await open();
    const large = Buffer.alloc(64 << 20);
    let taken = false;
    const all = new Promise(resolve => {
      socket.writeAll([Buffer.from('head'), large, Buffer.from('tail')], () => {
        taken = true;
        resolve();
      });
    });
    await once(peer, 'readable');
    assert.equal(taken, false);
    let length = 0;
    peer.on('data', data => {
      length += data.length;
    });
    await all;
    assert.equal(socket.bufferedBytes, 0);
    while (length < large.length + 8) await once(peer, 'data');
    assert.equal(length, large.length + 8);

    peer.pause();
    const closed = called(listener, 'closed');
    socket.writeAll([large], () => assert.fail('nobody has taken it'));
    socket.destroy();
    await closed;
  });

  it('tells each time that everything written has been taken', async () => {
    const { socket, listener, peer } = await open();
    peer.pause();
    write(socket, Buffer.alloc(64 << 20));
    const calls = [];
    listener.drained = () => calls.push('always');
    for (let i = 0; i < 2; i++) {
      const drained = once(socket.stream, 'drain');
      peer.resume();
      await drained;
      peer.pause();
      write(socket, Buffer.alloc(64 << 20));
    }
    assert.deepEqual(calls, ['always', 'always']);
    socket.destroy();
  });

  it('writes to TLS, which may encrypt later, what the memory had, and frees it at once', async () => {
    const {
      server: { cert, key }
    } = await makeCertificates();
    const secure = tls.createServer({ cert, key }, socket => socket.on('error', () => {}).pipe(socket));
    await once(secure.listen(0, '127.0.0.1'), 'listening');
    const listener = listening();
    const socket = new Socket(listener);
    socket.attach(tls.connect({ port: secure.address().port, host: '127.0.0.1', rejectUnauthorized: false }));
    const memory = Buffer.from('early');
    assert.equal(write(socket, memory), true); // before the handshake
    memory.fill(0);
    const [chunk, length] = await called(listener, 'chunk');
    assert.equal(chunk.toString('latin1', 0, length), 'early');
    const closed = called(listener, 'closed');
    socket.destroy();
    await closed;
    secure.close();
  });

  it('reports the end of the stream once, without an error, when the other side ends it', async () => {
    const { socket, listener, peer } = await open();
    let times = 0;
    const closed = new Promise(resolve => {
      listener.closed = error => {
        times++;
        resolve(error);
      };
    });
    peer.end();
    assert.equal(await closed, undefined);
    socket.destroy(new Error('late'));
    await new Promise(setImmediate);
    assert.equal(times, 1);
  });

  it('reports the error of the stream once', async () => {
    const { socket, listener, peer } = await open();
    const closed = called(listener, 'closed');
    peer.resetAndDestroy();
    const [error] = await closed;
    assert.equal(error.code, 'ECONNRESET');
    socket.destroy();
    await new Promise(setImmediate);
  });

  it('reports the error it is destroyed with, and no later one', async () => {
    const { socket, listener } = await open();
    const closed = called(listener, 'closed');
    const error = new Error('enough');
    socket.destroy(error);
    socket.destroy(new Error('more'));
    assert.deepEqual(await closed, [error]);
    assert.equal(socket.stream.destroyed, true);
  });

  it('reports its end when it is destroyed before it has a stream', async () => {
    const listener = listening();
    const socket = new Socket(listener);
    const closed = called(listener, 'closed');
    socket.destroy();
    assert.deepEqual(await closed, [undefined]);
    assert.equal(socket.bufferedBytes, 0);
    socket.ref();
    socket.unref();
  });

  it('reports its end also when the stream never tells that it is closed', async () => {
    const listener = listening();
    const socket = new Socket(listener);
    const stream = new Duplex({
      read() {},
      write(chunk, encoding, done) {
        done();
      },
      emitClose: false
    });
    socket.attach(stream);
    const closed = called(listener, 'closed');
    socket.destroy();
    assert.deepEqual(await closed, [undefined]);
  });

  it('sends what was written before it ends', async () => {
    const { socket, peer } = await open();
    let received = 0;
    peer.on('data', chunk => {
      received += chunk.length;
    });
    write(socket, Buffer.alloc(1 << 20));
    socket.end();
    await once(peer, 'end');
    assert.equal(received, 1 << 20);
  });

  it('reads nothing until everybody who has paused has resumed', async () => {
    const { socket, listener, peer } = await open();
    const [one, other] = [{}, {}];
    listener.chunk = () => assert.fail('read while paused');
    socket.pause(one);
    socket.pause(other);
    socket.pause(one);
    socket.resume(one);
    socket.resume('somebody else');
    peer.write('x');
    await new Promise(resolve => peer.write('y', resolve));
    for (let i = 0; i < 20; i++) await new Promise(setImmediate);
    const chunk = called(listener, 'chunk');
    socket.resume(other);
    assert.equal((await chunk)[0][0], 'x'.charCodeAt());
    socket.destroy();
  });

  it('takes no pause once it is closed', async () => {
    const { socket, listener } = await open();
    const closed = called(listener, 'closed');
    socket.pause('who');
    socket.destroy();
    await closed;
    socket.pause('who');
    socket.resume('who');
    const bare = new Socket(listening());
    bare.destroy();
    bare.pause('who');
  });

  it('waits for nobody who has paused when it ends', async () => {
    const { socket, listener, peer } = await open();
    peer.on('data', () => {});
    socket.pause('who');
    peer.write('x');
    const closed = called(listener, 'closed');
    socket.end();
    peer.end();
    assert.deepEqual(await closed, [undefined]);
  });

  it('tells another listener from when it is handed over, also inside a call', async () => {
    const { socket, listener, peer } = await open();
    const seen = [];
    listener.closed = () => assert.fail('the first is told');
    const closed = new Promise(resolve => {
      listener.chunk = (chunk, length) => {
        seen.push(['first', length]);
        socket.handOver({
          chunk: (next, count) => seen.push(['second', count]),
          closed: resolve
        });
        peer.end('abc');
      };
    });
    peer.write('x');
    await closed;
    assert.deepEqual(seen, [
      ['first', 1],
      ['second', 3]
    ]);
  });

  it('gives the stream back and hears nothing of it any more', async () => {
    const { socket, listener, peer } = await open();
    const { stream } = socket;
    listener.closed = () => assert.fail('closed');
    assert.equal(socket.detach(), stream);
    assert.equal(socket.stream, null);
    for (const event of ['data', 'drain', 'error', 'close']) assert.equal(stream.listenerCount(event), 0, event);
    stream.destroy();
    await once(peer, 'close');
  });

  it('keeps the program running unless unref says otherwise', async () => {
    const { socket } = await open();
    assert.equal(socket.stream._handle.hasRef(), true);
    socket.unref();
    assert.equal(socket.stream._handle.hasRef(), false);
    socket.ref();
    assert.equal(socket.stream._handle.hasRef(), true);
    socket.destroy();
    const bare = new Socket(listening());
    bare.attach(new PassThrough()); // a stream that does not know of it
    bare.unref();
    bare.ref();
  });
});
