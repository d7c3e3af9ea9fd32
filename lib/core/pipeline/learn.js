'use strict';

// The library's own question: what types are that are not built in. Nothing fails with it, and nothing waits for it but
// results that have such types.

const {
  State,
  backend: { CommandComplete, DataRow, RowDescription }
} = require('../protocol');
const { OWN, RowParser, RowReader } = require('../rows');
const { SimpleRequest } = require('./close');
const { lossErrors } = require('./errors');

/** @returns {string} a name as a literal of SQL, whatever standard_conforming_strings is */
const literal = name => `E'${name.replace(/['\\]/g, '$&$&')}'`;

/** Of a savepoint, and of a statement. */
const NAME = 'quickgres_types';

/** A condition: a type is not the system's, whose rows stay text; 400 of them in front of JSON would cost 15 ms. */
const OTHERS = "n.nspname NOT IN ('pg_catalog', 'information_schema')";

/**
 * What the wanted types are, and all types that they need: elements, base types, fields, bounds.
 * @param {string} which a condition
 */
const textOf = which => `WITH RECURSIVE wanted(id) AS (
  SELECT t.oid FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace WHERE ${which}
  UNION SELECT more.id FROM wanted JOIN pg_catalog.pg_type t ON t.oid = wanted.id CROSS JOIN LATERAL (
    SELECT t.typelem AS id
    UNION ALL SELECT t.typbasetype
    UNION ALL SELECT atttypid FROM pg_catalog.pg_attribute
      WHERE t.typtype = 'c' AND attrelid = t.typrelid AND attnum > 0 AND NOT attisdropped
    UNION ALL SELECT rngsubtype FROM pg_catalog.pg_range WHERE t.typtype = 'r' AND rngtypid = t.oid
    UNION ALL SELECT rngtypid FROM pg_catalog.pg_range r
      WHERE t.typtype = 'm' AND (pg_catalog.to_json(r) ->> 'rngmultitypid') = t.oid::text) more
  WHERE more.id >= ${OWN})
SELECT t.oid, t.typname, n.nspname, pg_catalog.pg_type_is_visible(t.oid),
  CASE WHEN t.typtype <> 'c' OR ${OTHERS} THEN t.typtype ELSE 'p' END,
  CASE WHEN t.typtype = 'm' THEN (SELECT rngtypid FROM pg_catalog.pg_range r
  WHERE (pg_catalog.to_json(r) ->> 'rngmultitypid') = t.oid::text) ELSE t.typbasetype END,
  (SELECT e.oid FROM pg_catalog.pg_type e
  WHERE e.oid = t.typelem AND e.typarray = t.oid AND e.typdelim = ',' AND (e.typtype <> 'c' OR ${OTHERS})),
  (SELECT rngsubtype FROM pg_catalog.pg_range WHERE t.typtype = 'r' AND rngtypid = t.oid),
  (SELECT prosrc = 'textsend' FROM pg_catalog.pg_proc WHERE oid = t.typsend),
  CASE WHEN t.typtype = 'c' AND ${OTHERS} THEN (
  SELECT pg_catalog.json_agg(pg_catalog.json_build_array(attname, atttypid::text) ORDER BY attnum)
  FROM pg_catalog.pg_attribute WHERE attrelid = t.typrelid AND attnum > 0 AND NOT attisdropped) END
FROM wanted JOIN pg_catalog.pg_type t ON t.oid = wanted.id JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace`;

/** Types of a database's own, and those of information_schema's columns. */
const ALL = `t.oid >= ${OWN} AND n.nspname <> 'pg_toast'
  AND (${OTHERS} OR (t.typtype <> 'c' AND (t.typelem = 0 OR t.oid IN
  (SELECT typarray FROM pg_catalog.pg_type WHERE typtype <> 'c'))))`;

/** Undoes the savepoint of a question, whether that has failed or not, so that the block is as it was. */
class UndoRequest extends SimpleRequest {
  constructor() {
    super(`ROLLBACK TO SAVEPOINT ${NAME}; RELEASE SAVEPOINT ${NAME}`);
  }
}

/** A simple Query, which every server and pooler takes. In a transaction block it is behind a savepoint of its own. */
class TypesRequest extends SimpleRequest {
  #inBlock = false;
  #reader;
  /** Called when it is answered or has failed, and with an error when it is lost or given up. */
  waiting = [];

  /**
   * @param {Types} types
   * @param {{all?: boolean, oids?: Iterable<number>, names?: string[]}} wanted
   */
  constructor(types, { all = false, oids = [], names = [] }) {
    super();
    this.types = types;
    this.all = all;
    this.oids = new Set(oids);
    this.names = new Set(names);
    /** @type {UndoRequest|undefined} is sent right behind it */
    this.undo = undefined;
  }

  /** Whether another question asks for nothing else. */
  covers({ all, oids, names }) {
    return (!all || this.all) && oids.every(oid => this.oids.has(oid)) && names.every(name => this.names.has(name));
  }

  get #which() {
    const which = this.all ? [`(${ALL})`] : [];
    if (this.oids.size > 0) which.push(`t.oid IN (${[...this.oids].join()})`);
    if (this.names.size > 0) {
      const names = [...this.names].map(literal).join();
      which.push(`(t.typname IN (${names}) AND pg_catalog.pg_type_is_visible(t.oid))`);
      which.push(`pg_catalog.concat(n.nspname, '.', t.typname) IN (${names})`);
    }
    return which.join(' OR ');
  }

  write(writer) {
    this.#inBlock = this.scope.pipeline.scopes.isInBlock;
    this.text = `${this.#inBlock ? `SAVEPOINT ${NAME}; ` : ''}${textOf(this.#which)}`;
    super.write(writer);
    if (!this.#inBlock) return;
    this.undo = new UndoRequest();
    this.undo.open(this.scope).catch(() => {}); // it fails only in a block that has failed before
  }

  message(pipeline, type, buf, start, end, count) {
    super.message(pipeline, type, buf, start, end);
    if (type === RowDescription) {
      this.#reader = new RowReader({ decode: false });
      this.#reader.start(RowParser.of(buf.subarray(start, end)), 0, pipeline);
    } else if (type === DataRow) this.#reader.receiveData(buf, start, end, count, pipeline.reader.owned);
    else if (type === CommandComplete) this.#reader?.receive(type, buf, start, end);
  }

  ready() {
    // What a transaction does not see yet may be there for the next one.
    if (this.error === undefined && this.#reader !== undefined) {
      this.types.take(this.#reader.arrays, this.#inBlock ? [] : this.oids);
      if (this.all) this.types.areAll = true;
    }
    this.settle();
  }

  settle(error) {
    super.settle(error);
    for (const over of this.waiting.splice(0)) over(error);
  }
}

for (const { prototype } of [TypesRequest, UndoRequest]) prototype.internal = true;

/** @returns {TypesRequest} the question, or one under way that covers it */
function questionOf(pipeline, wanted) {
  const last = pipeline.question;
  if (last?.pending && last.covers(wanted)) return last;
  return (pipeline.question = new TypesRequest(pipeline.common.types, wanted));
}

/**
 * What has to be asked in front of a request.
 * @param {Array<'all'|Map|object>} wants all types, or maps with names of types
 * @returns {TypesRequest|undefined} undefined if it is known, or was asked for in front of another request
 */
function questionBefore(pipeline, wants) {
  const { types } = pipeline.common;
  const all = wants.includes('all') && !types.areAll;
  const names = wants.flatMap(each => (each === 'all' ? [] : types.unknownIn(each)));
  if (!all && names.length === 0) return undefined;
  const question = questionOf(pipeline, { all, oids: [], names });
  return question.scope === null ? question : undefined;
}

/**
 * Asks for the types of results that are there, and reads them again when the answer is.
 * @param {Flight} request that they are of
 * @param {Receiver[]} receivers
 * @returns {boolean} whether the request has to wait
 */
function learn(request, receivers) {
  const { pipeline } = request.scope;
  const lacking = receivers.filter(receiver => receiver?.lacking?.length > 0);
  if (lacking.length === 0 || request.error !== undefined || !request.pending) return false;
  // In a failed block there are no answers, and in a COPY the answer might have to wait for the caller.
  if (pipeline.status === 'E' || pipeline.socket === null) return false;
  for (let each = pipeline.head; each !== null; each = each.next)
    if (each.state === State.CopyInSent || each.state === State.CopyIn) return false;
  const oids = [...new Set(lacking.flatMap(receiver => receiver.lacking))];
  const question = questionOf(pipeline, { oids, names: [] });
  question.waiting.push(error => {
    for (const receiver of lacking) {
      receiver.retype?.();
      request.rejectWith(receiver.error);
    }
    // With strings in place of other values, the result would look like a whole one.
    request.settle(pipeline.socket ? undefined : lossErrors('the connection was lost', error.code, error, true)());
  });
  if (question.scope !== null) return true;
  pipeline.putFirst(question, pipeline.scopes.active); // whoever owns the connection
  pipeline.pump();
  return true;
}

/**
 * Asks on a connection that has nothing else to do.
 * @param {Types} types that learn the answer
 * @param {{oids?: number[], names?: string[]}} wanted
 * @returns {Promise} resolves when the question is over, also if it has failed
 */
function askFor(pipeline, types, wanted) {
  const question = new TypesRequest(types, wanted);
  return new Promise(resolve => {
    question.waiting.push(resolve);
    pipeline.putFirst(question);
    pipeline.pump();
  });
}

module.exports = { NAME, askFor, learn, questionBefore, textOf };
