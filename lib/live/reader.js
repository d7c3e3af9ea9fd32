'use strict';

const zlib = require('node:zlib');
const { NO_DATA } = require('./state');

/** What the page's part accepts, by which it asks for a live result. */
const TYPE = 'application/x-postgresql-live';

/** Of gzip. */
const HEADER = Buffer.from('1f8b0800000000000003', 'hex');

/** An HTTP client that reads a live result. It gets the newest state when it has taken the last one. */
class Reader {
  #checksum = 0;
  #isZipped;
  #keeping; // timer of the next keepalive
  #leaving; // timer of the end
  #newest; // state
  #place = 'busy'; // it has not taken everything, or its turn has not come; or 'ready', or 'over'
  #settle; // resolve and reject of `left`
  #state; // that it has
  #target;

  /**
   * @param {Target} target of its response
   * @param {boolean} isZipped whether to compress by gzip
   * @param {{keepalive: number, max_lifetime: number}} options
   */
  constructor(target, isZipped, { keepalive, max_lifetime: lifetime }) {
    this.#target = target;
    this.#isZipped = isZipped;
    this.bytes = 0;
    /** @type {Promise<void>} resolves when it has left; rejects if it left before the first byte, with the reason */
    this.left = new Promise((resolve, reject) => { this.#settle = { resolve, reject }; });
    this.#keeping = setInterval(() => { if (this.#place === 'ready' && this.bytes > 0) this.#write(NO_DATA); }, keepalive).unref();
    // Readers that came together do not leave together.
    if (lifetime > 0) this.#leaving = setTimeout(() => this.end(), lifetime * (0.9 + Math.random() / 10)).unref();
    target.watch(() => this.#leave());
    Promise.resolve(target.turn()).then(() => this.#resume(), () => this.#leave());
  }

  #resume() {
    if (this.#place === 'busy') this.#place = 'ready';
    this.show(this.#newest);
  }

  /** @param {State} state the newest one */
  show(state) {
    this.#newest = state;
    if (this.#place !== 'ready' || this.#state === state) return;
    const before = this.#state;
    this.#state = state;
    this.#write(state.from(before));
  }

  #begin() {
    const { given } = this.#target;
    given.setHeader('content-type', TYPE); // whatever the handler has set for others
    given.setHeader('cache-control', 'no-store, no-transform');
    given.setHeader('x-accel-buffering', 'no'); // of nginx
    if (!this.#isZipped) return;
    given.setHeader('content-encoding', 'gzip');
    this.#target.write(HEADER);
  }

  #write(piece) {
    if (this.#target.gone) return;
    try {
      const { bytes } = piece;
      if (this.bytes === 0) this.#begin();
      if (this.#isZipped) this.#checksum = zlib.crc32(bytes, this.#checksum);
      this.bytes += bytes.length;
      this.#keeping.refresh();
      if (this.#target.write(this.#isZipped ? piece.compressed : bytes)) return;
      this.#place = 'busy';
      this.#target.wait(() => this.#resume());
    } catch (error) {
      this.#leave(error); // other code has written to the response
    }
  }

  /**
   * Sends it away; its page connects again.
   * @param {Error} [error] for the handler, whose the response still is if nothing was written
   */
  end(error) {
    if (this.#place === 'over') return;
    if (error !== undefined && this.bytes === 0) return void this.#leave(error);
    this.#place = 'over';
    let trailer;
    if (this.#isZipped && this.bytes > 0) {
      trailer = Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
      trailer.writeUInt32LE(this.#checksum, 2);
      trailer.writeUInt32LE(this.bytes % 2 ** 32, 6);
    }
    // A response to which other code has written throws.
    new Promise(resolve => { resolve(this.#target.end(trailer)); }).catch(() => {}).finally(() => this.#leave());
  }

  #leave(error) {
    this.#place = 'over';
    clearInterval(this.#keeping);
    clearTimeout(this.#leaving);
    if (error === undefined) this.#settle.resolve();
    else this.#settle.reject(error);
  }
}

module.exports = { Reader, TYPE };
