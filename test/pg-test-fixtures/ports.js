'use strict';

const net = require('node:net');

const taken = new Set();

/**
 * Whether a port of 127.0.0.1 can be listened on.
 * @param {number} port
 * @returns {Promise<boolean>}
 */
function isFree(port) {
  return new Promise(resolve => {
    const server = net.createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/**
 * A free TCP port, given to nobody else in this process. It lies below the range which operating systems take
 * the ports of outgoing connections from, so that it stays free while a server restarts.
 * @returns {Promise<number>}
 */
async function freePort() {
  for (let i = 0; i < 1000; i++) {
    const port = 15000 + Math.floor(Math.random() * 17000);
    if (taken.has(port)) continue;
    taken.add(port);
    if (await isFree(port)) return port;
  }
  throw new Error('no free TCP port on 127.0.0.1');
}

/** Whether something listens on a port. */
function canConnect(port) {
  return new Promise(resolve => {
    const socket = net.connect({ port, host: '127.0.0.1' });
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}

module.exports = { canConnect, freePort };
