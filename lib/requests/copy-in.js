'use strict';

const { State, frontend } = require('../protocol');
const { QueryRequest } = require('./query');
const { outcome } = require('../pipeline');

/** The longest reason of a CopyFail, in characters: it goes into the server's log. */
const REASON = 500;

/** The statement of a COPY that is sent as a simple Query, as QueryRequest needs it. */
const COPY = Object.freeze({ key: '', disturbs: false, reads: false });

/** Writes a COPY as a simple Query, as psql does: some poolers and servers know no other way. */
function writeQuery(request, writer) {
  writer.query(request.text);
  request.statement = COPY;
  request.state = State.Simple;
}

/**
 * COPY … FROM STDIN. Nothing is sent behind it until it is over, since the server rejects everything else meanwhile, and
 * ignores Sync. Its promise settles when the server takes data, or will not; `finished`, when the copy is over.
 * Data need not wait for the server's word, since a server that has reported an error ignores it.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY
 */
class CopyInRequest extends QueryRequest {
  #begun;
  #resolveFinished;
  #sent;

  /**
   * @param {function(CopyInRequest)} begun called when the server takes data
   * @param {function()} [sent] makes it a simple Query without values; called when it was sent
   */
  constructor(text, values, receiver, begun, sent) {
    // The unnamed statement cannot be lost, and parsing COPY costs nothing.
    super(text, values, 0, false, undefined, receiver);
    this.barrier = true;
    this.endsWithSync = false;
    this.simple = sent !== undefined;
    this.#begun = begun;
    this.#sent = sent;
    /** Whether the server has taken data. */
    this.began = false;
    /** @type {Promise<Error|undefined>} resolves when the COPY is over, with the error if there was one */
    this.finished = new Promise(resolve => { this.#resolveFinished = resolve; });
  }

  /** Whether the server takes data. Data after an error is dropped. */
  get copying() {
    const { state } = this;
    const isSent = state === State.Simple || (state > State.Waiting && state <= State.CopyIn);
    return isSent && !this.endsWithSync && this.error === undefined;
  }

  encode(writer, statements) {
    this.simple &&= this.settings === undefined; // a Query would not end their transaction
    if (this.simple) writeQuery(this, writer);
    else {
      this.bind(writer, statements);
      writer.execute('', 0);
      writer.flush();
    }
    this.#sent?.();
  }

  takeData(pipeline, buf, start, end) {
    this.began = true;
    if (!this.copying) return; // it was given up, or all data was sent
    this.receiver.receive(buf[start], buf, start, end);
    this.#begun(this);
    this.settle();
  }

  data(data) {
    if (!this.copying) return;
    const { pipeline } = this.scope;
    pipeline.writer.message(frontend.CopyData, data);
    pipeline.flush();
  }

  /**
   * Writes CopyData messages without copying the data, if the socket can do that.
   * @param {Uint8Array[]} pieces not to be changed before the callback
   * @param {function} callback called when the socket has taken them; never if the COPY is over before
   */
  write(pieces, callback) {
    if (!this.copying) return;
    const { socket, writer } = this.scope.pipeline;
    // A socket that takes everything at once would let nothing be read meanwhile.
    const taken = () => setImmediate(callback);
    const headers = Buffer.allocUnsafe(5 * pieces.length);
    const parts = pieces.flatMap((piece, i) => {
      headers[5 * i] = frontend.CopyData;
      headers.writeUInt32BE(piece.length + 4, 5 * i + 1);
      return [headers.subarray(5 * i, 5 * i + 5), piece];
    });
    socket.flush(writer);
    socket.writeAll(parts, taken);
  }

  /**
   * Ends the COPY.
   * @param {RowReader} receiver of the command's completion
   * @param {string} [reason] makes it fail
   * @returns {Promise<RowReader>} rejects with the server's error, but resolves for a requested failure
   */
  async end(receiver, reason) {
    this.receiver = receiver;
    const failing = this.copying && reason !== undefined;
    if (this.copying) this.#finish(reason);
    const error = await this.finished;
    return outcome({ error: failing && error?.code === '57014' ? undefined : error, caller: this.caller, result: receiver });
  }

  /** Writes CopyDone or CopyFail, and Sync unless the COPY is a simple Query. */
  #finish(reason) {
    const { pipeline } = this.scope;
    if (reason === undefined) pipeline.writer.copyDone();
    else pipeline.writer.copyFail(reason.replace(/\0/g, '').slice(0, REASON));
    this.sync(pipeline);
    pipeline.flush();
  }

  sync(pipeline) {
    if (!this.simple) return super.sync(pipeline);
    this.endsWithSync = true;
  }

  abort(error, pipeline) {
    if (this.state === State.Waiting || this.state >= State.Done) return super.abort(error, pipeline);
    // A CancelRequest does not stop a server that waits for data; if it does not wait, it ignores CopyFail.
    if (!this.endsWithSync) this.#finish(String(error.message));
    this.settle(error);
    this.discard();
    return true;
  }

  canRepeat() { return false; }

  /** The COPY is over with an error, or when the answer is complete. */
  settle(error = this.error) {
    super.settle(error);
    if (error === undefined && this.state !== State.Over) return;
    this.error ??= error;
    this.#resolveFinished(this.error);
  }
}

module.exports = { CopyInRequest, writeQuery };
