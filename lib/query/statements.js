'use strict';

const { ConnectionError } = require('../protocol');
const { RowParser } = require('../rows');
const { firstWord } = require('./sql');

const NO_TYPES = [];

/** First words of what the server plans: only these are worth a named statement. */
const PLANNED = new Set(['select', 'insert', 'update', 'delete', 'merge', 'values', 'table', 'with']);

/** SQLSTATEs of what has gone or changed; at Bind, also those of values that a type does not take. */
const OF_TYPES = /^(?:0A|26|42|XX)/;
const AT_BIND = /^(?:0A|2[236]|42|XX)/;

/** First words of what leaves prepared statements and the columns of their results as they are. */
const HARMLESS = new Set([...PLANNED, 'analyze', 'begin', 'checkpoint', 'close', 'commit', 'copy', 'declare', 'end',
  'explain', 'fetch', 'listen', 'lock', 'move', 'notify', 'release', 'savepoint', 'show', 'start', 'truncate',
  'unlisten', 'vacuum']);

/** First words of what may begin a transaction block. */
const BEGINNING = new Set(['begin', 'start']);

/** First words of what only reads, unless a function that it calls writes. */
const READING = new Set(['select', 'table', 'values', 'show']);

/** What sets the encoding. The server reports it at ReadyForQuery: too late for what comes with it in one answer. */
const OTHER_ENCODING = /\bset\s+(?:(?:local|session)\s+)?(?:client_encoding\s*(?:=|to\b)|names\b)(?!\s*['"]?(?:utf-?8|unicode))/i;

/** A query text that the server has parsed, or is about to: a prepared statement, named or unnamed. */
class Statement {
  /**
   * @param {string} name '' for the unnamed one
   * @param {string} text
   * @param {number[]} paramTypes
   * @param {string} key in the cache
   * @param {string} word the first one of the text
   */
  constructor(name, text, paramTypes, key, word) {
    this.name = name;
    this.text = text;
    this.paramTypes = paramTypes;
    this.key = key;
    /** Bind's beginning: the unnamed portal and the statement. */
    this.bindNames = Buffer.from(`\0${name}\0`, 'latin1');
    /** Whether Parse has been written. */
    this.sent = false;
    /** @type {RowParser|null|undefined} null for a statement without columns; undefined before its description */
    this.rowParser = undefined;
    /** How many parameters it has; undefined before its description. */
    this.parameters = undefined;
    /** @type {PostgresError|undefined} why the server has not parsed it */
    this.failure = undefined;
    /** @type {BatchRequest|null} that carries its Parse */
    this.batch = null;
    this.used = 0;
    this.reads = READING.has(word);
    /** Whether it may drop prepared statements, or change the columns of what they return. */
    this.disturbs = !HARMLESS.has(word);
    this.begins = BEGINNING.has(word);
  }

  /** Takes the statement's RowDescription in buf[start …), or NoData where buf is null. */
  describe(buf, start, end) { this.rowParser = buf === null ? null : RowParser.of(buf.subarray(start, end)); }
}

/**
 * The prepared statements of one connection: by text and parameter types, at most `limit`; when another needs its
 * place, the least recently used one is to be closed on the server.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-EXT-QUERY
 */
class Statements {
  #byKey = new Map();
  #named = 0;
  #uses = 0;

  /**
   * @param {number} limit 0: every statement is the unnamed one
   * @param {string} [tag=''] ends every name. Clients of a pooler share the server's sessions: one must not find
   *   another's statement under the name of its own
   */
  constructor(limit, tag = '') {
    this.limit = limit;
    this.tag = tag;
    /** Names of statements that the server has and nobody uses any more. */
    this.closing = [];
    /** @type {Request|undefined} the last sent that may drop statements: until it is over, others carry their own Parse */
    this.disturbing = undefined;
    /** @type {Request|undefined} the last sent that may begin a block, or ends that of a transaction, until it is over */
    this.turning = undefined;
    /** @type {Statement|undefined} whose Parse was sent last, while nothing but uses of it were sent since */
    this.lastParsed = undefined;
  }

  /**
   * The statement for a query. A Parse that is still under way may fail, or be skipped after an error before it;
   * so a later query relies on it only where nothing else can come in between: in a run of one text, or in the
   * batch that carries it. Anything else gets the unnamed statement.
   * @param {string} text
   * @param {number[]} [paramTypes] OIDs
   * @param {boolean} [cache=true] false: the unnamed statement
   * @param {BatchRequest|null} [batch] that the query is part of
   * @returns {Statement} to be parsed where it is not `sent`
   */
  get(text, paramTypes = NO_TYPES, cache = true, batch = null) {
    if (!cache || this.limit === 0 || this.disturbing !== undefined) return this.#unnamed(text, paramTypes);
    const key = paramTypes.length === 0 ? text : `${paramTypes.join()}\0${text}`;
    const statement = this.#byKey.get(key) ?? this.#add(text, paramTypes, key);
    statement.used = ++this.#uses;
    const answered = !statement.sent || statement.rowParser !== undefined;
    return answered || statement === this.lastParsed || (batch !== null && statement.batch === batch) ? statement
      : this.#unnamed(text, paramTypes);
  }

  /** A new named statement, where the text is worth it and there is a place. */
  #add(text, paramTypes, key) {
    const word = firstWord(text);
    if (!PLANNED.has(word) || this.closing.length >= this.limit) return this.#unnamed(text, paramTypes, word);
    if (this.#byKey.size === this.limit) this.#evict();
    const statement = new Statement(`s${++this.#named}${this.tag}`, text, paramTypes, key, word);
    this.#byKey.set(key, statement);
    return statement;
  }

  #unnamed(text, paramTypes, word = firstWord(text)) { return new Statement('', text, paramTypes, '', word); }

  #evict() {
    let oldest;
    for (const statement of this.#byKey.values()) {
      if (oldest === undefined || statement.used < oldest.used) oldest = statement;
    }
    this.close(oldest);
  }

  /** Forgets a statement that the server does not have. @returns {boolean} whether it was known */
  forget(statement) { return this.#byKey.get(statement.key) === statement && this.#byKey.delete(statement.key); }

  /** Forgets a statement that the server has. */
  close(statement) { if (this.forget(statement)) this.closing.push(statement.name); }

  /**
   * A statement that was parsed before has failed: where its types may have changed since, its text is parsed again
   * the next time. Errors of the data (23505, 23514) come after BindComplete and do not say so.
   * @param {Statement} statement
   * @param {string} code of the error
   * @param {boolean} bound whether BindComplete has come
   */
  doubt(statement, code, bound) { if ((bound ? OF_TYPES : AT_BIND).test(code)) this.close(statement); }

  /**
   * A command is complete, perhaps one by which the server forgets all statements, or sends other text than we read.
   * @throws {ConnectionError}
   */
  afterCommand(tag, text) {
    if (tag === 'SET' && OTHER_ENCODING.test(text)) {
      throw new ConnectionError('client_encoding was set to another one: all text here is UTF8');
    }
    if (tag !== 'DISCARD ALL' && tag !== 'DEALLOCATE ALL') return;
    this.#byKey.clear();
    this.closing = [];
  }
}

module.exports = { Statement, Statements };
