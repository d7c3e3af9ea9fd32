'use strict';

const { UsageError, checkText, kindOf } = require('./protocol');
const { firstWord, promised } = require('./pipeline');
const { FrontRequest } = require('./requests');

/** Takes the values that set_config returns. */
const NOWHERE = { start() {}, receiveData() {}, receive() {} };

/** The texts that set so many settings, by their number. */
const TEXTS = [];

/** First words of statements that may end the transaction of the settings, or outlive it. */
const ESCAPING = new Set(['abort', 'begin', 'call', 'commit', 'declare', 'discard', 'do', 'end', 'prepare', 'reset', 'rollback', 'set', 'start']);

function escapes(text, inBlock) {
  const word = firstWord(text);
  if (!inBlock) return ESCAPING.has(word);
  switch (word) {
    case 'abort': case 'commit': case 'end': return true;
    case 'prepare': return /\bprepare\s+transaction\b/i.test(text);
    case 'rollback': return !/\bto\b/i.test(text);
    case 'set': return !/\bset\s+(?:local|constraints|transaction)\b/i.test(text);
    default: return false;
  }
}

function valueOf(value, name) {
  const isValue = typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
  const kind = typeof value === 'number' ? value : kindOf(value);
  if (!isValue) throw new TypeError(`settings['${name}'] must be a string, a number or a boolean, not ${kind}`);
  if (typeof value === 'string') checkText(value, `settings['${name}']`);
  return String(value);
}

/**
 * The settings of a request, in front of it and without a Sync, so that both are one implicit transaction, with which the
 * settings end. The server sends the answer together with that of the request.
 */
class SettingsRequest extends FrontRequest {
  /** @param {Request} next the request; the settings have a prepared statement if that may be repeated when one is stale */
  constructor(text, values, next) {
    super(text, values, 0, next.cache === true, undefined, NOWHERE);
    this.scope = next.scope;
    this.next = next;
  }

  encode(writer, statements) {
    const { lastParsed } = statements;
    super.encode(writer, statements);
    statements.lastParsed = lastParsed;
  }

  /** While the server works on the request, this answer is still the next one. */
  get givenUp() { return this.next.givenUp; }
}

/** Settings of the transaction of a request, by name. */
class Settings {
  /** @param {Settings} [outer] which these extend */
  constructor(given, outer) {
    if (given === null || typeof given !== 'object' || Array.isArray(given)) {
      throw new TypeError(`with takes an object of settings, not ${kindOf(given)}`);
    }
    const names = Object.keys(given);
    if (names.length === 0) throw new TypeError('with takes an object of at least one setting');
    const all = new Map(outer?.all);
    for (const name of names) {
      checkText(name, 'the name of a setting');
      if (name === '') throw new TypeError('the name of a setting must not be empty');
      if (/^client_encoding$/i.test(name)) throw new TypeError('client_encoding cannot be set: this library needs UTF8');
      all.set(name, valueOf(given[name], name));
    }
    this.all = all;
    /** Names and values, one after the other. */
    this.values = [...all].flat();
    this.text = TEXTS[all.size] ??= `SELECT ${Array.from(all, (_, i) => `set_config($${2 * i + 1}, $${2 * i + 2}, true)`).join(', ')}`;
  }

  /** @returns {Request} that is to be sent in front of another one */
  inFront(request) { return new SettingsRequest(this.text, this.values, request); }

  /**
   * @param {string} [text] of a statement; without one, of several
   * @throws {UsageError} if it would end or outlive the settings
   */
  guard(text, inBlock) {
    if (text === undefined) throw new UsageError('a session made by with() has no simpleQuery, in which a COMMIT would end the settings: use batch()', '0A000');
    if (!escapes(text, inBlock)) return;
    const word = firstWord(text).toUpperCase();
    throw new UsageError(`${word} may end or outlive the settings of a session made by with(): use transaction(), or a session without settings`, '0A000');
  }
}

/** A scope for requests that carry settings. */
class SettingsScope {
  constructor(scope, settings) {
    this.scope = scope;
    this.settings = settings;
    this.pipeline = scope.pipeline;
  }
}

/** The lease of a session with settings: that of another session, with settings for each request. See Scope.run. */
class SettingsLease {
  /** @param {Session} session a Client has another lease for each connection */
  constructor(session, settings) {
    this.session = session;
    this.settings = settings;
    this.scope = null;
  }

  get decoding() { return this.session.lease.decoding; }
  get longTexts() { return this.session.lease.longTexts; }

  check(text, values) { return this.session.lease.check(text, values); }

  run(need, options, work, mayRepeat) {
    if (need === 'session') this.settings.guard();
    const carrying = (scope, ...more) => work(new SettingsScope(scope, this.settings), ...more);
    return promised(() => this.session.lease.run(need, options, carrying, mayRepeat));
  }
}

/** @returns {SettingsLease} of a session whose requests carry settings, beside those that the given session has */
function leaseWith(session, given) {
  const { lease } = session;
  return lease instanceof SettingsLease ? new SettingsLease(lease.session, new Settings(given, lease.settings))
    : new SettingsLease(session, new Settings(given));
}

module.exports = { Settings, leaseWith };
