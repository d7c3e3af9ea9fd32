'use strict';

const { AsyncResource } = require('node:async_hooks');
const { Writable } = require('node:stream');
const { List } = require('../list');
const { kindOf } = require('../protocol');
const { tookNothing, watchStall } = require('../pipeline');
const { setImmediate } = require('../timer');
const { STALL_TIMEOUT } = require('../options');
const { closedBefore, isServerResponse, nothing, unwatch, watch } = require('./watch');

const MEGABYTE = 1 << 20;

/** The most megabytes that a system holds for a connection: Linux by default. */
const MOST_HELD = 4;

/** The property of a Node.js stream that holds its `Writes`. */
const WRITES = Symbol('writes');

/** The targets whose writes to a Node.js stream are not over, in the order of these. */
class Writes extends List {
  /** Each write has the same callback: Node.js calls those of a tick together. */
  over = error => this.shift().written(error);
}

/** Whether its `write` may hold bytes and drop callbacks: middleware has replaced it, or it declares no callback. */
const isWrapped = stream => Object.hasOwn(stream, 'write') || stream.write.length === 1;

/** A WHATWG WritableStream as a Node stream, whose `release()` unlocks it. */
function fromWeb(stream) {
  const writer = stream.getWriter();
  // The error may be undefined.
  const settle = (promise, callback) =>
    promise.then(
      () => callback(),
      error => callback(error || closedBefore())
    );
  const writable = new Writable({
    write(chunk, encoding, callback) {
      // A copy: the stream may transfer its memory, which would be that of other results, or of Node's pool.
      settle(writer.write(Buffer.from(new Uint8Array(chunk).buffer)), callback);
    },
    final(callback) {
      writer.close().catch(nothing); // for a stream that has failed, it does not say why
      settle(writer.closed, callback);
    },
    destroy(error, callback) {
      writer.abort(error).catch(nothing);
      callback(error);
    }
  });
  writable.release = () => writer.releaseLock();
  writer.closed
    .then(closedBefore, error => error)
    .then(error => {
      if (!writable.writableEnded) writable.destroy(error);
    });
  return writable;
}

/** A target of a result's bytes: any writable Node stream, or a WHATWG WritableStream. */
class Target {
  /** @type {Backlog|undefined} counts the bytes that the stream has not taken */
  backlog;
  /** @type {object|undefined} its link in the backlog, and that in the list of the stream's watchers */
  waiting;
  watched;
  /** Whether `begin` was called. */
  begun = false;
  #before; // bytes on its socket when it began
  #context = new AsyncResource('quickgres.Target'); // the request's, in which the stream's code runs
  #ended = false;
  #finished = false;
  #inBacklog = 0; // bytes of it that the backlog counts
  #lost; // why the stream takes no more
  #ondrain = nothing;
  #ongone = nothing;
  #onready = nothing; // ends the current wait for room
  #settle; // resolve and reject of the current wait
  #stallTimeout;
  #unwatchStall = nothing;
  #writing = 0; // writes that were not taken

  /** @param {number} [stallTimeout=60000] milliseconds until a stream that takes nothing is destroyed; 0: never */
  constructor(given, stallTimeout = STALL_TIMEOUT) {
    this.given = given;
    this.stream = given;
    this.#stallTimeout = stallTimeout;
    if (typeof given?.getWriter === 'function') {
      this.stream = fromWeb(given);
    } else if (typeof given?.write !== 'function' || typeof given.on !== 'function') {
      throw new TypeError(`the target must be a writable stream, not ${kindOf(given)}`);
    } else if (this.isHttp2) {
      // An Http2ServerResponse emits 'finish' even if it was cut off; the stream behind it does not.
      this.stream = given.stream;
    }
    this.#before = this.#onSocket;
    watch(this.stream, this);
  }

  get isHttp2() {
    return this.given.createPushResponse && this.given.stream && !isWrapped(this.given);
  }

  /**
   * Called before the first byte, or before the end if there is none. Subclasses set headers here.
   * @param {Buffer} [whole] the whole body, if it is known
   * @param {number} [rowCount] the command's, if it is over
   */
  begin() {
    if (this.isHttp2 && !this.given.headersSent) this.given.flushHeaders();
  }

  /**
   * Waits until responses to earlier requests of an HTTP/1.1 connection are over: until then nothing written to this
   * one moves, and the database must not wait for that.
   * @returns {Promise<void>|undefined} undefined if there is nothing to wait for; rejects if the connection closes or
   *   stalls
   */
  untilFirst() {
    const { given } = this;
    const socket = given.req?.socket;
    if (typeof given.assignSocket !== 'function' || given.socket !== null || !socket || this.gone) return undefined;
    const begin = () => this.#settle.resolve();
    const waiting = { over: () => this.#fail() };
    given.once('socket', begin);
    watch(socket, waiting); // Node emits no 'close' for a waiting response
    return this.#until(() => socket.writableLength - socket.bytesWritten).finally(() => {
      this.#unwatchStall();
      given.removeListener('socket', begin);
      unwatch(socket, waiting);
    });
  }

  /** Whether the stream was closed or ended by other code. */
  get gone() {
    const { stream } = this;
    return this.#lost !== undefined || stream.destroyed || (stream.writableEnded && !this.#ended);
  }

  /** Bytes that wait in the stream. Object mode counts no bytes, and may hold nothing above its mark. */
  get buffered() {
    return this.stream.writableObjectMode || isWrapped(this.stream) ? Infinity : this.stream.writableLength;
  }

  /** Bytes that wait in the stream and on its socket: they decrease even if only a part of one write was taken. */
  get unsent() {
    const { stream } = this;
    return stream.writableLength + ((stream.socket ?? stream)._handle?.writeQueueSize ?? 0);
  }

  get error() {
    const { errored } = this.stream;
    // A response's write error only says that the HTTP client has left. A WHATWG stream gives any value.
    return (
      this.#lost || (errored?.message !== undefined && !this.#isResponse ? errored : closedBefore(errored || undefined))
    );
  }

  get #isResponse() {
    return isServerResponse(this.given) || this.isHttp2;
  }

  /** @returns {boolean} false if the stream asks to wait */
  write(piece) {
    if (this.gone) throw this.error;
    this.#begin();
    this.#writing++;
    const { stream } = this;
    let callback = error => this.written(error);
    if (stream.write === Writable.prototype.write) {
      const writes = (stream[WRITES] ??= new Writes());
      writes.add(this);
      callback = writes.over;
    }
    const isReady = this.#run(stream.write, piece, callback);
    this.#give(piece);
    return isReady;
  }

  /** Calls a method of the stream as the request's code. If `_write` throws, a stream of Node.js calls back no more. */
  #run(method, first, second) {
    try {
      return this.#context.runInAsyncScope(method, this.stream, first, second);
    } catch (error) {
      this.giveUp(error);
      throw this.error;
    }
  }

  /** Lets the backlog count a piece that was not taken. A replaced `write` may drop callbacks. */
  #give({ length }) {
    if (this.stream.writableLength === 0 || isWrapped(this.stream)) return;
    this.#inBacklog += length;
    this.backlog?.add(this, length);
  }

  /** @param {number} left bytes that the stream has not taken, at most */
  #take(left = 0) {
    const length = this.#inBacklog - left;
    if (length <= 0) return;
    this.#inBacklog = left;
    this.backlog?.remove(this, length, left === 0);
  }

  /** A write is over. */
  written(error) {
    this.#take(--this.#writing === 0 ? 0 : this.buffered);
    const why = this.#isResponse || !error ? undefined : error;
    // Some streams do not emit 'close'; the others have done so by then.
    if (this.stream.destroyed || error) setImmediate(() => this.#fail(why));
    else if (this.#writing === 0 && this.#settle !== undefined && !this.#ended) this.#settle.resolve();
  }

  #begin(whole, rowCount) {
    if (this.begun) return;
    this.begun = true;
    this.#context.runInAsyncScope(this.begin, this, whole, rowCount);
  }

  /**
   * Calls back once, when the stream can take more or is gone. One listener serves all waits: some middleware removes
   * none.
   */
  wait(callback) {
    this.#onready = () => {
      this.#unwatchStall();
      this.#onready = nothing;
      callback();
    };
    if (this.#ondrain === nothing) this.stream.on('drain', (this.#ondrain = () => this.#onready()));
    this.#watchStall();
  }

  /** Bytes on the target's socket, if it has one. */
  get #onSocket() {
    return (this.given.socket ?? this.stream.session?.socket ?? this.stream).bytesWritten ?? 0;
  }

  /**
   * How many timeouts without progress a stream may have. Its socket shows progress only when a third of what the
   * system holds has left, so a reader that is slow, but steady, needs more with each megabyte.
   */
  get #allowedLooks() {
    return 1 + Math.min(MOST_HELD, Math.floor((this.#onSocket - this.#before - this.unsent) / MEGABYTE));
  }

  /** Gives the stream up if it takes nothing for too long. */
  #watchStall(left = () => this.unsent) {
    this.#unwatchStall();
    const giveUp = time => this.giveUp(tookNothing(time));
    if (this.#stallTimeout > 0)
      this.#unwatchStall = watchStall(this.#stallTimeout, left, giveUp, () => this.#allowedLooks);
  }

  giveUp(error) {
    this.#fail(error);
    this.destroy(error);
  }

  /**
   * @param {function(Error)} ongone called once with the stream's error, or with an AbortError if it was only closed
   */
  watch(ongone) {
    this.#ongone = ongone;
  }

  /** The stream has finished, failed or closed. */
  over(error) {
    this.#finished = error === undefined && this.#ended;
    if (this.#finished) this.#settle?.resolve();
    else this.#fail(error);
    this.#take();
    this.#onready();
  }

  #fail(error) {
    this.#take();
    if (this.#lost !== undefined) return;
    const isClose = !error || error.code === 'ERR_STREAM_PREMATURE_CLOSE';
    this.lose(isClose ? this.error : error.message === undefined ? closedBefore(error) : error);
    this.#ongone(this.#lost);
  }

  /**
   * Ends the stream.
   * @param {Buffer} [piece] the last one
   * @param {number} [rowCount] the command's
   * @returns {Promise|undefined} undefined if the stream has taken everything; rejects if it never will
   */
  end(piece, rowCount) {
    if (this.gone) return Promise.reject(this.error);
    this.#begin(piece ?? null, rowCount);
    this.#ended = true;
    this.#run(this.stream.end, piece);
    if (this.#finished || this.stream.writableFinished) return undefined;
    if (piece !== undefined) this.#give(piece);
    // Most streams finish in this turn of the loop, and need no timer.
    setImmediate(() => {
      if (this.#ongone !== nothing) this.#watchStall();
    });
    return this.#settled();
  }

  flushed() {
    return this.#writing === 0 || isWrapped(this.stream) ? undefined : this.#until();
  }

  #until(left) {
    this.#watchStall(left);
    return this.#settled();
  }

  #settled() {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      if (this.#lost !== undefined) reject(this.#lost); // in the call itself, as streams of other packages do
    });
  }

  lose(error) {
    this.#lost = error;
    this.#settle?.reject(error);
  }

  release() {
    this.#unwatchStall();
    if (this.#ondrain !== nothing) this.stream.removeListener('drain', this.#ondrain);
    this.#ongone = this.#onready = nothing;
    if (this.#inBacklog === 0) unwatch(this.stream, this);
    if (!this.#ended && !this.gone) this.stream.release?.();
  }

  /** Cuts the stream off, so that a part of a result cannot be taken for the whole. */
  destroy(error) {
    const { headersSent, chunkedEncoding, socket } = this.given;
    // With HTTP/1.0 a body ends with its connection: behind a FIN it would count as whole. Only TCP has a reset.
    if (headersSent && chunkedEncoding === false && socket?._handle?.reset) socket.resetAndDestroy();
    this.#context.runInAsyncScope(this.stream.destroy, this.stream, error);
  }
}

module.exports = { Target };
