'use strict';

const {
  State,
  backend: { CopyInResponse },
  frontend
} = require('../protocol');
const { RowReader } = require('../rows');
const { QueryRequest } = require('../pipeline');

/** The longest reason of a CopyFail, in characters: it goes into the server's log. */
const REASON = 500;

/** The statement of a COPY, as QueryRequest needs it. */
const COPY = Object.freeze({ name: '', key: '', disturbs: false, reads: false });

/** What may be several statements: a semicolon with something behind it, even in a literal. */
const SEVERAL = /;\s*\S/;

/**
 * Writes a COPY as a simple Query, as psql does: Pgpool-II knows no other way. An extended query takes the place of
 * that for what may be several statements, which the server refuses there, and behind settings, whose transaction a
 * Query would not end.
 */
function writeCopy(request, writer, statements) {
  request.simple = request.settings === undefined && !SEVERAL.test(request.text);
  if (!request.simple) {
    request.bind(writer, statements);
    return writer.execute('', 0);
  }
  writer.query(request.text);
  request.statement = COPY;
  request.state = State.Simple;
}

/**
 * COPY … FROM STDIN. Nothing is sent behind it until it is over, since the server rejects everything else meanwhile.
 * Data need not wait for the server's word, since a server that has reported an error ignores it.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY
 */
class CopyInRequest extends QueryRequest {
  #begun;
  #isEnded = false; // CopyDone or CopyFail was written
  #sent;

  /**
   * @param {function()} begun called when the server takes data
   * @param {function()} [sent] called when data may be sent: at once, but with `max_pipeline` when the server takes it
   */
  constructor(text, begun, sent, receiver = new RowReader()) {
    super(text, [], 0, false, undefined, receiver);
    this.barrier = true;
    this.#begun = begun;
    this.#sent = sent;
  }

  /** Whether the server takes data. Data after an error is dropped. */
  get #takesData() {
    const isSent = this.state === State.Simple || (this.state > State.Waiting && this.state <= State.CopyIn);
    return isSent && !this.#isEnded && this.error === undefined;
  }

  encode(writer, statements) {
    writeCopy(this, writer, statements);
    this.owesSync = !this.simple;
    if (this.scope.pipeline.maxPipeline === Infinity) this.#sent?.();
  }

  start(pipeline) {
    super.start(pipeline);
    if (this.state === State.Command) this.state = State.CopyCommand;
  }

  message(pipeline, type, buf, start, end) {
    super.message(pipeline, type, buf, start, end);
    if (type !== CopyInResponse || !this.#takesData) return; // it was given up, or all data was sent
    this.#sent?.();
    this.#begun();
  }

  data(data) {
    if (!this.#takesData) return;
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
    if (!this.#takesData) return;
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
   * Ends the data.
   * @param {string} [reason] makes the COPY fail
   * @returns {boolean} false if the COPY was over
   */
  end(reason) {
    if (!this.#takesData) return false;
    this.#isEnded = true;
    const { pipeline } = this.scope;
    if (reason === undefined) pipeline.writer.copyDone();
    else pipeline.writer.copyFail(reason.replace(/\0/g, '').slice(0, REASON));
    this.sync(pipeline);
    pipeline.flush();
    return true;
  }

  /** A CancelRequest does not stop a server that waits for data; if it does not wait, it ignores CopyFail. */
  giveUp(error, pipeline) {
    this.end(String(error.message));
    return super.giveUp(error, pipeline);
  }

  canResend() {
    return false;
  }
}

module.exports = { CopyInRequest, writeCopy };
