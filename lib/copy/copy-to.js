'use strict';

const { Readable, Writable, addAbortSignal } = require('node:stream');
const { AbortError, backend: { CopyOutResponse }, decodeCopyResponse } = require('../protocol');
const { QueryRequest, callerOf, checkLimits, copyDirection, submit } = require('../query');
const { StreamReceiver, Target, Values, untilTaken } = require('../stream');

/** What COPY … TO STDOUT gives, as a stream of bytes, in which rows may be split anywhere. */
class CopyTo extends Readable {
  #receiver;
  #taken; // called when more can be taken
  #target;

  /**
   * @param {Scope|object} lease see Scope.run
   * @param {string} text
   * @param {object} options `{ signal, highWaterMark, stall_timeout }`
   * @throws {TypeError|Error}
   */
  constructor(lease, text, { signal, highWaterMark = 65536, stall_timeout }) {
    if (typeof text !== 'string' || copyDirection(text) !== 'out') throw new TypeError('copyTo takes COPY … TO STDOUT');
    checkLimits({ signal });
    super({ highWaterMark });
    /** @type {number|undefined} rows copied; set before the event 'end' */
    this.rowCount = undefined;
    /** @type {number|undefined} 0 text and CSV, 1 binary; set with the first bytes */
    this.format = undefined;
    this.#target = new Writable({
      highWaterMark,
      write: (chunk, encoding, callback) => {
        this.#taken = callback;
        if (this.push(chunk)) this._read();
      },
      final: callback => {
        this.push(null);
        callback();
      }
    });
    const values = new Values();
    values.message = (out, buf, start, end) => {
      if (buf[start] === CopyOutResponse) Object.assign(this, decodeCopyResponse(buf, start, end));
    };
    this.#receiver = new StreamReceiver(new Target(this.#target, stall_timeout), values);
    const request = new QueryRequest(text, [], 0, false, undefined, this.#receiver);
    request.caller = callerOf(CopyTo);
    request.barrier = true; // so that it can be cancelled
    if (signal !== undefined) addAbortSignal(signal, this);
    if (this.destroyed) return;
    const asked = lease.run('alone', { signal }, scope => {
      if (this.destroyed) throw new AbortError('the stream was destroyed');
      request.reset(); // it may have been lost before
      return submit(request, scope);
    });
    untilTaken(this.#receiver, asked, request).then(() => {
      this.rowCount = this.#receiver.rowCount;
      this.#target.end();
    }, error => this.destroy(error));
  }

  /** Bytes so far. */
  get bytes() { return this.#receiver.bytes; }

  /** Nobody can be waited for who would read the rest. */
  abandon(error) { if (!this.#target.writableEnded) this.destroy(error); }

  _read() {
    const taken = this.#taken;
    this.#taken = undefined;
    taken?.();
  }

  _destroy(error, callback) {
    this.#target.destroy(error);
    callback(error);
  }
}

module.exports = { CopyTo };
