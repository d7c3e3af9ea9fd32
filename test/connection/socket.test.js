'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const net = require('node:net');
const { Duplex, PassThrough } = require('node:stream');
const tls = require('node:tls');
const { makeCertificates } = require('pg-test-fixtures');
const { Transport } = require('../../lib/connection/socket');

/** Resolves with what an on… member is called with. */
const called = (transport, name) => new Promise(resolve => {
  transport[name] = (...args) => resolve(args);
});

describe('Transport', () => {
  let server;
  let sockets; // the server's ends

  before(done => {
    server = net.createServer(socket => {
      sockets.push(socket.on('error', () => {}));
      server.emit('accepted', socket);
    }).listen(0, '127.0.0.1', done);
  });
  after(() => server.close());
  beforeEach(() => { sockets = []; });
  afterEach(() => sockets.forEach(socket => socket.destroy()));

  /** A transport over TCP, and the server's end. */
  async function open() {
    const transport = new Transport();
    const accepted = once(server, 'accepted');
    transport.attach(net.connect({ port: server.address().port, host: '127.0.0.1',
      onread: transport.onread }));
    const [peer] = await accepted;
    if (transport.socket.connecting) await once(transport.socket, 'connect');
    return { transport, peer };
  }

  it('reads a socket into the same memory again and again', async () => {
    const { transport, peer } = await open();
    const memories = [];
    for (const text of ['one', 'two', 'three']) {
      peer.write(text);
      const [chunk, length] = await called(transport, 'onchunk');
      assert.equal(chunk.toString('latin1', 0, length), text);
      memories.push(chunk);
    }
    assert.equal(memories[0], memories[1]);
    assert.equal(memories[0], memories[2]);
    transport.destroy();
  });

  it('takes new memory after a chunk that was kept', async () => {
    const { transport, peer } = await open();
    const chunks = [];
    for (const text of ['one', 'two', 'three', 'four']) {
      peer.write(text);
      await new Promise(resolve => {
        transport.onchunk = (chunk, length) => {
          assert.equal(transport.kept, false);
          if (text !== 'three') transport.keep();
          assert.equal(transport.kept, text !== 'three');
          chunks.push(chunk.subarray(0, length));
          resolve();
        };
      });
    }
    assert.deepEqual(chunks.slice(0, 2).map(String), ['one', 'two']);
    assert.equal(chunks[2].buffer, chunks[3].buffer); // 'three' was not kept
    assert.equal(String(chunks[3]), 'four');
    assert.equal(new Set(chunks.map(chunk => chunk.buffer)).size, 3);
    transport.destroy();
  });

  it('uses memory again that was kept and is given back by all who kept it', async () => {
    const { transport, peer } = await open();
    const memories = [];
    const holds = [];
    const read = async text => {
      peer.write(text);
      await new Promise(resolve => {
        transport.onchunk = (chunk, length) => {
          assert.equal(chunk.toString('latin1', 0, length), text);
          memories.push(chunk.buffer);
          holds.push([transport.keep(), transport.keep()]);
          resolve();
        };
      });
    };
    await read('one');
    transport.release(holds[0][0]);
    await read('two');
    assert.notEqual(memories[1], memories[0], 'one of the two has not given it back');
    transport.release(holds[0][1]);
    await read('three'); // into memory that was taken before
    await read('four');
    assert.equal(memories[3], memories[0]);
    assert.equal(new Set(memories).size, 3);
    transport.destroy();
  });

  it('delivers what any other Duplex emits, and writes to it', async () => {
    const readable = new PassThrough();
    const writable = new PassThrough();
    const transport = new Transport();
    transport.attach(Duplex.from({ readable, writable }));
    readable.write('hello');
    const [chunk, length] = await called(transport, 'onchunk');
    assert.equal(chunk.toString('latin1', 0, length), 'hello');
    assert.equal(transport.write(Buffer.from('answer')), false,
      'nobody knows when a Duplex is done with the memory');
    assert.equal(String((await once(writable, 'data'))[0]), 'answer');
    transport.destroy();
  });

  it('sends without delay', async () => {
    const transport = new Transport();
    const socket = new PassThrough();
    let noDelay;
    socket.setNoDelay = value => { noDelay = value; };
    transport.attach(socket);
    assert.equal(noDelay, true);
  });

  it('says that memory may be used again exactly when the system has taken everything', async () => {
    const { transport, peer } = await open();
    peer.pause();
    assert.equal(transport.write(Buffer.from('short')), true);
    const large = Buffer.alloc(64 << 20);
    assert.equal(transport.write(large), false);
    assert.ok(transport.bufferedBytes > 0);
    const drained = called(transport, 'ondrain');
    peer.resume();
    await drained;
    assert.equal(transport.bufferedBytes, 0);
    assert.equal(transport.write(Buffer.from('short')), true);
    transport.destroy();
  });

  it('writes several pieces as one, and tells when the system has taken all; not when the connection is lost', async () => {
    const { transport, peer } = await open();
    peer.pause();
    const large = Buffer.alloc(64 << 20);
    let taken = false;
    const all = new Promise(resolve => {
      transport.writeAll([Buffer.from('head'), large, Buffer.from('tail')], () => {
        taken = true;
        resolve();
      });
    });
    await once(peer, 'readable');
    assert.equal(taken, false);
    let length = 0;
    peer.on('data', data => { length += data.length; });
    await all;
    assert.equal(transport.bufferedBytes, 0);
    while (length < large.length + 8) await once(peer, 'data');
    assert.equal(length, large.length + 8);

    peer.pause();
    const closed = called(transport, 'onclose');
    transport.writeAll([large], () => assert.fail('nobody has taken it'));
    transport.destroy();
    await closed;
  });

  it('does not say so of TLS, which writes later', async () => {
    const { server: { cert, key } } = await makeCertificates();
    const secure = tls.createServer({ cert, key }, socket => socket.on('error', () => {}));
    await once(secure.listen(0, '127.0.0.1'), 'listening');
    const transport = new Transport();
    const socket = tls.connect({
      port: secure.address().port, host: '127.0.0.1', rejectUnauthorized: false, onread: transport.onread
    });
    transport.attach(socket);
    await once(socket, 'secureConnect');
    assert.equal(transport.write(Buffer.from('x')), false);
    const closed = called(transport, 'onclose');
    transport.destroy();
    await closed;
    secure.close();
  });

  it('reports the end of the stream once, without an error, when the other side ends it', async () => {
    const { transport, peer } = await open();
    let times = 0;
    const closed = new Promise(resolve => {
      transport.onclose = error => {
        times++;
        resolve(error);
      };
    });
    peer.end();
    assert.equal(await closed, undefined);
    transport.destroy(new Error('late'));
    await new Promise(setImmediate);
    assert.equal(times, 1);
  });

  it('reports the error of the stream once', async () => {
    const { transport, peer } = await open();
    const closed = called(transport, 'onclose');
    peer.resetAndDestroy();
    const [error] = await closed;
    assert.equal(error.code, 'ECONNRESET');
    transport.destroy();
    await new Promise(setImmediate);
  });

  it('reports the error it is destroyed with, and no later one', async () => {
    const { transport } = await open();
    const closed = called(transport, 'onclose');
    const error = new Error('enough');
    transport.destroy(error);
    transport.destroy(new Error('more'));
    assert.deepEqual(await closed, [error]);
    assert.equal(transport.socket.destroyed, true);
  });

  it('reports its end when it is destroyed before it has a stream', async () => {
    const transport = new Transport();
    const closed = called(transport, 'onclose');
    transport.destroy();
    assert.deepEqual(await closed, [undefined]);
    assert.equal(transport.bufferedBytes, 0);
    transport.ref();
    transport.unref();
  });

  it('reports its end also when the stream never tells that it is closed', async () => {
    const transport = new Transport();
    const stream = new Duplex({ read() {}, write(chunk, encoding, done) { done(); }, emitClose: false });
    transport.attach(stream);
    const closed = called(transport, 'onclose');
    transport.destroy();
    assert.deepEqual(await closed, [undefined]);
  });

  it('sends what was written before it ends', async () => {
    const { transport, peer } = await open();
    let received = 0;
    peer.on('data', chunk => { received += chunk.length; });
    transport.write(Buffer.alloc(1 << 20));
    transport.end();
    await once(peer, 'end');
    assert.equal(received, 1 << 20);
  });

  it('reads nothing between pause and resume', async () => {
    const { transport, peer } = await open();
    transport.onchunk = () => assert.fail('read while paused');
    transport.pause();
    peer.write('x');
    await new Promise(resolve => peer.write('y', resolve));
    for (let i = 0; i < 20; i++) await new Promise(setImmediate);
    const chunk = called(transport, 'onchunk');
    transport.resume();
    assert.equal((await chunk)[0][0], 'x'.charCodeAt());
    transport.destroy();
  });

  it('gives the stream back and hears nothing of it any more', async () => {
    const { transport, peer } = await open();
    const socket = transport.socket;
    transport.onclose = () => assert.fail('closed');
    assert.equal(transport.detach(), socket);
    assert.equal(transport.socket, null);
    for (const event of ['data', 'drain', 'error', 'close']) assert.equal(socket.listenerCount(event), 0,
      event);
    socket.destroy();
    await once(peer, 'close');
  });

  it('keeps the program running unless unref says otherwise', async () => {
    const { transport } = await open();
    assert.equal(transport.socket._handle.hasRef(), true);
    transport.unref();
    assert.equal(transport.socket._handle.hasRef(), false);
    transport.ref();
    assert.equal(transport.socket._handle.hasRef(), true);
    transport.destroy();
    const bare = new Transport();
    bare.attach(new PassThrough()); // a stream that does not know of it
    bare.unref();
    bare.ref();
  });
});
