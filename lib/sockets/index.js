'use strict';

// quickgres/sockets: connections over a WebSocket, and by cloudflare:sockets. See README.md.

/** Makes a socket over WebSockets: see index.d.ts. A Worker never loads it. */
const webSocket = proxy => require('./websocket').webSocket(proxy);

/** The socket of a Worker: see index.d.ts. */
const workersSocket = server => require('./workers').openSocket(server, () => import('cloudflare:sockets'));
/** Tells the client that this stream enforces sslmode. */
workersSocket.encrypts = true;

module.exports = { webSocket, workersSocket };
