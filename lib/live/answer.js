'use strict';

const { Writable } = require('node:stream');
const { UsageError, backend } = require('../protocol');

const NOTHING = Buffer.alloc(0);
const SUSPENDED = Buffer.from([backend.PortalSuspended, 0, 0, 0, 4]);

/**
 * What a query answers: its encoder, see StreamReceiver, and its target, to which nothing is written. It copies nothing as long as
 * the messages are those of the answer before.
 */
class Answer extends Writable {
  #before;
  #chunks = []; // the messages from the first one that differs
  #length;
  #limits;
  #rows;
  #same; // bytes that are as before

  /**
   * @param {{max_bytes: number, max_rows: number}} limits above them, it is destroyed with an error
   * @param {Buffer} [before] the answer before
   */
  constructor(limits, before = NOTHING) {
    super();
    this.#before = before;
    this.#limits = limits;
  }

  toString() { return 'live'; }

  start(out, rowParser, format) {
    this.#chunks = [];
    this.#length = this.#rows = this.#same = 0;
    const description = rowParser?.description(format) ?? NOTHING;
    this.#take(description, 0, description.length);
  }

  messages(out, buf, start, end, count) {
    this.#rows += count;
    this.#take(buf, start, end);
  }

  message(out, buf, start) { if (buf[start] === backend.CommandComplete) this.#take(SUSPENDED, 0, SUSPENDED.length); }

  #take(buf, start, end) {
    if (this.destroyed) return;
    this.#length += end - start;
    const { max_bytes: bytes, max_rows: rows } = this.#limits;
    const limit = this.#length > bytes ? `${bytes} bytes (max_bytes)` : this.#rows > rows ? `${rows} rows (max_rows)` : undefined;
    if (limit !== undefined) return void this.destroy(new UsageError(`the result has more than ${limit}`, '54000'));
    const piece = buf.subarray(start, end);
    const isSame = this.#chunks.length === 0 && piece.equals(this.#before.subarray(this.#same, this.#length));
    if (isSame) this.#same = this.#length;
    else this.#chunks.push(Buffer.from(piece));
  }

  /** @returns {Buffer} RowDescription, DataRow messages, PortalSuspended: the answer before, if it is the same */
  get bytes() { return this.#chunks.length === 0 ? this.#before : Buffer.concat([this.#before.subarray(0, this.#same), ...this.#chunks]); }
}

module.exports = { Answer };
