'use strict';

const { checkText, isPiece, kindOf, placed } = require('../protocol');
const { readerOf } = require('../rows');
const { NAMES, NO_OPTIONS, checkOptions, statementOf } = require('../options');
const { Flight, QueryRequest, copyDirection, executionOf } = require('../pipeline');

/** Command tags of statements that an error undoes: a batch of these may be repeated. */
const UNDONE = new Set(['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'MERGE', 'SHOW', 'EMPTY']);

const placedAt = (error, index) => placed(error, `queries[${index}]`, { index });

/** Maps the queries; an error gets the `index` of its query. A loop, since a stack has ten lines. */
function mapQueries(queries, work) {
  const mapped = [];
  for (let i = 0; i < queries.length; i++) {
    try {
      mapped.push(work(queries[i]));
    } catch (error) {
      throw placedAt(error, i);
    }
  }
  return mapped;
}

/** Whether a list of queries is one query, such as [text, values]. */
function isQuery(list) {
  const [text, values] = list;
  return (
    isPiece(list) ||
    (list.length === 2 && typeof text === 'string' && Array.isArray(values) && typeof values[0] !== 'string')
  );
}

/**
 * A Sync with queries in front of it: one implicit transaction, of which the server ignores the rest after an error.
 */
class BatchRequest extends Flight {
  /**
   * @param {Array<string|[string, Array, object]>} queries see Session.batch
   * @param {Scope|object} lease see Scope.run
   */
  constructor(queries, lease) {
    super();
    if (!Array.isArray(queries))
      throw new TypeError(`batch takes an array of [text, values, options], not ${kindOf(queries)}`);
    if (isQuery(queries)) throw new TypeError('batch takes an array of queries, not one query: write batch([query])');
    /** The queries for a repetition, on a lease that may repeat. */
    this.inputs = [];
    this.queries = mapQueries(queries, each => this.#queryOf(each, lease));
    this.putInFront(this.queries);
    if (this.queries.some(query => query.wants)) this.wants = this.queries.flatMap(query => query.wants ?? []);
  }

  #queryOf(each, lease) {
    if (typeof each === 'string' || isPiece(each)) each = [each];
    else if (!Array.isArray(each))
      throw new TypeError(`a query of a batch is a text or [text, values, options], not ${kindOf(each)}`);
    const [text, values, options] = statementOf(lease, ...each);
    if (options !== NO_OPTIONS) checkOptions(options, NAMES.batched);
    checkText(text, 'text');
    if (copyDirection(text) === 'in') throw new TypeError('COPY FROM STDIN cannot be part of a batch: use copyFrom');
    const checked = lease.inputOf(text, values);
    if (lease.sendsIn === null) this.inputs.push([text, checked, options]);
    return new QueryRequest(text, checked, executionOf(options), readerOf(options));
  }

  get result() {
    return this.queries.map(({ result }) => result);
  }

  get text() {
    return this.queries.map(({ text }) => text).join('; ');
  }

  textOf({ index }) {
    return this.queries[index]?.text ?? this.text;
  }

  snapshot() {
    mapQueries(this.queries, query => query.snapshot());
  }

  get isRead() {
    return this.queries.every(query => query.isRead);
  }

  drop() {
    for (const query of this.queries) query.drop();
  }

  /** The error of one of its queries, or of what is in front of them, or of the commit. */
  fail(error, pipeline, failed = this) {
    const index = this.queries.indexOf(failed);
    if (index >= 0) error.index = index;
    super.fail(error, pipeline, failed);
  }

  placed(error, command) {
    const index = this.queries.indexOf(command);
    return index < 0 ? error : placedAt(error, index);
  }

  canResend() {
    const {
      error: { index },
      queries
    } = this;
    return (
      queries[index]?.canResend() &&
      queries.every(query => query.hasValues) &&
      queries.slice(0, index).every(({ receiver: { cmd } }) => UNDONE.has(cmd))
    );
  }

  reset() {
    const { cache = true } = this.queries[this.error?.index]?.execution ?? {}; // of the one that has failed
    super.reset();
    this.putInFront(this.queries);
    for (const query of this.queries) {
      if (!cache) query.repeatUncached();
      query.reset();
      if (query.receiver !== undefined) query.receiver.rows = [];
    }
  }

  get receivers() {
    return this.queries.map(({ receiver }) => receiver);
  }
}

module.exports = { BatchRequest };
