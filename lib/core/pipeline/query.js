'use strict';

const {
  BARE,
  List,
  NEXT,
  State,
  backend,
  checkText,
  checkValues,
  nextState,
  protocolError,
  snapshot,
  withTexts
} = require('../protocol');
const { RowReader } = require('../rows');
const { explained, isStale } = require('./errors');
const { Request } = require('./request');

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
 */

/** Takes a result that nothing wants. */
const DISCARD = { start() {}, receiveData() {}, receive() {} };

/** @param {function(number): boolean} [takes] whether a parameter takes JSON */
const hasList = (values, takes = () => true) =>
  Array.isArray(values) && values.some((value, i) => value instanceof List && takes(i));

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
    this.values = Array.isArray(values) && values.length < 65536 && values.some(isObject) ? withTexts(values) : values;
    this.format = format;
    this.cache = cache;
    this.paramTypes = paramTypes;
    this.receiver = receiver;
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

  encode(writer, statements) {
    this.bind(writer, statements);
    writer.execute('', 0);
    writer.sync();
  }

  bind(writer, statements, portal = '', carrier = this) {
    const { text, values } = this;
    if (typeof text !== 'string') checkText(text, 'text');
    if (!Array.isArray(values) || values.length > 65535) checkValues(values);
    const statement = (this.statement = statements.get(text, this.paramTypes, this.cache, carrier));
    const parses = (this.parses = !statement.sent);
    if (parses) {
      checkText(text, 'text');
      if (!this.internal) carrier.checkStatement(text);
      for (const name of statement.closes) writer.close('S', name);
      writer.parse(statement.name, text, statement.paramTypes);
      writer.describe('S', statement.name);
      statements.parsed(statement);
      // The answer tells whether a list is JSON: what is sent behind it would keep it from being repeated.
      if (hasList(values)) carrier.barrier = true;
    }
    const names = portal === '' ? statement.bindNames : Buffer.from(`${portal}\0${statement.name}\0`, 'latin1');
    if (this.json !== undefined) statement.json ??= this.json;
    const binary = writer.bind(names, values, this.format, statement);
    this.state = !parses ? State.Binding : statement.closes.length > 0 ? State.ClosingFirst : State.Parsing;
    if ((statement.disturbs || statement.controlsBlock) && !this.internal) carrier.mark(statement);
    // A repetition needs the same values.
    if (statement.name === '' || !Array.isArray(values)) return;
    this.values = binary ? snapshot(values, KEPT_BYTES) : values.slice();
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

  /** Notes whether it may succeed when it is sent once more: with a new Parse, or with a list as JSON. */
  noteStale(error, bound) {
    const { cache, parses, statement, values } = this;
    // With the types known, a list is JSON.
    const isList =
      cache &&
      parses &&
      error.code === '22P02' &&
      this.json === undefined &&
      hasList(values, i => statement.takesJson(i));
    if (isList) this.json = statement.json;
    this.stale = !bound && (isList || (cache && isStale(error)));
    this.cache = isList; // otherwise it does not rely on a Parse that may fail
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
    this.settle(this.error, receiver?.given ?? receiver);
  }
}

/** @type {Set<number>|undefined} the json among its parameters, if its first answer was that a list is none */
QueryRequest.prototype.json = undefined;

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
    this.bind(writer, statements, '', this.request);
    writer.execute('', 0);
  }
}

Front.prototype.internal = true;

module.exports = { DISCARD, Front, QueryRequest };
