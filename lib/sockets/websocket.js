'use strict';

const { Duplex } = require('node:stream');
const { isLoopback } = require('../core/config');
const { ConnectionError, isUrl, protocolError, tagOf } = require('../core/protocol');

/** The longest message in bytes, since proxies and Workers limit messages. */
const PIECE = 262144;
/** With so many bytes unsent the stream polls, every POLL milliseconds. */
const HIGH_WATER = 1048576;
const POLL = 5;
/** The most bytes that are held while the reader has paused. */
const MAX_HELD = 67108864;

/** Close codes of a normal end: normal closure, and no code. */
const NORMAL = [1000, 1005];

/**
 * A Duplex over any platform's WebSocket. A WebSocket has neither 'drain' nor pause. The stream therefore polls for
 * unsent bytes, and holds messages while it is paused, up to a limit. WebSockets of the package ws are paused.
 */
class WebSocketStream extends Duplex {
  #socket;
  #name;
  #ending = false;
  #timer;

  /** @param {WebSocket} socket connecting or open */
  constructor(socket) {
    super({ allowHalfOpen: false });
    this.#socket = socket;
    const url = URL.canParse(socket.url) ? new URL(socket.url) : undefined;
    // The rest may be a secret.
    this.#name = url === undefined ? 'the WebSocket' : `the WebSocket ${url.protocol}//${url.host}`;
    this.connecting = socket.readyState === 0;
    /** Whether the way to the proxy is encrypted. */
    this.encrypted = url?.protocol === 'wss:';
    /** Whether the proxy is on this machine. */
    this.local = url !== undefined && isLoopback(url.hostname.replace(/^\[|\]$/g, ''));
    if (socket.readyState > 1) return void this.destroy();
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('open', () => {
      this.connecting = false;
      this.emit('connect');
    });
    socket.addEventListener('message', event => this.#message(event.data));
    // The WebSocket may fail before the caller has added its listeners.
    const later = work => (this.connecting ? setTimeout(work) : work());
    socket.addEventListener('error', event => later(() => this.#fail(event)));
    socket.addEventListener('close', event => later(() => this.#close(event)));
  }

  #message(data) {
    if (this.destroyed) return;
    if (tagOf(data) !== 'ArrayBuffer')
      return void this.destroy(protocolError('a WebSocket message that is not binary'));
    if (!this.push(Buffer.from(data))) this.#socket.pause?.();
    if (this.readableLength <= MAX_HELD) return;
    this.destroy(
      new ConnectionError(
        `more than ${MAX_HELD} bytes have come while reading was paused, and a ` +
          'WebSocket cannot be paused: read large results with a cursor'
      )
    );
  }

  #fail({ error, message }) {
    const code = typeof error?.code === 'string' ? error.code : this.connecting ? '08001' : 'ECONNRESET';
    let why = message || error?.message;
    if (why?.includes(this.#socket.url)) why = error = undefined; // Bun shows all of the URL
    const what = this.connecting ? 'could not be opened' : 'failed';
    this.destroy(new ConnectionError(`${this.#name} ${what}${why ? `: ${why}` : ''}`, { code, cause: error }));
  }

  #close(event) {
    if (this.destroyed) return;
    if (this.connecting) return this.#fail({});
    if (this.#ending || NORMAL.includes(event.code)) return void this.push(null);
    // The platform reports 1006 if the connection broke without a close message.
    const code = event.code === 1006 ? 'ECONNRESET' : '08006';
    const reason = event.reason ? ` ${JSON.stringify(event.reason)}` : '';
    const error = new ConnectionError(`${this.#name} was closed with code ${event.code}${reason}`, { code });
    // What has come before is read first. The other listeners of 'end' would destroy the stream without the error.
    this.prependOnceListener('end', () => this.destroy(error));
    this.push(null);
  }

  _read() {
    this.#socket.resume?.();
  }

  _write(bytes, encoding, callback) {
    try {
      for (let off = 0; off < bytes.length; off += PIECE) this.#socket.send(bytes.subarray(off, off + PIECE));
    } catch (error) {
      return callback(error); // workerd throws after a close of the other side
    }
    const isFull = () => this.#socket.bufferedAmount >= HIGH_WATER; // workerd does not report it
    if (!isFull()) return callback();
    this.#timer = setInterval(() => {
      if (isFull()) return;
      clearInterval(this.#timer);
      callback();
    }, POLL);
  }

  _final(callback) {
    this.#ending = true;
    this.#socket.close(1000);
    callback();
  }

  _destroy(error, callback) {
    clearInterval(this.#timer);
    // close() would wait for the other side's answer; the package ws has terminate().
    if (this.#socket.terminate) this.#socket.terminate();
    else this.#socket.close();
    callback(error);
  }
}

const failed = message => new ConnectionError(message, { code: '08001' });

/** @throws {TypeError} without the URL, which may contain a secret */
function checkUrl(url) {
  const { protocol, username, password, hash } = URL.canParse(url) ? new URL(url) : {};
  if (/^wss?:$/.test(protocol) && !username && !password && !hash) return;
  throw new TypeError('the URL of a WebSocket must begin with ws: or wss:, without user, password and fragment');
}

function open(url) {
  if (typeof WebSocket !== 'function') {
    throw failed(
      'this platform has no WebSocket: give webSocket() a function that makes one, such as ' +
        '({ host, port }) => new WebSocket(url) with that of the package ws'
    );
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
    if (typeof given === 'string' || isUrl(given)) given = open(given);
    if (typeof given?.send !== 'function' || typeof given.addEventListener !== 'function') {
      throw failed('the function given to webSocket() gave neither a URL nor a WebSocket');
    }
    return new WebSocketStream(given);
  };
  socket.sslmode = 'disable';
  return socket;
}

module.exports = { webSocket, WebSocketStream, HIGH_WATER, MAX_HELD };
