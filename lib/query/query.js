'use strict';

const { Buffer } = require('#platform');
const { PostgresError, State, backend, checkText, checkValues, nextState, snapshot, unexpected } = require('../protocol');
const { Request } = require('./request');

const {
  BindComplete, CommandComplete, CopyData, CopyInResponse, DataRow, EmptyQueryResponse, ErrorResponse, NoData, RowDescription
} = backend;

/** A query with more bytes of Buffers among its values is not sent again: they are not kept. */
const KEPT_BYTES = 8192;

/** Takes the answer to a request that nobody waits for any more. */
const DROPPED = { inParts: true, start() {}, receiveData() {}, receivePart() {}, receive() {} };

/**
 * One use of the extended query protocol: [Parse Describe] Bind Execute Sync.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-EXT-QUERY
 */
class QueryRequest extends Request {
  /**
   * @param {string} text
   * @param {Array|Row} values
   * @param {number} format of the result: 0 text, 1 binary
   * @param {boolean} cache whether the statement is to be named
   * @param {number[]|undefined} paramTypes OIDs
   * @param {object} receiver of the rows
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

  snapshot() {
    checkText(this.text, 'text');
    checkValues(this.values);
    this.values = snapshot(this.values);
  }

  encode(writer, statements) {
    this.bind(writer, statements, '', null);
    writer.executeSync();
  }

  /** Writes [Parse Describe] Bind. */
  bind(writer, statements, portal, batch) {
    const { text, values } = this;
    checkValues(values);
    if (typeof text !== 'string') checkText(text, 'text');
    const statement = statements.get(text, this.paramTypes, this.cache, batch);
    const parses = !statement.sent;
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
    this.statement = statement;
    this.parses = parses;
    this.state = parses ? State.Parsing : State.Binding;
    if (parses) {
      statement.sent = true;
      statement.batch = batch;
      statements.run = statement;
    }
    if (statement.disturbs) {
      this.disturbs = 1;
      statements.disturbing++;
    }
    // If it has to be sent again, the values must be what they were.
    if (statement.name !== '' && Array.isArray(values)) this.values = binary ? snapshot(values, KEPT_BYTES) : values.slice();
  }

  message(pipeline, type, buf, start, end, count) {
    if (type === ErrorResponse) return this.takeError(pipeline, buf, start, end);
    this.state = nextState(this.state, type, start, end);
    switch (type) {
      case DataRow: case CopyData:
        return this.receiver.receiveData(buf, start, end, count, pipeline.reader.owned);
      case BindComplete:
        if (this.state === State.Rows) this.start(pipeline);
        return;
      case RowDescription: case NoData:
        this.statement.describe(type === RowDescription ? buf : null, start, end);
        if (this.state !== State.Binding) this.start(pipeline);
        return;
      case CommandComplete: case EmptyQueryResponse:
        this.receiver.receive(type, buf, start, end);
        return this.complete(pipeline);
      case CopyInResponse:
        return this.takeData(pipeline, buf, start, end);
    }
    if (this.state >= State.Rows) this.receiver.receive(type, buf, start, end);
  }

  /** Rows, or the command's completion, are what comes next. */
  start(pipeline) {
    const { rowParser } = this.statement;
    this.state = rowParser === null ? State.Command : State.Rows;
    this.receiver.start(rowParser, this.format, pipeline);
  }

  /** The server waits for the data of a COPY FROM STDIN. */
  takeData() { throw unexpected(State.Command, CopyInResponse); }

  /** The command is complete. */
  complete(pipeline) {
    if (this.disturbs > 0 && /^(?:DISCARD|DEALLOCATE) ALL$/.test(this.receiver.cmd)) pipeline.statements.clear();
  }

  takesParts() { return this.receiver.inParts === true && (this.state === State.Rows || this.state === State.CopyOut); }
  part(pipeline, type, buf, start, end, left) { this.receiver.receivePart(type, buf, start, end, left); }

  /*
   * A named statement that another request has parsed may be out of date: the server says so at Bind, or by an
   * error of class 42 or XX. It is forgotten, so the next call parses anew. Errors of the data (23505, 22012)
   * come after BindComplete, and one in the request that carries the Parse has another reason; so a loop of
   * inserts that fail does not parse each time.
   */
  fail(error, { statements, status }) {
    const { statement, parses } = this;
    const bound = this.state > State.Binding;
    if (parses && statement.rowParser === undefined) {
      statement.failure = error;
      statements.forget(statement);
    } else if (!parses && (!bound || /^(?:42|XX)/.test(error.code))) statements.close(statement);
    if (error.code === '26000' && !bound) error = reasonOf(error, statement.failure, status);
    this.stale = !bound && isStale(error);
    this.receiver.letGo?.(); // however slow its reader is, nobody else has to wait for it
    super.fail(error);
  }

  get reads() { return this.statement.reads; }

  canRepeat() { return this.stale && !this.repeated && this.values !== null; }

  reset() {
    super.reset();
    this.repeated = true;
    this.cache = false; // it must not depend on the Parse of another, which may fail
  }

  discard() {
    if (this.receiver.stop !== undefined) this.receiver.stop();
    this.receiver = DROPPED;
  }

  ready() {
    if (this.error === undefined) this.error = this.receiver.error;
    this.settle();
  }

  result() { return this.receiver.target || this.receiver; }
}

/** Whether it failed because its statement was stale; whether it was sent again for that reason. */
Object.assign(QueryRequest.prototype, { stale: false, repeated: false });

/**
 * Why a statement does not exist: the error that the query would have got with a Parse of its own.
 * @param {PostgresError} error 26000
 * @param {PostgresError|undefined} failure of the Parse on which the query relied
 * @param {string} status of the transaction before
 */
function reasonOf(error, failure, status) {
  if (status === 'E') {
    const message = 'current transaction is aborted, commands ignored until end of transaction block';
    return new PostgresError({ severity: 'ERROR', code: '25P02', message });
  }
  // What may be otherwise the next time is no reason: a cancel, a deadlock, a lock, memory.
  if (failure === undefined || /^(?:40|53|55|57)/.test(failure.code)) return error;
  return new PostgresError({ ...failure, message: failure.message });
}

/**
 * 26000: the prepared statement does not exist; 0A000 of RevalidateCachedQuery: a cached plan must not change
 * its result type.
 */
function isStale(error) {
  return error.code === '26000' || (error.code === '0A000' && error.routine === 'RevalidateCachedQuery');
}

module.exports = { QueryRequest };
