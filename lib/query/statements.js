'use strict';

const { Buffer } = require('#platform');
const { RowParser } = require('../rows/row-parser');

const NO_TYPES = [];

/** So many effects are told apart. */
const MOST_EFFECTS = 64;

/** The text from its first word on, without white space, comments (which nest) and semicolons before it. */
function withoutComments(text) {
  let off = 0;
  for (let depth = 0; off < text.length;) {
    if (text.startsWith('/*', off)) {
      depth++;
      off += 2;
    } else if (depth > 0 && text.startsWith('*/', off)) {
      depth--;
      off += 2;
    } else if (depth === 0 && text.startsWith('--', off)) {
      const line = text.indexOf('\n', off);
      off = line < 0 ? text.length : line;
    } else if (depth > 0 || /[\s;]/.test(text[off])) off++;
    else break;
  }
  return text.slice(off);
}

/**
 * Whether a text is a COPY … FROM STDIN. STDIN may be anywhere in it: taking a query for one that is none only
 * costs it its company on the wire, so this need not be a parser.
 */
function isCopyIn(text) {
  const first = text.charCodeAt(0) | 32;
  if (first > 99 && first < 123) return false; // d … z: what most texts begin with
  return /^[\s;]*(?:copy\b|--|\/\*)/i.test(text) && /^copy\b[^]*\bfrom\b[^]*\bstd(?:in|out)\b/i.test(withoutComments(text));
}

/** Whether a text is a COPY … TO STDOUT; what else it may be is found out when the server answers. */
function isCopyOut(text) {
  return typeof text === 'string' && /^copy\b[^]*\bto\b[^]*\bstd(?:in|out)\b/i.test(withoutComments(text));
}

/** Whether a text makes the server forget all prepared statements. */
function forgetsAll(text) {
  return /^[\s;]*(?:d|--|\/\*)/i.test(text) &&
    /^(?:discard\s+all|deallocate\s+(?:prepare\s+)?all)\b/i.test(withoutComments(text));
}

/** Whether the columns of a text's result are those of what it names, which may be something else the next time. */
function borrowsColumns(text) {
  return /^[\s;]*(?:fetch\b|execute\b|--|\/\*)/i.test(text) && /^(?:fetch|execute)\b/i.test(withoutComments(text));
}

/** A query text that the server has parsed, or is about to: a prepared statement, named or unnamed. */
class Statement {
  /**
   * @param {string} name '' for the unnamed one
   * @param {string} text
   * @param {number[]} paramTypes
   * @param {string} key in the cache
   */
  constructor(name, text, paramTypes, key) {
    this.name = name;
    this.text = text;
    this.paramTypes = paramTypes;
    this.key = key;
    /** Bind's beginning: the unnamed portal and the statement. */
    this.bindNames = Buffer.from(`\0${name}\0`, 'latin1');
    /** Whether Parse has been written. */
    this.sent = false;
    /** Whether ParseComplete and a description have come. */
    this.described = false;
    /** @type {PostgresError|undefined} why the server has not parsed it */
    this.failure = undefined;
    /** @type {RowParser|null} null for a statement without rows */
    this.rowParser = null;
    this.forgetsAll = forgetsAll(text);
    /** @type {string|undefined} what it may change for others, see settings.js; known when it is parsed */
    this.effect = undefined;
    this.used = 0;
    /** Whether a result of it was a large one, see queryTo. */
    this.large = false;
  }

  /** Takes the statement's RowDescription, or NoData when buf is null. */
  describe(buf, start) {
    this.rowParser = buf === null ? null : new RowParser(buf, start);
    this.described = true;
  }
}

/**
 * The prepared statements of one connection: by text and parameter types, at most `limit`, the least recently
 * used one closed on the server when another needs its place.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-EXT-QUERY
 */
class Statements {
  /**
   * @param {number} limit 0: every statement is the unnamed one
   * @param {string} [tag=''] ends every name. Clients of a pooler share the server's sessions: one must not find
   *   another's statement under the name of its own
   */
  constructor(limit, tag = '') {
    this.limit = limit;
    this.tag = tag;
    this._byKey = new Map();
    /** @type {Set<string>|null} effects of what was sent since somebody looked */
    this.effects = null;
    this._named = 0;
    this._uses = 0;
  }

  /**
   * @param {string} text
   * @param {number[]|undefined} paramTypes OIDs
   * @param {boolean} cache false: the unnamed statement
   * @returns {Statement} to be parsed when it is not `sent`
   */
  get(text, paramTypes = NO_TYPES, cache = true) {
    if (!cache || this.limit === 0) return new Statement('', text, paramTypes, '');
    const key = paramTypes.length === 0 ? text : `${paramTypes.join()}\0${text}`;
    let statement = this._byKey.get(key);
    if (statement === undefined) {
      if (borrowsColumns(text)) return new Statement('', text, paramTypes, '');
      statement = new Statement(`s${++this._named}${this.tag}`, text, paramTypes, key);
      this._byKey.set(key, statement);
    }
    statement.used = ++this._uses;
    return statement;
  }

  /**
   * Takes the least recently used statement out when there is one too many.
   * @returns {Statement|undefined} to be closed on the server
   */
  evict() {
    if (this._byKey.size <= this.limit) return undefined;
    let oldest;
    for (const statement of this._byKey.values()) {
      if (oldest === undefined || statement.used < oldest.used) oldest = statement;
    }
    this._byKey.delete(oldest.key);
    return oldest.sent ? oldest : undefined;
  }

  /**
   * Forgets a statement that the server does not have (any more); the next use of its text parses anew.
   * @returns {boolean} false if it was forgotten already
   */
  delete(statement) {
    return this._byKey.get(statement.key) === statement && this._byKey.delete(statement.key);
  }

  /** Takes a statement back in that was taken out, but not closed. */
  restore(statement) { this._byKey.set(statement.key, statement); }

  /**
   * Something is sent that may change the answers to others.
   * @param {string} effect see settings.js
   */
  affected(effect) {
    if (this.effects === null) this.effects = new Set();
    this.effects.add(this.effects.size < MOST_EFFECTS ? effect : '*');
  }

  /** Forgets all that was sent, since DISCARD ALL or DEALLOCATE ALL is sent now. */
  clear() { this._byKey.clear(); }

  /** Forgets all that the server has parsed so far, since it has forgotten it; not what is on its way. */
  clearDescribed() {
    for (const statement of this._byKey.values()) if (statement.described) this.delete(statement);
  }
}

module.exports = { Statement, Statements, forgetsAll, withoutComments, isCopyIn, isCopyOut };
