'use strict';

const { State, backend, checkText, isPiece, kindOf, nameOf, placed, protocolError } = require('../protocol');
const { RowReader, readingOf } = require('../rows');
const { NAMES, NO_OPTIONS, checkOptions, statementOf } = require('../options');
const { QueryRequest, Request, copyDirection, waitsForTypes } = require('../pipeline');

/** Command tags of statements that an error undoes: a batch of these may be repeated. */
const UNDONE = new Set(['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'MERGE', 'SHOW', 'EMPTY']);

/** Maps the queries; an error gets the query's `index`. */
function mapQueries(queries, work) {
  return queries.map((query, index) => {
    try {
      return work(query, index);
    } catch (error) {
      throw placed(error, `queries[${index}]`, { index });
    }
  });
}

/** Whether a list of queries is one query, such as [text, values]. */
function isQuery(list) {
  const [text, values] = list;
  return (
    isPiece(list) ||
    (list.length === 2 && typeof text === 'string' && Array.isArray(values) && typeof values[0] !== 'string')
  );
}

/** Queries that share one Sync: one implicit transaction, of which the server ignores the rest after an error. */
class BatchRequest extends Request {
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
    this.queries = mapQueries(Array.from(queries), each => {
      if (typeof each === 'string' || isPiece(each)) each = [each];
      else if (!Array.isArray(each))
        throw new TypeError(`a query of a batch is a text or [text, values, options], not ${kindOf(each)}`);
      const [text, values, options] = statementOf(lease, ...each);
      if (options !== NO_OPTIONS) checkOptions(options, NAMES.batched);
      const { format = 0, cache = true, paramTypes, decode, names } = options;
      checkText(text, 'text');
      if (copyDirection(text) === 'in') throw new TypeError('COPY FROM STDIN cannot be part of a batch: use copyFrom');
      const receiver = decode === undefined && names === undefined ? undefined : new RowReader(readingOf(options));
      const checked = lease.keep(text, values);
      if (lease.scope === null) this.inputs.push([text, checked, options]);
      return new QueryRequest(text, checked, format, cache, paramTypes, receiver);
    });
    this.index = 0;
  }

  get result() {
    return this.queries.map(({ result }) => result);
  }

  get text() {
    return this.queries.map(({ text }) => text).join('; ');
  }

  snapshot() {
    mapQueries(this.queries, query => query.snapshot());
  }

  encode(writer, statements) {
    this.state = this.queries.length === 0 ? State.Done : State.Binding;
    this.encodeRest(writer, statements);
  }

  /** @param {QueryRequest} [asked] the first one, which has asked for the types of its parameters */
  encodeRest(writer, statements, asked) {
    mapQueries(this.queries, (query, index) => {
      if (index < this.index || this.asking !== undefined) return;
      query.cache &&= !this.disturbs; // behind one that may drop statements it has a Parse of its own
      if (query === asked) query.execute(writer, this);
      else query.encode(writer, statements, this);
    });
    if (this.asking === undefined) writer.sync();
  }

  /** Undoes the queries before one that has only asked: the server refuses to execute a portal that it does not have. */
  abandon(writer) {
    if (this.index > 0) writer.execute('none', 0);
    else this.index = this.queries.length;
    writer.sync();
  }

  get isRead() {
    return this.queries.every(query => query.isRead);
  }

  drop() {
    for (const query of this.queries) query.drop();
  }

  message(pipeline, type, buf, start, end, count) {
    const query = this.queries[this.index];
    if (type === backend.ErrorResponse) return this.takeError(pipeline, buf, start, end, query?.text);
    if (query === undefined) throw protocolError(`unexpected ${nameOf(type)} after a batch`);
    query.message(pipeline, type, buf, start, end, count);
    if (this.asking === query && query.state === State.Binding) this.proceed(pipeline);
    if (query.state === State.Done) this.index++;
    this.state = this.queries[this.index]?.state ?? State.Done;
  }

  get receiver() {
    return this.queries[this.index]?.receiver;
  }

  fail(error, pipeline) {
    const { index, queries } = this;
    const query = queries[index]; // none if the commit has failed
    query?.fail(error, pipeline);
    super.fail(query?.error ?? error);
    this.error.index = query && index;
    // The server ignores the statements behind an error.
    this.forgetParse(pipeline.statements);
  }

  forgetParse(statements) {
    for (const query of this.queries) query.forgetParse(statements);
  }

  skip(error, pipeline) {
    this.index = this.queries.length; // no query of it has failed
    super.skip(error, pipeline);
  }

  canResend() {
    const { index, queries } = this;
    return (
      index < queries.length &&
      queries[index].canResend() &&
      queries.every(({ values }) => values !== null) &&
      queries.slice(0, index).every(({ receiver: { cmd } }) => UNDONE.has(cmd))
    );
  }

  reset() {
    const { cache } = this.queries[this.index]; // the one that has failed
    super.reset();
    this.index = 0;
    for (const query of this.queries) {
      query.cache &&= cache;
      query.reset();
      if (query.receiver !== undefined) query.receiver.rows = [];
    }
  }

  get wants() {
    const wants = this.queries.flatMap(query => query.wants ?? []);
    return wants.length > 0 ? wants : undefined;
  }

  ready() {
    const receivers = this.queries.map(({ receiver }) => receiver);
    this.error ??= receivers.find(receiver => receiver?.error !== undefined)?.error;
    if (!waitsForTypes(this, receivers)) super.ready();
  }
}

module.exports = { BatchRequest };
