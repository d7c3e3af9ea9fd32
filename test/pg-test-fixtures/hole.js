'use strict';

// An address that swallows SYNs, as one whose host has vanished does: connecting to it neither succeeds nor fails. It is a
// listening socket whose queue is full, in a thread that does not accept. Linux drops what comes then.

const net = require('node:net');
const { once } = require('node:events');
const { Worker } = require('node:worker_threads');

const LISTEN = `const { parentPort, workerData } = require('node:worker_threads');
  const { stopped, ...where } = workerData;
  const server = require('node:net').createServer().listen({ ...where, backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    setImmediate(() => {
      Atomics.wait(stopped, 0, 0);
      server.close();
      parentPort.postMessage('closed');
    });
  });`;

/** Milliseconds in which a queue with room accepts a connection. */
const ROOM = 200;

/**
 * @param {{host?: string, port?: number}} [where] 127.0.0.1 and a free port unless given
 * @returns {Promise<{host: string, port: number, stop: function(): Promise<void>}>}
 */
async function startHole({ host = '127.0.0.1', port: wanted = 0 } = {}) {
  const stopped = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(LISTEN, { eval: true, workerData: { host, port: wanted, stopped } });
  const [port] = await once(worker, 'message');
  worker.unref();
  const sockets = [];
  for (let isFull = false; !isFull;) {
    const socket = net
      .connect(port, host)
      .unref()
      .on('error', () => {});
    sockets.push(socket);
    isFull = await Promise.race([
      once(socket, 'connect').then(
        () => false,
        () => false
      ),
      new Promise(done => {
        setTimeout(done, ROOM, true);
      })
    ]);
  }
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    worker.ref();
    Atomics.store(stopped, 0, 1);
    Atomics.notify(stopped, 0);
    await once(worker, 'message'); // Deno leaves the port to a worker that is ended
    await worker.terminate();
  };
  let closed;
  return { host, port, stop: () => (closed ??= close()) };
}

module.exports = { startHole };
