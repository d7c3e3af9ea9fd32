'use strict';

const {
  PostgresError,
  State,
  UsageError,
  backend,
  decodeFields,
  isOurs,
  nextState,
  unexpected
} = require('../protocol');
const { addHint, isCancelled, noteCancelled, showAwaiting, showCaller, withQuery } = require('./errors');

const { ErrorResponse } = backend;

/** How a text begins that would end a transaction and leave it to COMMIT PREPARED. */
const PREPARES = /^\s*prepare\s+transaction\b/i;
const PREPARED = 'PREPARE TRANSACTION would end what transaction() began: send BEGIN and it by client.query';

/**
 * Runs in a `.then`, where V8 can still add the awaiting caller to the stack, which was not there while the answer was
 * read.
 */
function outcome({ error, caller, result, promise }) {
  if (error === undefined) return result;
  if (caller !== undefined) showCaller(error, caller);
  else if (isOurs(error)) showAwaiting(error, outcome);
  if (isCancelled(error)) promise?.catch(() => {}); // not earlier: V8 shows no caller of a promise with two handlers
  throw error;
}

/** Promises that are about to be rejected. Those that resolve meanwhile take as many turns, which keeps the order. */
let rejecting = 0;

/**
 * A request to the server, from the call to its ReadyForQuery: an entry of the pipeline, and what shares one Sync.
 * Subclasses write their messages in `encode` and take the answer in `message`. A batch has its queries inside, and any
 * request may have fronts.
 */
class Request {
  constructor() {
    this.next = null; // the request behind it
    this.scope = null;
    this.state = State.Waiting; // the state of the answer
    this.error = undefined; // what the promise will reject with
    this.resolve = null; // settles the promise; null before submission and after settling
    this.promise = undefined; // set by its submission
  }

  open(scope) {
    this.scope = scope;
    return (this.promise = new Promise(resolve => {
      this.resolve = resolve;
    }));
  }

  get pending() {
    return this.resolve !== null;
  }

  /** Whether it was given up after it was sent. The server is asked to cancel it when its answer is the next one. */
  get givenUp() {
    return this.resolve === null && this.state !== State.Waiting && !this.internal;
  }

  settle(error = this.error, result = this.result) {
    const { resolve } = this;
    if (resolve === null) return;
    this.error = error;
    this.resolve = null;
    if (error !== undefined) withQuery(error, this.queries?.[error.index]?.text ?? this.text);
    if (error === undefined && rejecting === 0) resolve(result);
    else {
      rejecting++;
      const cancelled = this.scope?.pipeline?.cancelled;
      const mayReject = cancelled !== undefined && (error === undefined || isCancelled(error)) ? cancelled : undefined;
      resolve(
        Promise.resolve(mayReject?.then(() => this) ?? this)
          .finally(() => {
            rejecting--;
          })
          .then(outcome)
      );
    }
    if (this.unwatch !== undefined) this.unwatch();
  }

  /** Writes the request's messages, and sets `state`. */
  encode() {}

  /** Copies the input, which the caller may change while the request waits. */
  snapshot() {}

  /**
   * Takes one message of the answer, or several DataRow or CopyData messages, in buf[start … end).
   * @throws {ConnectionError} 08P01 for an unexpected or malformed message
   */
  message(pipeline, type, buf, start, end) {
    if (type === ErrorResponse) this.takeError(pipeline, buf, start, end);
    else this.state = nextState(this.state, type, start, end);
  }

  takeError(pipeline, buf, start, end, text = this.text) {
    const error = new PostgresError(decodeFields(buf, start, end));
    if (pipeline.cancelled !== undefined || pipeline.head?.isCancelled) noteCancelled(error);
    addHint(error, text);
    if (error.severity === 'FATAL' || error.severity === 'PANIC') return pipeline.events.lost(error);
    if (this.state === State.Failed) throw unexpected(this.state, ErrorResponse);
    this.fail(error, pipeline);
    if (this.asking !== undefined) this.endAsking(pipeline);
  }

  /** The server has reported an error, and ignores messages up to the next Sync. */
  fail(error) {
    this.error ??= error;
    this.state = State.Failed;
  }

  /** The types that a query of it has asked for are known: writes the rest. */
  proceed(pipeline) {
    const { statements, writer } = pipeline;
    const { asking } = this;
    const { length } = writer;
    this.asking = undefined;
    statements.learn(asking.statement);
    try {
      if (this.pending) this.encodeRest(writer, statements, asking);
      else this.abandon(writer);
    } catch (error) {
      writer.length = length;
      this.asking = undefined;
      this.error = error;
      this.abandon(writer);
    }
    pipeline.flush();
  }

  /** Sends the Sync that a request owes which waits for types, and has failed. */
  endAsking(pipeline) {
    this.asking = undefined;
    pipeline.writer.sync();
    pipeline.flush();
  }

  /** Its Parse was not sent, or the server has skipped it. */
  forgetParse() {}

  /** A front has failed, so the server has skipped it. */
  skip(error, pipeline) {
    this.fail(error, pipeline);
  }

  /** @throws {UsageError} if a statement would end or outlive the settings that it runs with, or outlive its scope */
  checkStatement(text) {
    if (this.endsScope) return;
    const { scope } = this;
    (this.settings ?? scope?.settings)?.refuseEscaping(this.simple ? undefined : text, scope.block);
    if (scope?.block && PREPARES.test(text)) throw new UsageError(PREPARED, '0A000');
    scope?.refuseLasting?.(text);
  }

  /** Drops the input of a request that was given up. */
  drop() {}

  /**
   * Gives the request up: its promise rejects.
   * @returns {boolean} whether the server is working on it, so that it can be cancelled
   */
  giveUp(error, pipeline) {
    if (!this.pending) return false;
    if (this.state === State.Over) {
      this.settle(); // it has succeeded: it only waits for what the types of its result are
      return false;
    }
    this.settle(error);
    this.drop();
    return this.state !== State.Waiting;
  }

  /** Notes what one of its texts may do. */
  mark({ disturbs, controlsBlock }) {
    this.disturbs ||= disturbs;
    this.controlsBlock ||= controlsBlock;
  }

  /** Whether it can be sent again: its statement was stale, and nothing was done. */
  canResend() {
    return false;
  }

  reset() {
    this.state = State.Waiting;
    this.error = undefined;
  }

  ready() {
    this.settle();
  }
}

Object.assign(Request.prototype, {
  // rare fields are not set in each request, of which there may be a million
  wants: undefined, // what has to be known of types in front of it, see learn.js
  awaitsCaller: false, // its answer comes only when the caller has done something
  behind: undefined, // the request that is sent right behind it
  hasAsked: false, // what it has to know was asked for
  disturbs: false, // it may drop prepared statements, or change their columns
  controlsBlock: false, // its text may begin or end a transaction block
  barrier: false, // nothing is sent behind it until it is over, so that it can be cancelled
  caller: undefined, // see callerOf
  asking: undefined, // the query of it that has asked for the types of its parameters; the rest is not sent yet
  awaitsBegin: false, // its fronts begin the block of its scope, and nothing is sent behind it until they are answered
  endsScope: false, // it ends the block of its scope, or a savepoint
  endings: 0, // how many of its command tags may be those of ends of its transaction's block
  fronts: undefined, // the unanswered Fronts that were sent with it
  isCancelled: false, // cancel() was called while it was under way
  internal: false, // the library's own, so not counted as pending
  result: undefined,
  simple: false, // it is a Query message, which includes a Sync
  isRead: false, // the first word of its text is that of a read
  settings: undefined, // sent in front of it, see lib/core/settings.js
  stale: false, // it failed because of a stale statement
  traced: false,
  unwatch: undefined // ends the watch of its signal and time limit
});

/**
 * Whether a request with a stale statement is repeated at once, outside a transaction block: no request that it could
 * affect, or be affected by, may come before it.
 * @param {Request} request whose answer is complete
 * @param {Scope} sending the sending scope
 */
function mayResend(request, sending) {
  if (!request.pending || request.scope !== sending || !request.canResend()) return false;
  const mayMove = ({ barrier, isRead }) => isRead && !barrier;
  for (let { next } = request; next !== null; next = next.next) {
    if (!next.internal && !(mayMove(request) && mayMove(next))) return false;
  }
  return true;
}

module.exports = { Request, mayResend, outcome };
