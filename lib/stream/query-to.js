'use strict';

const { Buffer } = require('#platform');
const { canceller, makeAbortable } = require('../query/abort');
const { guard } = require('../query/deadlock');
const { PostgresError, UsageError } = require('../protocol/errors');
const { StreamReceiver } = require('./pass-through');
const { Payload } = require('./values');
const { QueryRequest } = require('../query/query');
const { Sink } = require('./target');
const { isCopyIn } = require('../query/statements');

/**
 * Behind a result of which so many bytes have come nothing more is sent, so that it can be cancelled. One that is
 * shorter costs less to be read and dropped than the round trip that is lost with a fence behind every result.
 */
const LONG = 65536;

/** Where a result was longer than this, nothing is sent behind its statement the next time, from the start. */
const LARGE = 1 << 20;

/**
 * The ErrorResponse that the reader of the bytes gets: what went wrong, and nothing of where.
 * @param {Error} error
 * @returns {Buffer}
 */
function errorResponse(error) {
  const own = error.name === 'AbortError' || error instanceof UsageError;
  const { severity = 'FATAL', code = '08006', message } = error instanceof PostgresError ? error
    : own ? { severity: 'ERROR', code: '57014', message: error.message }
      : { message: 'the connection to the database was lost' };
  const body = Buffer.from(`S${severity}\0V${severity}\0C${code}\0M${message}\0\0`);
  const head = Buffer.from([69, 0, 0, 0, 0]);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** Holds the end of the result back until ReadyForQuery has come, and finds out whether it is a large one. */
class ResultReceiver extends StreamReceiver {
  /**
   * @param {Sink} sink
   * @param {Payload} [payload]
   */
  constructor(sink, payload) {
    super(sink, payload);
    /** @type {QueryRequest} set once it is there, as is what aborts it */
    this.request = undefined;
    this.abort = undefined;
  }

  // What is left has to wait for the commit: it may fail.
  _complete() { this.stop(); }

  /** @returns {Buffer|undefined} what is left to be written at the end */
  last() {
    const piece = this.take();
    if (piece !== undefined) this.bytes += piece.length;
    return piece;
  }

  _write(piece, ontaken) {
    super._write(piece, ontaken);
    if (this.error !== undefined) this.abort(this.error);
    if (this.bytes < LONG || this.request.statement.large) return;
    if (this.bytes > LARGE) this.request.statement.large = true;
    this._pipeline.fenceLate(this.request);
  }
}

/** A query whose statement may be known to have large results. */
class ResultRequest extends QueryRequest {
  encode(writer, statements) {
    super.encode(writer, statements);
    if (this.statement.large) this.fenced = true;
  }

  fail(error, pipeline) {
    if (!this.settled) this.receiver.stop();
    super.fail(error, pipeline);
  }

  /** Its reader has left: it may leave again. */
  discard(pipeline) {
    if (this.receiver.bytes > 0) this.statement.large = true;
    super.discard(pipeline);
  }
}

/** Writes the last bytes of a result, and waits until the target has taken them or the signal aborts. */
async function finish(sink, { end = true, signal }, piece, rowCount) {
  if (!end && piece !== undefined) sink.write(piece);
  const taken = end ? sink.end(piece, rowCount) : sink.flushed();
  const waiting = {
    abort(error) {
      sink.leave(error);
      return false;
    }
  };
  makeAbortable(waiting, undefined, { signal });
  return taken.finally(waiting.onsettled);
}

/** The query has failed. Where nothing was written, the target is as it was; else its reader is told. */
async function finishFailed(sink, receiver, options, error) {
  if (receiver.bytes === 0 || sink.gone) return;
  if (receiver.payload !== undefined || receiver.inRow) return sink.destroy(error);
  const rest = receiver.take();
  const last = errorResponse(error);
  const told = finish(sink, options, rest === undefined ? last : Buffer.concat([rest, last]));
  // Who aborts does not want to wait.
  if (error instanceof PostgresError) await told;
  else told.catch(() => {});
}

/** Waits until the query is over and the sink has taken its result. */
async function run(sink, request, options) {
  const { receiver } = request;
  try {
    await request.promise;
    await finish(sink, options, receiver.last(), receiver.rowCount);
  } catch (error) {
    receiver.stop();
    await finishFailed(sink, receiver, options, error).catch(() => {});
    throw error;
  } finally {
    sink.release();
  }
  return { cmd: receiver.cmd, rowCount: receiver.rowCount, bytes: receiver.bytes };
}

/**
 * @param {object} options `as` and `separator` of Session.queryTo
 * @returns {Payload|undefined} what takes the values out, where they are wanted alone
 * @throws {TypeError}
 */
function payloadOf({ as = 'protocol', separator = '' }) {
  if (as !== 'protocol' && as !== 'values') throw new TypeError("as must be 'protocol' or 'values'");
  if (typeof separator !== 'string' && !(separator instanceof Uint8Array)) {
    throw new TypeError('separator must be a string or a Buffer');
  }
  return as === 'values' ? new Payload(Buffer.from(separator)) : undefined;
}

/**
 * Runs a query and writes its result to a sink.
 * @param {Session} session
 * @param {Sink} sink
 * @param {string} text
 * @param {Array|Row} values
 * @param {object} options see Session.queryTo
 * @returns {Promise<{cmd: string, rowCount: number, bytes: number}>}
 * @throws {TypeError}
 */
function queryToSink(session, sink, text, values, options) {
  const { format = 0, cache = true, paramTypes } = options;
  try {
    const payload = payloadOf(options);
    if (typeof text === 'string' && isCopyIn(text)) {
      throw new TypeError('COPY FROM STDIN has no result; use copyFrom');
    }
    const receiver = new ResultReceiver(sink, payload);
    const request = receiver.request = new ResultRequest(text, values, format, cache, paramTypes, receiver);
    receiver.abort = canceller(request, session._pipeline, () => session._cancel());
    if (sink.gone) request.reject(sink.error);
    const guarded = session._submit(request, options);
    if (guarded !== request.promise) guarded.catch(() => {}); // what is awaited is the request's own
    sink.watch(receiver.abort);
    return guard(run(sink, request, options), session._scope, receiver.abort);
  } catch (error) {
    sink.release();
    throw error;
  }
}

/**
 * Runs a query and writes its result to a target, see Session.queryTo.
 * @param {Session} session
 * @param {Writable|WritableStream} target
 */
function queryTo(session, target, text, values, options) {
  return queryToSink(session, new Sink(target), text, values, options);
}

module.exports = { queryTo, queryToSink, payloadOf, finish, finishFailed, errorResponse };
