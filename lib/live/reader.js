'use strict';

const zlib = require('node:zlib');
const { NO_DATA } = require('./state');

const HEADER = Buffer.from('1f8b0800000000000003', 'hex');

/** An HTTP client that reads a live result. It gets the newest state when it has taken the last one. */
class Reader {
  #checksum = 0;
  #leave;
  #state; // that it has
  #target;
  #isBusy = false; // it has not taken everything
  #isOver = false;
  #isQuiet = false; // nothing was written since the last keepalive
  #isZipped;

  /**
   * @param {Target} target of its response
   * @param {boolean} isZipped whether to compress by gzip
   * @param {number} expires when it is sent away, in milliseconds of performance.now()
   */
  constructor(target, isZipped, expires) {
    this.#target = target;
    this.#isZipped = isZipped;
    this.expires = expires;
    this.bytes = 0;
    /** @type {Promise<void>} resolves when it has left */
    this.left = new Promise(resolve => {
      this.#leave = () => {
        this.#isOver = true;
        resolve();
      };
    });
    target.watch(this.#leave);
  }

  /** @param {State} state the newest one */
  show(state) {
    this.newest = state;
    if (this.#isBusy || this.#isOver || this.#state === state) return;
    const piece = state.from(this.#state);
    this.#state = state;
    this.#write(piece);
  }

  keepAlive() {
    if (this.#isQuiet && !this.#isBusy && !this.#isOver && this.#state !== undefined) this.#write(NO_DATA);
    this.#isQuiet = true;
  }

  #begin() {
    const { given } = this.#target;
    given.setHeader('cache-control', 'no-store, no-transform');
    given.setHeader('x-accel-buffering', 'no'); // of nginx
    if (!this.#isZipped) return;
    given.setHeader('content-encoding', 'gzip');
    this.#target.write(HEADER);
  }

  #write(piece) {
    const { bytes } = piece;
    if (this.#target.gone) return;
    if (this.bytes === 0) this.#begin();
    if (this.#isZipped) this.#checksum = zlib.crc32(bytes, this.#checksum);
    this.bytes += bytes.length;
    this.#isQuiet = false;
    this.#isBusy = !this.#target.write(this.#isZipped ? piece.compressed : bytes);
    if (!this.#isBusy) return;
    this.#target.wait(() => {
      this.#isBusy = false;
      this.show(this.newest);
    });
  }

  /** Sends it away; its page connects again. */
  end() {
    let trailer;
    if (this.#isZipped && this.bytes > 0) {
      trailer = Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
      trailer.writeUInt32LE(this.#checksum, 2);
      trailer.writeUInt32LE(this.bytes % 2 ** 32, 6);
    }
    if (this.#isOver) return;
    this.#isOver = true;
    Promise.resolve(this.#target.end(trailer)).catch(() => {}).finally(this.#leave);
  }
}

module.exports = { Reader };
