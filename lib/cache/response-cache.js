'use strict';

const { EventEmitter } = require('#platform').events;
const { checkNames } = require('../query/options');
const rooms = require('../rooms');

const OPTIONS = new Set(['max_bytes', 'max_answer_bytes', 'max_age', 'stale_while_revalidate', 'now']);

/** What an answer takes in memory beside its bytes, its key and its tags, at most. */
const OVERHEAD = 1024;
/** What a tag of an answer takes beside its characters. */
const TAG_OVERHEAD = 256;

/** @throws {TypeError} where an option is not a number from 0 */
function checkNumber(value, name) {
  if (typeof value === 'number' && value >= 0) return value;
  const what = typeof value === 'number' ? value : typeof value;
  throw new TypeError(`${name} must be a number from 0, not ${what}`);
}

/** @throws {TypeError} where tags are not an array of strings */
function checkTags(tags) {
  if (Array.isArray(tags) && tags.every(tag => typeof tag === 'string')) return;
  throw new TypeError('tags must be an array of strings');
}

/**
 * Answers to queries, as the bytes that the server sent, for all clients that it is given to; see `query`,
 * `queryTo` and `respond`, option `response_cache`. It knows bytes, keys, tags and times, and nothing of
 * connections but who listens for it.
 *
 * An answer is as old as the time since its query was asked. Until `max_age` it is fresh; in the
 * `stale_while_revalidate` after that it is still given, while one query fetches a new one. What was used
 * least recently leaves first.
 *
 * Event 'error' (only for those who listen): a refresh has failed, `(error, { key, tags })`; or a connection
 * that listened for invalidations was lost, `(error, { channel })`.
 */
class ResponseCache extends EventEmitter {
  #entries = new Map(); // by key, the least recently used first
  #order = this.#entries.values();
  #flights = new Map(); // by key: what is being fetched
  #tagged = new Map(); // entries by tag
  #guards = new Set(); // who listens for invalidations
  #now;

  /**
   * @param {object} [options]
   * @param {number} [options.max_bytes=67108864] most memory for all answers, their keys and tags
   * @param {number} [options.max_answer_bytes=max_bytes / 8] a longer answer is not kept
   * @param {number} [options.max_age=60] seconds
   * @param {number} [options.stale_while_revalidate=15] seconds
   * @param {function(): number} [options.now=performance.now] a clock that never goes back, in milliseconds
   * @throws {TypeError}
   */
  constructor(options = {}) {
    super();
    checkNames(options, OPTIONS);
    const { max_bytes = 1 << 26, max_answer_bytes = max_bytes / 8 } = options;
    const { max_age = 60, stale_while_revalidate = 15, now = () => performance.now() } = options;
    this.max_bytes = checkNumber(max_bytes, 'max_bytes');
    this.max_answer_bytes = checkNumber(max_answer_bytes, 'max_answer_bytes');
    this.max_age = checkNumber(max_age, 'max_age');
    this.stale_while_revalidate = checkNumber(stale_while_revalidate, 'stale_while_revalidate');
    if (typeof now !== 'function') throw new TypeError('now must be a function');
    this.#now = now;
    /** Fresh answers given. */
    this.hits = 0;
    /** Answers that had to be asked for, or waited for while another asked. */
    this.misses = 0;
    /** Answers given in the time after `max_age`. */
    this.stale = 0;
    /** Answers that left for others to have room. */
    this.evictions = 0;
    /** Memory that the answers take, an upper estimate. */
    this.bytes = 0;
  }

  /** Answers that are kept. */
  get size() { return this.#entries.size; }

  /**
   * What an option of a query says, or else the cache itself.
   * @returns {{tags: string[], maxAge: number, stale: number}} in milliseconds
   * @throws {TypeError}
   */
  settings({ tags = [], max_age = this.max_age, stale_while_revalidate = this.stale_while_revalidate }) {
    checkTags(tags);
    return {
      tags: tags.length === 0 ? tags : [...new Set(tags)],
      maxAge: checkNumber(max_age, 'max_age') * 1000,
      stale: checkNumber(stale_while_revalidate, 'stale_while_revalidate') * 1000
    };
  }

  /** The age of something that has a `time`, in milliseconds. */
  age({ time }) { return this.#now() - time; }

  /**
   * Gives an answer, from memory if there is one that may be given; else, and where that one is stale,
   * fetches one, unless that is being done already.
   * @param {string} key
   * @param {{tags: string[], maxAge: number, stale: number}} settings always the same for one key
   * @param {function(): Promise<object>} fetch gives an answer:
   *   `{ size, large, storable(), cached(cache, flight) }`, `large` where it only says that there was one too long to be kept
   * @param {object} who asks
   * @returns {object|{promise: Promise, who: object}} an answer, or the flight that brings one
   */
  take(key, settings, fetch, who) {
    const entry = this.#find(key);
    if (entry !== undefined && this.age(entry) < settings.maxAge) {
      if (entry.answer.large) this.misses++;
      else this.hits++;
      return entry.answer;
    }
    const flight = this.#flights.get(key);
    if (entry !== undefined) {
      this.stale++;
      if (flight === undefined) {
        const { tags } = settings;
        this.#fly(key, settings, fetch, who).promise.catch(error => this.#report(error, { key, tags }));
      }
      return entry.answer;
    }
    this.misses++;
    if (flight !== undefined && this.age(flight) < settings.maxAge) return flight;
    return this.#fly(key, settings, fetch, who);
  }

  #report(error, about) {
    if (this.listenerCount('error') > 0) this.emit('error', error, about);
  }

  #find(key) {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const { answer: { large }, settings: { maxAge, stale } } = entry;
    if (this.age(entry) >= (large ? maxAge : maxAge + stale)) return void this.#drop(entry);
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry;
  }

  #fly(key, settings, fetch, who) {
    const flight = { key, settings, who, time: this.#now(), doomed: false, promise: null };
    this.#flights.set(key, flight);
    const land = () => { if (this.#flights.get(key) === flight) this.#flights.delete(key); };
    flight.promise = fetch().then(answer => {
      land();
      const keep = !flight.doomed && answer.storable();
      answer.cached(this, flight);
      if (keep) this.#store(flight, answer);
      return answer;
    }, error => {
      land();
      throw error;
    });
    flight.promise.catch(() => {}); // it may be that nobody waits any more
    return flight;
  }

  #store({ key, settings, time }, answer) {
    const { tags } = settings;
    if (tags.length > 0 && !this.guarded) return;
    const old = this.#entries.get(key);
    if (old !== undefined && old.time > time) return; // of a later query
    if (old !== undefined) this.#drop(old);
    let size = OVERHEAD + answer.size + 2 * key.length;
    for (const tag of tags) size += TAG_OVERHEAD + 2 * tag.length;
    if (size > this.max_bytes) return;
    while (this.bytes + size > this.max_bytes) {
      this.evictions++;
      this.#drop(this.#oldest());
    }
    const entry = { key, settings, time, answer, size };
    this.bytes += size;
    this.#entries.set(key, entry);
    for (const tag of tags) {
      if (!this.#tagged.has(tag)) this.#tagged.set(tag, new Set());
      this.#tagged.get(tag).add(entry);
    }
  }

  /**
   * The least recently used entry, which leaves now. One iterator goes on from call to call, since a new one
   * would first have to pass the places of all that left before; what is used again has its place at the end.
   */
  #oldest() {
    let next = this.#order.next();
    if (next.done) {
      this.#order = this.#entries.values();
      next = this.#order.next();
    }
    return next.value;
  }

  #drop(entry) {
    this.#entries.delete(entry.key);
    this.bytes -= entry.size;
    for (const tag of entry.settings.tags) {
      const entries = this.#tagged.get(tag);
      entries.delete(entry);
      if (entries.size === 0) this.#tagged.delete(tag);
    }
  }

  /**
   * The key of the answer to a query.
   * @param {Client} client that asks
   * @param {string} text
   * @param {Array|Row} [values=[]]
   * @param {object} [options] as of the query
   * @returns {string|undefined} undefined while the client is not connected
   * @throws {TypeError|RangeError} as the query would
   */
  keyOf(client, text, values, options) {
    return require('./cached-query').keyOf(this, client, text, values, options);
  }

  /**
   * Forgets one answer. What was asked before is given to those who wait for it, and not kept; who asks from
   * now on gets a new answer. So it is with all invalidations.
   * @param {string} key as `keyOf` gives it
   */
  invalidate(key) {
    const entry = this.#entries.get(key);
    if (entry !== undefined) this.#drop(entry);
    this.#doom(flight => flight.key === key);
  }

  /**
   * Forgets all answers with a tag.
   * @param {string} tag
   */
  invalidateTag(tag) {
    for (const entry of this.#tagged.get(tag) ?? []) this.#drop(entry);
    this.#doom(({ settings }) => settings.tags.includes(tag));
  }

  /** Forgets all answers. */
  clear() {
    this.#entries.clear();
    this.#order = this.#entries.values(); // the old one would hold what was cleared
    this.#tagged.clear();
    this.bytes = 0;
    this.#doom(() => true);
  }

  #clearTagged() {
    for (const entries of this.#tagged.values()) for (const entry of entries) this.#drop(entry);
    this.#doom(({ settings }) => settings.tags.length > 0);
  }

  #doom(which) {
    for (const flight of this.#flights.values()) {
      if (!which(flight)) continue;
      flight.doomed = true;
      this.#flights.delete(flight.key);
    }
  }

  /** Whether every connection that is to listen for invalidations does: else no answers with tags are kept. */
  get guarded() {
    for (const guard of this.#guards) if (!guard.listening) return false;
    return true;
  }

  /**
   * Has the server say what is to be forgotten: the payload of a notification is a tag, and one without a
   * payload means all tags. From then on answers with tags are kept only while this connection is there: when
   * it is lost they are forgotten, and none is kept until `listen` was called again, with any client, for the
   * same channel.
   * @param {Client} client for nothing else, since whoever pauses a connection delays what it is to hear
   * @param {string} channel
   * @returns {Promise<function(): Promise>} resolves when it listens, to what ends that
   * @throws {TypeError|RangeError|UsageError} for what is no client, or no name of a channel
   */
  async listen(client, channel) {
    if (!client || typeof client.query !== 'function') throw new TypeError('client must be a Client');
    // Others may listen to the channel by the same client: only the last of them has the server stop.
    const listener = rooms.listen.listen(client, channel);
    const guard = { client, channel, listening: false, lost: false };
    listener.give = ({ payload }) => {
      if (payload === '') this.#clearTagged();
      else this.invalidateTag(payload);
    };
    const leave = () => {
      client.removeListener('end', lost);
      guard.listening = false;
    };
    const lost = () => {
      leave();
      guard.lost = true;
      this.#clearTagged();
      this.#report(new Error(`nobody listens on ${channel} any more: the connection was lost`), { channel });
    };
    const before = [...this.#guards].filter(each => each.channel === channel && each.lost);
    this.#guards.delete(before.find(each => each.client === client) ?? before[0]);
    this.#guards.add(guard);
    this.#clearTagged();
    client.on('end', lost);
    try {
      await listener.ready;
    } catch (error) {
      leave();
      guard.lost = true;
      throw error;
    }
    if (guard.lost) throw new Error(`nobody listens on ${channel}: the connection was lost`);
    guard.listening = true;
    this.#clearTagged(); // what was asked before
    return async () => {
      leave();
      this.#guards.delete(guard);
      this.#clearTagged();
      await listener.end();
    };
  }

  toJSON() {
    const { hits, misses, stale, evictions, bytes, size } = this;
    return { hits, misses, stale, evictions, bytes, size };
  }

  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    return `ResponseCache ${inspect(this.toJSON(), options)}`;
  }
}

module.exports = { ResponseCache };
