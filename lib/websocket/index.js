'use strict';

// quickgres/websocket: connections over a WebSocket, also from a page. See README.md.

const { ConnectionError } = require('../protocol');
const { WebSocketStream } = require('./stream');

const failed = message => new ConnectionError(message, { code: '08001' });

/** @throws {TypeError} that does not show what may be a secret */
function checkUrl(url) {
  const { protocol, username, password, hash } = URL.canParse(url) ? new URL(url) : {};
  if (/^wss?:$/.test(protocol) && !username && !password && !hash) return;
  throw new TypeError('the URL of a WebSocket begins with ws: or wss:, and has neither user nor password nor fragment');
}

/** Makes a WebSocket of the platform's. */
function open(url) {
  if (typeof WebSocket !== 'function') {
    throw failed('this platform has no WebSocket: give webSocket() a function that makes one, such as ' +
      '({ host, port }) => new WebSocket(url) with that of the package ws');
  }
  try {
    return new WebSocket(url);
  } catch (cause) {
    // The cause has the URL, and that may have a secret.
    throw failed(`the WebSocket could not be made: ${cause.name}`);
  }
}

/**
 * Makes what a client's config takes as `socket`: its connections go over a WebSocket, to a proxy that opens a
 * connection to the server. TLS is that of the WebSocket (`wss:`) and ends at the proxy; there is none inside it.
 * @param {string|URL|function} to the proxy: its `ws:` or `wss:` URL, to which `address=host:port` of the server is
 *   added; or a function of `{ host, port }` that gives a URL, which is taken as it is, or a WebSocket that is connecting
 *   or open, or a promise of these
 * @returns {function({host: string, port: number}): Promise<WebSocketStream>} gives the stream, whose `encrypted` and
 *   `local` tell who can listen on the way to the proxy; rejects with a ConnectionError (08001). Its property `sslmode`
 *   is 'disable'
 * @throws {TypeError}
 */
function webSocket(to) {
  if (typeof to !== 'function') checkUrl(to);
  const socket = async ({ host, port, sslmode = 'disable' }) => {
    if (sslmode !== 'disable') {
      throw failed(`sslmode=${sslmode} cannot be kept over a WebSocket: give it a wss: URL, and sslmode=disable`);
    }
    let given;
    if (typeof to === 'function') given = await to({ host, port });
    else {
      given = new URL(to);
      given.searchParams.set('address', `${host.includes(':') ? `[${host}]` : host}:${port}`);
    }
    if (typeof given === 'string' || given instanceof URL) given = open(given);
    if (typeof given?.send !== 'function' || typeof given.addEventListener !== 'function') {
      throw failed('the function given to webSocket() gave neither a URL nor a WebSocket');
    }
    return new WebSocketStream(given);
  };
  socket.sslmode = 'disable';
  return socket;
}

module.exports = { webSocket };
