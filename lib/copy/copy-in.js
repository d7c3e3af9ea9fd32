'use strict';

const { Buffer } = require('#platform');
const { Request } = require('../query/request');
const { QueryRequest, ROWS } = require('../query/query');

/** From so much on, data leaves at once instead of at the end of the tick, in bytes. */
const FLUSH_BYTES = 65536;

/** Longest reason of a CopyFail, in characters: it goes into the server's log. */
const REASON = 500;

/** What a COPY fails with at the server because of an error here. */
function reasonOf(error) { return String(error.message).replace(/\0/g, '').slice(0, REASON); }

/**
 * COPY … FROM STDIN. It owns the connection from its first message to the end of the copy, since the server
 * rejects everything else meanwhile, and ignores Sync: so Sync is sent only when the copy is over. The promise
 * settles when the server takes data, or will not; the one of `end`, when the copy is over.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY
 */
class CopyInRequest extends QueryRequest {
  /**
   * @param {Pipeline} pipeline
   * @param {Scope} scope of its own
   * @param {string} text
   * @param {Array|object} values
   * @param {object} receiver
   */
  constructor(pipeline, scope, text, values, receiver) {
    // The unnamed statement: it cannot be lost, and to parse COPY costs nothing.
    super(text, values, 0, false, undefined, receiver);
    this.pipeline = pipeline;
    this.scope = scope;
    /** Whether the server takes data. */
    this.copying = false;
    /** Whether Sync has been written: the end of it is on its way. */
    this.synced = false;
    /** @type {Request|null} what copyDone() or copyFail() gave to its caller */
    this.finish = null;
    /** @type {(function|undefined)} called when the server takes data */
    this.oncopy = undefined;
    this._failing = false;
    scope.endsItself = () => this.synced;
  }

  encode(writer, statements) {
    this._bind(writer, statements);
    writer.executeAll();
    writer.flush();
  }

  message(pipeline, type, buf, start, end, count) {
    if (type !== 71 || this.stage !== ROWS) return super.message(pipeline, type, buf, start, end, count);
    if (this.synced) return; // it was given up
    this.receiver.receive(type, buf, start, end);
    this.copying = true;
    this.settled = true; // not over for the caller, though
    this._resolve(this.result());
    if (this.oncopy !== undefined) this.oncopy();
  }

  complete() {
    super.complete();
    this._sync();
  }

  fail(error, pipeline) {
    this._sync();
    super.fail(error, pipeline);
  }

  _sync() {
    this.copying = false;
    if (this.synced) return;
    this.synced = true;
    this.pipeline.writer.sync();
    this.pipeline.scheduleFlush();
  }

  /**
   * Writes CopyData. What comes after an error of the server is dropped, as the server would.
   * @param {Uint8Array} data
   */
  data(data) {
    if (!this.copying) return;
    const { pipeline } = this;
    pipeline.writer.message(100, data);
    if (pipeline.writer.length >= FLUSH_BYTES) pipeline.flush();
    else pipeline.scheduleFlush();
  }

  /**
   * Writes CopyData messages without a copy of the data, while the server takes data.
   * @param {Uint8Array[]} pieces not to be changed until they have been taken
   * @param {function} callback called when they have been; not at all if the connection is lost before
   */
  lend(pieces, callback) {
    const { pipeline } = this;
    const headers = Buffer.allocUnsafe(5 * pieces.length);
    const parts = [];
    for (let i = 0; i < pieces.length; i++) {
      headers[5 * i] = 100;
      headers.writeUInt32BE(pieces[i].length + 4, 5 * i + 1);
      parts.push(headers.subarray(5 * i, 5 * i + 5), pieces[i]);
    }
    pipeline.flush();
    pipeline.transport.writeAll(parts, callback);
  }

  /**
   * Ends the copy.
   * @param {RowReader} receiver of the command's completion
   * @param {string} [reason] to fail the copy with
   * @returns {Promise<RowReader>} rejects with the server's error; a failure that was asked for resolves
   */
  end(receiver, reason) {
    this.finish = new Request();
    this.receiver = receiver;
    if (this.copying) {
      this._failing = reason !== undefined;
      if (this._failing) this.pipeline.writer.copyFail(reason);
      else this.pipeline.writer.copyDone();
      this._sync();
    } else if (this.scope.left) this._finish(); // the server has failed it
    return this.finish.promise;
  }

  _finish() {
    const { error, finish } = this;
    const asked = this._failing && error !== undefined && error.code === '57014';
    if (error === undefined || asked) finish.resolve(this.receiver);
    else finish.reject(error);
  }

  abort(error, pipeline) {
    if (!this.sent) return super.abort(error, pipeline);
    // The server may be waiting for data, which no CancelRequest ends; where it does not, it ignores CopyFail.
    if (!this.synced) pipeline.writer.copyFail(reasonOf(error));
    this._sync();
    this.reject(error);
    this.discard(pipeline);
    return !this.done;
  }

  ready(pipeline) {
    if (!this.settled) super.ready(pipeline);
    this._over();
    if (this.finish !== null) this._finish();
    pipeline.leave(this.scope);
  }

  retry() { return false; }

  reject(error) {
    this.copying = false;
    if (this.error === undefined) this.error = error;
    super.reject(error);
    this._over();
    if (this.finish !== null) this.finish.reject(error);
    if (!this.sent) this.pipeline.leave(this.scope);
  }

  /** Nothing is left to be aborted. */
  _over() {
    if (this.onsettled !== undefined) this.onsettled();
  }
}

module.exports = { CopyInRequest, reasonOf };
