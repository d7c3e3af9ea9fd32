'use strict';

const { EventEmitter } = require('node:events');
const { isLoopback } = require('../config');
const { ConnectionError, protocolError } = require('../protocol');

/** Longest message in bytes: proxies and Workers limit them, and to PostgreSQL one stream is as good as another. */
const PIECE = 262144;
/** From how many bytes written and not sent on there will be a 'drain', and how often that is looked at, in ms. */
const HIGH_WATER = 1048576;
const POLL = 5;
/** Most bytes that are held for a reader who has paused. */
const MAX_HELD = 67108864;

/** Close codes that mean the end of the stream and no error: normal, and none given. */
const NORMAL = [1000, 1005];

/**
 * What a client needs of a Duplex, over a WebSocket of any platform. A WebSocket tells neither when it has sent
 * something nor to wait with reading: the one is looked at from time to time, for the other messages are held, up to
 * a limit. The package ws can wait, and is asked to.
 */
class WebSocketStream extends EventEmitter {
  #socket;
  #name;
  #paused = false;
  #ending = false;
  #held = [];
  #heldBytes = 0;
  #emitting = false;
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
    /** Whether nobody can listen between here and the proxy, because it is encrypted. */
    this.encrypted = url?.protocol === 'wss:';
    /** Whether nobody can, because the proxy is on this machine. */
    this.local = url !== undefined && isLoopback(url.hostname.replace(/^\[|\]$/g, ''));
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('open', () => {
      this.connecting = false;
      this.emit('connect');
    });
    socket.addEventListener('message', event => this.#message(event.data));
    // It may fail before anybody listens here.
    const later = work => this.connecting ? setTimeout(work) : work();
    socket.addEventListener('error', event => later(() => this.#fail(event)));
    socket.addEventListener('close', event => later(() => this.#close(event)));
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

  #fail({ error, message }) {
    const code = typeof error?.code === 'string' ? error.code : this.connecting ? '08001' : 'ECONNRESET';
    const why = message || error?.message;
    const what = this.connecting ? 'could not be opened' : 'failed';
    this.destroy(new ConnectionError(`${this.#name} ${what}${why ? `: ${why}` : ''}`, { code, cause: error }));
  }

  #close(event) {
    if (this.#held.length > 0) this.#closed = event;
    else if (this.connecting) this.#fail({});
    else if (this.#ending || NORMAL.includes(event.code)) this.destroy();
    else {
      // 1006 is what the platform says when there was no word of the other side's.
      const code = event.code === 1006 ? 'ECONNRESET' : '08006';
      const reason = event.reason ? ` ${JSON.stringify(event.reason)}` : '';
      this.destroy(new ConnectionError(`${this.#name} was closed with code ${event.code}${reason}`, { code }));
    }
  }

  /** Bytes written and not sent; not every platform tells (workerd). */
  get writableLength() { return this.#socket.bufferedAmount ?? 0; }

  /**
   * @param {Uint8Array} bytes
   * @param {function} [callback] called when few bytes are left to be sent; not at all if the connection is lost before
   */
  write(bytes, callback) {
    if (this.destroyed || this.#ending) return;
    for (let off = 0; off < bytes.length; off += PIECE) this.#socket.send(bytes.subarray(off, off + PIECE));
    if (this.writableLength >= HIGH_WATER) this.#timer ??= setInterval(() => this.#poll(), POLL);
    if (callback) this.#timer === undefined ? callback() : this.once('drain', callback);
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
    if (this.#emitting) return; // whoever takes held messages has paused and resumed meanwhile
    this.#emitting = true;
    let count = 0;
    while (count < this.#held.length && !this.#paused) {
      const chunk = this.#held[count++];
      this.#heldBytes -= chunk.length;
      this.emit('data', chunk);
    }
    this.#held.splice(0, count);
    this.#emitting = false;
    if (this.#paused) return;
    this.#socket.resume?.();
    if (this.#closed) this.#close(this.#closed);
  }

  /** Sends what was written, then closes. */
  end() {
    this.#ending = true;
    this.#socket.close(1000);
  }

  /** @param {Error} [error] to be emitted */
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

module.exports = { WebSocketStream, HIGH_WATER, MAX_HELD };
