'use strict';

const {
  BARE,
  NEXT,
  State,
  backend,
  checkText,
  checkValues,
  isList,
  nextState,
  protocolError,
  readValues,
  snapshot,
  typesOfRow
} = require('../protocol');
const { late } = require('../late');
const { RowReader } = require('../rows');
const { explained, isStale } = require('./errors');
const { Request } = require('./request');

const { BindComplete, CopyData, DataRow, ErrorResponse, NoData, ParameterDescription, RowDescription } = backend;

const later = late({ learn: () => require('./learn') });

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

/** @param {function(number): boolean} fits whether the parameter counts */
const hasList = (values, fits) => Array.isArray(values) && values.some((value, i) => isList(value) && fits(i));

const isObject = value => typeof value === 'object' && value !== null;

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
    this.values = Array.isArray(values) && values.length < 65536 && values.some(isObject) ? readValues(values) : values;
    this.format = format;
    this.cache = cache;
    this.paramTypes = paramTypes;
    this.receiver = receiver;
    if (receiver?.wants !== undefined) this.wants = receiver.wants;
    this.statement = undefined;
    /** Whether it carries its statement's Parse. */
    this.parses = false;
  }

  get result() {
    return this.receiver?.given ?? this.receiver;
  }

  snapshot() {
    checkText(this.text, 'text');
    checkValues(this.values);
    this.values = snapshot(this.values);
  }

  /**
   * Writes its messages, or only those that ask for the types of its parameters.
   * @param {Request} [carrier] of the Sync
   */
  encode(writer, statements, carrier = this) {
    const { text, values } = this;
    if (typeof text !== 'string') checkText(text, 'text');
    if (!Array.isArray(values) || values.length > 65535) checkValues(values);
    if (!Array.isArray(values)) this.paramTypes = typesOfRow(values, this.paramTypes);
    let statement = statements.get(text, this.paramTypes, this.cache, carrier);
    const asks = statement.json === undefined && hasList(values, i => statement.takesJson(i) === undefined);
    // The description that another request has asked for comes too late.
    if (asks && statement.sent) statement = statements.get(text, this.paramTypes, false);
    this.statement = statement;
    const parses = (this.parses = !statement.sent);
    if (parses) {
      checkText(text, 'text');
      if (!this.internal) carrier.checkStatement(text);
      for (const name of statement.closes) writer.close('S', name);
      writer.parse(statement.name, text, statement.paramTypes);
      writer.describe('S', statement.name);
      statements.parsed(statement);
    }
    this.state = !parses ? State.Binding : statement.closes.length > 0 ? State.ClosingFirst : State.Parsing;
    if ((statement.disturbs || statement.controlsBlock) && !this.internal) carrier.mark(statement);
    if (!asks) return this.execute(writer, carrier);
    // Whether a list is JSON decides the type of its parameter. Flush keeps the transaction, and the server of a pooler.
    writer.flush();
    carrier.barrier = true;
    carrier.asking = this;
    this.values = snapshot(values);
  }

  /** Writes the rest; the types of the parameters are known if it has a list. */
  execute(writer, carrier) {
    const { portal, statement, values } = this;
    const { bindNames, name } = statement;
    const names = portal === undefined ? bindNames : Buffer.from(`${portal.name}\0${name}\0`, 'latin1');
    const binary = writer.bind(names, values, this.format, statement);
    writer.execute(portal === undefined ? '' : portal.name, this.maxRows);
    if (carrier === this) writer.sync();
    // A repetition needs the same values.
    if (statement.name !== '' && Array.isArray(values))
      this.values = binary ? snapshot(values, KEPT_BYTES) : values.slice();
  }

  encodeRest(writer) {
    this.execute(writer, this);
  }

  /** Ends what has only asked. */
  abandon(writer) {
    this.state = State.Done;
    writer.sync();
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
        else if (this.asking !== undefined) this.proceed(pipeline);
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
    this.receiver.start(rowParser, this.format, pipeline, this.text);
  }

  fail(error, pipeline) {
    const bound = this.state > State.Binding;
    pipeline.statements.failed(this.statement, error, this.parses, bound);
    error = explained(error, this, pipeline.status, bound);
    this.noteStale(error, bound);
    this.receiver?.drop?.(); // other requests must not wait for a slow reader
    super.fail(error);
  }

  /** Notes whether it may succeed when it is sent once more, with a Parse of its own. */
  noteStale(error, bound) {
    this.stale = !bound && this.cache && isStale(error, this.parses);
    this.cache = false;
  }

  forgetParse(statements) {
    if (this.parses && this.statement.rowParser === undefined) statements.unsent(this.statement);
  }

  /** The error of a front says nothing about the statement, which others share: `fail` gets a copy. */
  skip(error, pipeline) {
    this.forgetParse(pipeline.statements);
    this.statement = Object.create(this.statement);
    super.skip(error, pipeline);
  }

  get isRead() {
    return this.statement.isRead;
  }

  canResend() {
    return this.stale && this.values !== null;
  }

  drop() {
    this.receiver?.drop?.();
    this.receiver = DISCARD;
    this.values = null;
  }

  ready() {
    const { receiver } = this;
    this.error ??= receiver?.error;
    if (receiver?.types !== undefined && waitsForTypes(this, [receiver])) return;
    this.settle(this.error, receiver?.given ?? receiver);
  }
}

/**
 * Asks for types that results have and that are not known.
 * @param {Request} request whose answer is complete; it settles when these are known
 * @param {Receiver[]} receivers of its results
 * @returns {boolean} whether it waits
 */
const waitsForTypes = (request, receivers) =>
  receivers.some(receiver => receiver?.types !== undefined) && later.learn.learn(request, receivers);

/** @type {Portal|undefined} what it opens, if that is not the unnamed portal */
QueryRequest.prototype.portal = undefined;
QueryRequest.prototype.maxRows = 0;

/**
 * What shares a request's Sync in front of it: BEGIN, SAVEPOINT, settings. It has neither a promise nor a place of its
 * own: if it fails, the server skips the request, which fails with its error.
 */
class Front extends QueryRequest {
  /** @param {Request} request that it is in front of */
  constructor(request, text, values, cache, receiver) {
    super(text, values, 0, cache, undefined, receiver);
    this.request = request;
    /** @type {function(Error|undefined)|undefined} publishes its end */
    this.publish = undefined;
  }

  encode(writer, statements) {
    super.encode(writer, statements, this.request);
  }
}

Front.prototype.internal = true;

module.exports = { DISCARD, Front, QueryRequest, waitsForTypes };
