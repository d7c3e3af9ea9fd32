'use strict';

const { ConnectionError } = require('../protocol');
const { OWN } = require('../rows');
const { isStale } = require('./errors');
const { firstWord, withoutHidden } = require('./sql');

const NO_TYPES = [];
const NO_NAMES = Object.freeze([]);

/** The most characters of one text with a name and of all: a server process needs up to 65 bytes for each. */
const LONGEST = 1 << 14;
const MOST = 1 << 19;

/** First words of statements with a plan, which alone are worth a name. */
const PLANNED = new Set(['select', 'insert', 'update', 'delete', 'merge', 'values', 'table', 'with']);

/** SQLSTATEs of changed or missing objects. */
const OF_TYPES = /^(?:0A|26|42|XX)/;

/** First words of statements that neither drop prepared statements nor change their columns. */
const HARMLESS = new Set([
  ...PLANNED,
  'analyze',
  'begin',
  'checkpoint',
  'close',
  'commit',
  'copy',
  'declare',
  'end',
  'explain',
  'fetch',
  'listen',
  'lock',
  'move',
  'notify',
  'release',
  'savepoint',
  'show',
  'start',
  'truncate',
  'unlisten',
  'vacuum'
]);

/** First words of statements that may begin or end a transaction block. */
const CONTROLLING = /^(?:abort|begin|commit|end|prepare|rollback|start)$/;

/** First words of statements that only read, unless they call a function that writes. */
const READING = /^(?:select|show|table|values)$/;

/** Statements that set the encoding, and those that set another one than UTF8, which is the default. */
const ENCODING = /\bset\s+(?:(?:local|session)\s+)?(?:client_encoding\s*(?:=|to\b)|names\b)/i;
const OTHER_ENCODING = new RegExp(`${ENCODING.source}(?!\\s*(?:['"]?(?:utf.?8|unicode)|default|;|$))`, 'i');

/** The most texts without a name of which the types of the parameters are known. */
const LEARNED = 256;

const keyOf = (text, paramTypes) => (paramTypes.length === 0 ? text : `${paramTypes.join()}\0${text}`);

const LOST =
  'a pooler in transaction mode loses prepared statements: set statement_cache: 0, ' +
  'or max_prepared_statements in PgBouncer';

/** A query text that the server has parsed, or will parse: a prepared statement, named or unnamed. */
class Statement {
  /**
   * @param {string} name '' for the unnamed one
   * @param {string} key in the cache
   * @param {string} word the first one of the text
   */
  constructor(name, text, paramTypes, key, word) {
    this.name = name;
    this.text = text;
    this.paramTypes = paramTypes;
    this.key = key;
    /** The beginning of Bind: the unnamed portal and the statement. */
    this.bindNames = Buffer.from(`\0${name}\0`, 'latin1');
    this.sent = false;
    /** @type {RowParser|null|undefined} null without columns; undefined before the description */
    this.rowParser = undefined;
    /** @type {number[]|undefined} the types of the parameters, once they are known */
    this.oids = undefined;
    /** @type {PostgresError|undefined} the error of Parse */
    this.failure = undefined;
    /** @type {Flight|null} the one with its Parse, until the server has described it */
    this.flight = null;
    /** The names of the dropped statements that are closed in front of its Parse. */
    this.closes = NO_NAMES;
    this.used = 0;
    this.isRead = READING.test(word);
    /** Whether it may drop prepared statements, or change their columns. */
    this.disturbs = !HARMLESS.has(word);
    this.controlsBlock = CONTROLLING.test(word);
  }

  /** Takes the ParameterDescription in buf[start … end). */
  describeParameters(buf, start, end) {
    this.oids = [];
    for (let off = start + 7; off + 4 <= end; off += 4) this.oids.push(buf.readUInt32BE(off));
  }

  /** @returns {number} the type of a parameter, 0 if it is not known */
  typeOf(index) {
    return this.paramTypes[index] || (this.oids?.[index] ?? 0);
  }

  /** @param {RowParser|null} rowParser null without columns */
  describe(rowParser) {
    this.rowParser = rowParser;
    this.flight = null;
  }
}

/**
 * The prepared statements of one connection by text and parameter types. Above `limit` and MOST, the least recently
 * used one is closed.
 */
class Statements {
  /** Whether the process was warned of a pooler. */
  static hasWarned = false;

  #byKey = new Map();
  #learned = new Map(); // the types of parameters, by the key of a text without a name
  #characters = 0;
  #named = 0;
  #uses = 0;

  /**
   * @param {number} limit 0: every statement is the unnamed one
   * @param {string} [tag=''] ends every name, so that clients that share a session through a pooler do not share names
   */
  constructor(limit, tag = '') {
    this.limit = limit;
    this.tag = tag;
    /** The names of dropped statements, which the next Parse of a named one closes. */
    this.closing = [];
    /**
     * @type {Flight|undefined} the last sent one that may drop statements; until it is over, others carry their
     * own Parse
     */
    this.disturbing = undefined;
    /**
     * @type {Flight|undefined} the last sent one that may begin a block or end that of a transaction, until it is
     * over
     */
    this.control = undefined;
    /** @type {Statement|undefined} the statement of the last Parse, while only uses of it were sent since */
    this.lastParsed = undefined;
    /** @type {Settings|undefined} of the last sent flight */
    this.settings = undefined;
    /** See Pipeline. */
    this.common = { isPooled: false };
  }

  /**
   * Finds the statement for a query. A Parse under way may fail, or be skipped after an earlier error. A later query
   * therefore relies on it only in a run of one text, or in the flight that has it; otherwise the query uses the
   * unnamed statement.
   * @param {boolean} [cache=true] false: the unnamed statement
   * @param {Flight|null} [flight] that the query is in
   * @returns {Statement} to be parsed unless it is `sent`
   */
  get(text, paramTypes = NO_TYPES, cache = true, flight = null) {
    if (!cache || this.limit === 0 || this.common.isPooled || this.disturbing !== undefined)
      return this.#unnamed(text, paramTypes);
    const key = paramTypes.length === 0 ? text : keyOf(text, paramTypes);
    if (key.length > LONGEST) return this.#unnamed(text, paramTypes);
    const statement = this.#byKey.get(key) ?? this.#add(text, paramTypes, key, flight);
    statement.used = ++this.#uses;
    const mayRely = !statement.sent || statement.rowParser !== undefined;
    return mayRely || statement === this.lastParsed || statement.flight === flight
      ? statement
      : this.#unnamed(text, paramTypes);
  }

  /** Makes a named statement, if the text is worth it. */
  #add(text, paramTypes, key, flight) {
    const word = firstWord(text);
    if (!PLANNED.has(word)) return this.#unnamed(text, paramTypes, word);
    this.#characters += key.length;
    while (this.#byKey.size === this.limit || this.#characters > MOST) this.#evict();
    const statement = new Statement(`s${++this.#named}${this.tag}`, text, paramTypes, key, word);
    this.#byKey.set(key, statement);
    statement.flight = flight;
    statement.closes = this.closing;
    this.closing = [];
    return statement;
  }

  /** Makes one without a name, with the types that were `learned` of an earlier one, which may have changed. */
  #unnamed(text, paramTypes, word = firstWord(text)) {
    const statement = new Statement('', text, paramTypes, '', word);
    if (this.#learned.size > 0 && this.disturbing === undefined && this.settings === undefined)
      statement.oids = statement.learned = this.#learned.get(keyOf(text, paramTypes));
    return statement;
  }

  /** Keeps what a request has asked for, which a statement without a name would forget. */
  learn({ oids, name, paramTypes, text }) {
    if (name !== '' || this.settings !== undefined || text.length > LONGEST) return;
    if (this.#learned.size === LEARNED) this.#learned.clear();
    this.#learned.set(keyOf(text, paramTypes), oids);
  }

  #evict() {
    let oldest;
    for (const statement of this.#byKey.values()) {
      if (oldest === undefined || statement.used < oldest.used) oldest = statement;
    }
    this.close(oldest);
  }

  /** The Parse of a statement was written. @param {boolean} [internal] what is behind it may rely on the one before */
  parsed(statement, internal = false) {
    statement.sent = true;
    if (!internal) this.lastParsed = statement;
  }

  /** A flight that may drop statements was written. */
  disturbedBy(flight) {
    this.disturbing = flight;
  }

  /** Forgets a statement that the server does not have. @returns {boolean} whether it was known */
  forget(statement) {
    const isKnown = this.#byKey.get(statement.key) === statement && this.#byKey.delete(statement.key);
    if (isKnown) this.#characters -= statement.key.length;
    return isKnown;
  }

  /** Forgets a statement whose Parse was not sent, or has failed, and with it what was to be closed. */
  unsent(statement) {
    this.forget(statement);
    this.closing.push(...statement.closes);
    statement.closes = NO_NAMES;
  }

  /** Forgets a statement that the server has, and closes it. */
  close(statement) {
    if (this.forget(statement)) this.closing.push(statement.name);
  }

  /**
   * A query of a statement has failed. Its statement is closed if its types may have changed since Parse. Errors of the
   * data (23505, 23514) come after BindComplete and do not indicate that.
   * @param {boolean} parses whether the query has carried its Parse
   * @param {boolean} bound whether BindComplete has come
   */
  failed(statement, error, parses, bound) {
    if (error.code === '26000' && !bound) this.#missed(statement, error);
    if (parses && statement.rowParser === undefined) {
      statement.failure = error;
      this.unsent(statement);
    } else if (bound ? OF_TYPES.test(error.code) : isStale(error)) {
      this.#learned.clear();
      if (!parses) this.close(statement);
    }
  }

  /**
   * The server does not know a statement (26000). If it has prepared it, and was not asked to close it, each
   * transaction may have another server, behind a pooler. With names, each of them would keep what was prepared there.
   */
  #missed(statement, error) {
    if (statement.rowParser === undefined || this.#byKey.get(statement.key) !== statement) return;
    error.hint ??= LOST;
    if (this.common.isPooled) return;
    this.common.isPooled = true;
    if (Statements.hasWarned) return;
    Statements.hasWarned = true;
    globalThis.process?.emitWarning?.(`statements have no names from now on: ${LOST}`, 'QuickgresWarning');
  }

  /** @returns {boolean|undefined} whether a list is JSON; undefined if that is not known */
  takesJson(statement, index) {
    const oid = statement.typeOf(index);
    if (oid < OWN) return oid === 0 ? undefined : oid === 114 || oid === 3802;
    const { types } = this.common;
    return types.has(oid) ? types.isJson(oid) : undefined;
  }

  /** Handles commands after which the server has no statements, or sends another encoding. */
  afterCommand(tag, text) {
    this.#learned.clear();
    // The server reports a change at ReadyForQuery, too late for text in the same answer.
    if (tag === 'SET' && OTHER_ENCODING.test(text) && ENCODING.test(withoutHidden(text))) {
      throw new ConnectionError('client_encoding was set to another encoding: this library needs UTF8');
    }
    if (tag !== 'DISCARD ALL' && tag !== 'DEALLOCATE ALL') return;
    this.#byKey.clear();
    this.#characters = 0;
    this.closing = [];
  }
}

module.exports = { Statement, Statements };
