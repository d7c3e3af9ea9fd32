'use strict';

const { PassThrough, addAbortSignal } = require('../platform').stream;
const { backend: { CopyOutResponse }, decodeCopyResponse } = require('../protocol');
const { QueryRequest, callerOf, checkLimits, copyDirection, submit } = require('../query');
const { StreamReceiver, Target, Values, untilTaken } = require('../stream');

/** What COPY … TO STDOUT gives, as a stream of bytes, in which rows may be split anywhere. It is its own target. */
class CopyTo extends PassThrough {
  #receiver;

  /**
   * @param {Scope} scope
   * @param {string} text
   * @param {object} options `{ signal, highWaterMark, stall_timeout }`
   * @throws {TypeError|Error}
   */
  constructor(scope, text, { signal, highWaterMark = 65536, stall_timeout }) {
    if (typeof text !== 'string' || copyDirection(text) !== 'out') throw new TypeError('copyTo takes COPY … TO STDOUT');
    if (signal?.aborted !== true) checkLimits({ signal });
    super({ highWaterMark });
    /** @type {number|undefined} rows copied; set before the event 'end' */
    this.rowCount = undefined;
    /** @type {number|undefined} 0 text and CSV, 1 binary; set with the first bytes */
    this.format = undefined;
    const values = new Values();
    values.message = (out, buf, start, end) => {
      if (buf[start] === CopyOutResponse) Object.assign(this, decodeCopyResponse(buf, start, end));
    };
    this.#receiver = new StreamReceiver(new Target(this, stall_timeout), values);
    const request = new QueryRequest(text, [], 0, false, undefined, this.#receiver);
    request.caller = callerOf(CopyTo);
    request.barrier = true; // so that it can be cancelled
    if (signal !== undefined) addAbortSignal(signal, this);
    if (this.destroyed) return;
    untilTaken(this.#receiver, submit(request, scope), request).then(() => {
      this.rowCount = this.#receiver.rowCount;
      this.end();
    }, error => this.destroy(error));
  }

  /** Bytes so far. */
  get bytes() { return this.#receiver.bytes; }
}

module.exports = { CopyTo };
