'use strict';

const { AbortError, PostgresError, protocolError } = require('../protocol/errors');
const { decodeFields } = require('../protocol/messages');

let resolveNew, rejectNew;
const capture = (resolve, reject) => { resolveNew = resolve; rejectNew = reject; };

/**
 * A rejection whose stack shows who awaits it. The engine knows the awaiting functions only while a promise that
 * they wait for is being settled by an async function; so this one is made the last link of that chain, instead
 * of paying for a stack at every query.
 */
async function raise(error, caller) {
  await undefined;
  await undefined;
  const { stack } = error;
  Error.captureStackTrace?.(error, raise); // of V8 and others, not of all
  if (!error.stack.includes('\n')) error.stack = stack; // nobody awaits
  throw showCaller(error, caller);
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

/** Whether an error is of one request: others have their stack already, or many requests are rejected with them. */
function isOwn(error) {
  return error instanceof PostgresError || error instanceof AbortError || error.code === '57014';
}

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
 * Something asked of the server, from the call to the ReadyForQuery that ends it: the entry of the queue.
 * A kind of request writes its messages in `encode` and takes the server's answers in `message`.
 */
class Request {
  constructor() {
    if (!this.inBatch) {
      this.promise = new Promise(capture);
      this._resolve = resolveNew;
      this._reject = rejectNew;
    }
    /** @type {Request|null} the one behind it in the queue */
    this.next = null;
    /** Whether its messages have been written. */
    this.sent = false;
    this.settled = false;
    /** Whether the server has said all about it but ReadyForQuery. */
    this.done = false;
  }

  /**
   * Writes the request's messages.
   * @param {MessageWriter} writer
   * @param {Statements} statements
   * @throws {TypeError|RangeError} for values that cannot be sent; what was written before is then dropped
   */
  encode() {}

  /** Keeps its input from later changes by the caller, since it has to wait. */
  snapshot() {}

  /**
   * Takes one message of the answer, see FrameReader.
   * @param {Pipeline} pipeline
   * @throws {ConnectionError} 08P01 where the message is out of order
   */
  message(pipeline, type, buf, start, end) {
    if (type !== 69) throw protocolError(`unexpected message of type ${describeType(type)}`);
    const error = new PostgresError(decodeFields(buf, start, end));
    if (error.severity === 'FATAL' || error.severity === 'PANIC') return pipeline.events.lost(error);
    if (this.failed) throw protocolError('an ErrorResponse after an ErrorResponse');
    this.failed = true;
    this.fail(error, pipeline);
  }

  /**
   * Whether a long message of this type is taken in parts, by `part`; see FrameReader.
   * @returns {boolean}
   */
  takesParts() { return false; }

  /** The server reports an error; it ignores all messages up to the next Sync. */
  fail(error) {
    if (this.error === undefined) this.error = error;
    this.done = true;
  }

  /** Its messages were dropped before they left. */
  unsend() {}

  /**
   * Its promise was settled early: what still comes of its answer goes nowhere.
   * @param {Pipeline} pipeline
   */
  discard() {}

  /**
   * The caller gives up: rejects.
   * @param {Error} error
   * @param {Pipeline} pipeline
   * @returns {boolean} whether the server is at work for it, so that there is something to cancel
   */
  abort(error, pipeline) {
    if (this.settled) return false;
    this.reject(error);
    if (this.sent) this.discard(pipeline);
    return this.sent;
  }

  /**
   * ReadyForQuery has come after an error: whether the request is to be sent once more.
   * @param {Pipeline} pipeline
   * @returns {boolean}
   */
  retry() { return false; }

  /**
   * Whether it changes nothing, as far as its text tells, so that it may trade places with others that do not.
   * @returns {boolean}
   */
  onlyReads() { return false; }

  /**
   * Makes it what it was before it was sent.
   * @param {Pipeline} pipeline
   * @returns {Scope} that it waits in
   */
  again(pipeline) {
    this.done = this.failed = false;
    this.error = undefined;
    return pipeline.root;
  }

  /**
   * ReadyForQuery has come: settles.
   * @param {Pipeline} pipeline
   */
  ready() {
    if (!this.done) throw protocolError('ReadyForQuery before the end of the answer');
    if (this.error === undefined) this.resolve(this.result());
    else this.reject(this.error);
  }

  /** What the promise resolves to. */
  result() { return undefined; }

  resolve(value) {
    if (this.settled) return;
    this.settled = true;
    this._resolve(value);
    if (this.onsettled !== undefined) this.onsettled();
  }

  /** @param {Error} error shown with the stack of who awaits, if it is this request's own */
  reject(error) {
    if (this.settled) return;
    this.settled = true;
    if (isOwn(error)) this._resolve(raise(error, this.caller));
    else this._reject(error);
    if (this.onsettled !== undefined) this.onsettled(error);
  }
}

// What few requests have is not in each of them: there may be a million.
Object.assign(Request.prototype, {
  /** @type {Error|undefined} what to reject with at ReadyForQuery */
  error: undefined,
  /** Whether the server has reported an error. */
  failed: false,
  /** Set where nothing may be sent behind it until it is over: a request that can be cancelled. */
  fenced: false,
  /** Whether a CancelRequest for it is under way. */
  cancelling: false,
  /** @type {(function|undefined)} called when its answer is the next one to come */
  onhead: undefined,
  /** @type {(function|undefined)} called when it is over for the caller */
  onsettled: undefined,
  /** @type {{stack: string}|undefined} see callerOf */
  caller: undefined,
  /** Whether it has no promise of its own. */
  inBatch: false,
  /** Whether it has neither changed nor read anything, so that it does not matter when it is carried out. */
  passive: false
});

/** A type byte for an error. */
function describeType(type) {
  return type > 32 && type < 127 ? `'${String.fromCharCode(type)}'` : `0x${type.toString(16)}`;
}

/** Only Sync: ends a portal, or tells when everything before it is over. */
class SyncRequest extends Request {
  /** @param {*} value what to resolve to */
  constructor(value) {
    super();
    this.value = value;
    this.done = true;
  }

  encode(writer) { writer.sync(); }
  result() { return this.value; }
}

SyncRequest.prototype.passive = true;

/** Close of a named statement or portal. */
class CloseRequest extends Request {
  constructor(target, name) {
    super();
    this.target = target;
    this.name = name;
  }

  encode(writer) {
    writer.close(this.target, this.name);
    writer.sync();
  }

  message(pipeline, type, buf, start, end) {
    if (type === 51) this.done = true;
    else super.message(pipeline, type, buf, start, end);
  }
}

CloseRequest.prototype.passive = true;

module.exports = { Request, SyncRequest, CloseRequest, callerOf, describeType, showCaller };
