'use strict';

const { AbortError, UsageError } = require('../protocol/errors');

/** First and longest pause between two CancelRequests for one query, in milliseconds. */
const PAUSE = 50;
const LONGEST = 1000;

/**
 * Makes what cancels exactly one request. The request rejects at once. A CancelRequest names a connection, not a
 * query: so nothing may be sent behind a request that is cancelled (it is fenced, before it is sent or while
 * nothing has followed it yet), the CancelRequest leaves only while the request is the one being answered, and
 * the fence stays until the server has taken it. One that comes before the server has begun with the query is
 * lost, so it is repeated. Where something was sent behind the request, its answer is read and dropped.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-CANCELING-REQUESTS
 * @param {Request} request
 * @param {Pipeline} pipeline
 * @param {function(): Promise} cancel sends a CancelRequest, settles when the server has taken it
 * @returns {function(Error)} rejects the request with this error
 */
function canceller(request, pipeline, cancel) {
  let pause = PAUSE;
  const cancelNow = () => {
    if (pipeline.head !== request) return;
    request.cancelling = true;
    const taken = () => {
      request.cancelling = false;
      pipeline.unfence(request);
      if (pipeline.head !== request) return;
      setTimeout(cancelNow, pause).unref?.();
      pause = Math.min(2 * pause, LONGEST);
    };
    cancel().then(taken, taken);
  };
  return error => {
    if (!request.abort(error, pipeline) || !pipeline.fenceLate(request)) return;
    if (pipeline.head === request) cancelNow();
    else request.onhead = cancelNow;
  };
}

/** @type {WeakMap<AbortSignal, Set<function>>} who is told of a signal; it has one listener for all requests */
const watchers = new WeakMap();

/**
 * Calls back when a signal aborts. Node warns of a signal that has more than ten listeners.
 * @param {AbortSignal} signal not aborted
 * @param {function} callback
 * @returns {function} stops watching
 */
function watch(signal, callback) {
  let callbacks = watchers.get(signal);
  if (callbacks === undefined) {
    callbacks = new Set();
    watchers.set(signal, callbacks);
    callbacks.listener = () => { for (const each of callbacks) each(); };
    signal.addEventListener('abort', callbacks.listener);
  }
  callbacks.add(callback);
  return () => {
    if (!callbacks.delete(callback) || callbacks.size > 0) return;
    watchers.delete(signal);
    signal.removeEventListener('abort', callbacks.listener);
  };
}

/** @throws {TypeError} for what is given and no AbortSignal */
function checkSignal(signal) {
  if (signal === undefined || (signal && typeof signal.addEventListener === 'function')) return;
  throw new TypeError('signal must be an AbortSignal');
}

/**
 * Lets a signal, or a time limit, cancel exactly one request.
 * @param {Request} request not submitted yet
 * @param {Pipeline} pipeline
 * @param {object} options
 * @param {AbortSignal} [options.signal]
 * @param {number} [options.statement_timeout] milliseconds
 * @param {function(): Promise} cancel sends a CancelRequest, settles when the server has taken it
 * @throws {TypeError}
 */
function makeAbortable(request, pipeline, { signal, statement_timeout: timeout }, cancel) {
  if (signal === undefined && timeout === undefined) return;
  checkSignal(signal);
  if (timeout !== undefined && !(typeof timeout === 'number' && timeout > 0 && timeout <= 0x7fffffff)) {
    throw new TypeError(`statement_timeout must be a number of milliseconds above 0, not ${timeout}`);
  }
  request.fenced = true;
  const abort = canceller(request, pipeline, cancel);
  const onabort = () => abort(new AbortError('the query was aborted', signal.reason));
  const timer = timeout === undefined ? undefined : setTimeout(() => {
    abort(new UsageError(`the query took longer than its statement_timeout of ${timeout} ms`, '57014'));
  }, timeout);
  let unwatch = () => {};
  request.onsettled = () => {
    clearTimeout(timer);
    unwatch();
  };
  if (signal === undefined) return;
  if (signal.aborted) onabort();
  else unwatch = watch(signal, onabort);
}

module.exports = { canceller, makeAbortable, checkSignal };
