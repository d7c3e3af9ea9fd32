'use strict';

// A TCP connection to the database with a round trip: what the server sends arrives that much later.

const net = require('node:net');

/**
 * @param {{host: string, port: number}} target
 * @param {number} rtt milliseconds
 * @returns {Promise<{port: number, stop: function()}>}
 */
async function startLink({ host, port }, rtt) {
  const sockets = new Set();
  const server = net.createServer({ noDelay: true }, client => {
    const upstream = net.connect({ host, port, noDelay: true });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(socket);
          client.destroy();
          upstream.destroy();
        });
    }
    client.pipe(upstream);
    // Timers of one duration fire in order.
    upstream.on('data', chunk => setTimeout(() => client.destroyed || client.write(chunk), rtt));
  });
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  return {
    port: server.address().port,
    stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
    }
  };
}

module.exports = { startLink };
