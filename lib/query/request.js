'use strict';

const {
  AbortError, BARE, ConnectionError, NEXT, PostgresError, State, TimeoutError, UsageError, backend, checkText, checkValues,
  decodeFields, nextState, protocolError, snapshot, unexpected
} = require('../protocol');
const { RowReader } = require('../rows');
const { addHint, isStale, miscounted, reasonOf, showCaller } = require('./failure');

const { BindComplete, CopyData, CopyInResponse, DataRow, ErrorResponse, NoData, ParameterDescription, RowDescription } = backend;

/** A query with more bytes of Buffers among its values is not repeated, so these are not kept. */
const KEPT_BYTES = 8192;

/** Reads the answer to a request that was given up. */
const DROPPED = { start() {}, receiveData() {}, receive() {} };

/** Errors made while an answer is read, whose stacks do not show the caller. */
const OF_ANSWERS = [PostgresError, ConnectionError, UsageError, AbortError, TimeoutError];

/** Runs in a `.then`, where V8 can still add the awaiting caller to the stack. */
function outcome({ error, caller, result }) {
  if (error === undefined) return result;
  if (caller !== undefined) throw showCaller(error, caller);
  if (OF_ANSWERS.some(each => error instanceof each)) {
    const { stack } = error;
    Error.captureStackTrace?.(error, outcome); // not every engine has it
    if (!error.stack.includes('\n')) error.stack = stack; // no caller awaits it
  }
  throw error;
}

/** Promises that are about to be rejected. Those that resolve meanwhile take as many turns, which keeps the order. */
let rejecting = 0;

/**
 * A request to the server, from the call to its ReadyForQuery: an entry of the pipeline. Subclasses write their messages in
 * `encode` and take the answer in `message`.
 */
class Request {
  constructor() {
    this.next = null; // the request behind it
    this.scope = null;
    this.state = State.Waiting; // the state of the answer
    this.error = undefined; // what the promise will reject with
    this.resolve = null; // settles the promise; null before submission and after settling
  }

  open(scope) {
    this.scope = scope;
    return new Promise(resolve => { this.resolve = resolve; });
  }

  get pending() { return this.resolve !== null; }

  settle(error = this.error, result = this.result) {
    const { resolve } = this;
    if (resolve === null) return;
    this.error = error;
    this.resolve = null;
    if (error === undefined && rejecting === 0) resolve(result);
    else {
      rejecting++;
      resolve(Promise.resolve(this).finally(() => { rejecting--; }).then(outcome));
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
    addHint(error, text);
    if (error.code === '57014') for (const cancelled of pipeline.cancelling) cancelled();
    if (error.severity === 'FATAL' || error.severity === 'PANIC') return pipeline.events.lost(error);
    if (this.state === State.Failed) throw unexpected(this.state, ErrorResponse);
    this.fail(error, pipeline);
  }

  /** The server has reported an error, and ignores messages up to the next Sync. */
  fail(error) {
    this.error ??= error;
    this.state = State.Failed;
  }

  /** Drops the input of a request that was given up. */
  discard() {}

  /**
   * Gives the request up: its promise rejects.
   * @returns {boolean} whether the server is working on it, so that it can be cancelled
   */
  abort(error, pipeline) {
    if (!this.pending) return false;
    this.settle(error);
    this.discard();
    return this.state !== State.Waiting;
  }

  /** Whether it can be sent again: its statement was stale, and nothing was done. */
  canRepeat() { return false; }

  reset() {
    this.state = State.Waiting;
    this.error = undefined;
  }

  ready() { this.settle(); }
}

Object.assign(Request.prototype, { // rare fields are not set in each request, of which there may be a million
  barrier: false, // nothing is sent behind it until it is over, so that it can be cancelled
  caller: undefined, // see callerOf
  controlsBlock: false, // it begins or ends the block of its scope
  endsWithSync: true, // its Sync was written or is a part of it
  givenUp: false, // the server is asked to cancel it when its answer is the next one
  internal: false, // not the caller's, so not counted as pending
  finished: undefined, // a promise of its end, if its own promise settles before
  result: undefined,
  simple: false, // it is a Query message, which includes a Sync
  reads: false, // the first word of its text is that of a read
  stale: false, // it failed because of a stale statement
  traced: false,
  unwatch: undefined // ends the watch of its signal and time limit
});

/**
 * The extended query protocol: [Parse Describe] Bind Execute Sync.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-EXT-QUERY
 */
class QueryRequest extends Request {
  /**
   * @param {number} format of the result: 0 text, 1 binary
   * @param {boolean} cache whether the statement may have a name
   * @param {object} [receiver] by default a RowReader, made when the result begins, since a million requests may wait
   */
  constructor(text, values, format, cache, paramTypes, receiver) {
    super();
    this.text = text;
    this.values = values;
    this.format = format;
    this.cache = cache;
    this.paramTypes = paramTypes;
    this.receiver = receiver;
    this.statement = undefined;
    /** Whether it carries its statement's Parse. */
    this.parses = false;
  }

  get result() { return this.receiver?.target ?? this.receiver; }

  snapshot() {
    checkText(this.text, 'text');
    checkValues(this.values);
    this.values = snapshot(this.values);
  }

  encode(writer, statements) {
    this.bind(writer, statements);
    writer.execute('', 0);
    writer.sync();
  }

  bind(writer, statements, portal = '', batch = null) {
    const { text, values } = this;
    if (typeof text !== 'string') checkText(text, 'text');
    if (!Array.isArray(values) || values.length > 65535) checkValues(values);
    const statement = this.statement = statements.get(text, this.paramTypes, this.cache, batch);
    const parses = this.parses = !statement.sent;
    let binary;
    try {
      if (parses) {
        checkText(text, 'text');
        writer.parse(statement.name, text, statement.paramTypes);
        writer.describe('S', statement.name);
      }
      const names = portal === '' ? statement.bindNames : Buffer.from(`${portal}\0${statement.name}\0`, 'latin1');
      binary = writer.bind(names, values, this.format);
    } catch (error) {
      if (parses) statements.forget(statement);
      throw error;
    }
    if (parses) {
      statement.sent = true;
      statement.batch = batch;
      statements.lastParsed = statement;
    }
    this.state = parses ? State.Parsing : State.Binding;
    if (statement.disturbs) statements.disturbing = batch ?? this;
    if (statement.begins) statements.turning = batch ?? this;
    // A repetition needs the same values.
    if (statement.name === '' || !Array.isArray(values)) return;
    this.values = binary ? snapshot(values, KEPT_BYTES) : values.slice();
  }

  message(pipeline, type, buf, start, end, count) {
    if (type === ErrorResponse) return this.takeError(pipeline, buf, start, end);
    // `nextState` written out, since every message of a result goes through here.
    const next = NEXT[this.state << 8 | type];
    if (next === 0 || (BARE[type] === 1 && end - start !== 5)) nextState(this.state, type, start, end);
    this.state = next;
    switch (type) {
      case DataRow: case CopyData:
        return this.receiver.receiveData(buf, start, end, count, pipeline.reader.owned);
      case ParameterDescription:
        if (end - start >= 7) this.statement.parameters = buf.readUInt16BE(start + 5);
        return;
      case RowDescription: case NoData:
        this.statement.describe(type === RowDescription ? buf : null, start, end);
        if (next !== State.Binding) this.start(pipeline);
        return;
      case BindComplete:
        if (next === State.Rows) this.start(pipeline);
        return;
      case CopyInResponse:
        return this.takeData(pipeline, buf, start, end);
    }
    if (next < State.Rows) return;
    this.receiver.receive(type, buf, start, end);
    if (next !== State.Done) return;
    if (this.statement.disturbs) pipeline.statements.afterCommand(this.receiver.cmd, this.text);
    if (!this.endsWithSync) this.sync(pipeline);
  }

  sync(pipeline) {
    if (this.endsWithSync) return;
    this.endsWithSync = true;
    pipeline.writer.sync();
    pipeline.flush();
  }

  start(pipeline) {
    const { rowParser } = this.statement;
    if (rowParser === undefined) throw protocolError('the result of a statement that was not described');
    this.state = rowParser === null ? State.Command : State.Rows;
    this.receiver ??= new RowReader(pipeline.decoding);
    this.receiver.start(rowParser, this.format, pipeline);
  }

  /** The server waits for the data of a COPY FROM STDIN. */
  takeData() { throw unexpected(State.Command, CopyInResponse); }

  fail(error, pipeline) {
    const { statements, status } = pipeline;
    const { statement, parses } = this;
    this.sync(pipeline);
    const bound = this.state > State.Binding;
    if (parses && statement.rowParser === undefined) {
      statement.failure = error;
      statements.forget(statement);
    } else if (!parses) statements.doubt(statement, error.code, bound);
    if (error.code === '08P01' && !bound) error = miscounted(error, statement, this.values);
    if (error.code === '26000') error = reasonOf(error, statement.failure, status);
    this.stale = !bound && isStale(error);
    this.receiver?.letGo?.(); // other requests must not wait for a slow reader
    super.fail(error);
  }

  get reads() { return this.statement.reads; }

  canRepeat() { return this.stale && this.cache && this.values !== null; }

  reset() {
    super.reset();
    this.cache = false; // repeat it once, and without relying on a Parse that may fail
  }

  discard() {
    this.receiver?.stop?.();
    this.receiver = DROPPED;
    this.values = null;
  }

  ready() {
    const { receiver } = this;
    this.error ??= receiver?.error;
    this.settle(this.error, receiver?.target ?? receiver);
  }
}

module.exports = { Request, QueryRequest, outcome };
