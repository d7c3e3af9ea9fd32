'use strict';

const { PostgresError, checkText, kindOf } = require('../protocol');
const { NO_OPTIONS } = require('../options');
const { QueryRequest, executionOf } = require('../requests');
const { giveUp, copyDirection, handOut, needOf, send, submitIn, throwIfAborted, watchSignal } = require('../pipeline');
const { Json } = require('./json');
const { Sink, protocol } = require('./sink');
const { Target } = require('./target');
const { Values } = require('./values');
const { isServerResponse } = require('./watch');

const NOTHING = Buffer.alloc(0);

/** Requests with streams are not repeated, since a stream would get rows twice. */
const never = () => false;

/** The ErrorResponse for a reader of the bytes: severity, code and message alone. */
function errorResponse(error) {
  const own = ['AbortError', 'TimeoutError', 'UsageError'].includes(error.name);
  const {
    severity = 'FATAL',
    code = '08006',
    message
  } = error instanceof PostgresError
    ? error
    : own
      ? { severity: 'ERROR', code: '57014', message: error.message }
      : { message: 'the connection to the database was lost' };
  const bytes = Buffer.from(`E\0\0\0\0S${severity}\0V${severity}\0C${code}\0M${message}\0\0`);
  bytes.writeInt32BE(bytes.length - 1, 1);
  return bytes;
}

function waitFor(target, promise, signal, sent) {
  if (promise === undefined || signal === undefined || signal.aborted) return promise;
  return promise.finally(watchSignal(signal, error => target.lose(Object.assign(error, { sent }))));
}

function writeLast(sink) {
  if (sink.last === undefined) return;
  sink.bytes += sink.last.length;
  sink.target.write(sink.last);
}

/**
 * Writes the last bytes.
 * @param {object} options those of queryTo: it waits until the target has taken everything. Or those of query, whose
 *   `stream` only gets the bytes
 */
function finish(sink, { stream, end = !stream, signal }) {
  const { last, target, rowCount } = sink;
  if (!end) writeLast(sink);
  else sink.bytes += last?.length ?? 0;
  // A stream emits an error in the tick after the write.
  const taken = end ? target.end(last, rowCount) : stream ? new Promise(process.nextTick) : target.flushed();
  return waitFor(target, taken, signal, true);
}

/** Reports a query's failure to the target's reader, if something was written; else the target stays untouched. */
async function finishFailed(sink, options, error) {
  const { last, target } = sink;
  if (options.stream || !target.begun || target.gone) return;
  if ((options.as ?? 'protocol') !== 'protocol') return target.destroy(error);
  sink.last = Buffer.concat([last ?? NOTHING, errorResponse(error)]);
  const written = finish(sink, options);
  // An abort does not wait.
  if (error instanceof PostgresError) await written;
  else written?.catch(() => {});
}

const FORMS = ['protocol', 'values', 'json', 'ndjson'];

/** Whether `as` is an encoder, as http hands one in. */
const isEncoder = as => typeof as?.messages === 'function';

function encoderOf(options, text, common) {
  if (options === NO_OPTIONS) return protocol;
  const { as = 'protocol', separator = '', format = 0, int8 = 'number', numeric = 'string', bytea = 'hex' } = options;
  if (as === 'protocol') return protocol;
  if (as === 'values') return new Values(Buffer.from(separator));
  if (!FORMS.includes(as) && !isEncoder(as)) {
    const given = typeof as === 'string' ? `'${as}'` : kindOf(as);
    throw new TypeError(`as must be '${FORMS.join("' or '")}', not ${given}`);
  }
  if (format !== 0) throw new TypeError(`as: '${as}' is made of columns in text format: leave out format`);
  if (copyDirection(text) === 'out') throw new TypeError(`COPY has no columns to be written as '${as}'`);
  return isEncoder(as) ? as : new Json({ as, int8, numeric, bytea }, common);
}

/**
 * Runs a query when the target is the first one, and waits until the target has taken the result.
 * @param {function(): Flight} make makes the request, again after a loss
 * @param {object} options those of queryTo or of query, see finish
 * @throws {TypeError} for a wrong value
 */
async function runInto(lease, sink, make, options, request = make()) {
  const { target } = sink;
  let endWait; // for a connection
  // Retry only if not one byte was written.
  const mayRepeat = error => error.sent === false || ((options.end ?? true) && sink.bytes === 0);
  try {
    if (target.gone) throw target.error;
    target.watch(error => {
      sink.error = error;
      giveUp(request, error);
      endWait?.(error);
    });
    throwIfAborted(options);
    const first = waitFor(target, target.untilFirst(), options.signal, false);
    if (first !== undefined) {
      request.snapshot();
      await first;
    }
    const { signal, statement_timeout, idempotent, alone } = options; // a spread costs a short result 1.1 to 1.3 ×
    await send(
      lease,
      needOf(options),
      {
        signal,
        statement_timeout,
        idempotent,
        alone,
        onwait: end => {
          if (target.gone) end(target.error);
          endWait = end;
        }
      },
      () => {
        if (target.gone) throw target.error;
        if (request.scope !== null) request = make(); // it was lost before
        return request;
      },
      request.text,
      mayRepeat
    );
    throwIfAborted(options, true);
    const taken = finish(sink, options);
    if (taken !== undefined) await taken;
    if (sink.error !== undefined) throw sink.error;
  } catch (error) {
    await finishFailed(sink, options, error).catch(() => {});
    throw error;
  } finally {
    target.release();
  }
  const { cmd, rowCount, bytes } = sink;
  return options.stream ? sink.given : { cmd, rowCount, bytes };
}

const nothing = () => {};

/** Requests whose last bytes were written in this tick. */
let written = [];

/** Their streams emit errors in this tick, and their callers get the results behind it. */
function settleWritten() {
  const requests = written;
  written = [];
  queueMicrotask(() => {
    for (const request of requests) request.flushed();
  });
}

/**
 * A query whose result goes into a stream that stays open, over a connection that is there. It does what `runInto` does
 * for all others, without promises of its own: these would cost a result of one row 1.4 × (100 in flight).
 */
class StreamRequest extends QueryRequest {
  #options;
  #sink;
  #wasWritten = false; // the end, or what is written when it has failed

  constructor(text, values, execution, sink, options) {
    super(text, values, execution, sink);
    this.#sink = sink;
    this.#options = options;
  }

  /** @returns {Promise} see Session.query and queryTo */
  submit(lease) {
    const { target } = this.#sink;
    target.watch(error => {
      this.#sink.error = error;
      giveUp(this, error);
    });
    try {
      return submitIn(this, lease.sendsIn, this.#options);
    } catch (error) {
      target.release();
      throw error;
    }
  }

  settle(error = this.error) {
    if (!this.pending || this.#wasWritten) return;
    this.#wasWritten = true;
    if (error !== undefined) return this.#fail(error);
    try {
      writeLast(this.#sink);
      if (written.push(this) === 1) process.nextTick(settleWritten);
    } catch (lost) {
      this.#fail(lost);
    }
  }

  /** A stream has had a tick for its error; the target of queryTo has to have taken everything. */
  flushed() {
    const { error, target } = this.#sink;
    const taken = error === undefined && !this.#options.stream ? target.flushed() : undefined;
    if (taken === undefined) this.#settle();
    else
      taken.then(
        () => this.#settle(),
        lost => this.#settle(lost)
      );
  }

  #fail(error) {
    this.#sink.drop();
    const reported = finishFailed(this.#sink, this.#options, error).catch(nothing);
    if (error instanceof PostgresError && this.#sink.bytes > 0) reported.then(() => this.#settle(error));
    else this.#settle(error); // at once: only then it can be cancelled
  }

  #settle(error = this.#sink.error) {
    const { cmd, rowCount, bytes, given, target } = this.#sink;
    target.release();
    super.settle(error, this.#options.stream ? given : { cmd, rowCount, bytes });
  }
}

/** Waits for a part of a portal's result, which goes into a sink, and writes its end. */
async function untilTaken(sink, promise) {
  if (!(sink instanceof Sink)) return promise;
  const { target } = sink;
  target.watch(error => {
    sink.error = error;
  });
  try {
    await promise;
    await finish(sink, { stream: sink.given });
    if (sink.error !== undefined) throw sink.error;
    return sink.given;
  } finally {
    target.release();
  }
}

/** Runs a query whose result goes into a sink, by a StreamRequest if nothing but the answer has to be waited for. */
function sendInto(lease, sink, text, values, options) {
  const execution = executionOf(options);
  const { target } = sink;
  const isAtHand = lease.sendsIn !== null && options.signal === undefined && !isServerResponse(target.given);
  if (isAtHand && (options.stream || options.end === false) && !target.gone)
    return new StreamRequest(text, values, execution, sink, options).submit(lease);
  const make = () => new QueryRequest(text, values, execution, sink);
  return handOut(runInto(lease, sink, make, options, make()));
}

/** Runs a query whose result goes to what `stream` has given. @param {Receiver} receiver see receiverFor */
function queryInto(lease, receiver, text, values, options) {
  if (receiver instanceof Sink) return sendInto(lease, receiver, text, values, options);
  const request = new QueryRequest(text, values, executionOf(options), receiver);
  return send(lease, needOf(options), options, () => request, request.text, never);
}

/**
 * See Session.queryTo.
 * @param {Scope|object} lease see Scope.run
 */
function queryTo(lease, given, text, parameters, options) {
  if (typeof given === 'string') throw new TypeError('queryTo takes (target, text, values, options), not a text first');
  checkText(text, 'text');
  const encoder = encoderOf(options, text, lease.common);
  if (copyDirection(text) === 'in') throw new TypeError('COPY FROM STDIN has no result: use copyFrom');
  const target = given instanceof Target ? given : new Target(given, options.stall_timeout);
  const values = lease.inputOf(text, parameters);
  return sendInto(lease, new Sink(target, encoder, options.buffer), text, values, options);
}

module.exports = { queryInto, queryTo, runInto, untilTaken };
