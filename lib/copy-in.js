'use strict';

const { Request } = require('./request');
const { QueryRequest, ROWS } = require('./query-request');

/**
 * COPY … FROM STDIN. It owns the connection from its first message to the end of the copy, since the server
 * rejects everything else meanwhile, and ignores Sync: so Sync is sent only when the copy is over.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY
 */
class CopyInRequest extends QueryRequest {
  constructor(text, values, cache, receiver, scope) {
    super(text, values, 0, cache, undefined, receiver);
    this.scope = scope;
    /** Whether the server takes data. */
    this.copying = false;
    /** @type {Request|null} what copyDone() or copyFail() gave to its caller */
    this.finish = null;
    this._failing = false;
  }

  encode(writer, statements) {
    this._bind(writer, statements);
    writer.execute('', 0);
    writer.flush();
  }

  message(pipeline, type, buf, start, end, count) {
    if (type !== 71 || this.stage !== ROWS) return super.message(pipeline, type, buf, start, end, count);
    this.receiver.receive(type, buf, start, end);
    this.copying = true;
    this.resolve(this.result());
  }

  complete(pipeline) {
    super.complete();
    this._sync(pipeline);
  }

  fail(error, pipeline) {
    super.fail(error, pipeline);
    this._sync(pipeline);
  }

  _sync(pipeline) {
    this.copying = false;
    if (this.finish !== null) return; // it went with CopyDone
    pipeline.writer.sync();
    pipeline.scheduleFlush();
  }

  /**
   * Writes CopyData. What comes after an error of the server is dropped, as the server would.
   * @param {Pipeline} pipeline
   * @param {Uint8Array} data
   */
  data(pipeline, data) {
    if (!this.copying) return;
    pipeline.writer.message(100, data);
    if (pipeline.writer.length >= 65536) pipeline.flush();
    else pipeline.scheduleFlush();
  }

  /**
   * Ends the copy.
   * @param {Pipeline} pipeline
   * @param {RowReader} receiver of the command's completion
   * @param {string} [reason] to fail the copy with
   * @returns {Promise<RowReader>} rejects with the server's error; a failure that was asked for resolves
   */
  end(pipeline, receiver, reason) {
    const finish = this.finish = new Request();
    this._failing = reason !== undefined;
    this.receiver = receiver;
    if (!this.copying) { // the server has failed it already: Sync is on its way, or its answer has come
      if (this.scope.left) this._finish();
      return finish.promise;
    }
    if (this._failing) pipeline.writer.copyFail(reason);
    else pipeline.writer.copyDone();
    pipeline.writer.sync();
    pipeline.scheduleFlush();
    return finish.promise;
  }

  _finish() {
    const { error, finish } = this;
    const asked = this._failing && error !== undefined && error.code === '57014';
    if (error === undefined || asked) finish.resolve(this.receiver);
    else finish.reject(error);
  }

  ready(pipeline) {
    if (this.settled) this.done = true;
    else super.ready(pipeline);
    if (this.finish !== null) this._finish();
    pipeline.leave(this.scope);
  }

  retry() { return false; }

  reject(error) {
    this.copying = false;
    if (this.error === undefined) this.error = error;
    super.reject(error);
    if (this.finish !== null) this.finish.reject(error);
  }
}

module.exports = { CopyInRequest };
