'use strict';

// quickgres/sockets: connections over a WebSocket, and by cloudflare:sockets. See README.md.

const { ConnectionError } = require('../core/protocol');

/** Makes a socket over WebSockets: see index.d.ts. A Worker never loads it. */
const webSocket = proxy => require('./websocket').webSocket(proxy);

/** A name that bundlers do not see: each looks for the module, which Workers alone have. */
const CLOUDFLARE = 'cloudflare:sockets';

const load = () =>
  import(/* webpackIgnore: true */ /* @vite-ignore */ CLOUDFLARE).catch(cause => {
    const message = 'workersSocket is for Cloudflare Workers, which have cloudflare:sockets';
    throw new ConnectionError(message, { code: '08001', cause });
  });

/** The socket of a Worker: see index.d.ts. */
const workersSocket = server => require('./workers').openSocket(server, load);
/** Tells the client that this stream enforces sslmode. */
workersSocket.encrypts = true;

module.exports = { webSocket, workersSocket };
