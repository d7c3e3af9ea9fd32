'use strict';

const { Readable, Writable } = require('node:stream');
const {
  AbortError,
  backend: { CopyOutResponse },
  checkText,
  decodeCopyResponse
} = require('../protocol');
const { CopyOutRequest } = require('../requests');
const { callerOf, copyDirection, isCancelled, showCaller } = require('../pipeline');
const { runInto } = require('./query-to');
const { Sink } = require('./sink');
const { Target } = require('./target');
const { Values } = require('./values');

/** COPY … TO STDOUT as a stream of bytes, with rows split anywhere. */
class CopyTo extends Readable {
  #taken; // called when more can be taken
  #target;

  constructor(lease, text, { signal, highWaterMark = 65536, stall_timeout, ...options }) {
    checkText(text, 'text');
    if (copyDirection(text) !== 'out')
      throw new TypeError('copyTo takes COPY … TO STDOUT: write COPY (SELECT …) TO STDOUT for a query, or use queryTo');
    super({ highWaterMark });
    /** @type {number|undefined} rows copied, set before the event 'end' */
    this.rowCount = undefined;
    /** @type {number|undefined} 0 text and CSV, 1 binary; set with the first bytes */
    this.format = undefined;
    this.bytes = 0;
    const stream = new Writable({
      highWaterMark,
      write: (chunk, encoding, callback) => {
        this.bytes += chunk.length;
        this.#taken = callback;
        if (this.push(chunk)) this._read();
      },
      final: callback => {
        this.rowCount = sink.rowCount;
        this.push(null);
        callback();
      }
    });
    const target = (this.#target = new Target(stream, stall_timeout));
    const values = new Values();
    values.message = (out, buf, start, end) => {
      if (buf[start] === CopyOutResponse) Object.assign(this, decodeCopyResponse(buf, start, end));
    };
    const caller = callerOf(CopyTo);
    const sink = new Sink(target, values, options.buffer);
    const make = () => new CopyOutRequest(text, sink);
    runInto(lease, sink, make, { ...options, signal, as: 'values' }).catch(error => this.#fail(error, caller));
  }

  /** Its error shows the caller of copyTo(). */
  #fail(error, caller) {
    if (!this.destroyed) this.destroy(showCaller(error, caller));
  }

  /** Ends the stream with its transaction, which cannot wait for the reader. */
  giveUp(error) {
    if (!this.#target.stream.writableEnded) this.destroy(error);
  }

  _read() {
    const taken = this.#taken;
    this.#taken = undefined;
    taken?.();
  }

  _destroy(error, callback) {
    if (isCancelled(error)) this.on('error', () => {}); // cancel() needs no listener
    // At once: it can be cancelled only if nothing was sent behind it.
    this.#target.giveUp(error || new AbortError('the stream was destroyed'));
    callback(error);
  }
}

module.exports = { CopyTo };
