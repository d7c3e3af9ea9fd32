'use strict';

const { EventEmitter } = require('node:events');
const { LEASE } = require('../core/internal');
const { checkText, keyOf, quoted } = require('../core/protocol');
const { KEEPALIVE, checkChannel, keeperOf } = require('../core/listen');
const { checkNoMore, checkOptions, inputOf, statementOf } = require('../core/options');
const { handOut, promised } = require('../core/pipeline');
const { RowReader, readingOf } = require('../core/rows');
const { Target } = require('../core/stream');
const { Collector, isRead, read, write } = require('./answer');
const { Asking } = require('./asking');
const { Entries } = require('./entries');
const { UNLIMITED, limitOf } = require('./limit');
const { OF_CACHE, OF_KEY, OF_QUERY, OF_QUERY_TO, checkNumber } = require('./options');

/**
 * Answers queries from memory. It owns its client and makes the session read-only, so that the server's word alone
 * decides what may be kept.
 */
class ResponseCache extends EventEmitter {
  #client;
  #entries;
  #channels = new Set();
  #keeping; // timer, see keeperOf
  #connection; // the prepared connection, as its client's promise `closed`, which is new for each connection
  #preparing; // resolves when that connection is prepared
  #now;

  constructor(client, options = {}) {
    super();
    checkNoMore(arguments, 2, 'new ResponseCache(client, options)');
    if (typeof client?.queryTo !== 'function' || typeof client.on !== 'function') {
      throw new TypeError('a ResponseCache takes a Client or a Pool');
    }
    if (client[LEASE]?.settings !== undefined)
      throw new TypeError('a ResponseCache takes the client or pool itself: write cache.with(settings)');
    checkOptions(options, OF_CACHE);
    const { max_bytes = 1 << 26, max_answer_bytes = max_bytes / 8, now = () => performance.now() } = options;
    const { max_age = 60, stale_while_revalidate = 15 } = options;
    if (typeof now !== 'function') throw new TypeError('now must be a function');
    this.max_bytes = checkNumber(max_bytes, 'max_bytes');
    this.max_answer_bytes = checkNumber(max_answer_bytes, 'max_answer_bytes');
    this.max_age = checkNumber(max_age, 'max_age');
    this.stale_while_revalidate = checkNumber(stale_while_revalidate, 'stale_while_revalidate');
    this.hits = 0;
    this.misses = 0;
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
      client.renew?.(); // those from before are not read-only
    }
  }

  get evictions() {
    return this.#entries.evictions;
  }
  get bytes() {
    return this.#entries.bytes;
  }
  get size() {
    return this.#entries.size;
  }

  /** Answers a query as `Client.query` does, from memory if possible. */
  query(text, values, options) {
    return this.#query(this.#client, text, values, options);
  }

  #query(session, ...query) {
    return this.#prepared(session, query, OF_QUERY, (request, plain) => this.#read(request, plain));
  }

  /** Checks a query, and hands out what is done with it. */
  #prepared(session, query, names, work) {
    return promised(() => {
      const [text, values, options] = statementOf(session[LEASE], ...query);
      checkOptions(options, names);
      const { tags, max_age, stale_while_revalidate, ...plain } = options;
      return handOut(work(this.#request(session, text, values, options), plain));
    });
  }

  async #read(request, plain) {
    const { session, text, values } = request;
    const limit = plain.signal === undefined && plain.statement_timeout === undefined ? UNLIMITED : limitOf(plain);
    try {
      const answer = await limit.race(this.#find(request, limit));
      if (!answer.large) return read(answer, new RowReader(readingOf(plain)), session[LEASE]);
    } finally {
      limit.release();
    }
    return session.query(text, values, plain);
  }

  /**
   * Writes the result of a query as `Client.queryTo` does, from memory if possible. If it rejects after the first byte
   * from memory, the target is destroyed.
   */
  queryTo(target, text, values, options) {
    return this.#queryTo(this.#client, target, text, values, options);
  }

  #queryTo(session, target, ...query) {
    return this.#prepared(session, query, OF_QUERY_TO, (request, plain) => this.#write(target, request, plain));
  }

  async #write(target, request, plain) {
    const { session, text, values } = request;
    const limit = limitOf(plain);
    let own;
    let bytes = 0;
    try {
      own = target instanceof Target ? target : new Target(target, plain.stall_timeout);
      own.watch(limit.fail);
      await limit.race(own.untilFirst());
      const answer = await limit.race(this.#find(request, limit));
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
    return session.queryTo(target, text, values, plain);
  }

  /** What the answer depends on, with values as they are now, and how it is to be kept; throws what the query would. */
  #request(session, text, given, options) {
    const {
      as = 'protocol',
      decode,
      names,
      end,
      signal,
      statement_timeout,
      stall_timeout,
      buffer,
      alone,
      ...rest
    } = options;
    const { tags = [], max_age = this.max_age, stale_while_revalidate = this.stale_while_revalidate, ...form } = rest;
    if (!Array.isArray(tags) || !tags.every(tag => typeof tag === 'string')) {
      throw new TypeError('tags must be an array of strings');
    }
    const maxAge = 1000 * checkNumber(max_age, 'max_age');
    const stale = 1000 * checkNumber(stale_while_revalidate, 'stale_while_revalidate');
    const values = inputOf(text, given);
    const settings = session[LEASE]?.settings;
    const key = JSON.stringify([
      text,
      keyOf(values),
      { as, ...form },
      tags,
      maxAge,
      stale,
      ...(settings?.values ?? [])
    ]);
    return {
      session,
      text,
      values,
      statement_timeout,
      key,
      tags: [...new Set(tags)],
      isPersonal: settings !== undefined || !Array.isArray(values) || values.length > 0,
      maxAge,
      stale,
      form: { as, ...form }
    };
  }

  /** @returns {object|Promise<object>} an answer from memory, or one that is asked for */
  #find(request, limit) {
    const { key, tags, maxAge, stale, statement_timeout } = request;
    const prepared = this.#prepare();
    const entry = this.#entries.use(key, tags);
    const now = this.#now();
    const { answer } = entry;
    const age = answer === undefined ? Infinity : now - answer.time;
    const ask = asking => this.#ask(entry, asking, { ...request, time: now }, prepared);
    if (age < maxAge) {
      if (answer.large) this.misses++;
      else this.hits++;
      return answer;
    }
    if (age < maxAge + stale && !answer.large) {
      this.stale++;
      if (entry.asking === undefined) {
        ask(new Asking(now).within(statement_timeout)).catch(error => this.#report(error, { key, tags }));
      }
      return answer;
    }
    this.misses++;
    if (!entry.asking?.mayJoin(now, maxAge)) {
      const asking = new Asking(now, entry.asking);
      ask(limit.isLimited ? asking.counted() : asking);
    }
    return entry.asking.join(limit);
  }

  /** Asks for an answer, which later requests for the same key may wait for. */
  #ask(entry, asking, request, prepared) {
    entry.asking = asking;
    asking.promise = this.#keep(entry, asking, this.#fetch(request, prepared, asking.limits));
    asking.promise.catch(() => {}); // all waits may have ended
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

  async #fetch({ session, text, values, tags, isPersonal, maxAge, stale, form, time }, prepared, limits) {
    const collector = new Collector(Math.min(this.max_answer_bytes, this.max_bytes));
    try {
      const asked = session.queryTo(collector, text, values, { ...form, ...limits });
      const { cmd, rowCount } = prepared === undefined ? await asked : (await Promise.all([asked, prepared]))[0];
      if (cmd !== 'SELECT' && cmd !== 'SHOW') this.#renew();
      return {
        tags,
        isPersonal,
        maxAge,
        stale,
        form,
        time,
        body: collector.take(),
        cmd,
        rowCount,
        large: false,
        kept: false
      };
    } catch (error) {
      if (!collector.large) throw error;
      return { tags, isPersonal, maxAge, stale, form, time, body: collector.take(), large: true };
    }
  }

  /** @returns {Promise} resolves when the connection is read-only and listens; queries are pipelined behind that */
  #prepare() {
    const { closed } = this.#client;
    if (closed === this.#connection) return this.#preparing;
    this.clear(); // the next connection may be to another server
    this.#connection = closed;
    const prepared = (this.#preparing = this.#setUp(this.#client));
    prepared.then(
      () => this.#keepAlive(this.#client),
      () => {
        if (this.#preparing === prepared) this.#connection = undefined;
      }
    );
    return prepared;
  }

  /** Asks a server that says nothing whether it is there, as long as the cache listens. */
  #keepAlive(client) {
    clearInterval(this.#keeping);
    if (this.#channels.size === 0 || client.closed !== this.#connection) return;
    this.#keeping = setInterval(keeperOf(client), KEEPALIVE, KEEPALIVE);
    this.#keeping.unref?.();
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
    client.on('end', () => {
      clearInterval(this.#keeping);
      if (this.#channels.size > 0) this.#entries.forgetTag();
    }); // notifications are missed from now on
  }

  /** Answers that were read before the session changed are not kept. */
  #renew() {
    this.clear();
    this.#connection = undefined;
  }

  /** @returns {string} the key of the answer to a query */
  keyOf(text, values, options) {
    return this.#keyOf(this.#client, text, values, options);
  }

  #keyOf(session, ...query) {
    const [text, values, options] = statementOf(session[LEASE], ...query);
    checkOptions(options, OF_KEY);
    return this.#request(session, text, values, options).key;
  }

  /**
   * @returns {object} answers queries of a session with settings, from the same memory: its keys contain the settings
   */
  with(settings) {
    return this.#with(this.#client.with(settings));
  }

  #with(session) {
    return {
      query: (...query) => this.#query(session, ...query),
      queryTo: (...query) => this.#queryTo(session, ...query),
      keyOf: (...query) => this.#keyOf(session, ...query),
      with: more => this.#with(session.with(more))
    };
  }

  /** Forgets one answer. An answer that is being fetched goes to the requests that wait for it, and is not kept. */
  invalidate(key) {
    checkText(key, 'key');
    this.#entries.forgetKey(key);
  }

  invalidateTag(tag) {
    checkText(tag, 'tag');
    this.#entries.forgetTag(tag);
  }

  clear() {
    this.#entries.clear();
  }

  /**
   * Invalidates by notifications: the payload is a tag, and an empty payload means all tags.
   * @returns {Promise<function(): Promise>} resolves to a function that stops listening
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
      if (this.#channels.size === 0) clearInterval(this.#keeping);
      await this.#client.query(`UNLISTEN ${quoted(channel)}`, [], { cache: false });
    };
  }

  /** A pool listens on a connection of its own, and reports when notifications may have been missed. */
  async #follow(listener) {
    const hear = async () => {
      for await (const { payload, missed } of listener)
        this.#entries.forgetTag(missed || payload === '' ? undefined : payload);
    };
    hear()
      .catch(error => this.#report(error))
      .finally(() => this.#entries.forgetTag());
    await listener.ready;
    this.clear();
    return async () => {
      await listener.return();
    };
  }

  #report(...error) {
    if (this.listenerCount('error') > 0) this.emit('error', ...error);
  }
}

module.exports = { ResponseCache };
