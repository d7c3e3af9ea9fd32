'use strict';

// One direction of a proxied connection: a queue of what is on its way, and the faults that befall it.

/** Most bytes on their way before the sender is slowed down: without and with latency. */
const WINDOW = { direct: 1 << 20, delayed: 16 << 20, stalled: 1 << 16 };

/** What is in the queue besides bytes. */
const FIN = Symbol('FIN');
const RST = Symbol('RST');

/**
 * Random numbers that are the same for the same seed (Mulberry32).
 * @param {number} seed
 * @returns {() => number} from 0 up to 1
 */
function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A direction. The methods are those of ProxyConnection. */
class Channel {
  #queue = [];
  #head = 0;
  #waiting = 0;
  #delivered = 0;
  #chunks = [];
  #places = [];
  #timer;
  #draining = false;
  #immediate = false;
  #abandoned = false;
  #ended = false;
  #stalled = false;
  #pieceSize;
  #rate;
  #paidUntil = 0;

  /**
   * @param {object} options
   * @param {import('node:net').Socket} options.from
   * @param {import('node:net').Socket} options.to
   * @param {number} options.delay milliseconds
   * @param {boolean} options.record
   * @param {number} options.earliest time (performance.now()) before which nothing counts as sent
   * @param {() => void} options.onFlight called when a flight begins
   * @param {(socket: import('node:net').Socket) => void} options.reset breaks a socket off
   */
  constructor({ from, to, delay, record, earliest, onFlight, reset }) {
    Object.assign(this, { from, to, delay, record, earliest, onFlight, reset });
    /** The other direction. */
    this.opposite = undefined;
    /** Bytes that have come in. */
    this.bytes = 0;
    /** Whether the sender has got something since it sent: what it sends next is a new flight. */
    this.answered = true;
    from.on('data', chunk => this.#arrive(chunk));
    from.on('end', () => this.#push(FIN));
    from.on('error', () => {});
    from.on('close', failed => this.#push(failed ? RST : FIN));
    to.on('drain', () => {
      this.#draining = false;
      this.#pump();
    });
  }

  /** Bytes that have come in, when they are recorded. */
  get recorded() {
    return Buffer.concat(this.#chunks);
  }

  #arrive(chunk) {
    if (this.#abandoned) return;
    this.bytes += chunk.length;
    if (this.record) this.#chunks.push(chunk);
    if (this.answered) {
      this.answered = false;
      this.onFlight();
    }
    this.#push(chunk);
  }

  #push(item) {
    if (this.#abandoned || this.#ended) return;
    if (item === FIN || item === RST) this.#ended = true;
    else this.#waiting += item.length;
    this.#queue.push({ item, due: Math.max(performance.now(), this.earliest) + this.delay });
    if (this.#waiting > this.#window) this.from.pause();
    this.#pump();
  }

  get #window() {
    if (this.#stalled) return WINDOW.stalled;
    return this.delay ? WINDOW.delayed : WINDOW.direct;
  }

  /** Delivers what is due. */
  #pump() {
    while (this.#head < this.#queue.length) {
      if (this.#stalled || this.#abandoned || this.#draining || this.#immediate || this.#timer) return;
      const entry = this.#queue[this.#head];
      const wait = Math.max(entry.due, this.#rate ? this.#paidUntil : 0) - performance.now();
      if (wait > 0) return this.#later(wait);
      if (entry.item === FIN || entry.item === RST) {
        this.#shift();
        if (entry.item === RST) this.reset(this.to);
        else this.to.end();
        continue;
      }
      const size = this.#size(entry.item.length);
      const piece = entry.item.subarray(0, size);
      if (size === entry.item.length) this.#shift();
      else entry.item = entry.item.subarray(size);
      this.#deliver(piece);
    }
  }

  #shift() {
    this.#queue[this.#head++] = undefined;
    if (this.#head < 1024 && this.#head < this.#queue.length) return;
    this.#queue.splice(0, this.#head);
    this.#head = 0;
  }

  /** Goes on in some milliseconds. */
  #later(wait) {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#pump();
    }, Math.ceil(wait)).unref();
  }

  /** How much of the bytes that wait goes out in one piece. */
  #size(length) {
    let size = length;
    if (this.#places.length) size = Math.min(size, this.#places[0].bytes - this.#delivered);
    if (this.#rate) size = Math.min(size, Math.max(1, Math.floor(this.#rate / 50)));
    if (this.#pieceSize) size = Math.min(size, Math.max(1, Math.floor(this.#pieceSize(length))));
    return size;
  }

  #deliver(piece) {
    this.#waiting -= piece.length;
    this.#delivered += piece.length;
    this.opposite.answered = true;
    if (this.#rate) {
      this.#paidUntil = Math.max(this.#paidUntil, performance.now()) + (piece.length / this.#rate) * 1000;
    }
    this.#draining = !this.to.write(piece) && !this.to.destroyed;
    if (this.#pieceSize) {
      // Another turn of the event loop for each piece, or the receiver would read several as one.
      this.#immediate = true;
      setImmediate(() => {
        this.#immediate = false;
        this.#pump();
      });
    }
    if (this.#waiting < WINDOW.direct / 2 && !this.#stalled) this.from.resume();
    while (this.#places.length && this.#places[0].bytes <= this.#delivered) this.#places.shift().action();
  }

  abandon() {
    this.#abandoned = true;
    this.#queue = [];
    this.#head = this.#waiting = 0;
    clearTimeout(this.#timer);
    // Read on, to see the other side's end.
    this.from.resume();
  }

  /** Reads on, a little: a sender's last bytes would go with a reset, and a network has taken them. */
  stall() {
    this.#stalled = true;
    if (this.#waiting > this.#window) this.from.pause();
  }

  resume() {
    if (!this.#stalled) return;
    this.#stalled = false;
    this.from.resume();
    this.#pump();
  }

  inject(bytes) {
    if (!this.to.destroyed) this.to.write(bytes);
  }

  fragment(sizes) {
    if (typeof sizes === 'number') this.#pieceSize = () => sizes;
    else if (sizes && typeof sizes === 'object') {
      const { seed, min = 1, max = 64 } = sizes;
      const random = randomNumbers(seed);
      this.#pieceSize = () => min + Math.floor(random() * (max - min + 1));
    } else this.#pieceSize = sizes ?? undefined;
  }

  throttle(bytesPerSecond) {
    this.#rate = bytesPerSecond ?? undefined;
    this.#pump();
  }

  after(bytes, action) {
    if (bytes <= this.#delivered) return action();
    this.#places.push({ bytes, action });
    this.#places.sort((a, b) => a.bytes - b.bytes);
  }
}

module.exports = { Channel };
