'use strict';

const { setImmediate } = require('#platform');
const { Writable, finished } = require('#platform').stream;
const { AbortError } = require('../protocol/errors');

/** @type {WeakMap<Writable, Set<function>>} who is told of a stream's end; the stream has one listener for all */
const watchers = new WeakMap();

/**
 * Calls back when a stream has finished, or is closed or has failed before; also when it was so already.
 * @param {Writable} stream
 * @param {function(Error|undefined)} callback
 * @returns {function} stops watching
 */
function watch(stream, callback) {
  let callbacks = watchers.get(stream);
  if (callbacks === undefined) {
    callbacks = new Set();
    watchers.set(stream, callbacks);
    callbacks.cleanup = finished(stream, { readable: false }, error => {
      watchers.delete(stream);
      for (const each of callbacks) each(error || undefined);
    });
  }
  callbacks.add(callback);
  return () => {
    callbacks.delete(callback);
    if (callbacks.size > 0 || watchers.get(stream) !== callbacks) return;
    watchers.delete(stream);
    callbacks.cleanup();
  };
}

const closedBefore = cause => new AbortError('the target was closed before it had taken the result', cause);

/**
 * A WHATWG WritableStream as a Node stream.
 * @returns {Writable} with `release()`, which unlocks the WritableStream
 * @throws {TypeError} when it is locked
 */
function fromWeb(stream) {
  const writer = stream.getWriter();
  let over = false;
  const writable = new Writable({
    write(chunk, encoding, callback) {
      writer.ready.then(() => writer.write(chunk)).then(() => callback(), callback);
    },
    final(callback) {
      over = true;
      writer.close().then(() => callback(), callback);
    },
    destroy(error, callback) {
      if (!over) writer.abort(error).catch(() => {});
      over = true;
      callback(error);
    }
  });
  writable.release = () => {
    over = true;
    writer.releaseLock();
  };
  writer.closed.then(() => { throw closedBefore(); }).catch(error => { if (!over) writable.destroy(error); });
  return writable;
}

/** Whether a target is an HTTP/1 response that nobody has put anything in front of. */
function isPlainResponse(target) {
  // By the time there is a response, the module has been loaded.
  if (!target || typeof target.assignSocket !== 'function') return false;
  const { write, end } = require('#platform').http.ServerResponse.prototype;
  return target.write === write && target.end === end;
}

/** What a result's bytes are written to: any Node stream that is writable, or a WHATWG WritableStream. */
class Sink {
  /**
   * @param {Writable|WritableStream} target
   * @throws {TypeError} when it is neither, or a WritableStream that is locked
   */
  constructor(target) {
    this.target = target;
    this.stream = target;
    /** Whether nobody reads the memory of a write that was taken: so it is with Node's own responses. */
    this.returns = isPlainResponse(target);
    /** @type {Error|undefined} why the target takes no more */
    this.lost = undefined;
    this._begin = undefined;
    this._ended = false;
    this._writing = 0; // writes that were not taken
    this._taken = undefined; // resolve and reject of the promise that all was
    this._unwatch = undefined;
    if (target !== null && typeof target === 'object' && typeof target.getWriter === 'function') {
      this.stream = fromWeb(target);
    } else if (!target || typeof target.write !== 'function' || typeof target.on !== 'function') {
      throw new TypeError('the target must be a writable stream');
    } else if (typeof target.createPushResponse === 'function' && target.stream !== undefined) {
      // An Http2ServerResponse says 'finish' also when it was cut off; the stream behind it knows better.
      this.stream = target.stream;
      this.returns = true;
      this._begin = () => { if (!target.headersSent) target.flushHeaders(); };
    }
    this._onwritten = error => {
      this._writing--;
      // Not all say that they are closed; those that do have done so by then.
      if (this.stream.destroyed) setImmediate(() => this._ongone());
      else if (!error && this._writing === 0 && this._taken !== undefined && !this._ended) this._taken.resolve();
    };
    this._ongone = () => {};
  }

  /** Whether the target is closed, or was ended by somebody else. */
  get gone() {
    const { stream } = this;
    return this.lost !== undefined || stream.destroyed === true || (stream.writableEnded === true && !this._ended);
  }

  /** Bytes that the target has not taken; one in object mode does not count them, and may hold none beyond its mark. */
  get queued() { return this.stream.writableObjectMode ? Infinity : this.stream.writableLength; }

  /** @returns {Error} why the target is gone */
  get error() {
    return this.lost || closedBefore(this.stream.errored || undefined);
  }

  /**
   * @param {Buffer} piece the target's from now on
   * @param {function} [ontaken] called when it has been taken; where the sink `returns` memory, it is free then
   * @returns {boolean} false when the target asks to wait
   * @throws {Error} when the target is gone; or what the target throws
   */
  write(piece, ontaken) {
    if (this.gone) throw this.error;
    this._start();
    this._writing++;
    return this.stream.write(piece, ontaken === undefined ? this._onwritten : error => {
      if (!error) ontaken();
      this._onwritten(error);
    });
  }

  /** Before the first byte, or the end without one. */
  _start(whole, rowCount) {
    const begin = this._begin;
    this._begin = undefined;
    if (begin !== undefined) begin(whole, rowCount);
  }

  /** Calls back, once, when the target can take more, or never will. */
  wait(callback) {
    const { stream } = this;
    if (typeof stream.once !== 'function') return callback();
    const over = () => {
      for (const event of ['drain', 'close', 'error']) stream.removeListener(event, over);
      callback();
    };
    for (const event of ['drain', 'close', 'error']) stream.on(event, over);
  }

  /**
   * Has the sink find out when its target goes away.
   * @param {function(Error)} [ongone] called with the target's error, or with an AbortError if it was just closed
   */
  watch(ongone = () => {}) {
    this._ongone = error => {
      if (this.lost !== undefined) return;
      this.leave(error === undefined || error.code === 'ERR_STREAM_PREMATURE_CLOSE' ? this.error : error);
      ongone(this.lost);
    };
    this._unwatch = watch(this.stream, error => {
      if (error === undefined && this._ended) this._taken.resolve();
      else this._ongone(error);
    });
  }

  /**
   * Ends the target.
   * @param {Buffer} [piece] the last one
   * @param {number} [rowCount] what the command reported
   * @returns {Promise} resolves when it has taken everything; rejects when it has not and never will
   */
  end(piece) {
    if (this.gone) return Promise.reject(this.error);
    this._start();
    this._ended = true;
    return new Promise((resolve, reject) => {
      this._taken = { resolve, reject };
      this.stream.end(piece);
    });
  }

  /** @returns {Promise} like `end`, but the target stays open */
  flushed() {
    if (this._writing === 0) return Promise.resolve();
    return new Promise((resolve, reject) => { this._taken = { resolve, reject }; });
  }

  /** Nobody waits any more for the target to take what it has. */
  leave(error) {
    this.lost = error;
    if (this._taken !== undefined) this._taken.reject(error);
  }

  /** The sink is not used any more; its target may be. */
  release() {
    if (this._unwatch !== undefined) this._unwatch();
    this._ongone = () => {};
    if (this.stream.release !== undefined && !this._ended && !this.gone) this.stream.release();
  }

  /** Cuts the target off, so that what has come of the result cannot be taken for all of it. */
  destroy(error) {
    this.stream.on('error', () => {}); // it is reported by the promise
    this.stream.destroy(error);
  }
}

module.exports = { Sink, watch, isPlainResponse };
