'use strict';

const { AbortError, UsageError, kindOf } = require('../protocol');
const { callerOf } = require('./failure');
const { checkNumber } = require('./options');

/** First and longest pause between two CancelRequests for one query, in milliseconds. */
const PAUSE = 50;
const LONGEST = 1000;

/**
 * Gives up a request: it rejects at once, and where nothing that somebody waits for was sent behind it, the server is
 * asked to cancel it. A CancelRequest names a connection, not a query. So it leaves only while the request is the one
 * that is being answered, and nothing is sent until the server has taken it. One that comes before the server has begun
 * with the query is lost, so it is repeated. Else the answer is read and dropped.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-CANCELING-REQUESTS
 * @param {Request} request that was submitted
 * @param {Error} error to reject with
 */
function abort(request, error) {
  const { pipeline } = request.scope;
  if (!request.abort(error, pipeline) || pipeline.head === null) return; // null: the connection is lost
  let pause = PAUSE;
  let asked = false;
  const cancel = async () => {
    if (pipeline.head !== request) return;
    pipeline.hold();
    await pipeline.cancel().catch(() => {});
    pipeline.release();
    if (pipeline.head !== request) return;
    setTimeout(cancel, pause).unref?.();
    pause = Math.min(2 * pause, LONGEST);
  };
  request.cancelAtHead = () => {
    if (asked || !pipeline.setBarrier(request)) return;
    asked = true;
    cancel();
  };
  pipeline.setBarrier(request);
  pipeline.head.cancelAtHead?.(); // it may be that all behind it have now been given up, too
}

/** @type {WeakMap<AbortSignal, Set<function>>} who is told of a signal; it has one listener for all requests */
const watchers = new WeakMap();

/**
 * Calls back when a signal aborts. Node warns of a signal that has more than ten listeners.
 * @param {AbortSignal} signal not aborted
 * @param {function(AbortError)} callback
 * @returns {function} stops watching
 */
function watchSignal(signal, callback) {
  let callbacks = watchers.get(signal);
  if (callbacks === undefined) {
    callbacks = new Set();
    watchers.set(signal, callbacks);
    callbacks.listener = () => { for (const each of callbacks) each(abortedBy(signal)); };
    signal.addEventListener('abort', callbacks.listener);
  }
  callbacks.add(callback);
  return () => {
    if (!callbacks.delete(callback) || callbacks.size > 0) return;
    watchers.delete(signal);
    signal.removeEventListener('abort', callbacks.listener);
  };
}

const abortedBy = ({ reason }) => new AbortError('the query was aborted', reason);

/** @throws {TypeError} for what is given and no AbortSignal, or no time limit */
function checkLimits({ signal, statement_timeout: timeout }) {
  if (signal !== undefined && !(signal && typeof signal.addEventListener === 'function')) {
    throw new TypeError(`signal must be an AbortSignal, not ${kindOf(signal)}`);
  }
  if (timeout !== undefined) {
    checkNumber(timeout, 'statement_timeout', 'a number of milliseconds above 0', timeout => timeout > 0);
  }
}

/** @throws {AbortError} when the signal has aborted */
function throwIfAborted({ signal }) { if (signal?.aborted) throw abortedBy(signal); }

/**
 * Gives up a request when a signal aborts or a time limit is over.
 * @param {Request} request that was submitted
 * @param {object} limits checked
 * @returns {function} stops watching
 */
function watchLimits(request, { signal, statement_timeout: timeout }) {
  const unwatch = signal && watchSignal(signal, error => abort(request, error));
  const timer = timeout && setTimeout(() => {
    abort(request, new UsageError(`the query took longer than its statement_timeout of ${timeout} ms`, '57014'));
  }, timeout);
  return () => {
    unwatch?.();
    clearTimeout(timer);
  };
}

/**
 * Submits a request which a signal or a time limit cancels, and nothing else with it.
 * @param {Request} request
 * @param {Scope} scope
 * @param {object} [limits]
 * @param {AbortSignal} [limits.signal]
 * @param {number} [limits.statement_timeout] milliseconds
 * @returns {Promise} of the request
 * @throws {TypeError|RangeError|AbortError}
 */
function submit(request, scope, limits) {
  if (limits?.alone) request.barrier = true;
  if (limits === undefined || (limits.signal === undefined && limits.statement_timeout === undefined)) {
    return scope.pipeline.submit(request, scope);
  }
  checkLimits(limits);
  throwIfAborted(limits);
  request.barrier = true;
  request.caller ??= callerOf(submit); // two who await its promise hide each other
  const promise = scope.pipeline.submit(request, scope);
  const over = watchLimits(request, limits);
  (request.over ?? promise).then(over, over);
  return promise;
}

module.exports = { abort, checkLimits, submit, throwIfAborted, watchLimits, watchSignal };
