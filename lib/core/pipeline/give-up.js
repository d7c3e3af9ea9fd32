'use strict';

const { again } = require('./errors');

/** The first and longest pause between two CancelRequests for one query, in milliseconds. */
const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 1000;

/** Whether another pending request was sent behind one. @param {Flight} request */
function isFollowed(request) {
  for (let { next } = request; next !== null; next = next.next) if (next.pending && !next.internal) return true;
  return false;
}

/**
 * Gives a request up: it rejects at once, and nothing more is sent until its answer has ended. The server is asked to
 * cancel it as soon as no live request was sent behind it; otherwise its answer is read and dropped. Nothing happens if
 * it was not submitted yet, or has settled.
 */
function giveUp(request, error) {
  const pipeline = request.scope?.pipeline;
  if (!request.giveUp(error, pipeline) || pipeline.head === null) return; // null: the connection is lost
  pipeline.givenUpAt ||= performance.now();
  // Requests with one limit are given up one by one. Requests that their callers make in between would live behind the
  // others.
  request.holdUntilOver(pipeline);
  // It may have been the last live one behind the head.
  if (pipeline.head.givenUp && !isFollowed(request)) cancelHead(pipeline);
}

/**
 * Asks the server to cancel the request that it answers, if that was given up and no live request was sent behind it. A
 * CancelRequest names a connection, not a query. It is therefore sent only while the request is being answered, and
 * nothing is sent until the server has closed the cancel connection. The server ignores one that comes before the query
 * has begun, so it is repeated. There is one at a time, since thousands may be given up.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-CANCELING-REQUESTS
 */
async function cancelHead(pipeline, pause = FIRST_PAUSE, request = pipeline.head) {
  if (pipeline.head !== request || pipeline.cancelsHead || !request?.givenUp || isFollowed(request)) return;
  pipeline.silentSince ||= performance.now();
  pipeline.cancelsHead = true;
  pipeline.hold();
  await pipeline.cancel().catch(() => {});
  pipeline.cancelsHead = false;
  pipeline.unhold();
  if (pipeline.head !== request) cancelHead(pipeline);
  else setTimeout(cancelHead, pause, pipeline, Math.min(2 * pause, LONGEST_PAUSE), request).unref?.();
}

/** From now on, until something is read, a connection that owes an answer counts as silent. */
function expectAnswer(pipeline) {
  if (pipeline.head !== null) pipeline.silentSince = pipeline.givenUpAt ||= performance.now();
}

/**
 * Gives up all requests of a scope and the scopes inside it, except those that begin and end blocks. The inner scopes
 * are over.
 */
function giveUpAll(scope, error) {
  const {
    pipeline,
    pipeline: { scopes }
  } = scope;
  while (scopes.active.isInside(scope)) scopes.leave(scopes.active, error);
  scopes.rejectWaiting(scope, () => again(error));
  for (let each = pipeline.head; each !== null; each = each.next) {
    if (!(each.endsScope && each.simple) && (each.scope === scope || each.scope.isInside(scope)))
      giveUp(each, again(error));
  }
}

module.exports = { giveUp, giveUpAll, cancelHead, expectAnswer, isFollowed };
