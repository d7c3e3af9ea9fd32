'use strict';

const {
  AbortError, ConnectionError, PostgresError, State, backend, decodeFields, nextState, unexpected
} = require('../protocol');

/**
 * Where a call comes from, for what passes promises through callbacks of its own: these hide who awaits.
 * @param {function} [hide] what the stack is not to show, with all that it calls
 * @returns {{stack: string}}
 */
function callerOf(hide) {
  const caller = {};
  Error.captureStackTrace?.(caller, hide);
  return caller;
}

/**
 * Gives an error the stack of the call that it is of.
 * @param {Error} error
 * @param {{stack: string}} [caller] see callerOf
 * @returns {Error} the same
 */
function showCaller(error, caller) {
  if (caller?.stack !== undefined) error.stack = caller.stack.replace(/^.*/, () => `${error.name}: ${error.message}`);
  return error;
}

/** Whether an error was made while an answer was read, so that its stack shows nothing of the caller. */
function isOfAnswer(error) {
  return error instanceof PostgresError || error instanceof AbortError || error instanceof ConnectionError ||
    error.code === '57014' || error.code === '25P01';
}

/**
 * The last link of a request's promise. Inside it the engine knows who awaits the promise; so the error shows its
 * caller, and a query that succeeds pays nothing for it.
 */
function outcome(request) {
  const { error, caller } = request;
  if (error === undefined) return request.result();
  if (caller !== undefined) throw showCaller(error, caller);
  if (error instanceof Error && isOfAnswer(error)) {
    const { stack } = error;
    Error.captureStackTrace?.(error, outcome); // of V8 and others, not of all
    if (!error.stack.includes('\n')) error.stack = stack; // nobody awaits
  }
  throw error;
}

let resolveNew;
const capture = resolve => { resolveNew = resolve; };

/**
 * Something asked of the server, from the call to the ReadyForQuery that ends it: an entry of the pipeline.
 * A kind of request writes its messages in `encode` and takes the server's answer in `message`.
 */
class Request {
  constructor() {
    /** @type {Request|null} the one behind it */
    this.next = null;
    /** @type {Scope|null} that it was submitted to */
    this.scope = null;
    /** @type {Promise|null} of its outcome, once it was submitted */
    this.promise = null;
    /** What the answer has come to, see State. */
    this.state = State.Waiting;
    /** @type {Error|undefined} what the promise is to reject with */
    this.error = undefined;
    this.resolve = null; // settles the promise; null before it was submitted and after it was settled
  }

  /** @returns {Promise} of the outcome */
  open(scope) {
    this.scope = scope;
    this.promise = new Promise(capture).then(outcome);
    this.resolve = resolveNew;
    return this.promise;
  }

  /** Whether the promise is still to be settled. */
  get pending() { return this.resolve !== null; }

  /**
   * Settles the promise, unless that was done before.
   * @param {Error} [error] to reject with
   */
  settle(error = this.error) {
    if (this.resolve === null) return;
    this.error = error;
    this.resolve(this);
    this.resolve = null;
  }

  /** What the promise resolves to. */
  result() { return undefined; }

  /**
   * Writes the request's messages, and says by `state` what the answer begins with.
   * @param {MessageWriter} writer
   * @param {Statements} statements
   * @throws {TypeError|RangeError} for values that cannot be sent; what was written before is then dropped
   */
  encode() {}

  /** Keeps its input from later changes by the caller, since it has to wait. */
  snapshot() {}

  /**
   * Takes one message of the answer, or `count` DataRow or CopyData messages, in buf[start … end).
   * @param {Pipeline} pipeline
   * @throws {ConnectionError} 08P01 where the message cannot come now, or is malformed
   */
  message(pipeline, type, buf, start, end) {
    if (type === backend.ErrorResponse) this.takeError(pipeline, buf, start, end);
    else this.state = nextState(this.state, type, start, end);
  }

  takeError(pipeline, buf, start, end) {
    if (this.state === State.Failed) throw unexpected(this.state, backend.ErrorResponse);
    const error = new PostgresError(decodeFields(buf, start, end));
    if (error.code === '57014') for (const cancelled of pipeline.cancelling) cancelled();
    if (error.severity === 'FATAL' || error.severity === 'PANIC') return pipeline.events.lost(error);
    this.fail(error, pipeline);
  }

  /** Whether a long DataRow or CopyData is taken in parts, see FrameReader. */
  takesParts() { return false; }

  /** The server reports an error; it ignores all messages up to the next Sync. */
  fail(error) {
    if (this.error === undefined) this.error = error;
    this.state = State.Failed;
  }

  /** Nobody waits for its answer any more. */
  discard() {}

  /**
   * The caller gives up: it rejects.
   * @param {Error} error
   * @param {Pipeline} pipeline
   * @returns {boolean} whether the server is at work for it, so that there is something to cancel
   */
  abort(error, pipeline) {
    if (!this.pending) return false;
    this.settle(error);
    if (this.state === State.Waiting) return false;
    this.discard();
    return true;
  }

  /**
   * Whether it can be sent once more: its error says that a statement was stale, and nothing was done yet.
   * @param {Pipeline} pipeline
   */
  canRepeat() { return false; }

  /** Makes it what it was before it was sent. */
  reset() {
    this.state = State.Waiting;
    this.error = undefined;
  }

  /** The answer is complete. */
  ready() { this.settle(); }
}

// What few requests have is not in each of them: there may be a million.
Object.assign(Request.prototype, {
  /** Whether nothing may be sent behind it until it is over, so that it can be cancelled. */
  barrier: false,
  /** How many of its statements may drop prepared statements. */
  disturbs: 0,
  /** Whether it only reads, as far as the first word of its text tells. */
  reads: false,
  /** @type {(function|undefined)} called when its answer is the next one to come, to cancel it */
  cancelAtHead: undefined,
  /** @type {Promise<Error|undefined>|undefined} of what goes on when its promise has settled: until it is over */
  over: undefined,
  /** @type {{stack: string}|undefined} see callerOf */
  caller: undefined,
  /** Whether its messages end with Sync, so that others may follow. */
  endsWithSync: true,
  /** Whether it begins or ends the block of a transaction that its scope is of. */
  controls: false,
  statement: undefined,
  text: undefined
});

/** Only Sync: ends a portal, or tells when everything before it is over. */
class SyncRequest extends Request {
  /** @param {*} [value] what to resolve to */
  constructor(value) {
    super();
    this.value = value;
    this.reads = true;
  }

  encode(writer) {
    writer.sync();
    this.state = State.Done;
  }

  result() { return this.value; }
}

/** Close of named statements or of a portal. */
class CloseRequest extends Request {
  /**
   * @param {string} target 'S' for statements, 'P' for portals
   * @param {string[]} names
   */
  constructor(target, names) {
    super();
    this.target = target;
    this.names = names;
    this.left = names.length;
    this.reads = true;
  }

  encode(writer) {
    for (const name of this.names) writer.close(this.target, name);
    writer.sync();
    this.state = State.Closing;
  }

  message(pipeline, type, buf, start, end) {
    super.message(pipeline, type, buf, start, end);
    if (this.state === State.Done && --this.left > 0) this.state = State.Closing;
  }
}

module.exports = { Request, SyncRequest, CloseRequest, callerOf, showCaller };
