'use strict';

const { UsageError, backend, decodeCommandComplete } = require('../protocol');
const { giveUp } = require('../pipeline');

const NOTHING = Buffer.alloc(0);
const SUSPENDED = Buffer.from([backend.PortalSuspended, 0, 0, 0, 4]);

/** The Receiver of a result, see QueryRequest. It copies nothing as long as the messages are those of the answer before. */
class Answer {
  #before;
  #chunks; // the messages from the first one that differs
  #length;
  #limits;
  #pipeline;
  #rows;
  #same; // bytes that are as before

  /**
   * @param {{max_bytes: number, max_rows: number}} limits above them, the request is given up
   * @param {Buffer} [before] the answer before
   */
  constructor(limits, before = NOTHING) {
    this.#before = before;
    this.#limits = limits;
    this.cmd = undefined;
  }

  start(rowParser, format, pipeline) {
    this.#pipeline = pipeline;
    this.#chunks = [];
    this.#length = this.#rows = this.#same = 0;
    const description = rowParser?.description(format) ?? NOTHING;
    this.#take(description, 0, description.length);
  }

  receiveData(buf, start, end, count) {
    this.#rows += count;
    this.#take(buf, start, end);
    const { max_bytes: bytes, max_rows: rows } = this.#limits;
    const limit = this.#length > bytes ? `${bytes} bytes (max_bytes)` : this.#rows > rows ? `${rows} rows (max_rows)` : undefined;
    if (limit !== undefined) giveUp(this.#pipeline.head, new UsageError(`the result has more than ${limit}`, '54000'));
  }

  receive(type, buf, start, end) {
    if (type !== backend.CommandComplete) return;
    ({ cmd: this.cmd } = decodeCommandComplete(buf, start, end));
    this.#take(SUSPENDED, 0, SUSPENDED.length);
  }

  #take(buf, start, end) {
    const from = this.#length;
    const to = this.#length += end - start;
    const isSame = this.#same === from && to <= this.#before.length && buf.compare(this.#before, from, to, start, end) === 0;
    if (isSame) this.#same = to;
    else this.#chunks.push(Buffer.from(buf.subarray(start, end)));
  }

  /** @returns {Buffer} RowDescription, DataRow messages, PortalSuspended: the answer before, if it is the same */
  get bytes() { return this.#chunks.length === 0 ? this.#before : Buffer.concat([this.#before.subarray(0, this.#same), ...this.#chunks]); }
}

module.exports = { Answer };
