'use strict';

const { AbortError, State, TimeoutError } = require('../protocol');
const { again, isFollowed } = require('./failure');

/** The first and longest pause between two CancelRequests for one query, in milliseconds. */
const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 1000;

const IN_FRONT = ': it waited for a request that nothing may be sent behind: a COPY, one with `alone`, or one that was given up';

/**
 * Gives a request up: it rejects at once, and nothing more is sent until its answer has ended. The server is asked to cancel it
 * as soon as no live request was sent behind it; otherwise its answer is read and dropped.
 */
function abort(request, error) {
  const { pipeline } = request.scope;
  if (!request.abort(error, pipeline) || pipeline.head === null) return; // null: the connection is lost
  pipeline.givenUpAt ||= performance.now();
  request.givenUp = true;
  // Requests with one limit are given up one by one. Requests that their callers make in between would live behind the others.
  pipeline.holdBehind(request);
  if (pipeline.head.givenUp && !isFollowed(request)) cancelHead(pipeline); // it may have been the last live one behind the head
}

/**
 * Asks the server to cancel the request that it answers, if that was given up and no live request was sent behind it. A
 * CancelRequest names a connection, not a query. It is therefore sent only while the request is being answered, and nothing is
 * sent until the server has closed the cancel connection. The server ignores one that comes before the query has begun, so it
 * is repeated. There is one at a time, since thousands may be given up.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-CANCELING-REQUESTS
 */
async function cancelHead(pipeline, pause = FIRST_PAUSE, request = pipeline.head) {
  if (pipeline.head !== request || pipeline.isCancelling || !request?.givenUp || isFollowed(request)) return;
  pipeline.askedAt ||= performance.now();
  pipeline.isCancelling = true;
  pipeline.hold();
  await pipeline.cancel().catch(() => {});
  pipeline.isCancelling = false;
  pipeline.release();
  if (pipeline.head !== request) cancelHead(pipeline);
  else setTimeout(cancelHead, pause, pipeline, Math.min(2 * pause, LONGEST_PAUSE), request).unref?.();
}

/** Gives up all requests of a scope and the scopes inside it, except those that begin and end blocks. The inner scopes are over. */
function abortScope(scope, error) {
  const { pipeline, pipeline: { scopes } } = scope;
  while (scopes.active.isInside(scope)) scopes.leave(scopes.active, error);
  scopes.empty(scope, () => again(error));
  for (let each = pipeline.head; each !== null; each = each.next) {
    if (!each.controlsBlock && (each.scope === scope || each.scope.isInside(scope))) abort(each, again(error));
  }
}

/** @type {WeakMap<AbortSignal, Set<function>>} the callbacks of a signal, which has one listener for all requests */
const watchers = new WeakMap();

/**
 * Calls back when a signal aborts. Node warns of more than ten listeners of one signal.
 * @param {AbortSignal} signal not aborted
 */
function watchSignal(signal, callback) {
  const callbacks = watchers.get(signal) ?? new Set();
  if (callbacks.size === 0) {
    callbacks.tell = () => { for (const each of callbacks) each(abortedBy(signal)); }; // not every signal passes an event
    watchers.set(signal, callbacks);
    signal.addEventListener('abort', callbacks.tell);
  }
  callbacks.add(callback);
  return () => {
    if (!callbacks.delete(callback) || callbacks.size > 0) return;
    watchers.delete(signal);
    signal.removeEventListener('abort', callbacks.tell);
  };
}

const abortedBy = ({ reason }) => new AbortError('the query was aborted', reason);

function throwIfAborted({ signal }) { if (signal?.aborted) throw abortedBy(signal); }

/** @returns {function(number): TimeoutError} for a time limit in milliseconds */
const tooLong = (what, isSent = () => undefined, reason = () => '') => time =>
  new TimeoutError(`the ${what} took longer than its statement_timeout of ${time} ms${reason()}`, { code: '57014', sent: isSent() });

/**
 * Calls back when a signal aborts or a time limit passes.
 * @param {function(number): Error} late makes the error of a time limit
 */
function watchLimits({ signal, statement_timeout: time = Infinity, waited = 0 }, callback, late) {
  const unwatch = signal === undefined ? undefined : watchSignal(signal, callback);
  const timer = time < Infinity && setTimeout(() => callback(late(time)), time - waited);
  return () => {
    unwatch?.();
    clearTimeout(timer);
  };
}

/** Submits a request with a signal or a time limit. */
function submit(request, scope, limits) {
  if (limits?.alone) request.barrier = true;
  if (limits === undefined || (limits.signal === undefined && limits.statement_timeout === undefined)) {
    return scope.pipeline.submit(request, scope);
  }
  throwIfAborted(limits);
  const { pipeline, pipeline: { scopes } } = scope;
  const promise = pipeline.submit(request, scope);
  if (!request.pending) return promise;
  const isSent = () => request.state !== State.Waiting;
  const reason = () => isSent() ? '' : scopes.active !== scope ? `: it waited for ${scopes.active.name}` : pipeline.held ? IN_FRONT : '';
  const unwatch = watchLimits(limits, error => abort(request, error), tooLong('query', isSent, reason));
  if (request.finished === undefined) request.unwatch = unwatch; // a promise of its own would hide the awaiting caller
  else request.finished.then(unwatch);
  return promise;
}

module.exports = { abort, abortScope, cancelHead, submit, throwIfAborted, tooLong, watchLimits, watchSignal };
