'use strict';

const { protocolError } = require('../protocol/errors');
const { Request, describeType } = require('./request');
const { QueryRequest } = require('./query');

/** One query of a batch: without a Sync and a promise of its own. */
class BatchedQuery extends QueryRequest {
  encode(writer, statements) {
    this._bind(writer, statements);
    writer.executeAll();
  }
}

BatchedQuery.prototype.inBatch = true;

/**
 * Several queries that share one Sync: the server runs them as one implicit transaction, and ignores what is
 * left of them after an error.
 */
class BatchRequest extends Request {
  /** @param {BatchedQuery[]} queries */
  constructor(queries) {
    super();
    this.queries = queries;
    /** The query whose answer is coming. */
    this.index = 0;
  }

  /** The queries' texts, for tracers. */
  get text() { return this.queries.map(({ text }) => text).join('; '); }

  snapshot() { this._each(query => query.snapshot()); }

  encode(writer, statements) {
    this._each(query => query.encode(writer, statements));
    writer.sync();
    if (this.queries.length === 0) this.done = true;
  }

  /** Calls back for each query; an error gets the index of its query. */
  _each(callback) {
    this.queries.forEach((query, index) => {
      try {
        callback(query);
      } catch (error) {
        error.index = index;
        error.message = `queries[${index}]: ${error.message}`;
        throw error;
      }
    });
  }

  unsend(statements) {
    for (const query of this.queries.slice().reverse()) query.unsend(statements);
  }

  get passive() { return this.error !== undefined; }
  onlyReads() { return this.queries.every(query => query.onlyReads()); }

  discard(pipeline) {
    for (const query of this.queries) query.discard(pipeline);
  }

  message(pipeline, type, buf, start, end, count) {
    const query = this.queries[this.index];
    if (query === undefined && type !== 69) {
      throw protocolError(`unexpected message of type ${describeType(type)} after a batch`);
    }
    if (type === 69) return super.message(pipeline, type, buf, start, end, count);
    query.message(pipeline, type, buf, start, end, count);
    if (query.done) this.done = ++this.index === this.queries.length;
  }

  fail(error, pipeline) {
    const { index, queries } = this;
    // An error after the last query's end is one of the commit: of none in particular.
    error.index = index < queries.length ? index : undefined;
    super.fail(error, pipeline);
    if (index < queries.length) queries[index].fail(error, pipeline);
    // The server ignores what comes after the error: these have not been parsed, and those not closed.
    for (const { statement, evicted } of queries.slice(index + 1)) {
      if (!statement.described) pipeline.statements.delete(statement);
      if (evicted !== undefined) pipeline.close(evicted);
    }
  }

  /** Sent again where its first query failed of its statement: nothing had been carried out. */
  retry(pipeline) {
    return !this.settled && this.index === 0 && this.queries.length > 0 && this.queries[0].retry(pipeline);
  }

  again(pipeline) {
    for (const query of this.queries) query.again(pipeline);
    return super.again(pipeline);
  }

  ready(pipeline) {
    const { error, index } = this;
    if (error !== undefined && index < this.queries.length) {
      this.error = Object.assign(this.queries[index].reason(error), { index });
    }
    this.queries.forEach(({ receiver }, place) => {
      if (receiver.error === undefined || this.error !== undefined) return;
      this.error = receiver.error;
      Reflect.set(Object(this.error), 'index', place); // it is the caller's, and may be anything
    });
    super.ready(pipeline);
  }

  result() { return this.queries.map(query => query.result()); }
}

module.exports = { BatchRequest, BatchedQuery };
