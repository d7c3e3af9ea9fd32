'use strict';

const { PostgresError, checkText, kindOf } = require('../protocol');
const { NO_OPTIONS } = require('../options');
const { QueryRequest } = require('../requests');
const { giveUp, copyDirection, send, throwIfAborted, watchSignal } = require('../pipeline');
const { Json } = require('./json');
const { StreamReceiver, messages } = require('./receiver');
const { Target } = require('./target');
const { Values } = require('./values');

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

/** Holds the end of the result back until ReadyForQuery, since the commit may fail. */
class ResultReceiver extends StreamReceiver {
  complete() {
    this.drop();
  }
}

function waitFor(target, promise, signal, sent) {
  if (promise === undefined || signal === undefined || signal.aborted) return promise;
  return promise.finally(watchSignal(signal, error => target.lose(Object.assign(error, { sent }))));
}

/** Writes the last bytes, and waits until the target has taken them. */
function finish(target, { end = true, signal }, piece, rowCount) {
  if (!end && piece !== undefined) target.write(piece);
  return waitFor(target, end ? target.end(piece, rowCount) : target.flushed(), signal, true);
}

/** Reports a query's failure to the target's reader, if something was written; else the target stays untouched. */
async function finishFailed(target, receiver, options, error) {
  if (receiver.bytes === 0 || target.gone) return;
  if ((options.as ?? 'protocol') !== 'protocol') return target.destroy(error);
  const last = errorResponse(error);
  receiver.append(last, 0, last.length);
  const written = finish(target, options, receiver.take());
  // An abort does not wait.
  if (error instanceof PostgresError) await written;
  else written?.catch(() => {});
}

const CHOICES = {
  as: ['protocol', 'values', 'json', 'ndjson'],
  int8: ['number', 'string'],
  numeric: ['string', 'number'],
  bytea: ['hex', 'base64']
};

/** Whether `as` is an encoder, as http hands one in. */
const isEncoder = as => typeof as?.messages === 'function';

function chosenOf(options, name) {
  const choices = CHOICES[name];
  const value = options[name] ?? choices[0];
  if (choices.includes(value) || isEncoder(value)) return value;
  throw new TypeError(
    `${name} must be '${choices.join("' or '")}', not ${typeof value === 'string' ? `'${value}'` : kindOf(value)}`
  );
}

function encoderOf(options, text, ownTypes) {
  if (options === NO_OPTIONS) return messages;
  const chosen = {
    as: chosenOf(options, 'as'),
    int8: chosenOf(options, 'int8'),
    numeric: chosenOf(options, 'numeric'),
    bytea: chosenOf(options, 'bytea')
  };
  const { separator = '', format = 0 } = options;
  if (typeof separator !== 'string' && !(separator instanceof Uint8Array)) {
    throw new TypeError('separator must be a string or a Buffer');
  }
  if (chosen.as === 'protocol') return messages;
  if (chosen.as === 'values') return new Values(Buffer.from(separator));
  if (format !== 0) throw new TypeError(`as: '${chosen.as}' is made of columns in text format: leave out format`);
  if (copyDirection(text) === 'out') throw new TypeError(`COPY has no columns to be written as '${chosen.as}'`);
  return isEncoder(chosen.as) ? chosen.as : new Json(chosen, ownTypes);
}

/**
 * Runs a query at the target's turn, and waits until the target has taken the result.
 * @param {function(): Request} make makes the request, again after a loss
 */
async function runInto(lease, target, make, options) {
  let request = make();
  let { receiver } = request;
  let leave; // ends the wait for a connection, then the request
  // Retry only if not one byte was written.
  const mayRepeat = error =>
    error.sent === false || (options.end !== false && target.stream.writableEnded === false && receiver.bytes === 0);
  try {
    if (target.gone) throw target.error;
    target.watch(error => leave?.(error));
    throwIfAborted(options);
    const turn = waitFor(target, target.turn(), options.signal, false);
    if (turn !== undefined) {
      request.snapshot();
      await turn;
    }
    const { signal, statement_timeout, idempotent, alone } = options; // a spread takes microseconds
    await send(
      lease,
      {
        signal,
        statement_timeout,
        idempotent,
        alone,
        onwait: end => {
          target.gone ? end(target.error) : (leave = end);
        }
      },
      () => {
        if (target.gone) throw target.error;
        if (request.scope !== null) ({ receiver } = request = make()); // it was lost before
        leave = error => giveUp(request, error);
        return request;
      },
      undefined,
      mayRepeat,
      request.text
    );
    throwIfAborted(options, true);
    const taken = finish(target, options, receiver.take(), receiver.rowCount);
    if (taken !== undefined) await taken;
  } catch (error) {
    receiver.drop();
    await finishFailed(target, receiver, options, error).catch(() => {});
    throw error;
  } finally {
    target.release();
  }
  return { cmd: receiver.cmd, rowCount: receiver.rowCount, bytes: receiver.bytes };
}

/**
 * See Session.queryTo.
 * @param {Scope|object} lease see Scope.run
 */
function queryTo(lease, given, text, parameters, options) {
  if (typeof given === 'string') throw new TypeError('queryTo takes (target, text, values, options), not a text first');
  checkText(text, 'text');
  const encoder = encoderOf(options, text, lease.common.ownTypes);
  if (copyDirection(text) === 'in') throw new TypeError('COPY FROM STDIN has no result: use copyFrom');
  const target = given instanceof Target ? given : new Target(given, options.stall_timeout);
  const values = lease.keep(text, parameters);
  const { format = 0, cache = true, paramTypes, buffer } = options;
  const make = () =>
    new QueryRequest(text, values, format, cache, paramTypes, new ResultReceiver(target, encoder, buffer));
  return runInto(lease, target, make, options);
}

module.exports = { ResultReceiver, queryTo, runInto };
