'use strict';

const { AbortError, State, TimeoutError, kindOf } = require('../protocol');
const { again, isFollowed } = require('./failure');
const { checkNumber } = require('./options');

/** First and longest pause between two CancelRequests for one query, in milliseconds. */
const PAUSE = 50;
const LONGEST = 1000;

/**
 * Gives up a request: it rejects at once, and nothing more is sent until it is over. The server is asked to cancel it as
 * soon as nothing that lives was sent behind it; otherwise its answer is read and dropped.
 *
 * A CancelRequest names a connection, not a query. Therefore it leaves only while the request is the one that is being
 * answered, and nothing is sent until the server has closed the connection on which it came. The server ignores one
 * that comes before it has begun with the query, so it is repeated.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-CANCELING-REQUESTS
 * @param {Request} request that was submitted
 * @param {Error} error to reject with
 */
function abort(request, error) {
  const { pipeline } = request.scope;
  if (!request.abort(error, pipeline) || pipeline.head === null) return; // null: the connection is lost
  pipeline.givenUpAt ||= performance.now();
  let pause = PAUSE;
  let asked = false;
  const cancel = async () => {
    if (pipeline.head !== request) return;
    pipeline.askedAt ||= performance.now();
    pipeline.hold();
    await pipeline.cancel().catch(() => {});
    pipeline.release();
    if (pipeline.head !== request) return;
    setTimeout(cancel, pause).unref?.();
    pause = Math.min(2 * pause, LONGEST);
  };
  request.cancelAtHead = () => {
    if (asked || isFollowed(request)) return;
    asked = true;
    cancel();
  };
  pipeline.holdBehind(request); // or those behind it would never all be given up, where each caller asks again
  pipeline.head.cancelAtHead?.(); // this may have been the last one that lived behind the head
}

/**
 * Gives up all that was asked in a scope and inside it, except what begins and ends blocks. The scopes inside it are over.
 * @param {Scope} scope
 * @param {Error} error to reject with
 */
function abortScope(scope, error) {
  const { pipeline, pipeline: { scopes } } = scope;
  while (scopes.active.isInside(scope)) scopes.leave(scopes.active, error);
  scopes.empty(scope, () => again(error));
  for (let each = pipeline.head; each !== null; each = each.next) {
    if (!each.controls && (each.scope === scope || each.scope.isInside(scope))) abort(each, again(error));
  }
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
 * Calls back when a signal aborts or a time limit is over.
 * @param {object} limits checked: `{ signal, statement_timeout }`
 * @param {string} what has a limit
 * @param {function(Error)} callback
 * @param {function(): boolean} isSent
 * @returns {function} stops watching
 */
function watchLimits({ signal, statement_timeout: timeout }, what, callback, isSent) {
  const unwatch = signal && watchSignal(signal, callback);
  const timer = timeout && setTimeout(() => {
    const message = `the ${what} took longer than its statement_timeout of ${timeout} ms`;
    callback(new TimeoutError(message, { code: '57014', sent: isSent() }));
  }, timeout);
  return () => {
    unwatch?.();
    clearTimeout(timer);
  };
}

/**
 * Submits a request that a signal or a time limit gives up.
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
  const promise = scope.pipeline.submit(request, scope);
  if (!request.pending) return promise;
  const over = watchLimits(limits, 'query', error => abort(request, error), () => request.state !== State.Waiting);
  if (request.over === undefined) {
    // Not by the request's promise: two who await that hide each other from an error's stack.
    const { resolve } = request;
    request.resolve = settled => {
      over();
      resolve(settled);
    };
  } else request.over.then(over);
  return promise;
}

module.exports = { abort, abortScope, checkLimits, submit, throwIfAborted, watchLimits, watchSignal };
