'use strict';

const { Readable, Writable, addAbortSignal } = require('node:stream');
const { AbortError, backend: { CopyOutResponse }, decodeCopyResponse } = require('../protocol');
const { QueryRequest, writeQuery } = require('../requests');
const { abort, callerOf, copyDirection, submit } = require('../pipeline');
const { StreamReceiver } = require('./receiver');
const { Target } = require('./target');
const { Values } = require('./values');

class CopyOutRequest extends QueryRequest {
  encode(writer, statements) {
    this.simple = this.settings === undefined; // a Query would not end their transaction
    if (!this.simple) return super.encode(writer, statements);
    writeQuery(this, writer);
    this.receiver.start(null, 0, this.scope.pipeline);
  }
}

/** COPY … TO STDOUT as a stream of bytes, with rows split anywhere. */
class CopyTo extends Readable {
  #receiver;
  #request;
  #taken; // called when more can be taken
  #target;

  constructor(lease, text, { signal, highWaterMark = 65536, stall_timeout, buffer, alone = false }) {
    if (typeof text !== 'string' || copyDirection(text) !== 'out') throw new TypeError('copyTo takes COPY … TO STDOUT');
    super({ highWaterMark });
    /** @type {number|undefined} rows copied, set before the event 'end' */
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
    const target = new Target(this.#target, stall_timeout);
    const caller = callerOf(CopyTo);
    const make = () => {
      this.#receiver = new StreamReceiver(target, values, { buffer, text });
      this.#request = new CopyOutRequest(text, [], 0, false, undefined, this.#receiver);
      this.#request.caller = caller;
    };
    make();
    if (signal !== undefined) addAbortSignal(signal, this);
    if (this.destroyed) return;
    target.watch(error => this.destroy(error));
    const isAlone = alone || lease.longTexts.has(text);
    lease.run(isAlone ? 'alone' : 'shared', { signal }, scope => {
      if (this.destroyed) throw new AbortError('the stream was destroyed');
      if (this.#request.scope !== null) make(); // it was lost before
      this.#request.barrier = isAlone;
      return submit(this.#request, scope);
    }).finally(() => target.release()).then(() => {
      this.rowCount = this.#receiver.rowCount;
      this.#target.end();
    }, error => this.destroy(error));
  }

  get bytes() { return this.#receiver.bytes; }

  /** Ends the stream with its transaction, which cannot wait for the reader. */
  abandon(error) { if (!this.#target.writableEnded) this.destroy(error); }

  _read() {
    const taken = this.#taken;
    this.#taken = undefined;
    taken?.();
  }

  _destroy(error, callback) {
    // At once: it can be cancelled only if nothing was sent behind it.
    if (this.#request.scope !== null) abort(this.#request, error || new AbortError('the stream was destroyed'));
    this.#target.destroy(error);
    callback(error);
  }
}

module.exports = { CopyTo };
