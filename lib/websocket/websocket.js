'use strict';

const { Buffer } = require('#platform');
const { EventEmitter } = require('#platform').events;
const { failed } = require('../connection');
const { ConnectionError, protocolError } = require('../protocol/errors');
const { isLoopback } = require('../config');

/** Longest message in bytes: proxies and Workers limit them, and to PostgreSQL one stream is as good as another. */
const PIECE = 262144;
/** From how many bytes written and not taken on there will be a 'drain', and how often that is looked at, in ms. */
const HIGH_WATER = 1048576;
const POLL = 5;
/** Most bytes that are held for a reader who has paused. */
const MAX_HELD = 67108864;

/** Close codes that mean the end of the stream and no error: normal, and none given. */
const NORMAL = [1000, 1005];

/**
 * What a Transport needs of a stream, over a WebSocket of any platform. A WebSocket tells neither when it has
 * sent something nor to wait with reading: the one is looked at from time to time, for the other messages are
 * held, up to a limit. The package ws can wait, and is asked to.
 */
class WebSocketStream extends EventEmitter {
  #socket;
  #name;
  #paused = false;
  #ending = false;
  #held = [];
  #giving = false;
  #heldBytes = 0;
  #closed; // the close event, while messages before it are held
  #timer;

  /** @param {WebSocket} socket connecting or open */
  constructor(socket) {
    super();
    this.#socket = socket;
    const url = URL.canParse(socket.url) ? new URL(socket.url) : undefined;
    // Whatever else is in the URL may be a secret.
    this.#name = url === undefined ? 'the WebSocket' : `the WebSocket ${url.protocol}//${url.host}`;
    this.connecting = socket.readyState === 0;
    this.destroyed = socket.readyState > 1;
    /** Who can listen on the way to the proxy: nobody but its host when encrypted, nobody at all when local. */
    this.websocket = {
      encrypted: url?.protocol === 'wss:',
      local: url !== undefined && isLoopback(url.hostname.replace(/^\[|\]$/g, ''))
    };
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('open', () => {
      this.connecting = false;
      this.emit('connect');
    });
    socket.addEventListener('message', event => this.#message(event.data));
    // It may fail before anybody listens here.
    const told = work => this.connecting ? setTimeout(work) : work();
    socket.addEventListener('error', event => told(() => this.#failed(event)));
    socket.addEventListener('close', event => told(() => this.#close(event)));
  }

  #message(data) {
    if (this.destroyed) return;
    if (!(data instanceof ArrayBuffer)) return this.destroy(protocolError('a WebSocket message that is not binary'));
    const chunk = Buffer.from(data);
    if (!this.#paused) return void this.emit('data', chunk);
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes <= MAX_HELD) return;
    this.destroy(new ConnectionError(`more than ${MAX_HELD} bytes have come for a reader who waits, and a WebSocket ` +
      'cannot be told to wait: read large results with a cursor'));
  }

  #failed({ error, message }) {
    const code = typeof error?.code === 'string' ? error.code : this.connecting ? '08001' : 'ECONNRESET';
    const why = message || error?.message;
    const what = this.connecting ? 'could not be opened' : 'failed';
    this.destroy(new ConnectionError(`${this.#name} ${what}${why ? `: ${why}` : ''}`, { code, cause: error }));
  }

  #close(event) {
    if (this.destroyed) return;
    if (this.#held.length > 0) {
      this.#closed = event;
    } else if (this.connecting) {
      this.#failed({});
    } else if (this.#ending || NORMAL.includes(event.code)) {
      this.destroy();
    } else {
      // 1006 is what the platform says when there was no word of the other side's.
      const code = event.code === 1006 ? 'ECONNRESET' : '08006';
      const reason = event.reason ? ` ${JSON.stringify(event.reason)}` : '';
      this.destroy(new ConnectionError(`${this.#name} was closed with code ${event.code}${reason}`, { code }));
    }
  }

  /** Bytes written and not sent; not every platform tells (workerd). */
  get writableLength() { return this.#socket.bufferedAmount ?? 0; }

  /** Whether there will be a 'drain'. */
  get writableNeedDrain() { return this.#timer !== undefined; }

  write(buffer) {
    if (this.destroyed || this.#ending) return;
    for (let off = 0; off < buffer.length; off += PIECE) this.#socket.send(buffer.subarray(off, off + PIECE));
    if (this.writableLength >= HIGH_WATER) this.#timer ??= setInterval(() => this.#poll(), POLL);
  }

  #poll() {
    if (this.writableLength >= HIGH_WATER) return;
    this.#timer = clearInterval(this.#timer);
    this.emit('drain');
  }

  pause() {
    this.#paused = true;
    this.#socket.pause?.();
  }

  resume() {
    this.#paused = false;
    if (this.#giving) return; // whoever takes held messages has paused and resumed meanwhile
    this.#giving = true;
    let given = 0;
    while (given < this.#held.length && !this.#paused) {
      const chunk = this.#held[given++];
      this.#heldBytes -= chunk.length;
      this.emit('data', chunk);
    }
    this.#held.splice(0, given);
    this.#giving = false;
    if (this.#paused) return;
    this.#socket.resume?.();
    if (this.#closed) this.#close(this.#closed);
  }

  /** Sends what was written, then closes. */
  end() {
    this.#ending = true;
    this.#socket.close(1000);
  }

  destroy(error) {
    if (this.destroyed) return;
    this.destroyed = true;
    clearInterval(this.#timer);
    this.#held = [];
    // Where a WebSocket cannot be cut, the platform waits for an answer of the other side, and we do not.
    if (this.#socket.terminate) this.#socket.terminate();
    else this.#socket.close();
    if (error) this.emit('error', error);
    this.emit('close');
  }
}

/**
 * Opens a WebSocket to a proxy, which opens a connection to the server.
 * @param {string|function({host: string, port: number}): (string|URL|WebSocket|Promise)} websocket the option
 * @param {{host: string, port: number}} server goes into the URL as `address` where the option is one
 * @param {boolean} encrypted whether it has to be wss:
 * @returns {Promise<WebSocketStream>} connecting or open
 * @throws {ConnectionError} 08001
 */
async function connect(websocket, { host, port }, encrypted) {
  let socket;
  if (typeof websocket === 'function') {
    socket = await websocket({ host, port });
  } else {
    socket = new URL(websocket);
    socket.searchParams.set('address', `${host.includes(':') ? `[${host}]` : host}:${port}`);
  }
  if (typeof socket === 'string' || socket instanceof URL) socket = open(socket, encrypted);
  if (typeof socket?.send !== 'function' || typeof socket.addEventListener !== 'function') {
    throw failed('the websocket function gave neither a URL nor a WebSocket');
  }
  const stream = new WebSocketStream(socket);
  if (!encrypted || stream.websocket.encrypted) return stream;
  stream.destroy();
  throw unencrypted();
}

const unencrypted = () => failed('sslmode=require over a WebSocket needs a URL that begins with wss:');

/** Makes a WebSocket of the platform's. */
function open(url, encrypted) {
  if (typeof WebSocket !== 'function') {
    throw failed('this platform has no WebSocket: let the option websocket be a function that makes one, such as ' +
      '({ host, port }) => new WebSocket(url) with that of the package ws');
  }
  if (encrypted && !/^wss:/i.test(url)) throw unencrypted();
  try {
    return new WebSocket(url);
  } catch (cause) {
    // The cause has the URL, and that may have a secret.
    throw failed(`the WebSocket could not be made: ${cause.name}`);
  }
}

module.exports = { connect, MAX_HELD, HIGH_WATER };
