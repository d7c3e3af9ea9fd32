'use strict';

const { LEASE } = require('./internal');
const { UsageError, checkText, isRecord, keysOf, kindOf } = require('./protocol');
const { PLAIN, firstWord, isLocalSet, promised, statementsOf, submitIn } = require('./pipeline');
const { DISCARD, InternalQuery } = require('./requests');

/** The texts that set so many settings, by their number, up to a bound. */
const TEXTS = [];
const MOST = 16;

/**
 * First words of statements that may end the transaction of the settings, or outlive it; and of those that end a block
 * or its settings.
 */
const ESCAPING = /^(?:abort|begin|call|commit|declare|discard|do|end|prepare|reset|rollback|set|start)$/;
const ENDING = /^(?:abort|commit|end|reset)$/;

/** PREPARE of a statement, and ROLLBACK to a savepoint. */
const PREPARE = /^prepare\s+(?!transaction\b)\w/i;
const ROLLBACK_TO = /^rollback\s+(?:(?:work|transaction)\s+)?to\b/i;

function escapes(text, inBlock) {
  const word = firstWord(text);
  if (!inBlock || ENDING.test(word)) return ESCAPING.test(word);
  if (!/^(?:rollback|set|prepare)$/.test(word)) return false;
  const statement = statementsOf(text).find(firstWord).trimStart();
  if (word === 'set') return !isLocalSet(statement);
  return !(word === 'prepare' ? PREPARE : ROLLBACK_TO).test(statement);
}

function valueOf(value, name) {
  const isValue = typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
  const kind = typeof value === 'number' ? value : kindOf(value);
  if (!isValue) throw new TypeError(`settings['${name}'] must be a string, a number or a boolean, not ${kind}`);
  if (typeof value === 'string') checkText(value, `settings['${name}']`);
  return String(value);
}

/**
 * Settings of the transaction of a request, by name. They go in front of it and without a Sync, so that both are one
 * implicit transaction, with which the settings end. The server sends the answer together with that of the request.
 */
class Settings {
  #given;
  #outer;
  #values;

  /**
   * @param {Settings} [outer] which these extend
   * @param {number} depth how many blocks are around: in one, they are put back behind each request
   */
  constructor(given, outer, depth) {
    if (!isRecord(given)) throw new TypeError(`with takes an object of settings, not ${kindOf(given)}`);
    const all = [];
    for (const name in given) all.push(name);
    const names = keysOf(given, all);
    if (names.length === 0 || names.includes(''))
      throw new TypeError('with takes an object of at least one setting, by its name');
    for (const name of names) {
      checkText(name, 'the name of a setting');
      if (/^(?:client_encoding$|default_transaction_)/i.test(name)) {
        const why = /^c/i.test(name)
          ? 'this library needs UTF8'
          : 'the transaction has begun, so set transaction_read_only, or pass options to transaction()';
        throw new TypeError(`${name} cannot be set: ${why}`);
      }
    }
    this.#given = names.map(name => [name, valueOf(given[name], name)]);
    this.#outer = outer;
    this.depth = depth;
  }

  /**
   * Names and values, one after the other. They are collected with the first request, so that nested sessions cost no
   * more than they are.
   */
  get values() {
    if (this.#values !== undefined) return this.#values;
    if (this.#outer === undefined) return (this.#values = this.#given.flat());
    const nested = [];
    for (let each = this; each !== undefined; each = each.#outer) nested.push(each.#given);
    const all = new Map();
    for (const [name, value] of nested.reverse().flat()) {
      all.delete(name); // the server may know it by another case, so the last one comes last
      all.set(name, value);
    }
    return (this.#values = [...all].flat());
  }

  /** The text and the values of the query that sets them. */
  get query() {
    const { values } = this;
    const set = i => `set_config($${2 * i + 1}, $${2 * i + 2}, true)`;
    // The server keeps what they were before. The mark '=' tells that from nothing: the request may never be sent, or
    // be undone.
    if (this.depth > 0) {
      const all = this.#each(
        (before, i) =>
          `set_config('${before}', '=' || coalesce(current_setting($${2 * i + 1}, true), ''), true), ${set(i)}`
      );
      return [`SELECT ${all}`, values];
    }
    const { length } = values;
    const text = TEXTS[length] ?? `SELECT ${this.#each((before, i) => set(i))}`;
    if (length <= 2 * MOST) TEXTS[length] = text;
    return [text, values];
  }

  /** @returns {string[]} of which a text is made with commas between them */
  #each(make) {
    return Array.from({ length: this.values.length / 2 }, (_, i) => make(`quickgres.before_${this.depth}_${i}`, i));
  }

  /** Puts them back behind a request of the scope, the last one first: two names may be of one setting. */
  putBack(scope) {
    const names = this.values.filter((_, index) => index % 2 === 0);
    const putBack = (before, i) =>
      `pg_catalog.set_config($${i + 1}, pg_catalog.substr(pg_catalog.current_setting('${before}'), 2), true), ` +
      `pg_catalog.set_config('${before}', '', true)`;
    const text = `SELECT ${this.#each(putBack).reverse()}
  WHERE pg_catalog.current_setting('quickgres.before_${this.depth}_0', true) OPERATOR(pg_catalog.<>) ''`;
    const request = new InternalQuery(text, names, PLAIN, DISCARD);
    promised(() => submitIn(request, scope)).catch(() => {}); // the block has failed, or is that of a savepoint
  }

  /**
   * @param {string} [text] of a statement; without one, of several
   * @throws {UsageError} if it would end or outlive the settings
   */
  refuseEscaping(text, inBlock) {
    if (text === undefined)
      throw new UsageError(
        'a session made by with() has no simpleQuery, in which a COMMIT would end the settings: use batch()',
        '0A000'
      );
    if (escapes(text, inBlock))
      throw new UsageError(
        `${firstWord(text).toUpperCase()} may end or outlive the settings of a session made by with(): ` +
          'use transaction(), or a session without settings',
        '0A000'
      );
  }
}

/**
 * The lease of a session with settings: that of another session, with the settings among the options of each request.
 */
class SettingsLease {
  /** @param {Session} session a Client has another lease for each connection */
  constructor(session, settings) {
    this.session = session;
    this.settings = settings;
    this.sendsIn = null;
    /** Whether its requests have other settings than those beside them. */
    this.hasSettings = true;
  }

  get common() {
    return this.session[LEASE].common;
  }

  inputOf(text, values) {
    return this.session[LEASE].inputOf(text, values);
  }

  run(need, options, work, mayRepeat, text) {
    const { settings } = this;
    if (need === 'session') settings.refuseEscaping();
    const { [LEASE]: lease } = this.session;
    const more = { ...options, settings };
    if (settings.depth === 0) return lease.run(need, more, work, mayRepeat, text);
    const promise = promised(() => lease.run(need, more, work, mayRepeat, text));
    if (!lease.isOver) settings.putBack(lease);
    return promise;
  }
}

/** @returns {SettingsLease} of a session whose requests carry settings, beside those that the given session has */
function leaseWith(session, given, depth) {
  const { [LEASE]: lease } = session;
  const { session: inner, settings: outer } = lease instanceof SettingsLease ? lease : { session };
  return new SettingsLease(inner, new Settings(given, outer, depth));
}

module.exports = { Settings, leaseWith };
