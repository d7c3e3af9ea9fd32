'use strict';

const { Buffer } = require('#platform');
const { PostgresError, protocolError } = require('../protocol/errors');
const { Request, describeType } = require('./request');
const { effectOf } = require('./settings');
const { checkEach, checkText, checkValues, snapshot } = require('../protocol/writer');

// What the answer has come to.
const PARSING = 0; // before BindComplete
const ROWS = 1;
const DONE = 2;
const COPYING = 3; // between CopyOutResponse and CopyDone
const COPIED = 4;

/** Takes the answer to a request that nobody waits for any more. */
const NOBODY = { inParts: true, start() {}, receiveData() {}, receivePart() {}, receive() {} };

/** Texts that change nothing, if the functions they call do not; a doubtful one is not among them. */
const READS = /^[\s(]*(select|values|table|show|with)\b/i;
const WRITES = /\b(insert|update|delete|merge|into|for|nextval|setval|set_config)\b|_lock/i;

/** Of Buffers among the values so many bytes are kept, in case the query has to be sent once more. */
const KEEP = 8192;

/**
 * Writes what the server must know of a statement before it is bound: Parse and Describe, and Close of the
 * statement whose place it takes.
 * @returns {Statement|undefined} the closed one
 */
function prepare(writer, statements, statement) {
  const evicted = statements.evict();
  if (evicted !== undefined) writer.close('S', evicted.name);
  writer.parse(statement.name, statement.text, statement.paramTypes);
  writer.describe('S', statement.name);
  statement.effect = effectOf(statement.text);
  statement.sent = true;
  return evicted;
}

/**
 * One use of the extended query protocol: [Close] [Parse Describe] Bind Execute Sync.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-EXT-QUERY
 */
class QueryRequest extends Request {
  /**
   * @param {object} query
   * @param {string} query.text
   * @param {Array|object} query.values
   * @param {number} query.format of the result: 0 text, 1 binary
   * @param {boolean} query.cache
   * @param {number[]} [query.paramTypes]
   * @param {object} query.receiver of the rows
   */
  constructor(text, values, format, cache, paramTypes, receiver) {
    super();
    this.text = text;
    this.values = values;
    this.format = format;
    this.cache = cache;
    this.paramTypes = paramTypes;
    this.receiver = receiver;
    this.statement = null;
    this.stage = PARSING;
  }

  snapshot() {
    checkText(this.text, 'text');
    checkValues(this.values);
    this.values = snapshot(this.values);
  }

  encode(writer, statements) {
    this._bind(writer, statements);
    writer.executeSync();
  }

  /** Writes [Close] [Parse Describe] Bind. */
  _bind(writer, statements, portal = '') {
    let { values } = this;
    checkValues(values);
    if (typeof this.text !== 'string') checkText(this.text, 'text');
    const statement = this.statement = statements.get(this.text, this.paramTypes, this.cache);
    this.stage = PARSING;
    if (this.parsing) { // it is sent again
      this.parsing = this.parsed = this.bound = false;
      this.evicted = undefined;
    }
    if (!statement.sent) {
      this.parsing = true;
      checkText(this.text, 'text');
      checkEach(values); // so that nothing is wrong with them once the cache has changed
      this.evicted = prepare(writer, statements, statement);
    }
    // Once sent again, it must be what it was.
    if (statement.name !== '' && Array.isArray(values)) this.values = values = values.slice();
    const names = portal === '' ? statement.bindNames : Buffer.from(`${portal}\0${statement.name}\0`, 'latin1');
    const binary = writer.bind(names, values, this.format);
    if (binary && this.values === values) this._keepBytes(values);
    if (statement.forgetsAll) statements.clear();
    if (statement.effect !== undefined) statements.affected(statement.effect);
  }

  /** The caller may change Buffers once they have been sent: small ones are kept as they were. */
  _keepBytes(values) {
    let left = KEEP;
    for (let i = 0; i < values.length; i++) {
      const value = values[i];
      if (!(value instanceof Uint8Array)) continue;
      left -= value.length;
      if (left < 0) {
        this.kept = false;
        return;
      }
      values[i] = Buffer.from(value);
    }
  }

  unsend(statements) {
    if (this.parsing) statements.delete(this.statement);
    if (this.evicted !== undefined) statements.restore(this.evicted);
  }

  message(pipeline, type, buf, start, end, count) {
    switch (type) {
      case 68: // D DataRow
        if (this.stage !== ROWS || this.statement.rowParser === null) break;
        return this.receiver.receiveData(buf, start, end, count, pipeline.reader.owned);
      case 67: // C CommandComplete
        if (this.stage !== ROWS && this.stage !== COPIED) break;
        return this._complete(pipeline, type, buf, start, end);
      case 73: // I EmptyQueryResponse
        if (this.stage !== ROWS || this.statement.rowParser !== null) break;
        return this._complete(pipeline, type, buf, start, end);
      case 50: // 2 BindComplete
        if (this.stage !== PARSING || this.bound) break;
        if (this.statement.described) return this._start(pipeline);
        if (!this.parsed) break;
        this.bound = true; // QuestDB says so before it describes the statement
        return;
      case 51: // 3 CloseComplete
        if (this.evicted === undefined || this.parsed) break;
        return;
      case 49: // 1 ParseComplete
        if (!this.parsing || this.parsed) break;
        this.parsed = true;
        return;
      case 116: // t ParameterDescription
        if (!this.parsed || this.statement.described) break;
        return;
      case 84: // T RowDescription
      case 110: // n NoData
        if (!this.parsed || this.statement.described) break;
        this.statement.describe(type === 84 ? buf.subarray(start, end) : null);
        if (this.bound) this._start(pipeline);
        return;
      case 72: // H CopyOutResponse
        if (this.stage !== ROWS || this.statement.rowParser !== null) break;
        this.stage = COPYING;
        return this.receiver.receive(type, buf, start, end);
      case 100: // d CopyData
        if (this.stage !== COPYING) break;
        return this.receiver.receiveData(buf, start, end, count, pipeline.reader.owned);
      case 99: // c CopyDone
        if (this.stage !== COPYING) break;
        this.stage = COPIED;
        return this.receiver.receive(type, buf, start, end);
      case 69: // E ErrorResponse
        return super.message(pipeline, type, buf, start, end);
    }
    throw protocolError(`unexpected message of type ${describeType(type)} in answer to a query`);
  }

  _complete(pipeline, type, buf, start, end) {
    this.stage = DONE;
    this.receiver.receive(type, buf, start, end);
    this.complete(pipeline);
  }

  _start(pipeline) {
    this.stage = ROWS;
    this.receiver.start(this.statement.rowParser, this.format, pipeline);
  }

  takesParts(type) {
    if (this.receiver.inParts !== true) return false;
    return type === 68 ? this.stage === ROWS && this.statement.rowParser !== null : this.stage === COPYING;
  }

  part(pipeline, type, buf, start, end, left) { this.receiver.receivePart(type, buf, start, end, left); }

  /** The command is complete. */
  complete() { this.done = true; }

  fail(error, pipeline) {
    super.fail(error);
    const { statement } = this;
    this.stale = this.stage === PARSING && isStale(error);
    if ((!statement.described || this.stale) && pipeline.statements.delete(statement) && error.code === '0A000') {
      pipeline.close(statement);
    }
    if (this.parsing && !statement.described) statement.failure = error;
    this.stage = DONE;
  }

  /**
   * What to reject with: where the statement does not exist because its Parse, sent by an earlier request, had
   * failed, that request's error tells more.
   * @param {PostgresError} error
   * @returns {PostgresError}
   */
  reason(error) {
    const { failure } = this.statement;
    if (error.code !== '26000' || failure === undefined) return error;
    return new PostgresError({ ...failure, message: failure.message });
  }

  get passive() { return this.error !== undefined; }
  onlyReads() { return READS.test(this.text) && !WRITES.test(this.text); }

  discard(pipeline) {
    if (this.receiver.stop !== undefined) this.receiver.stop(pipeline);
    this.receiver = NOBODY;
  }

  /**
   * A statement that the server has lost or must plan anew can be sent again: nothing was done yet, unless in a
   * transaction block, which has failed. Not so where the caller may have changed its large Buffers since. What was
   * sent behind it counts, too: the pipeline sees to that.
   */
  retry(pipeline) {
    return this.stale && !this.retried && !this.settled && pipeline.status === 'I' && this.kept;
  }

  again(pipeline) {
    this.retried = true;
    this.cache = false; // it must not depend on the Parse of another that may fail
    return super.again(pipeline);
  }

  ready(pipeline) {
    const { error } = this.receiver;
    if (error !== undefined && this.error === undefined) this.error = error;
    if (this.error !== undefined) this.error = this.reason(this.error);
    super.ready(pipeline);
  }

  result() { return this.receiver.target || this.receiver; }
}

Object.assign(QueryRequest.prototype, {
  /** Whether this request carries its statement's Parse. */
  parsing: false,
  /** Whether ParseComplete has come. */
  parsed: false,
  /** Whether BindComplete came before the description. */
  bound: false,
  /** @type {Statement|undefined} that it closes */
  evicted: undefined,
  /** Whether it failed of its statement, before anything was done. */
  stale: false,
  retried: false,
  /** Whether the values are what they were when they were sent. */
  kept: true
});

/**
 * 26000: the prepared statement does not exist; 0A000 of RevalidateCachedQuery: a cached plan must not change
 * its result type.
 */
function isStale(error) {
  return error.code === '26000' || (error.code === '0A000' && error.routine === 'RevalidateCachedQuery');
}

module.exports = { QueryRequest, ROWS, DONE };
