'use strict';

const {
  State,
  backend: { CopyData, CopyInResponse, CopyOutResponse },
  frontend
} = require('../protocol');
const { RowReader } = require('../rows');
const { setImmediate } = require('../timer');
const { DISCARD, Flight } = require('../pipeline');

/** The longest reason of a CopyFail, in characters: it goes into the server's log. */
const REASON = 500;

/** What may be several statements: a semicolon with something behind it, even in a literal. */
const SEVERAL = /;\s*\S/;

/** The unnamed portal of the unnamed statement. */
const UNNAMED = Buffer.alloc(2);

/**
 * A COPY between the server and the client:
 *
 *     COPY … FROM STDIN  Query ▶  ◀ CopyInResponse  CopyData … CopyDone | CopyFail ▶  ◀ CommandComplete ReadyForQuery
 *     COPY … TO STDOUT   Query ▶  ◀ CopyOutResponse CopyData … CopyDone                 CommandComplete ReadyForQuery
 *
 * psql sends a Query, and Pgpool-II knows no other way. Parse, Bind and Execute take its place for what may be several
 * statements, which the server refuses there, and behind settings, whose transaction a Query would not end.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY
 */
class CopyRequest extends Flight {
  /** @param {Receiver} receiver see lib/core/pipeline/query.js */
  constructor(text, receiver) {
    super();
    this.text = text;
    this.receiver = receiver;
  }

  get simple() {
    return this.settings === undefined && !SEVERAL.test(this.text);
  }

  begin(writer, state) {
    this.state = state;
    if (this.simple) return writer.query(this.text);
    writer.parse('', this.text, []);
    writer.bind(UNNAMED, [], 0);
    writer.execute('', 0);
  }

  message(pipeline, type, buf, start, end, count) {
    super.message(pipeline, type, buf, start, end);
    if (this.state === State.Failed) return;
    if (type === CopyData) return this.receiver.receiveData(buf, start, end, count, pipeline.reader.owned);
    if (type === CopyOutResponse) this.receiver.start(null, 0, pipeline);
    this.receiver.receive(type, buf, start, end);
  }

  fail(...given) {
    this.receiver.drop?.(); // other requests must not wait for a slow reader
    super.fail(...given);
  }

  drop() {
    this.receiver.drop?.();
    this.receiver = DISCARD;
  }
}

/** COPY … TO STDOUT, pipelined like a query. */
class CopyOutRequest extends CopyRequest {
  write(writer) {
    this.begin(writer, State.CopyOutSent);
  }
}

/**
 * COPY … FROM STDIN. Nothing is sent behind it until it is over, since the server rejects everything else meanwhile.
 * Data need not wait for the server's word, since a server that has reported an error ignores it.
 */
class CopyInRequest extends CopyRequest {
  #agreed;
  #maySend;
  #takesData = false; // until CopyDone, CopyFail or an error

  /**
   * @param {function()} agreed called when the server takes data
   * @param {function()} [maySend] when data may be sent: at once, but with `max_pipeline` when the server takes it
   */
  constructor(text, agreed, maySend, receiver = new RowReader()) {
    super(text, receiver);
    this.holdUntilOver();
    this.#agreed = agreed;
    this.#maySend = maySend;
  }

  write(writer) {
    this.begin(writer, State.CopyInSent);
    if (!this.simple) this.waitFor(this); // data and Sync
    this.#takesData = true;
    if (this.scope.pipeline.maxPipeline === Infinity) this.#maySend?.();
  }

  message(pipeline, type, buf, start, end) {
    super.message(pipeline, type, buf, start, end);
    if (this.state === State.Done) this.#stop(pipeline);
    if (type !== CopyInResponse || !this.#takesData) return; // it was given up, or all data was sent
    this.#maySend?.();
    this.#agreed();
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
  writeAll(pieces, callback) {
    const { socket, writer } = this.scope.pipeline;
    if (!this.#takesData || socket === null) return;
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
   * @param {Receiver} [receiver] what the request resolves to
   * @returns {boolean} false if the COPY was over
   */
  end(reason, receiver = this.receiver) {
    this.receiver = receiver;
    if (!this.#takesData) return false;
    const { pipeline } = this.scope;
    if (reason === undefined) pipeline.writer.copyDone();
    else pipeline.writer.copyFail(reason.replace(/\0/g, '').slice(0, REASON));
    this.#stop(pipeline);
    pipeline.flush();
    return true;
  }

  #stop(pipeline) {
    this.#takesData = false;
    if (this.partial !== undefined) this.sendSync(pipeline);
  }

  fail(...given) {
    this.#takesData = false;
    super.fail(...given);
  }

  /** A CancelRequest does not stop a server that waits for data; if it does not wait, it ignores CopyFail. */
  giveUp(error, pipeline) {
    this.end(String(error.message));
    return super.giveUp(error, pipeline);
  }
}

module.exports = { CopyInRequest, CopyOutRequest };
