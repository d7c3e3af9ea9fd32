'use strict';

const { EventEmitter } = require('node:events');
const { LEASE } = require('../core/internal');
const { ConnectionError, Session, UsageError } = require('../..');
const { checkText, keyOf, keysOf, kindOf } = require('../core/protocol');
const { NAMES, checkNumber, checkObject, checkOptions, inputOf, statementOf } = require('../core/options');
const { copyDirection, throwIfAborted, watchSignal } = require('../core/pipeline');
const { respond } = require('../http');
const { follower } = require('./follow');
const { Held } = require('./held');
const { Reader } = require('./reader');
const { Result } = require('./result');
const { turns } = require('./turns');

const DEFAULTS = {
  interval: 100,
  keepalive: 15000,
  max_lifetime: 1800000,
  statement_timeout: 30000,
  concurrency: 16,
  max_bytes: 1 << 20,
  max_rows: 10000,
  max_total_bytes: 1 << 28,
  max_results: 10000,
  max_readers: 10000
};
const checkFrom = least => checkNumber(`a number from ${least}`, given => given >= least);
const CHECKS = Object.fromEntries(
  Object.keys(DEFAULTS).map(name => [name, checkFrom(/^(?:interval|max_lifetime)$/.test(name) ? 0 : 1)])
);

/** Seconds after which a page that was refused for want of memory may ask again. */
const RETRY_AFTER = 5;

/** What a result depends on: undefined, if on everything. */
const tagsOf = ({ tags }) => (tags.length > 0 ? tags : [undefined]);

/** The options that `respond` does not have, or that go to it in another way. */
const OWN_OPTIONS = ['tags', 'settings'];

/** @returns {object} options for `respond`, which refuses those that a spread would lose: inherited or hidden ones */
function withoutOwn(options) {
  const fields = Object.getOwnPropertyDescriptors(options);
  for (const name of OWN_OPTIONS) delete fields[name];
  return Object.create(Object.getPrototypeOf(options), fields);
}

/** Results that stay up to date in pages: see index.d.ts. */
class Live extends EventEmitter {
  #followed = new Set(); // iterators
  #isOver = false;
  #options = {
    /** The network may be dead: the next question gets a connection that is not older. */
    doubt: () => this.#session[LEASE].doubt?.(),
    relieve: () => {
      for (const each of this.#readers) each.cutIfBehind();
    },
    report: (...error) =>
      process.nextTick(() => {
        if (this.listenerCount('error') > 0) this.emit('error', ...error);
      })
  };
  #readers = new Set();
  #results = new Map(); // by what their readers have in common
  #session;
  #tagged = new Map(); // results by their tags

  constructor(session, options = {}) {
    super();
    if (!(session instanceof Session)) throw new TypeError(`a Live takes a Pool or a Client, not ${kindOf(session)}`);
    checkOptions(options, new Set(Object.keys(DEFAULTS)), CHECKS);
    this.#session = session;
    for (const name in DEFAULTS) this.#options[name] = options[name] ?? DEFAULTS[name];
    this.#options.held = new Held(this.#options.max_total_bytes);
    this.#options.turn = turns(this.#options.concurrency);
  }

  /** Results that are kept. */
  get size() {
    return this.#results.size;
  }

  /** Answers a request with a result that stays up to date, or once if it does not ask for that. */
  async respond(request, response, sql, parameters, how) {
    const isNode = typeof response?.setHeader === 'function';
    const [place, ...query] = isNode
      ? [[request, response], sql, parameters, how]
      : [[request], response, sql, parameters];
    const [text, values, options] = statementOf(this.#session[LEASE], ...query);
    checkObject(options);
    keysOf(options, OWN_OPTIONS);
    const { tags = [], settings } = options;
    if (!Array.isArray(tags) || !tags.every(tag => typeof tag === 'string'))
      throw new TypeError('tags must be an array of strings');
    const session = settings === undefined ? this.#session : this.#session.with(settings);
    // `respond` chooses by Accept, decides the headers and makes the target, as for a ResponseCache.
    const results = {
      otherwise: session,
      queryTo: (target, ...asked) => this.#show(target, session, [...new Set(tags)], ...asked)
    };
    return respond(results, ...place, text, values, withoutOwn(options));
  }

  /** Shows the states of a result until the reader leaves. */
  async #show(target, session, tags, text, given, options) {
    const { as, signal, stall_timeout, statement_timeout = this.#options.statement_timeout, ...form } = options;
    throwIfAborted({ signal });
    checkOptions(options, NAMES.queryTo);
    if (form.format === 1) throw new TypeError('a live result has columns in text format: leave out format');
    if (copyDirection(text) !== undefined)
      throw new UsageError('a live result is that of a SELECT, not of COPY', '0A000');
    const values = inputOf(text, session[LEASE].inputOf(text, given));
    const key = JSON.stringify([text, keyOf(values), session[LEASE].settings?.values, form, statement_timeout, tags]);
    this.#admit(key);
    const { held, relieve } = this.#options;
    if (held.isFull) relieve();
    if (held.isFull && !this.#results.has(key)) return this.#refuse(target);
    const limits = { statement_timeout, alone: form.alone, idempotent: true };
    const result =
      this.#results.get(key) ?? new Result({ session, text, values, ...form, limits }, tags, this.#options);
    const reader = new Reader(target, this.#options);
    const unwatch = signal && watchSignal(signal, error => reader.end(error));
    this.#results.set(key, result);
    for (const tag of tagsOf(result)) this.#tagged.set(tag, (this.#tagged.get(tag) ?? new Set()).add(result));
    this.#readers.add(reader);
    result.add(reader);
    try {
      await reader.left;
      return { cmd: 'SELECT', rowCount: result.state?.size ?? 0, bytes: reader.bytes };
    } catch (error) {
      if (error !== held.error) throw error;
      return this.#refuse(target);
    } finally {
      unwatch?.();
      target.release();
      this.#readers.delete(reader);
      result.remove(reader);
      if (result.readers.size === 0 && this.#results.get(key) === result) this.#forget(key, result);
    }
  }

  #refuse({ given }) {
    given.writeHead(503, { 'retry-after': RETRY_AFTER });
    given.end();
    return { cmd: undefined, rowCount: 0, bytes: 0 };
  }

  #forget(key, result) {
    this.#results.delete(key);
    for (const tag of tagsOf(result)) {
      const others = this.#tagged.get(tag);
      others.delete(result);
      if (others.size === 0) this.#tagged.delete(tag);
    }
  }

  /** @throws {ConnectionError} if there is no room for one more reader of this result */
  #admit(key) {
    const { max_results: results, max_readers: readers } = this.#options;
    const refuse = (what, code) => {
      throw new ConnectionError(what, { code, sent: false });
    };
    if (this.#isOver) refuse('the live results have ended', '08003');
    if (this.#readers.size >= readers) refuse(`there are ${readers} readers (max_readers)`, '53300');
    if (!this.#results.has(key) && this.#results.size >= results)
      refuse(`there are ${results} results (max_results)`, '53300');
  }

  /** Says that what has this tag has changed, or without one, that anything may have. */
  changed(tag) {
    if (tag !== undefined) checkText(tag, 'tag');
    const ofTag = each => this.#tagged.get(each) ?? [];
    for (const result of tag === undefined ? this.#results.values() : [...ofTag(tag), ...ofTag()]) result.changed();
  }

  /** Takes changes from an iterable; the promise resolves when that has ended. */
  async follow(iterable) {
    const iterator = iterable?.[Symbol.asyncIterator]?.();
    if (iterator === undefined)
      throw new TypeError(`follow takes an async iterable, such as pool.listen('changes'), not ${kindOf(iterable)}`);
    const take = follower(this.#session, tag => this.changed(tag), this.#options);
    this.#followed.add(iterator);
    try {
      if (this.#isOver) await iterator.return?.();
      else for await (const each of { [Symbol.asyncIterator]: () => iterator }) take(each);
    } catch (error) {
      if (!this.#isOver) this.#options.report(error);
    } finally {
      this.#followed.delete(iterator);
      this.changed();
    }
  }

  /** Sends all readers away, and ends the loops of follow. */
  async end() {
    this.#isOver = true;
    const readers = [...this.#readers];
    for (const reader of readers) reader.end();
    for (const each of this.#followed)
      new Promise(resolve => {
        resolve(each.return?.());
      }).catch(() => {});
    await Promise.allSettled(readers.map(({ left }) => left));
  }
}

module.exports = { Live };
