'use strict';

const { Writable } = require('node:stream');
const { AbortError, State, TimeoutError, checkText, kindOf } = require('../protocol');
const {
  SyncRequest,
  callerOf,
  copyDirection,
  giveUp,
  isCancelled,
  sendSeveral,
  promised,
  showCaller,
  submitIn,
  watchSignal,
  watchStall
} = require('../pipeline');
const { STALL_TIMEOUT } = require('../options');
const { CopyInRequest } = require('../requests');
const { RowEncoder } = require('./copy-rows');

/** Bytes, or rows, that may wait in the stream. */
const WAITING = 262144;
const WAITING_ROWS = 1024;

/** Bytes that are sent before the server has agreed, so that a COPY of few rows is one round trip. */
const EARLY = 65536;

/** The longest CopyData, and how many of them are written at a time. */
const PIECE = 65536;
const PIECES = 16;

/** COPY … FROM STDIN as a stream that takes bytes, with rows split anywhere; or, with `columns`, objects and arrays. */
class CopyFrom extends Writable {
  /** @type {number|undefined} rows copied, set before the event 'finish' */
  rowCount;
  bytes = 0;
  #agreed; // resolves when the server takes data
  #caller; // see callerOf
  #chunks = 0; // that the source has brought
  #encoder; // of rows
  #endWait; // ends the wait for a connection
  #lines = ''; // of rows, that were not sent
  #over;
  #request;
  #maySend; // resolves when data may be sent
  #unwatch; // ends the watch of the source

  constructor(
    lease,
    text,
    { signal, columns, stall_timeout = STALL_TIMEOUT, highWaterMark = columns === undefined ? WAITING : WAITING_ROWS }
  ) {
    checkText(text, 'text');
    if (copyDirection(text) !== 'in') throw new TypeError('copyFrom takes COPY … FROM STDIN');
    const encoder = columns === undefined ? undefined : new RowEncoder(text, columns);
    super({ highWaterMark, objectMode: encoder !== undefined });
    this.#encoder = encoder;
    this.#agreed = new Promise(agreed => {
      this.#maySend = new Promise(maySend => {
        this.#request = new CopyInRequest(text, agreed, maySend);
      });
    });
    this.#caller = callerOf(CopyFrom);
    if (stall_timeout > 0) this.#maySend.then(() => this.#watchSource(stall_timeout));
    // pipeline() leaves the error of a destroyed stream uncaught.
    const abort = error => this.#fail(error);
    if (signal?.aborted) return void process.nextTick(abort, new AbortError('the query was aborted', signal.reason));
    if (signal !== undefined) this.once('close', watchSignal(signal, abort));
    const run = (scope, client, { settings }) => {
      if (this.destroyed) throw new AbortError('the stream was destroyed');
      // Behind BEGIN in one flight, pgcat stores the rows of a block that is rolled back, and Pgpool-II answers no
      // later query.
      const begin = scope.begin && submitIn(new SyncRequest(), scope).catch(error => error);
      // If the block has failed in front of it, for example by its settings, the error says why.
      return submitIn(this.#request, scope, { settings }).catch(async error => {
        throw (error.code === '25P02' && (await begin)) || error;
      });
    };
    this.#over = promised(() =>
      sendSeveral(
        lease,
        {
          signal,
          onwait: endWait => {
            this.#endWait = endWait;
          }
        },
        text,
        run,
        () => false
      )
    ).then(({ rowCount }) => {
      this.rowCount = rowCount;
    });
    this.#over.catch(abort);
  }

  /** Its error shows the caller of copyFrom(). */
  #fail(error) {
    if (!this.destroyed) this.destroy(showCaller(error, this.#caller));
  }

  /** Ends the stream with its transaction, which cannot wait for the rest. */
  giveUp(error) {
    if (!this.writableEnded) this.destroy(error);
  }

  /**
   * Fails the COPY, which owns the connection, if its source brings nothing although everything that it brought was
   * taken.
   */
  #watchSource(time) {
    if (this.destroyed || this.writableEnded) return;
    const left = () => (this.writableLength > 0 ? NaN : -this.#chunks);
    const what = `the source of copyFrom brought nothing for ${time} ms (stall_timeout)`;
    this.#unwatch = watchStall(time, left, () => this.#fail(new TimeoutError(what, { code: '57014', sent: true })));
  }

  write(chunk, encoding, callback) {
    return super.write(this.#taken(chunk), encoding, callback);
  }

  end(chunk, ...rest) {
    return super.end(typeof chunk === 'function' ? chunk : this.#taken(chunk ?? null), ...rest);
  }

  /**
   * Reads a row when it is written: its object may be reused. An error ends the stream: Node.js 20 catches none that
   * `write` throws in a pipe.
   */
  #taken(chunk) {
    try {
      if (chunk === null) return null;
      if (this.#encoder !== undefined) return this.#encoder.lineOf(chunk);
      if (ArrayBuffer.isView(chunk)) return chunk;
      if (typeof chunk !== 'string')
        throw new TypeError(`copyFrom takes text and Buffers, not ${kindOf(chunk)}: for rows, set the option columns`);
      if (!chunk.isWellFormed()) checkText(chunk, 'the text');
      return chunk;
    } catch (error) {
      this.#fail(error);
      return '';
    }
  }

  _write(chunk, encoding, callback) {
    this._writev([{ chunk }], callback);
  }

  _writev(entries, callback) {
    this.#chunks += entries.length;
    let chunks = entries.map(({ chunk }) => chunk);
    if (this.#encoder !== undefined) {
      let lines = this.#lines;
      for (const line of chunks) lines += line; // `join` costs a COPY of rows 1.3 ×
      this.#lines = lines;
      if (this.#lines.length < PIECE) return callback();
      chunks = [this.#takeLines()];
    }
    this.#pass(chunks, callback);
  }

  #takeLines() {
    const bytes = Buffer.from(this.#lines);
    this.#lines = '';
    return bytes;
  }

  #pass(chunks, callback) {
    if (chunks.length > PIECES) chunks = [Buffer.concat(chunks)]; // copying small ones costs less than writing each
    const pieces = [];
    for (const chunk of chunks) {
      for (let off = 0; off < chunk.length; off += PIECE) pieces.push(chunk.subarray(off, off + PIECE));
    }
    const ready = this.bytes < EARLY ? this.#maySend : this.#agreed;
    ready.then(() => this.#send(pieces, callback));
  }

  #send(pieces, callback) {
    const next = pieces.splice(0, PIECES);
    if (next.length === 0) return callback();
    for (const { length } of next) this.bytes += length;
    this.#request.writeAll(next, () => this.#send(pieces, callback));
  }

  _final(callback) {
    this.#unwatch?.();
    const end = () =>
      this.#maySend.then(() => {
        this.#request.end();
        this.#over.then(callback, callback);
      });
    if (this.#encoder === undefined) end();
    else this.#pass([this.#takeLines()], end);
  }

  _destroy(error, callback) {
    this.#unwatch?.();
    if (isCancelled(error)) this.on('error', () => {}); // cancel() needs no listener
    if (error?.name === 'AbortError') error.sent ??= this.#request.state !== State.Waiting;
    const why = error || new AbortError('the stream was destroyed');
    giveUp(this.#request, why);
    this.#endWait?.(why);
    callback(error);
  }
}

module.exports = { CopyFrom };
