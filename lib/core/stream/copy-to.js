'use strict';

const { AsyncResource } = require('node:async_hooks');
const { Readable } = require('node:stream');
const {
  AbortError,
  backend: { CopyOutResponse },
  checkText,
  decodeCopyResponse
} = require('../protocol');
const { CopyOutRequest } = require('../requests');
const { callerOf, copyDirection, isCancelled, showCaller, tookNothing, watchStall } = require('../pipeline');
const { STALL_TIMEOUT } = require('../options');
const { runInto } = require('./query-to');
const { Sink } = require('./sink');
const { Values } = require('./values');
const { closedBefore, nothing } = require('./watch');

/**
 * The target of a Sink, see Target, whose bytes a Readable gives away. It pushes each piece at once, and keeps what the
 * Readable does not want yet: a Writable in front of the Readable would cost a piece of 8 kB 1.15 ×.
 */
class Outlet {
  at;
  backlog;
  /** Bytes of the kept pieces. */
  buffered = 0;
  writableEnded = false;
  #context = new AsyncResource('quickgres.CopyTo'); // in which the reader's code runs
  #kept = []; // pieces that the stream does not want yet
  #lost;
  #onend; // called when the stream has the last piece
  #ongone = nothing;
  #onready = nothing;
  #push;
  #settle; // resolve and reject of the wait for the end
  #stallTimeout;
  #unwatchStall = nothing;
  #wants = true;

  constructor(reader, stallTimeout = STALL_TIMEOUT, onend) {
    this.reader = reader;
    this.stream = this; // it ends before the reader does
    this.#push = piece => {
      reader.bytes += piece.length;
      return reader.push(piece);
    };
    this.#stallTimeout = stallTimeout;
    this.#onend = onend;
  }

  get gone() {
    return this.#lost !== undefined || this.reader.destroyed;
  }

  get error() {
    return this.#lost ?? closedBefore();
  }

  get unsent() {
    return this.buffered + this.reader.readableLength;
  }

  /** There is no earlier response to wait for. */
  untilFirst() {}

  watch(ongone) {
    this.#ongone = ongone;
  }

  write(piece) {
    if (this.gone) throw this.error;
    if (this.#wants) this.#wants = this.#context.runInAsyncScope(this.#push, undefined, piece);
    else {
      this.#kept.push(piece);
      this.buffered += piece.length;
      this.backlog.add(this, piece.length);
    }
    return this.buffered === 0;
  }

  /** The stream wants more. */
  read() {
    this.#wants = true;
    while (this.#wants && this.#kept.length > 0) {
      const piece = this.#kept.shift();
      this.buffered -= piece.length;
      this.backlog.remove(this, piece.length, this.buffered === 0);
      this.#wants = this.#push(piece);
    }
    if (this.buffered > 0 || this.gone) return;
    this.#onready();
    if (this.#settle !== undefined) this.#end();
  }

  wait(callback) {
    this.#onready = () => {
      this.#unwatchStall();
      this.#onready = nothing;
      callback();
    };
    this.#watchStall();
  }

  end(piece) {
    if (this.gone) return Promise.reject(this.error);
    if (piece !== undefined) this.write(piece);
    this.writableEnded = true;
    if (this.buffered === 0) return void this.#context.runInAsyncScope(this.#end, this);
    this.#watchStall();
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
  }

  #end() {
    this.#onend();
    this.reader.push(null);
    this.#settle?.resolve();
    this.#settle = undefined;
  }

  #watchStall() {
    this.#unwatchStall();
    const giveUp = time => this.giveUp(tookNothing(time));
    if (this.#stallTimeout > 0) this.#unwatchStall = watchStall(this.#stallTimeout, () => this.unsent, giveUp);
  }

  giveUp(error) {
    if (this.#lost !== undefined) return;
    this.lose(error);
    if (this.buffered > 0) this.backlog.remove(this, this.buffered, true);
    this.#kept = [];
    this.buffered = 0;
    this.#ongone(error);
    this.#onready();
  }

  lose(error) {
    this.#lost = error;
    this.#settle?.reject(error);
  }

  release() {
    this.#unwatchStall();
    this.#ongone = this.#onready = nothing;
  }

  /** The rejection of `runInto` destroys the stream. */
  destroy() {}
}

/** COPY … TO STDOUT as a stream of bytes, with rows split anywhere. */
class CopyTo extends Readable {
  /** @type {number|undefined} rows copied, set before the event 'end' */
  rowCount;
  /** @type {number|undefined} 0 text and CSV, 1 binary; set with the first bytes */
  format;
  bytes = 0;
  #target;

  constructor(lease, text, { signal, highWaterMark = 65536, stall_timeout, ...options }) {
    checkText(text, 'text');
    if (copyDirection(text) !== 'out')
      throw new TypeError('copyTo takes COPY … TO STDOUT: write COPY (SELECT …) TO STDOUT for a query, or use queryTo');
    super({ highWaterMark });
    const target = (this.#target = new Outlet(this, stall_timeout, () => {
      this.rowCount = sink.rowCount;
    }));
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
    if (!this.#target.writableEnded) this.destroy(error);
  }

  _read() {
    this.#target.read();
  }

  _destroy(error, callback) {
    if (isCancelled(error)) this.on('error', () => {}); // cancel() needs no listener
    // At once: it can be cancelled only if nothing was sent behind it.
    this.#target.giveUp(error || new AbortError('the stream was destroyed'));
    callback(error);
  }
}

module.exports = { CopyTo };
