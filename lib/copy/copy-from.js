'use strict';

const { setImmediate } = require('#platform');
const { Writable, addAbortSignal } = require('#platform').stream;
const { AbortError, ConnectionError, State, UsageError } = require('../protocol');
const { abort, callerOf, checkLimits, copyDirection, showCaller } = require('../query');
const { RowReader } = require('../rows');
const { CopyInRequest } = require('./copy-in');

/** How many bytes of a COPY FROM STDIN may wait for the system to take them. */
const WAITING = 262144;

/** From so many on, data is not copied to be sent with what comes before it, but sent from where it is. */
const IN_PLACE = 8192;

/** How many are sent at a time. */
const PIECE = 65536;

/** After so many bytes others have their turn: where the system takes all at once, nothing would be read meanwhile. */
const TURN = 1 << 20;

/** Tells of its failure at once, not at the end of the answer. */
class StreamedCopy extends CopyInRequest {
  #failed;

  constructor(failed, ...copy) {
    super(...copy);
    this.#failed = failed;
  }

  fail(error, pipeline) {
    super.fail(error, pipeline);
    this.#failed(showCaller(this.error, this.caller));
  }

  settle(error = this.error) {
    super.settle(error);
    if (error !== undefined) this.#failed(error instanceof ConnectionError ? showCaller(error, this.caller) : error);
  }
}

/** What COPY … FROM STDIN takes, as a stream of bytes, in which rows may be split anywhere. */
class CopyFrom extends Writable {
  #pipeline;
  #request;
  #turned = 0; // bytes when others had their turn last

  /**
   * @param {Scope} scope
   * @param {string} text
   * @param {object} options `{ signal, highWaterMark }`
   * @throws {TypeError|Error}
   */
  constructor(scope, text, { signal, highWaterMark = WAITING }) {
    if (typeof text !== 'string' || copyDirection(text) !== 'in') throw new TypeError('copyFrom takes COPY … FROM STDIN');
    if (signal?.aborted !== true) checkLimits({ signal });
    super({ highWaterMark });
    /** @type {number|undefined} rows copied; set before the event 'finish' */
    this.rowCount = undefined;
    /** Bytes so far. */
    this.bytes = 0;
    this.#pipeline = scope.pipeline;
    this.#request = new StreamedCopy(error => this.destroy(error), scope, text, [], new RowReader(), callerOf(CopyFrom));
    if (signal !== undefined) addAbortSignal(signal, this);
    if (this.destroyed) return;
    this.#request.begin().then(() => {
      if (this.#request.state >= State.Done && this.#request.error === undefined) {
        this.destroy(new UsageError('copyFrom takes COPY … FROM STDIN', '42601'));
      }
    }, error => this.destroy(error));
  }

  /** Nobody can be waited for who would write the rest. */
  abandon(error) { if (!this.writableEnded) this.destroy(error); }

  /** Calls back when the server takes data; not at all if it does not. */
  #start(callback) {
    if (this.#request.copying) callback();
    else this.#request.promise?.then(callback, () => {});
  }

  _write(chunk, encoding, callback) { this._writev([{ chunk }], callback); }

  _writev(entries, callback) {
    const pieces = [];
    for (const { chunk } of entries) {
      if (chunk.length <= PIECE) pieces.push(chunk);
      else for (let off = 0; off < chunk.length; off += PIECE) pieces.push(chunk.subarray(off, off + PIECE));
    }
    this.#start(() => this.#send(pieces, 0, callback));
  }

  /** Sends what there is from an index on; not where the copy is over, and the stream destroyed. */
  #send(pieces, index, callback) {
    const pipeline = this.#pipeline;
    for (; index < pieces.length && pipeline.socket !== null; index++) {
      if (this.bytes - this.#turned >= TURN) {
        this.#turned = this.bytes;
        return void setImmediate(() => this.#send(pieces, index, callback));
      }
      const piece = pieces[index];
      if (piece.length >= IN_PLACE && pipeline.socket.canWriteInPlace && this.#request.copying) {
        let end = index;
        for (let size = 0; size < WAITING && end < pieces.length && pieces[end].length >= IN_PLACE; end++) {
          size += pieces[end].length;
          this.bytes += pieces[end].length;
        }
        return this.#request.dataInPlace(pieces.slice(index, end), () => this.#send(pieces, end, callback));
      }
      if (pipeline.bufferedBytes > WAITING && pipeline.socket.needsDrain) {
        return pipeline.socket.whenDrained(() => this.#send(pieces, index, callback));
      }
      this.#request.data(piece);
      this.bytes += piece.length;
    }
    if (index === pieces.length) callback();
  }

  _final(callback) {
    this.#start(() => {
      this.#request.end(new RowReader()).then(({ rowCount }) => {
        this.rowCount = rowCount;
        callback();
      }, error => callback(showCaller(error, this.#request.caller)));
    });
  }

  _destroy(error, callback) {
    const request = this.#request;
    const reason = error || new AbortError('the stream was destroyed');
    // CopyFail ends a COPY that takes data; else it takes more.
    if (request.copying) request.end(new RowReader(), reason.message.replace(/\0/g, '')).catch(() => {});
    else if (request.scope !== null) abort(request, reason);
    callback(error);
  }
}

module.exports = { CopyFrom };
