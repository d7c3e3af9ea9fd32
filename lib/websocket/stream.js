'use strict';

const { EventEmitter } = require('node:events');
const { isLoopback } = require('../core/config');
const { ConnectionError, protocolError } = require('../core/protocol');

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
 * As much of a Duplex as a client needs, over any platform's WebSocket. A WebSocket has neither 'drain' nor pause. The stream
 * therefore polls for unsent bytes, and holds messages while it is paused, up to a limit. WebSockets of the package ws are
 * paused.
 */
class WebSocketStream extends EventEmitter {
  #socket;
  #name;
  #paused = false;
  #ending = false;
  #held = [];
  #heldBytes = 0;
  #emitting = false;
  #closed; // the close event, until the messages before it are delivered
  #timer;

  /** @param {WebSocket} socket connecting or open */
  constructor(socket) {
    super();
    this.#socket = socket;
    const url = URL.canParse(socket.url) ? new URL(socket.url) : undefined;
    // The rest may be a secret.
    this.#name = url === undefined ? 'the WebSocket' : `the WebSocket ${url.protocol}//${url.host}`;
    this.connecting = socket.readyState === 0;
    this.destroyed = socket.readyState > 1;
    /** Whether the way to the proxy is encrypted. */
    this.encrypted = url?.protocol === 'wss:';
    /** Whether the proxy is on this machine. */
    this.local = url !== undefined && isLoopback(url.hostname.replace(/^\[|\]$/g, ''));
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('open', () => {
      this.connecting = false;
      this.emit('connect');
    });
    socket.addEventListener('message', event => this.#message(event.data));
    // The WebSocket may fail before the caller has added its listeners.
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
    if ((this.#heldBytes += chunk.length) <= MAX_HELD) return;
    this.destroy(new ConnectionError(`more than ${MAX_HELD} bytes have come while reading was paused, and a ` +
      'WebSocket cannot be paused: read large results with a cursor'));
  }

  #fail({ error, message }) {
    const code = typeof error?.code === 'string' ? error.code : this.connecting ? '08001' : 'ECONNRESET';
    let why = message || error?.message;
    if (why?.includes(this.#socket.url)) why = error = undefined; // Bun shows all of the URL
    const what = this.connecting ? 'could not be opened' : 'failed';
    this.destroy(new ConnectionError(`${this.#name} ${what}${why ? `: ${why}` : ''}`, { code, cause: error }));
  }

  #close(event) {
    if (this.#held.length > 0) this.#closed = event;
    else if (this.connecting) this.#fail({});
    else if (this.#ending || NORMAL.includes(event.code)) this.destroy();
    else {
      // The platform reports 1006 if the connection broke without a close message.
      const code = event.code === 1006 ? 'ECONNRESET' : '08006';
      const reason = event.reason ? ` ${JSON.stringify(event.reason)}` : '';
      this.destroy(new ConnectionError(`${this.#name} was closed with code ${event.code}${reason}`, { code }));
    }
  }

  /** Bytes written but not sent. workerd does not report them. */
  get writableLength() { return this.#socket.bufferedAmount ?? 0; }

  /** @param {function} [callback] called when few unsent bytes are left; never called after a loss */
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
    if (this.#emitting) return; // a 'data' listener has paused and resumed
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

  end() {
    this.#ending = true;
    this.#socket.close(1000);
  }

  destroy(error) {
    if (this.destroyed) return;
    this.destroyed = true;
    clearInterval(this.#timer);
    this.#held = [];
    // close() would wait for the other side's answer; the package ws has terminate().
    if (this.#socket.terminate) this.#socket.terminate();
    else this.#socket.close();
    if (error) this.emit('error', error);
    this.emit('close');
  }
}

module.exports = { WebSocketStream, HIGH_WATER, MAX_HELD };
