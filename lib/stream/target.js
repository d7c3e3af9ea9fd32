'use strict';

const { Writable } = require('node:stream');
const { kindOf } = require('../protocol');
const { checkStallTimeout, stalled } = require('../query');
const { closedBefore, isServerResponse, nothing, watch } = require('./watch');

/**
 * A WHATWG WritableStream as a Node stream.
 * @returns {Writable} with `release()`, which unlocks the WritableStream
 * @throws {TypeError} when it is locked
 */
function fromWeb(stream) {
  const writer = stream.getWriter();
  const writable = new Writable({
    write(chunk, encoding, callback) {
      writer.ready.then(() => writer.write(chunk)).then(() => callback(), callback);
    },
    final(callback) { writer.close().then(() => callback(), callback); },
    destroy(error, callback) {
      writer.abort(error).catch(() => {});
      callback(error);
    }
  });
  writable.release = () => writer.releaseLock();
  writer.closed.then(() => { throw closedBefore(); }).catch(error => { if (!writable.writableEnded) writable.destroy(error); });
  return writable;
}

/** What a result's bytes are written to: any Node stream that is writable, or a WHATWG WritableStream. */
class Target {
  #begun = false;
  #ended = false;
  #left = 0; // bytes given to it that it has not taken
  #lost; // why the target takes no more
  #ongone = nothing;
  #settle; // resolve and reject of the promise that is waited for
  #stall;
  #stallTimeout;
  #unwatch;
  #writing = 0; // writes that were not taken

  /**
   * @param {Writable|WritableStream} given
   * @param {number} [stallTimeout=60000] milliseconds after which a target that takes nothing is destroyed; 0: never
   * @throws {TypeError} when it is neither, or a WritableStream that is locked
   */
  constructor(given, stallTimeout) {
    this.given = given;
    /** The Node stream that is written to. */
    this.stream = given;
    this.#stallTimeout = checkStallTimeout(stallTimeout);
    /** @type {Backlog|undefined} that counts what it has not taken */
    this.backlog = undefined;
    if (given !== null && typeof given === 'object' && typeof given.getWriter === 'function') {
      this.stream = fromWeb(given);
    } else if (!given || typeof given.write !== 'function' || typeof given.on !== 'function') {
      throw new TypeError(`the target must be a writable stream, not ${kindOf(given)}`);
    } else if (this.isHttp2) {
      // An Http2ServerResponse says 'finish' also when it was cut off; the stream behind it knows better.
      this.stream = given.stream;
    }
    watch(this.stream, nothing);
  }

  get isHttp2() { return typeof this.given.createPushResponse === 'function' && this.given.stream !== undefined; }

  /**
   * Called before the first byte is written, or the target is ended without one. Subclasses set headers here.
   * @param {Buffer} [whole] where it is all there will be
   * @param {number} [rowCount] what the command reported, where it is over
   */
  begin() { if (this.isHttp2 && !this.given.headersSent) this.given.flushHeaders(); }

  /**
   * Waits until an HTTP/1.1 response is the one that is being sent. While responses to earlier requests of the same
   * connection are not over, nothing that is written to it moves; the database must not wait for that.
   * @returns {Promise<void>|undefined} rejects when the connection is closed before, or takes nothing for stall_timeout;
   *   undefined where it is its turn
   */
  turn() {
    const { given } = this;
    const socket = given.req?.socket;
    if (typeof given.assignSocket !== 'function' || given.socket !== null || !socket || this.gone) return undefined;
    const begin = () => this.#settle.resolve();
    let unwatch;
    return this.#until(() => {
      given.once('socket', begin);
      unwatch = watch(socket, () => this.leave(closedBefore())); // Node emits no 'close' of a response that waits
    }, () => socket.writableLength - socket.bytesWritten).finally(() => {
      clearTimeout(this.#stall);
      given.removeListener('socket', begin);
      unwatch();
    });
  }

  /** Whether the target is closed, or was ended by somebody else. */
  get gone() {
    const { stream } = this;
    return this.#lost !== undefined || stream.destroyed === true || (stream.writableEnded === true && !this.#ended);
  }

  /** Bytes that the target has not taken; one in object mode does not count them, and may hold none beyond its mark. */
  get queued() { return this.stream.writableObjectMode ? Infinity : this.stream.writableLength; }

  /** Bytes that have not left: less than before, where the target has taken some, if only a part of one write. */
  get left() {
    const { stream } = this;
    return stream.writableLength + ((stream.socket ?? stream)._handle?.writeQueueSize ?? 0);
  }

  /** @returns {Error} why the target is gone */
  get error() {
    const { errored } = this.stream;
    // Of a response, an error of writing says no more than that the reader has left.
    return this.#lost || (errored && !this.#isResponse ? errored : closedBefore(errored || undefined));
  }

  get #isResponse() { return isServerResponse(this.given) || this.isHttp2; }

  /**
   * @param {Buffer} piece
   * @returns {boolean} false when the target asks to wait
   * @throws {Error} when the target is gone; or what the target throws
   */
  write(piece) {
    if (this.gone) throw this.error;
    this.#begin();
    this.#writing++;
    let given = 0;
    const isReady = this.stream.write(piece, error => this.#written(error, given));
    given = this.#give(piece);
    return isReady;
  }

  /** Counts a piece that the target has not taken at once. @returns {number} its length, or 0 */
  #give({ length }) {
    if (this.stream.writableLength === 0) return 0;
    this.#left += length;
    this.backlog?.add(this, length);
    this.backlog?.check();
    return length;
  }

  #take(length = this.#left) {
    length = Math.min(length, this.#left);
    if (length === 0) return;
    this.#left -= length;
    this.backlog?.remove(this, length, this.#left === 0);
  }

  #written(error, length) {
    this.#writing--;
    this.#take(length);
    const why = this.#isResponse || !error ? undefined : error;
    // Not all say that they are closed; those that do have done so by then.
    if (this.stream.destroyed || error) setImmediate(() => this.#fail(why));
    else if (this.#writing === 0 && this.#settle !== undefined && !this.#ended) this.#settle.resolve();
  }

  #begin(whole, rowCount) {
    if (this.#begun) return;
    this.#begun = true;
    this.begin(whole, rowCount);
  }

  /** Calls back, once, when the target can take more, or never will. */
  wait(callback) {
    const { stream } = this;
    const over = () => {
      clearTimeout(this.#stall);
      stream.removeListener('drain', over);
      unwatch();
      callback();
    };
    const unwatch = watch(stream, over);
    stream.on('drain', over);
    this.#watchStall();
  }

  /** Gives the target up when what is left to be taken does not get less for too long. */
  #watchStall(left = () => this.left, before = Infinity) {
    clearTimeout(this.#stall);
    if (this.#stallTimeout === 0) return;
    const now = left();
    if (now < before) {
      this.#stall = setTimeout(() => this.#watchStall(left, now), this.#stallTimeout);
    } else {
      this.giveUp(stalled('target', this.#stallTimeout));
    }
  }

  /** Cuts the target off, since it takes nothing. */
  giveUp(error) { this.#fail(error); this.destroy(error); }

  /**
   * Finds out when the target goes away.
   * @param {function(Error)} ongone called once, with the target's error, or with an AbortError if it was just closed
   */
  watch(ongone) {
    this.#ongone = ongone;
    this.#unwatch = watch(this.stream, error => {
      if (error === undefined && this.#ended) this.#settle?.resolve();
      else this.#fail(error);
      this.#take();
    });
  }

  #fail(error) {
    this.#take();
    if (this.#lost !== undefined) return;
    this.leave(error === undefined || error.code === 'ERR_STREAM_PREMATURE_CLOSE' ? this.error : error);
    this.#ongone(this.#lost);
  }

  /**
   * Ends the target.
   * @param {Buffer} [piece] the last one
   * @param {number} [rowCount] what the command reported
   * @returns {Promise|undefined} resolves when it has taken everything; rejects when it never will; undefined where it has
   */
  end(piece, rowCount) {
    if (this.gone) return Promise.reject(this.error);
    this.#begin(piece ?? null, rowCount);
    this.#ended = true;
    this.stream.end(piece);
    if (this.stream.writableFinished === true) return undefined;
    if (piece !== undefined) this.#give(piece);
    return this.#until(nothing);
  }

  /** Like `end`, but the target stays open. */
  flushed() { return this.#writing === 0 ? undefined : this.#until(nothing); }

  /** Begins something, and waits for its end unless what `left` tells does not get less. */
  #until(begin, left) {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      begin();
      this.#watchStall(left);
    });
  }

  /** The target is not waited for any more: what waits rejects. */
  leave(error) {
    this.#lost = error;
    this.#settle?.reject(error);
  }

  /** Nothing more is written; the target may be used by others. */
  release() {
    if (this.#stall !== undefined) clearTimeout(this.#stall);
    this.#unwatch?.();
    this.#ongone = nothing;
    if (this.#left > 0) watch(this.stream, () => this.#take());
    if (this.stream.release !== undefined && !this.#ended && !this.gone) this.stream.release();
  }

  /** Cuts the target off, so that what has come of the result cannot be taken for all of it. */
  destroy(error) { this.stream.destroy(error); }
}

module.exports = { Target };
