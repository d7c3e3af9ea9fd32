'use strict';

const { Buffer } = require('#platform');
const { State, checkText, checkValues, frontend } = require('../protocol');
const { QueryRequest, NO_OPTIONS, Scope, checkLimits, rethrow, watchLimits } = require('../query');

/** Longest reason of a CopyFail, in characters: it goes into the server's log. */
const REASON = 500;

/**
 * COPY … FROM STDIN. It owns the connection from its first message to the end of the copy, since the server
 * rejects everything else meanwhile, and ignores Sync: so Sync is sent only when the copy is over. The promise of
 * `begin` settles when the server takes data, or will not; the one of `end`, when the copy is over.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY
 */
class CopyInRequest extends QueryRequest {
  #finished = null; // resolve and reject of the promise of `end`
  #failing = false;
  #over = false;
  #parent;
  #resolveOver;
  #synced = false; // Sync has been written: the end is on its way

  /**
   * @param {Scope} parent
   * @param {string} text
   * @param {Array|object} values
   * @param {object} receiver
   * @param {{stack: string}} caller see callerOf
   */
  constructor(parent, text, values, receiver, caller) {
    // The unnamed statement: it cannot be lost, and to parse COPY costs nothing.
    super(text, values, 0, false, undefined, receiver);
    checkText(text, 'text');
    checkValues(values);
    this.caller = caller;
    this.endsWithSync = false;
    /** @type {Promise<Error|undefined>} resolves when the copy is over: with the error, if there was one */
    this.over = new Promise(resolve => { this.#resolveOver = resolve; });
    this.#parent = parent;
  }

  /**
   * Waits for the connection and begins the copy.
   * @param {object} [limits] `{ signal, statement_timeout }`
   * @returns {Promise} of the receiver, when the server takes data
   * @throws {TypeError|Error}
   */
  begin(limits = NO_OPTIONS) {
    checkLimits(limits);
    const { pipeline } = this.#parent;
    const scope = new Scope(pipeline, this.#parent, 'the COPY FROM STDIN');
    pipeline.enter(scope);
    try {
      const promise = pipeline.submit(this, scope);
      if (!this.#over) this.over.then(watchLimits(this, limits));
      return promise;
    } catch (error) {
      pipeline.leave(scope);
      throw error;
    }
  }

  /** Whether the server takes data. */
  get copying() { return this.state === State.CopyIn && !this.#synced && !this.#over; }

  encode(writer, statements) {
    this.bind(writer, statements, '', null);
    writer.executeAll(false);
    writer.flush();
  }

  takeData(pipeline, buf, start, end) {
    if (this.#synced) return; // it was given up
    this.receiver.receive(buf[start], buf, start, end);
    this.settle();
  }

  complete() {
    this.#sync();
  }

  fail(error, pipeline) {
    this.#sync();
    super.fail(error, pipeline);
  }

  #sync() {
    if (this.#synced) return;
    this.#synced = true;
    const { pipeline } = this.#parent;
    pipeline.writer.sync();
    pipeline.flush();
  }

  /**
   * Writes CopyData. What comes after an error of the server is dropped, as the server would.
   * @param {Uint8Array} data
   */
  data(data) {
    if (!this.copying) return;
    const { pipeline } = this.#parent;
    pipeline.writer.message(frontend.CopyData, data);
    pipeline.flush();
  }

  /**
   * Writes CopyData messages without a copy of the data, while the server takes data.
   * @param {Uint8Array[]} pieces not to be changed until they have been taken
   * @param {function} callback called when they have been; not at all if the connection is lost before
   */
  dataInPlace(pieces, callback) {
    const { pipeline } = this.#parent;
    const headers = Buffer.allocUnsafe(5 * pieces.length);
    const parts = pieces.flatMap((piece, i) => {
      headers[5 * i] = frontend.CopyData;
      headers.writeUInt32BE(piece.length + 4, 5 * i + 1);
      return [headers.subarray(5 * i, 5 * i + 5), piece];
    });
    pipeline.socket.flush(pipeline.writer);
    pipeline.socket.writeAll(parts, callback);
  }

  /**
   * Ends the copy.
   * @param {RowReader} receiver of the command's completion
   * @param {string} [reason] to fail the copy with
   * @returns {Promise<RowReader>} rejects with the server's error; a failure that was asked for resolves
   */
  end(receiver, reason) {
    this.receiver = receiver;
    const promise = new Promise((resolve, reject) => { this.#finished = { resolve, reject }; });
    if (this.copying) {
      const { writer } = this.#parent.pipeline;
      this.#failing = reason !== undefined;
      if (this.#failing) writer.copyFail(reason.slice(0, REASON));
      else writer.copyDone();
      this.#sync();
    } else if (this.#over) this.#finish(this.error);
    return promise.catch(error => rethrow(error));
  }

  #finish(error) {
    this.#over = true;
    this.#resolveOver(error);
    if (this.#finished === null) return;
    if (error === undefined || (this.#failing && error.code === '57014')) this.#finished.resolve(this.receiver);
    else this.#finished.reject(error);
  }

  abort(error, pipeline) {
    if (this.state === State.Waiting || this.#over) return super.abort(error, pipeline);
    // The server may be waiting for data, which no CancelRequest ends; where it does not, it ignores CopyFail.
    if (!this.#synced) pipeline.writer.copyFail(String(error.message).replace(/\0/g, '').slice(0, REASON));
    this.#sync();
    this.settle(error);
    this.discard();
    return this.state < State.Done;
  }

  canRepeat() { return false; }

  ready() {
    super.ready();
    this.#finish(this.error);
    this.#parent.pipeline.leave(this.scope);
  }

  /** Also the promise of `end` rejects, when the copy is given up or the connection is lost. */
  settle(error = this.error) {
    super.settle(error);
    if (error === undefined) return;
    this.error ??= error;
    this.#finish(error);
    if (this.state === State.Waiting) this.#parent.pipeline.leave(this.scope);
  }
}

module.exports = { CopyInRequest };
