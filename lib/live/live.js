'use strict';

const { EventEmitter } = require('node:events');
const { ConnectionError, checkText, checkValues, isPiece, kindOf, snapshot } = require('../protocol');
const { checkNumber, checkOptions, optionsOf } = require('../options');
const { throwIfAborted } = require('../pipeline');
const { respond } = require('../http');
const { Follower } = require('./follow');
const { Reader } = require('./reader');
const { Result } = require('./result');
const { Schedule } = require('./schedule');

/** What the page's part accepts, by which it asks for a live result. */
const TYPE = 'application/x-postgresql-live';

const DEFAULTS = {
  interval: 100, keepalive: 15000, max_lifetime: 1800000, concurrency: 8,
  max_bytes: 1 << 20, max_rows: 10000, max_results: 10000, max_readers: 10000
};
const checkFrom = least => (value, name) => checkNumber(value, name, `a number from ${least}`, given => given >= least);
const CHECKS = Object.fromEntries(Object.keys(DEFAULTS).map(name => [name, checkFrom(/^(?:interval|max_lifetime)$/.test(name) ? 0 : 1)]));

/** Milliseconds until a result is asked for again after an outage. */
const PAUSE = 1000;

const isOutage = ({ name, code }) => /^(?:ConnectionError|TimeoutError)$/.test(name) || /^(?:08|53|57P)/.test(code);

const headerOf = ({ headers }, name) => (typeof headers?.get === 'function' ? headers.get(name) : headers?.[name]) ?? '';
const acceptsGzip = header => header.toLowerCase().split(',').some(each => /^\s*(?:x-)?gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$)|$)/.test(each));

/** Results that stay up to date in pages: see index.d.ts. */
class Live extends EventEmitter {
  #followed = new Set(); // iterators
  #isOver = false;
  #options;
  #readers = new Set();
  #results = new Map();
  #schedule;
  #session;
  #timer; // of keepalives, while there are readers

  constructor(session, options = {}) {
    super();
    if (typeof session?.queryTo !== 'function' || typeof session.query !== 'function') {
      throw new TypeError(`a Live takes a Pool or a Client, not ${kindOf(session)}`);
    }
    checkOptions(options, new Set(Object.keys(DEFAULTS)), CHECKS);
    this.#session = session;
    this.#options = { ...DEFAULTS };
    for (const name in options) this.#options[name] = options[name] ?? DEFAULTS[name];
    this.#schedule = new Schedule(this.#options, result => this.#ask(result));
  }

  /** Results that are kept. */
  get size() { return this.#results.size; }

  /** Answers a request with a result that stays up to date, or once if it does not ask for that. */
  async respond(request, response, sql, parameters, how) {
    const query = [response, sql, parameters, how];
    const place = typeof query[0] === 'string' || isPiece(query[0]) ? [request] : [request, query.shift()];
    const [text, values = [], options = {}] = isPiece(query[0]) ? [...query[0], optionsOf(query[1])] : query;
    const { tags = [], settings, ...plain } = options;
    if (!Array.isArray(tags) || !tags.every(tag => typeof tag === 'string')) throw new TypeError('tags must be an array of strings');
    const session = settings === undefined ? this.#session : this.#session.with(settings);
    if (!headerOf(request, 'accept').includes(TYPE)) return respond(session, ...place, text, values, plain);
    const isZipped = plain.compress !== false && acceptsGzip(headerOf(request, 'accept-encoding'));
    const { signal, stall_timeout, statement_timeout, emptyStatus, as, ...form } = plain;
    const attend = (target, asked, given, { as: live, status, compress, stall_timeout: stall, ...format }) => {
      throwIfAborted({ signal });
      checkText(asked, 'text');
      checkValues(given);
      const copied = snapshot(given);
      const key = JSON.stringify([asked, copied, Object.entries(settings ?? {}), format, tags]); // entries: settings may have a toJSON
      const ask = collector => session.queryTo(collector, asked, copied, { ...format, statement_timeout });
      return this.#attend(target, key, () => new Result(ask, { text: asked, tags }, this.#options), isZipped, signal);
    };
    return respond({ queryTo: attend }, ...place, text, values, { ...form, stall_timeout, as: ['live'] });
  }

  /** Shows the states of a result until the reader leaves. */
  async #attend(target, key, make, isZipped, signal) {
    const { max_lifetime: lifetime, keepalive } = this.#options;
    this.#admit(key);
    // Readers that came together do not leave together.
    const reader = new Reader(target, isZipped, performance.now() + (lifetime || Infinity) * (0.9 + Math.random() / 10));
    const result = this.#results.get(key) ?? make();
    this.#results.set(key, result);
    this.#readers.add(reader);
    result.readers.add(reader);
    this.#timer ??= setInterval(() => this.#keepAlive(), keepalive).unref();
    const end = () => reader.end();
    signal?.addEventListener('abort', end);
    try {
      await Promise.race([target.turn(), reader.left]);
      if (result.state === undefined) this.#schedule.add(result);
      await Promise.race([result.begun, reader.left]);
      reader.show(result.state);
      await reader.left;
      return { cmd: 'SELECT', rowCount: result.state?.numbers.length ?? 0, bytes: reader.bytes };
    } finally {
      signal?.removeEventListener('abort', end);
      target.release();
      this.#readers.delete(reader);
      result.readers.delete(reader);
      if (result.readers.size === 0) this.#forget(key, result);
      if (this.#readers.size === 0) this.#timer = clearInterval(this.#timer);
    }
  }

  /** @throws {ConnectionError} if there is no room for one more reader of this result */
  #admit(key) {
    const refuse = (what, code) => { throw new ConnectionError(what, { code, sent: false }); };
    const { max_results: results, max_readers: readers } = this.#options;
    if (this.#isOver) refuse('the live results have ended', '08003');
    if (this.#readers.size >= readers) refuse(`there are ${readers} readers (max_readers)`, '53300');
    if (!this.#results.has(key) && this.#results.size >= results) refuse(`there are ${results} results (max_results)`, '53300');
  }

  #forget(key, result) {
    this.#schedule.remove(result);
    if (this.#results.get(key) === result) this.#results.delete(key);
  }

  /** Asks for the next state of a result. After an error that another attempt may not bring, its readers keep their state. */
  async #ask(result) {
    try {
      await result.ask();
      if (result.isStale) this.#schedule.add(result);
    } catch (error) {
      const isFirst = result.state === undefined;
      if (!isFirst) this.#report(error, result.about);
      if (!isFirst && isOutage(error)) return this.#schedule.add(result, PAUSE);
      for (const [key, each] of this.#results) if (each === result) this.#forget(key, each);
      result.fail(error);
    }
    return undefined;
  }

  #keepAlive() {
    const now = performance.now();
    for (const reader of this.#readers) {
      if (now < reader.expires) reader.keepAlive();
      else reader.end();
    }
  }

  /** Says that what has this tag has changed, or without one, that anything may have. */
  changed(tag) {
    if (tag !== undefined) checkText(tag, 'tag');
    for (const result of this.#results.values()) {
      if (!result.dependsOn(tag)) continue;
      result.isStale = true;
      this.#schedule.add(result);
    }
  }

  /** Takes changes from an iterable; the promise resolves when that has ended. */
  async follow(iterable) {
    const iterator = iterable?.[Symbol.asyncIterator]?.();
    if (iterator === undefined) throw new TypeError(`follow takes an async iterable, such as pool.listen('changes'), not ${kindOf(iterable)}`);
    const follower = new Follower(this.#session, tag => this.changed(tag));
    this.#followed.add(iterator);
    try {
      if (this.#isOver) await iterator.return?.();
      else for await (const each of { [Symbol.asyncIterator]: () => iterator }) follower.take(each);
    } catch (error) {
      if (!this.#isOver) this.#report(error);
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
    for (const each of this.#followed) new Promise(resolve => { resolve(each.return?.()); }).catch(() => {});
    await Promise.all(readers.map(({ left }) => left));
  }

  #report(...error) { if (this.listenerCount('error') > 0) this.emit('error', ...error); }
}

module.exports = { Live };
