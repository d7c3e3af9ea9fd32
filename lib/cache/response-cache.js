'use strict';

const { EventEmitter } = require('node:events');
const { checkText, checkValues, quoted, snapshot } = require('../protocol');
const { checkChannel, checkOptions } = require('../query');
const { RowReader } = require('../rows');
const { Target } = require('../stream');
const { Collector, isRead, read, write } = require('./answer');
const { Entries } = require('./entries');
const { UNLIMITED, limitOf } = require('./limit');
const { OF_CACHE, OF_QUERY, OF_QUERY_TO, checkNumber } = require('./options');

/**
 * Answers queries from memory. It owns the client that it asks, and makes that client's session read-only, so that
 * nothing but what the server says decides what may be kept.
 *
 * Event 'error' (nobody has to listen): a refresh has failed, `(error, { key, tags })`; or listening on a pool, `(error)`.
 */
class ResponseCache extends EventEmitter {
  #client;
  #entries;
  #channels = new Set();
  #connection; // that was prepared: the promise `closed` of the client, another one for each connection
  #prepared; // the promise that it is
  #now;

  /**
   * @param {Client|Pool} client that nobody else uses. A pool emits 'connect' with each client that it opens
   * @param {object} [options]
   * @param {number} [options.max_bytes=67108864] most memory for all answers, their keys and tags
   * @param {number} [options.max_answer_bytes=max_bytes / 8] a longer answer is not kept
   * @param {number} [options.max_age=60] seconds in which an answer is fresh, from when it was asked for
   * @param {number} [options.stale_while_revalidate=15] seconds after that in which it is still given, while one
   *   query fetches a new one
   * @param {function(): number} [options.now=performance.now] a clock that never goes back, in milliseconds
   * @throws {TypeError}
   */
  constructor(client, options = {}) {
    super();
    if (typeof client?.queryTo !== 'function' || typeof client.on !== 'function') {
      throw new TypeError('a ResponseCache takes a Client or a Pool');
    }
    checkOptions(options, OF_CACHE);
    const { max_bytes = 1 << 26, max_answer_bytes = max_bytes / 8, now = () => performance.now() } = options;
    const { max_age = 60, stale_while_revalidate = 15 } = options;
    if (typeof now !== 'function') throw new TypeError('now must be a function');
    this.max_bytes = checkNumber(max_bytes, 'max_bytes');
    this.max_answer_bytes = checkNumber(max_answer_bytes, 'max_answer_bytes');
    this.max_age = checkNumber(max_age, 'max_age');
    this.stale_while_revalidate = checkNumber(stale_while_revalidate, 'stale_while_revalidate');
    /** Fresh answers given. */
    this.hits = 0;
    /** Answers that had to be asked for, or waited for while another asked. */
    this.misses = 0;
    /** Answers given in the time after `max_age`. */
    this.stale = 0;
    this.#client = client;
    this.#entries = new Entries(max_bytes);
    this.#now = now;
    if (client.closed !== undefined) this.#watch(client);
    else {
      client.on('connect', each => {
        this.#watch(each);
        this.#setUp(each).catch(error => each.destroy(error));
      });
    }
  }

  /** Answers that left for others to have room. */
  get evictions() { return this.#entries.evictions; }
  /** Memory that the answers take, an upper estimate. */
  get bytes() { return this.#entries.bytes; }
  /** Answers that are kept or asked for. */
  get size() { return this.#entries.size; }

  /**
   * Gives the result of a query, from memory where there is one.
   * @param {string} text
   * @param {Array|Row} [values=[]]
   * @param {object} [options] those of `Client.query` but `stream`, and:
   * @param {string[]} [options.tags=[]] by which `invalidateTag` and notifications find the answer
   * @param {number} [options.max_age] the cache's, unless given
   * @param {number} [options.stale_while_revalidate] the cache's, unless given
   * @returns {Promise<RowReader>} as of `Client.query`
   */
  async query(text, values = [], options = {}) {
    checkOptions(options, OF_QUERY);
    const { tags, max_age, stale_while_revalidate, ...plain } = options;
    const { decode = this.#client.decode } = plain;
    const limit = plain.signal === undefined && plain.statement_timeout === undefined ? UNLIMITED : limitOf(plain);
    try {
      const answer = await limit.race(this.#find(text, values, options));
      if (!answer.large) return read(answer, new RowReader({ decode }));
    } finally {
      limit.release();
    }
    return this.#client.query(text, values, plain);
  }

  /**
   * Writes the result of a query to a target, from memory where there is one.
   * @param {Writable|WritableStream|Target} target a Target may have a method `fromCache(answer, age)`, which is told
   *   of the answer before the first byte, and returns true where the target is to be ended without any
   * @param {string} text
   * @param {Array|Row} [values=[]]
   * @param {object} [options] those of `Client.queryTo`, and the cache's own of `query`
   * @returns {Promise<{cmd: string, rowCount: number, bytes: number}>} as of `Client.queryTo`. When it rejects after
   *   the first byte from memory, the target is destroyed
   */
  async queryTo(target, text, values = [], options = {}) {
    checkOptions(options, OF_QUERY_TO);
    const { tags, max_age, stale_while_revalidate, ...plain } = options;
    const limit = limitOf(plain);
    let own;
    let bytes = 0;
    try {
      own = target instanceof Target ? target : new Target(target, plain.stall_timeout);
      own.watch(limit.fail);
      await limit.race(own.turn());
      const answer = await limit.race(this.#find(text, values, options));
      if (!answer.large) {
        const known = own.fromCache?.(answer, this.#now() - answer.time) === true;
        if (!known) bytes = answer.body.length;
        if (known) await limit.race(own.end(undefined, answer.rowCount));
        else await write(answer, own, plain.end !== false, limit);
        return { cmd: answer.cmd, rowCount: answer.rowCount, bytes };
      }
    } catch (error) {
      if (bytes > 0 && !own.gone) own.destroy(error);
      throw error;
    } finally {
      limit.release();
      own?.release();
    }
    return this.#client.queryTo(target, text, values, plain);
  }

  /** What an answer depends on, and how it is to be kept; throws as the query would. */
  #request(text, values, options) {
    const { as = 'protocol', decode, end, signal, statement_timeout, stall_timeout, buffer, alone, ...rest } = options;
    const { tags = [], max_age = this.max_age, stale_while_revalidate = this.stale_while_revalidate, ...form } = rest;
    if (!Array.isArray(tags) || !tags.every(tag => typeof tag === 'string')) {
      throw new TypeError('tags must be an array of strings');
    }
    const maxAge = 1000 * checkNumber(max_age, 'max_age');
    const stale = 1000 * checkNumber(stale_while_revalidate, 'stale_while_revalidate');
    checkText(text, 'text');
    checkValues(values);
    const key = JSON.stringify([text, snapshot(values), { as, ...form }, tags, maxAge, stale]);
    return { key, tags: [...new Set(tags)], maxAge, stale, form: { as, ...form } };
  }

  /** @returns {object|Promise<object>} an answer from memory if there is one to be given; else one that is asked for */
  #find(text, values, options) {
    const { key, tags, ...request } = this.#request(text, values, options);
    const { maxAge, stale } = request;
    const prepared = this.#prepare();
    const entry = this.#entries.use(key, tags);
    const { answer, asking } = entry;
    const ask = () => this.#ask(entry, { tags, ...request, time: this.#now() }, prepared, text, values);
    const age = answer === undefined ? Infinity : this.#now() - answer.time;
    if (age < maxAge) {
      if (answer.large) this.misses++;
      else this.hits++;
      return answer;
    }
    if (age < maxAge + stale && !answer.large) {
      this.stale++;
      if (asking === undefined) ask().catch(error => this.#report(error, { key, tags }));
      return answer;
    }
    this.misses++;
    return asking !== undefined && this.#now() - asking.time < maxAge ? asking.promise : ask();
  }

  /** Asks for an answer; others who ask for the same meanwhile wait for it, too. */
  #ask(entry, request, prepared, text, values) {
    const asking = entry.asking = { time: request.time, promise: undefined };
    asking.promise = this.#keep(entry, asking, this.#fetch(request, prepared, text, values));
    asking.promise.catch(() => {}); // it may be that nobody waits any more
    return asking.promise;
  }

  async #keep(entry, asking, fetched) {
    try {
      const answer = await fetched;
      if (entry.asking === asking && (answer.large || isRead(answer))) answer.kept = this.#entries.keep(entry, answer);
      return answer;
    } finally {
      if (entry.asking === asking) {
        entry.asking = undefined;
        if (entry.answer === undefined) this.#entries.forget(entry);
      }
    }
  }

  async #fetch(request, prepared, text, values) {
    const collector = new Collector(Math.min(this.max_answer_bytes, this.max_bytes));
    const { tags, maxAge, stale, form, time } = request;
    try {
      const asked = this.#client.queryTo(collector, text, values, form);
      const { cmd, rowCount } = prepared === undefined ? await asked : (await Promise.all([asked, prepared]))[0];
      if (cmd !== 'SELECT' && cmd !== 'SHOW') this.#renew();
      return { tags, maxAge, stale, form, time, body: collector.take(), cmd, rowCount, large: false, kept: false };
    } catch (error) {
      if (!collector.large) throw error;
      return { ...request, body: collector.take(), large: true };
    }
  }

  /** @returns {Promise} resolves when the connection is read-only and listens; queries are sent behind it at once */
  #prepare() {
    const { closed } = this.#client;
    if (closed === this.#connection) return this.#prepared;
    this.clear(); // the next connection may be to another server
    this.#connection = closed;
    const prepared = this.#prepared = this.#setUp(this.#client);
    prepared.catch(() => { if (this.#prepared === prepared) this.#connection = undefined; });
    return prepared;
  }

  #setUp(client) {
    return client.simpleQuery(['SET default_transaction_read_only = on', ...this.#channels].join('; LISTEN '));
  }

  #watch(client) {
    client.on('parameter', (name, value) => {
      if (name !== 'default_transaction_read_only' || value !== 'on') this.#renew();
    });
    client.on('notification', ({ channel, payload }) => {
      if (!this.#channels.has(quoted(channel))) return;
      this.#entries.forgetTag(payload === '' ? undefined : payload);
    });
    client.on('end', () => { if (this.#channels.size > 0) this.#entries.forgetTag(); }); // nobody is told any more
  }

  /** The session may have changed: its answers count no more. */
  #renew() {
    this.clear();
    this.#connection = undefined;
  }

  /**
   * The key of the answer to a query.
   * @param {string} text
   * @param {Array|Row} [values=[]]
   * @param {object} [options] the same as of the query
   * @returns {string}
   * @throws {TypeError|RangeError} as the query would
   */
  keyOf(text, values = [], options = {}) { return this.#request(text, values, options).key; }

  /**
   * Forgets one answer. What was asked before an invalidation is given to those who wait for it, and not kept.
   * @param {string} key as `keyOf` gives it
   */
  invalidate(key) { this.#entries.forgetKey(key); }

  /** Forgets all answers with a tag. @param {string} tag */
  invalidateTag(tag) { this.#entries.forgetTag(tag); }

  /** Forgets all answers. */
  clear() { this.#entries.clear(); }

  /**
   * Has the server say what is to be forgotten: the payload of a notification is a tag, one without a payload means all.
   * When the connection is lost, all with tags are; the next one listens again. What was answered before is forgotten.
   * @param {string} channel
   * @returns {Promise<function(): Promise>} resolves when it listens, to what ends that
   * @throws {TypeError|RangeError} for no name of a channel
   */
  async listen(channel) {
    if (this.#client.closed === undefined) return this.#follow(this.#client.listen(channel));
    if (channel === '') throw new RangeError('channel must not be empty');
    checkChannel(channel);
    this.#channels.add(quoted(channel));
    this.#renew();
    await this.#prepare();
    return async () => {
      this.#channels.delete(quoted(channel));
      await this.#client.query(`UNLISTEN ${quoted(channel)}`, [], { cache: false });
    };
  }

  /** A pool listens on a connection of its own, and says when something may have been missed. */
  async #follow(listener) {
    const hear = async () => {
      for await (const { payload, missed } of listener) this.#entries.forgetTag(missed || payload === '' ? undefined : payload);
    };
    hear().catch(error => this.#report(error)).finally(() => this.#entries.forgetTag());
    await listener.ready;
    this.clear();
    return async () => { await listener.return(); };
  }

  #report(...error) { if (this.listenerCount('error') > 0) this.emit('error', ...error); }
}

module.exports = { ResponseCache };
