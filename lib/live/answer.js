'use strict';

const { UsageError, backend, decodeCommandComplete } = require('../core/protocol');
const { giveUp } = require('../core/pipeline');
const { QueryRequest, executionOf } = require('../core/requests');

const NOTHING = Buffer.alloc(0);
const SUSPENDED = Buffer.from([backend.PortalSuspended, 0, 0, 0, 4]);

/** What a query answers, see Receiver. It copies nothing as long as the messages are those of the answer before. */
class Answer {
  #before;
  #chunks; // none as long as everything is as before
  #error; // why it was given up
  #length;
  #limits;
  #request;
  #rows;

  /**
   * @param {{max_bytes: number, max_rows: number}} limits above them, the request is given up
   * @param {Buffer} [before] the answer before
   */
  constructor(limits, before = NOTHING) {
    this.#before = before;
    this.#limits = limits;
    this.cmd = undefined;
  }

  /** @returns {QueryRequest} whose result this is; another one after a loss */
  request({ text, values, cache, paramTypes }) {
    if (this.#error !== undefined) throw this.#error;
    return (this.#request = new QueryRequest(text, values, executionOf({ cache, paramTypes }), this));
  }

  giveUp(error) {
    this.#error = error;
    if (this.#request !== undefined) giveUp(this.#request, error);
  }

  start(rowParser, format) {
    this.#chunks = [];
    this.#length = this.#rows = 0;
    const description = rowParser?.description(format) ?? NOTHING;
    this.#take(description, 0, description.length);
  }

  receiveData(buf, start, end, count) {
    this.#rows += count;
    this.#take(buf, start, end);
    const { max_bytes: bytes, max_rows: rows } = this.#limits;
    const limit =
      this.#length > bytes ? `${bytes} bytes (max_bytes)` : this.#rows > rows ? `${rows} rows (max_rows)` : undefined;
    if (limit !== undefined) this.giveUp(new UsageError(`the result has more than ${limit}`, '54000'));
  }

  receive(type, buf, start, end) {
    if (type !== backend.CommandComplete) return;
    ({ cmd: this.cmd } = decodeCommandComplete(buf, start, end));
    this.#take(SUSPENDED, 0, SUSPENDED.length);
  }

  #take(buf, start, end) {
    const from = this.#length;
    const to = (this.#length += end - start);
    const before = this.#before;
    if (this.#chunks.length === 0) {
      if (before.subarray(from, to).equals(buf.subarray(start, end))) return; // Deno's compare() has wrong limits
      this.#chunks.push(before.subarray(0, from));
    }
    this.#chunks.push(Buffer.from(buf.subarray(start, end)));
  }

  /** @returns {Buffer} RowDescription, DataRow messages, PortalSuspended: the answer before, if it is the same */
  get bytes() {
    return this.#chunks.length === 0 ? this.#before : Buffer.concat(this.#chunks);
  }
}

module.exports = { Answer };
