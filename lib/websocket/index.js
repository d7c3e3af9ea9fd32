'use strict';

// quickgres/websocket: connections over a WebSocket. See README.md.

const { ConnectionError } = require('../core/protocol');
const { WebSocketStream } = require('./stream');

const failed = message => new ConnectionError(message, { code: '08001' });

/** @throws {TypeError} without the URL, which may contain a secret */
function checkUrl(url) {
  const { protocol, username, password, hash } = URL.canParse(url) ? new URL(url) : {};
  if (/^wss?:$/.test(protocol) && !username && !password && !hash) return;
  throw new TypeError('the URL of a WebSocket must begin with ws: or wss:, without user, password and fragment');
}

function open(url) {
  if (typeof WebSocket !== 'function') {
    throw failed('this platform has no WebSocket: give webSocket() a function that makes one, such as ' +
      '({ host, port }) => new WebSocket(url) with that of the package ws');
  }
  try {
    return new WebSocket(url);
  } catch (cause) {
    // The cause contains the URL, which may have a secret.
    throw failed(`the WebSocket could not be made: ${cause.name}`);
  }
}

/**
 * Makes the option `socket` of a config: see index.d.ts.
 * @param {string|URL|function} to
 * @returns {function({host: string, port: number}): Promise<WebSocketStream>} its property `sslmode` is 'disable'
 */
function webSocket(to) {
  if (typeof to !== 'function') checkUrl(to);
  const socket = async ({ host, port, sslmode = 'disable' }) => {
    if (sslmode !== 'disable') {
      throw failed(`sslmode=${sslmode} is impossible over a WebSocket: use a wss: URL and sslmode=disable`);
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
