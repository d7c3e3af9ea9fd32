'use strict';

const { EventEmitter } = require('#platform').events;
const { Client, ConnectionError, UsageError } = require('../..');
const { checkValues, kindOf, snapshot } = require('../protocol');
const { Listener, NAMES, NO_OPTIONS, NO_VALUES, checkCount, checkNames, copyDirection, firstWord } = require('../query');
const { Channels } = require('./channels');
const { Connections } = require('./connections');
const { isFresh } = require('./lag');
const { PooledCopy, PooledCursor } = require('./streams');

/** How often a request is repeated when connections are lost under it. */
const REPEATS = 10;

/** First words of statements that concern a session: here it would be that of whichever connection is free. */
const OF_SESSIONS = /^(?:begin|start|set|reset|discard|listen|unlisten|prepare|deallocate|declare)$/;

const DEFAULTS = { size: 4, acquire_timeout: 30000, idle_timeout: 30000, max_lifetime: 1800000 };
const OPTIONS = new Set([...Object.keys(DEFAULTS), 'replicas', 'max_lag']);

/** The options of a request: its own in `rest`, and those of the pool; throws a TypeError. */
function split(options) {
  if (typeof options !== 'object' || options === null) return { rest: options };
  const { readOnly, retry, ...rest } = options;
  for (const [name, value] of Object.entries({ readOnly, retry })) {
    if (value !== undefined && typeof value !== 'boolean') throw new TypeError(`${name} must be a boolean, not ${kindOf(value)}`);
  }
  return { readOnly, retry, signal: rest.signal, rest };
}

/** @throws {UsageError} for a text that makes sense only on a connection that one knows */
function checkPlain(text) {
  if (typeof text !== 'string') return;
  const word = firstWord(text);
  if (OF_SESSIONS.test(word)) {
    throw new UsageError(`${word.toUpperCase()} concerns one session, and a pool has many: use transaction(), ` +
      'connection(), listen(), or settings in the config', '0A000');
  }
  if (copyDirection(text) === 'in') throw new UsageError('COPY FROM STDIN on a pool is copyFrom()', '0A000');
}

/** @returns {Array|object} a copy that later changes by the caller cannot reach; throws a TypeError */
function keep(values) {
  checkValues(values);
  return snapshot(values);
}

/**
 * Pipelined connections side by side, with a session's methods: see Client for arguments and results.
 *
 * Events: 'connect' `(client)`, before anything is asked of a new connection; 'error' `(error)`: a connection was lost,
 * or could not be made (nobody has to listen).
 */
class Pool extends EventEmitter {
  #channels;
  #config;
  #lag;
  #options;
  #over = () => {};
  #pending = 0;
  #primary;
  #refused = null;
  #replicas;
  #template;

  /**
   * @param {object|string|URL} [config] of the clients
   * @param {object} [options]
   * @param {number} [options.size=4] most connections; of the replicas as many again
   * @param {number} [options.acquire_timeout=30000] milliseconds that a request waits for a connection; 0: for ever
   * @param {number} [options.idle_timeout=30000] milliseconds after which an unused connection is closed; 0: never
   * @param {number} [options.max_lifetime=1800000] milliseconds after which a connection is replaced; 0: never
   * @param {object|string|URL} [options.replicas] config of where `{ readOnly: true }` goes
   * @param {number} [options.max_lag] milliseconds that a replica may be behind; default: any
   * @throws {TypeError}
   */
  constructor(config = {}, options = NO_OPTIONS) {
    super();
    checkNames(options, OPTIONS);
    const all = this.#options = { ...DEFAULTS };
    for (const name in all) checkCount(all[name] = options[name] ?? all[name], name, name === 'size' ? 1 : 0);
    if (options.max_lag !== undefined) checkCount(this.#lag = options.max_lag, 'max_lag', 1);
    this.#config = config;
    this.#template = new Client(config);
    this.#primary = new Connections(config, all, this);
    if (options.replicas !== undefined) this.#replicas = new Connections(options.replicas, { ...all, optional: true }, this);
  }

  /** How many connections there are, and who has or waits for them; `replicas`: the same of these. */
  get stats() { return { ...this.#primary.stats, ...(this.#replicas && { replicas: this.#replicas.stats }) }; }

  /** Takes a connection: of a replica where one will do, and is there. */
  async #take(owner, readOnly, signal) {
    if (readOnly && this.#replicas !== undefined) {
      try {
        const connection = await this.#replicas.take(owner, signal);
        if (this.#lag === undefined || await isFresh(connection.client, this.#lag).catch(() => false)) return connection;
        this.#replicas.release(connection);
      } catch (error) {
        if (error.name === 'AbortError') throw error;
      }
    }
    return this.#primary.take(owner, signal);
  }

  /**
   * Asks on a connection; on another one, where that is lost and nothing was sent.
   * @param {object} request `{ ask(client), owner, settings, readOnly, retry, signal }`; `keep()`: it has to wait, so
   *   later changes of its input are not to matter; `mayRepeat(error)` when the connection was lost
   */
  async #run({ ask, owner, settings, readOnly, retry, signal, keep, mayRepeat = ({ sent }) => retry || sent === false }) {
    if (this.#refused !== null) throw this.#refused;
    this.#pending++;
    try {
      if (retry) keep?.();
      for (let repeats = REPEATS; ; repeats--) {
        let connection = owner || readOnly ? undefined : this.#primary.share();
        if (connection === undefined) {
          keep?.();
          connection = await this.#take(owner, readOnly, signal);
        }
        try {
          return await ask(connection.client);
        } catch (error) {
          const isLost = error instanceof ConnectionError && connection.client.state === 'closed';
          if (!isLost || repeats === 0 || !mayRepeat(error)) throw error;
        } finally {
          connection.home.release(connection, settings);
        }
      }
    } finally {
      if (--this.#pending === 0) this.#over();
    }
  }

  /** @returns {Promise<{client: Client, release: function()}>} a connection of one's own until `release` is called */
  #hold(options) {
    return new Promise((resolve, reject) => {
      const ask = client => new Promise(release => { resolve({ client, release }); });
      this.#run({ ...options, ask, owner: true }).catch(reject);
    });
  }

  /**
   * Goes to the connection on which it is likely to wait least. Beside Client's there are the options `readOnly`: it may
   * be asked of a replica; `retry`: it may be repeated when the connection is lost (without a `stream`).
   * @returns {Promise<RowReader>} rejects with a UsageError for BEGIN, SET, LISTEN and what else concerns a session
   */
  async query(text, values = NO_VALUES, format, cache, stream) {
    const { rest, ...options } = split(format);
    checkPlain(text);
    if ((rest?.stream ?? stream) !== undefined) options.retry = false; // it may have a part of the result already
    return this.#run({
      ...options, keep() { values = keep(values); }, ask: client => client.query(text, values, rest, cache, stream)
    });
  }

  /** As `query`; the options `readOnly` and `retry` are for all. */
  async batch(queries, given = NO_OPTIONS) {
    const { rest, ...options } = split(given);
    if (Array.isArray(queries)) for (const each of queries) checkPlain(Array.isArray(each) ? each[0] : each);
    return this.#run({ ...options, ask: client => client.batch(queries, rest) });
  }

  /**
   * Has a connection to itself, whose settings are reset after it.
   * @returns {Promise<RowReader[]>} rejects with a UsageError where it leaves a transaction block open
   */
  async simpleQuery(text, given = NO_OPTIONS) {
    const { rest, ...options } = split(given);
    const ask = async client => {
      const results = await client.simpleQuery(text, rest);
      if (client.transactionStatus === 'I') return results;
      throw new UsageError('simpleQuery left a transaction block open, which is rolled back: use transaction()', '25001');
    };
    return this.#run({ ...options, owner: true, settings: true, ask });
  }

  /**
   * Has a connection to itself. Options beside Client's: `readOnly` goes to a replica; `retry`: the function may be
   * called again when the connection is lost, also where that may have been after the commit; `signal` ends the waiting.
   */
  async transaction(work, given = NO_OPTIONS) {
    if (typeof work !== 'function') throw new TypeError('transaction takes a function');
    const { signal, retry, readOnly, rest } = split(given);
    const { signal: ignored, ...plain } = { ...rest, readOnly };
    checkNames(plain, NAMES.transaction);
    let begun = false;
    const begin = tx => {
      begun = true;
      return work(tx);
    };
    return this.#run({
      owner: true, readOnly, signal, mayRepeat: () => retry || !begun, ask: client => client.transaction(begin, plain)
    });
  }

  /**
   * Gives a function a client for itself. Afterwards an open transaction block is rolled back, and settings, temporary
   * tables, prepared statements and locks of the session are discarded.
   * @param {function(Client): Promise} work
   * @param {object} [options] `readOnly`: a replica will do; `signal` ends the waiting
   * @returns {Promise} of what the function returned
   */
  async connection(work, given = NO_OPTIONS) {
    if (typeof work !== 'function') throw new TypeError('connection takes a function');
    const { readOnly, signal, rest } = split(given);
    checkNames(rest, NAMES.listen);
    return this.#run({
      owner: true, settings: true, readOnly, signal, mayRepeat: () => false, ask: async client => work(client)
    });
  }

  /** Has a connection to itself while the target takes the result. */
  async queryTo(target, text, values = NO_VALUES, given = NO_OPTIONS) {
    const { rest, readOnly, signal } = split(given);
    const ask = client => client.queryTo(target, text, values, rest);
    return this.#run({ owner: true, readOnly, signal, keep() { values = keep(values); }, ask });
  }

  /** Has a connection to itself from the first row to the last. */
  cursor(text, values = NO_VALUES, given = NO_OPTIONS) {
    const { rest, readOnly, signal } = split(given);
    this.#template.cursor(text, values, rest); // throws for bad input
    return new PooledCursor(this.#rows({ readOnly, signal }, text, keep(values), rest));
  }

  async * #rows(options, text, values, rest) {
    const { client, release } = await this.#hold(options);
    try {
      yield * client.cursor(text, values, rest);
    } finally {
      release();
    }
  }

  /** Has a connection to itself. */
  copyTo(text, options = NO_OPTIONS) { return this.#copy('copyTo', 'out', text, options); }

  /** Has a connection to itself. */
  copyFrom(text, options = NO_OPTIONS) { return this.#copy('copyFrom', 'in', text, options); }

  #copy(method, direction, text, given) {
    const { rest, readOnly, signal } = split(given);
    checkNames(rest, NAMES[method]);
    if (typeof text !== 'string' || copyDirection(text) !== direction) {
      throw new TypeError(`${method} takes COPY … ${direction === 'in' ? 'FROM STDIN' : 'TO STDOUT'}`);
    }
    return new PooledCopy(method, this.#hold({ readOnly, signal }), text, rest);
  }

  /**
   * All listening is done on one connection more. When that was lost, and there is another, the loop gets a notification
   * with `missed: true`: others may have been missed.
   */
  listen(channel, options = NO_OPTIONS) {
    checkNames(options, NAMES.listen);
    if (this.#refused !== null) throw this.#refused;
    if (this.#channels?.state !== 'open') {
      const one = { ...this.#options, size: 1, idle_timeout: 0, max_lifetime: 0 };
      this.#channels = new Channels(emitter => new Connections(this.#config, one, emitter));
    }
    return new Listener(this.#channels, channel, options.signal);
  }

  /**
   * Lets all that was asked finish, then closes the connections. What is asked from now on rejects.
   * @returns {Promise<void>}
   */
  async end() {
    this.#refused ??= new ConnectionError('the pool was ended', { code: '08003', sent: false });
    this.#channels?.close();
    const before = this.#over;
    if (this.#pending > 0) await new Promise(resolve => { this.#over = () => resolve(before()); });
    await Promise.all([this.#primary.end(), this.#replicas?.end()]);
  }

  /** Closes the connections now; all that is pending rejects. @param {Error} [error] to reject with */
  destroy(error = new ConnectionError('the pool was destroyed', { code: '08003', sent: false })) {
    this.#refused = error;
    for (const each of [this.#primary, this.#replicas]) each?.destroy(error);
    this.#channels?.close(error);
  }
}

module.exports = { Pool };
