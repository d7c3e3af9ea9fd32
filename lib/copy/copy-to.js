'use strict';

const { Readable, addAbortSignal } = require('../platform').stream;
const { AbortError, UsageError, backend: { CopyOutResponse }, decodeCopyResponse } = require('../protocol');
const { QueryRequest, abort, callerOf, checkLimits, checkStallTimeout, copyDirection, stalled } = require('../query');
const { StreamReceiver, Values } = require('../stream');

/** The data of a COPY, and of its response what kind of data it is. */
class CopyData extends Values {
  #stream;

  constructor(stream) {
    super();
    this.#stream = stream;
  }

  start(receiver, rowParser) {
    if (rowParser !== null) receiver.error = new UsageError('copyTo takes COPY … TO STDOUT', '42601');
    return super.start(receiver, rowParser);
  }

  message(receiver, buf, start, end) {
    if (buf[start] === CopyOutResponse) Object.assign(this.#stream, decodeCopyResponse(buf, start, end));
  }
}

/** What COPY … TO STDOUT gives, as a stream of bytes, in which rows may be split anywhere. */
class CopyTo extends Readable {
  #receiver;
  #request;
  #stall;
  #waiting;

  /**
   * @param {Scope} scope
   * @param {string} text
   * @param {object} options `{ signal, highWaterMark, stall_timeout }`
   * @throws {TypeError|Error}
   */
  constructor(scope, text, { signal, highWaterMark = 65536, stall_timeout }) {
    if (typeof text !== 'string' || copyDirection(text) !== 'out') throw new TypeError('copyTo takes COPY … TO STDOUT');
    if (signal?.aborted !== true) checkLimits({ signal });
    const timeout = checkStallTimeout(stall_timeout);
    super({ highWaterMark });
    /** @type {number|undefined} rows copied; set before the event 'end' */
    this.rowCount = undefined;
    /** @type {number|undefined} 0 text and CSV, 1 binary; set with the first bytes */
    this.format = undefined;
    const sink = {
      write: piece => this.push(piece),
      wait: callback => {
        this.#waiting = callback;
        if (timeout > 0) this.#stall = setTimeout(() => this.destroy(stalled('reader', timeout)), timeout);
      },
      queued: Infinity
    };
    this.#receiver = new StreamReceiver(sink, new CopyData(this));
    this.#request = new QueryRequest(text, [], 0, false, undefined, this.#receiver);
    this.#request.caller = callerOf(CopyTo);
    this.#request.barrier = true; // so that it can be cancelled
    if (signal !== undefined) addAbortSignal(signal, this);
    if (this.destroyed) return;
    scope.pipeline.submit(this.#request, scope).then(() => {
      this.rowCount = this.#receiver.rowCount;
      this.push(null);
    }, error => this.destroy(error));
  }

  /** Bytes so far. */
  get bytes() { return this.#receiver.bytes; }

  /** Nobody can be waited for who would read the rest. */
  abandon(error) { if (this.#request.pending) this.destroy(error); }

  _read() {
    clearTimeout(this.#stall);
    const callback = this.#waiting;
    this.#waiting = undefined;
    callback?.();
  }

  _destroy(error, callback) {
    clearTimeout(this.#stall);
    if (this.#request.scope !== null) abort(this.#request, error || new AbortError('the stream was destroyed'));
    callback(error);
  }
}

module.exports = { CopyTo };
