'use strict';

const {
  BARE,
  NEXT,
  State,
  backend,
  checkText,
  checkValues,
  isEmptyList,
  isList,
  listText,
  nextState,
  protocolError,
  readValues,
  snapshot,
  typesOfRow
} = require('../protocol');
const { RowReader } = require('../rows');
const { explained, isStale } = require('./errors');
const { Flight } = require('./flight');

const { BindComplete, CopyData, DataRow, ErrorResponse, NoData, ParameterDescription, RowDescription } = backend;

/** A query with more bytes of Buffers among its values is not repeated, so these are not kept. */
const KEPT_BYTES = 8192;

/**
 * @typedef {object} Receiver takes a result: a RowReader, a Sink, a PacketReceiver
 * @property {function(RowParser|null, number, Pipeline): void} start the result begins: its columns, null without
 *   any, and format
 * @property {function(Buffer, number, number, number, boolean): void} receiveData takes so many whole DataRow or
 *   CopyData messages in buf[start … end), memory that the next read overwrites unless it is owned
 * @property {function(number, Buffer, number, number): void} receive takes one message of any other type
 * @property {function(): void} [drop] the request has failed or was given up: read on, however slow the target is
 * @property {*} [given] what the request resolves to, in place of the receiver
 * @property {Error} [error] what it rejects with
 * @property {Array<'all'|Map|object>} [wants] what has to be known of types before the result begins
 * @property {Types} [types] of a result that has types that are not built in
 * @property {number[]} [lacking] OIDs of types that are to be asked for when the result is there
 * @property {function(): void} [retype] reads the result again, with what was learned
 */

/** Takes a result that nothing wants. */
const DISCARD = { start() {}, receiveData() {}, receive() {} };

const isObject = value => typeof value === 'object' && value !== null;

/** How a text is executed, unless options say otherwise. */
const PLAIN = Object.freeze({ format: 0, cache: true, paramTypes: undefined });

/**
 * @typedef {object} Execution
 * @property {number} format of the result: 0 text, 1 binary
 * @property {boolean} cache whether the statement may have a name
 * @property {number[]|undefined} paramTypes
 */

const UNCACHED = Object.freeze({ ...PLAIN, cache: false });

/** @returns {Execution} a copy, since options are the caller's */
const executionOf = ({ format = 0, cache = true, paramTypes }) =>
  format === 0 && cache && paramTypes === undefined ? PLAIN : { format, cache, paramTypes: paramTypes?.slice() };

/**
 * The extended query protocol: [Parse Describe] Bind Execute.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-EXT-QUERY
 */
class QueryRequest extends Flight {
  /**
   * @param {Execution} [execution]
   * @param {object} [receiver] by default a RowReader, made when the result begins, since a million requests may wait
   */
  constructor(text, values, execution = PLAIN, receiver = undefined) {
    super();
    this.text = text;
    const hasObject = Array.isArray(values) && values.length < 65536 && values.some(isObject);
    this.values = hasObject ? readValues(values) : values;
    if (hasObject && this.values.some(isList)) this.hasList = true;
    this.execution = execution;
    this.receiver = receiver;
    if (receiver?.wants !== undefined) this.wants = receiver.wants;
    this.statement = undefined;
    /** Whether it carries its statement's Parse. */
    this.parses = false;
  }

  snapshot() {
    checkText(this.text, 'text');
    checkValues(this.values);
    this.values = snapshot(this.values);
  }

  /** Writes its messages, or only those that ask for the types of its parameters. */
  write(writer, statements, flight) {
    const { text, values } = this;
    if (typeof text !== 'string') checkText(text, 'text');
    if (!Array.isArray(values) || values.length > 65535) checkValues(values);
    if (!Array.isArray(values)) this.#takeTypes(values);
    const { cache, paramTypes } = this.execution;
    let statement = statements.get(text, paramTypes, cache, flight);
    const asks = this.hasList && this.#unknownIn(statement, statements).length > 0;
    // The description that another request has asked for comes too late.
    if (asks && statement.sent) statement = statements.get(text, paramTypes, false);
    this.statement = statement;
    const parses = (this.parses = !statement.sent);
    if (parses) {
      checkText(text, 'text');
      if (!this.internal) flight.checkStatement(text);
      for (const name of statement.closes) writer.close('S', name);
      writer.parse(statement.name, text, statement.paramTypes);
      writer.describe('S', statement.name);
      statements.parsed(statement, this.internal);
    }
    this.state = !parses ? State.Binding : statement.closes.length > 0 ? State.ClosingFirst : State.Parsing;
    if ((statement.disturbs || statement.controlsBlock) && !this.internal) {
      if (statement.disturbs) statements.disturbedBy(flight);
      if (statement.controlsBlock) flight.mayControlBlock();
    }
    if (!asks) return this.execute(writer, statements);
    // Whether a list is JSON decides the type of its parameter. Flush keeps the transaction, and the server of a
    // pooler.
    writer.flush();
    statement.learned = undefined;
    flight.waitFor(this);
    this.values = snapshot(values);
  }

  /** @returns {number[]} the types of lists' parameters that are not known: 0, or OIDs */
  #unknownIn(statement, statements) {
    const isUnknown = (value, i) => {
      if (!isList(value)) return false;
      const takesJson = statements.takesJson(statement, i);
      // A type that was learned may have changed: then the server refuses the text of any list but an empty array.
      return takesJson === undefined || (!takesJson && statement.learned !== undefined && isEmptyList(value));
    };
    const oids = this.values.map((value, i) => (isUnknown(value, i) ? statement.typeOf(i) : -1));
    return oids.filter(oid => oid >= 0);
  }

  /** @returns {number[]} OIDs that are to be asked for before Bind */
  lackingIn(statements) {
    return this.#unknownIn(this.statement, statements).filter(oid => oid > 0);
  }

  /** Writes the rest; the types of the parameters are known if it has a list. */
  execute(writer, statements, names = this.statement.bindNames, portal = '', maxRows = 0) {
    const { statement, values } = this;
    const texts = (value, i) =>
      isList(value) ? listText(value, statements.takesJson(statement, i), `values[${i}]`) : value;
    const binary = writer.bind(names, this.hasList ? values.map(texts) : values, this.execution.format);
    writer.execute(portal, maxRows);
    // A repetition needs the same values.
    if (statement.name !== '' && Array.isArray(values))
      this.values = binary ? snapshot(values, KEPT_BYTES) : values.slice();
  }

  /** A row in the place of values tells their types. */
  #takeTypes(row) {
    const { execution } = this;
    const paramTypes = typesOfRow(row, execution.paramTypes);
    if (paramTypes !== execution.paramTypes) this.execution = { ...execution, paramTypes };
  }

  message(pipeline, type, buf, start, end, count) {
    if (type === ErrorResponse) return this.takeError(pipeline, buf, start, end);
    // `nextState` written out: a call would cost 100 queries at once 2 % more, the system's part left out.
    const next = NEXT[(this.state << 8) | type];
    if (next === 0 || (BARE[type] === 1 && end - start !== 5)) nextState(this.state, type, start, end);
    this.state = next;
    switch (type) {
      case DataRow:
      case CopyData:
        return this.receiver.receiveData(buf, start, end, count, pipeline.reader.owned);
      case ParameterDescription:
        this.statement.describeParameters(buf, start, end);
        return;
      case RowDescription:
      case NoData:
        this.statement.describe(type === RowDescription ? pipeline.rowParserOf(buf, start, end) : null);
        if (next !== State.Binding) this.start(pipeline);
        else if (this.partial === this) this.proceed(pipeline);
        return;
      case BindComplete:
        if (next === State.Rows) this.start(pipeline);
        return;
    }
    if (next < State.Rows) return;
    this.receiver.receive(type, buf, start, end);
    if (next === State.Done && this.statement.disturbs) pipeline.statements.afterCommand(this.receiver.cmd, this.text);
  }

  start(pipeline) {
    const { rowParser } = this.statement;
    if (rowParser === undefined) throw protocolError('the result of a statement that was not described');
    this.state = rowParser === null ? State.Command : State.Rows;
    this.receiver ??= new RowReader();
    this.receiver.start(rowParser, this.execution.format, pipeline, this.text);
  }

  fail(error, pipeline, failed = this) {
    if (failed === this) {
      const bound = this.state > State.Binding;
      pipeline.statements.failed(this.statement, error, this.parses, bound);
      error = explained(error, this, pipeline.status, bound);
      const isNew = this.parses && this.statement.learned === undefined;
      if (!bound && this.execution.cache && isStale(error, isNew)) this.repeatUncached();
    } else {
      this.forgetParse(pipeline.statements);
      if (failed.stale && failed.internal) this.repeatUncached(); // the settings in front
    }
    this.receiver?.drop?.(); // other requests must not wait for a slow reader
    super.fail(error, pipeline, failed);
  }

  /** Its statement was stale: sent again, it has a Parse of its own. */
  repeatUncached() {
    this.stale = true;
    this.execution = { ...this.execution, cache: false };
  }

  forgetParse(statements) {
    if (this.parses && this.statement.rowParser === undefined) statements.unsent(this.statement);
  }

  get isRead() {
    return this.statement.isRead && !/set_config/i.test(this.text); // which queries behind it rely on
  }

  canResend() {
    return this.stale && this.hasValues;
  }

  /** Whether its values are there, to be sent again: many bytes are not kept, and neither is what was given up. */
  get hasValues() {
    return this.values !== null;
  }

  reset() {
    super.reset();
    this.stale = false;
  }

  drop() {
    this.receiver?.drop?.();
    this.receiver = DISCARD;
    this.values = null;
  }

  ready() {
    const { receiver } = this;
    if (receiver?.error !== undefined || receiver?.types !== undefined) super.ready();
    else this.settle(this.error, receiver?.given ?? receiver);
  }
}

Object.assign(QueryRequest.prototype, {
  hasList: false,
  stale: false // it failed because of a stale statement
});

/** A query of the library's own: BEGIN, SAVEPOINT, settings. */
class InternalQuery extends QueryRequest {}
InternalQuery.prototype.internal = true;

module.exports = { DISCARD, InternalQuery, PLAIN, QueryRequest, UNCACHED, executionOf };
