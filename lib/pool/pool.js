'use strict';

const { EventEmitter } = require('node:events');
const { Client, ConnectionError, UsageError } = require('../..');
const { checkText, checkValues, snapshot } = require('../protocol');
const {
  Cursor, Listener, NO_OPTIONS, NO_VALUES, checkLimits, checkNames, copyDirection, firstWord, throwIfAborted
} = require('../query');
const { Target, turnOf } = require('../stream');
const { Channels } = require('./channels');
const { Connections } = require('./connections');
const { isFresh } = require('./lag');
const { TAKEN, optionsOf } = require('./options');
const { PooledCopy, PooledPortal } = require('./streams');

/** How many connections may be lost under one request, or found to be none. */
const ATTEMPTS = 5;

/** First words of statements that concern a session: here it would be that of whichever connection is free. */
const OF_SESSIONS = /^(?:begin|start|set|reset|discard|listen|unlisten|prepare|deallocate|declare)$/;

const isRepeated = (error, retry) => retry || error.sent === false;

/** @returns {Array|object} a copy that later changes by the caller cannot reach; throws a TypeError */
function kept(values) {
  if (Array.isArray(values) && !values.some(value => typeof value === 'object')) return [...values];
  checkValues(values);
  return snapshot(values);
}

/**
 * @returns {Array|object} the values of a query, kept
 * @throws {TypeError|UsageError} for what is no query, or makes sense only on a connection that one knows
 */
function checkPlain(text, values = NO_VALUES) {
  if (typeof text !== 'string') checkText(text, 'text');
  const word = firstWord(text);
  if (OF_SESSIONS.test(word)) {
    throw new UsageError(`${word.toUpperCase()} concerns one session, and a pool has many: use transaction(), ` +
      'connection(), listen(), or settings in the config', '0A000');
  }
  if (copyDirection(text) === 'in') throw new UsageError('COPY FROM STDIN on a pool is copyFrom()', '0A000');
  return kept(values);
}

/** A query of a batch, checked and kept; what it throws has its `index`. */
function keptQuery(query, index) {
  const [text, values, options] = Array.isArray(query) ? query : [query];
  try {
    return [text, checkPlain(text, values), options];
  } catch (error) {
    throw Object.assign(error, { index });
  }
}

/**
 * Pipelined connections side by side, with a session's methods: see Client for arguments and results.
 *
 * Events: 'connect' `(client)`: a connection is being made, of which nothing has been asked; 'error' `(error)`: one was
 * lost, or could not be made (nobody has to listen).
 */
class Pool extends EventEmitter {
  #channels;
  #config;
  #idle = () => {}; // called when nothing is pending
  #options;
  #pending = 0;
  #primary;
  #refused; // what new requests are rejected with, since the pool was ended or destroyed
  #replicas;
  #template;

  /**
   * @param {object|string|URL} [config] of the clients
   * @param {object} [options]
   * @param {number} [options.size=4] most connections; of the replicas as many again
   * @param {number} [options.reserved=1] connections that are left to plain queries, if there are more
   * @param {boolean} [options.patient=true] false: when an attempt to connect has failed, who waits gets its error
   * @param {number} [options.acquire_timeout=30000] milliseconds that a request waits for a connection; 0: for ever
   * @param {number} [options.idle_timeout=30000] milliseconds after which an unused connection is closed; 0: never
   * @param {number} [options.max_lifetime=1800000] milliseconds after which a connection is replaced; 0: never
   * @param {object|string|URL} [options.replicas] config of where `{ readOnly: true }` goes
   * @param {number} [options.max_lag] milliseconds that a replica may be behind; default: any
   * @throws {TypeError}
   */
  constructor(config = {}, options = NO_OPTIONS) {
    super();
    const all = optionsOf(options);
    this.#config = config;
    this.#options = options;
    this.#template = new Client(config);
    this.#primary = new Connections(config, all, this);
    const { replicas } = options; // who finds none of them asks the primary at once
    if (replicas !== undefined) this.#replicas = new Connections(replicas, { ...all, patient: false }, this);
  }

  /** How many connections there are, and who has or waits for them; `replicas`: the same of these. */
  get stats() { return { ...this.#primary.stats, ...(this.#replicas && { replicas: this.#replicas.stats }) }; }

  /**
   * Asks on a connection; on another one, where that is lost and nothing was sent.
   * @param {string} name of the method: all but `query` and `batch` own the connection
   * @param {object} options of the request
   * @param {function(Client, object): Promise} ask gets the request's own options
   * @param {object} [how] `reset`: see Connections; `repeats(error, retry)`: whether to repeat what was lost;
   *   `before()`: what to wait for first
   */
  async #run(name, options, ask, { reset, repeats = isRepeated, before } = NO_OPTIONS) {
    checkNames(options, TAKEN[name]);
    if (this.#refused !== undefined) throw this.#refused;
    const { readOnly, retry, ...rest } = options;
    const { max_lag } = this.#options;
    const kind = name === 'query' || name === 'batch' ? 'shared' : 'owned';
    const first = readOnly && this.#replicas?.isDown === false ? this.#replicas : this.#primary;
    this.#pending++;
    try {
      if (before !== undefined) await before();
      for (let from = first, left = ATTEMPTS; ; from = this.#primary, left--) {
        checkLimits(rest);
        throwIfAborted(rest);
        let connection;
        try {
          connection = from.take(kind) ?? await from.wait(kind, rest.signal);
          const { client } = connection;
          const isFit = from === this.#primary || max_lag === undefined || await isFresh(client, max_lag);
          if (isFit) return await ask(client, rest);
        } catch (error) {
          const isPassed = connection === undefined ? from !== this.#primary : repeats(error, retry);
          if (!(error instanceof ConnectionError && isPassed && left > 1)) throw error;
        } finally {
          if (connection !== undefined) from.release(connection, reset);
        }
      }
    } finally {
      if (--this.#pending === 0) this.#idle();
    }
  }

  /**
   * Goes to the connection on which it is likely to wait least. Beside Client's there are the options `readOnly`: it
   * may be asked of a replica; `retry`: it may be repeated when the connection is lost (not with a `stream`).
   * @param {string} text
   * @param {Array|Row} [values=[]]
   * @param {number|object} [format=Client.STRING] or all options
   * @param {boolean} [cache=true]
   * @param {RowReader|Writable|{write: function}} [stream]
   * @returns {Promise<RowReader>} rejects with a UsageError for BEGIN, SET, LISTEN and what else concerns a session
   */
  async query(text, values = NO_VALUES, format = 0, cache = true, stream) {
    const given = checkPlain(text, values);
    if (typeof format !== 'object' || format === null) {
      return this.#run('query', NO_OPTIONS, client => client.query(text, given, format, cache, stream));
    }
    if (format.retry && format.stream !== undefined) {
      throw new TypeError('the stream of a query that is repeated may get rows twice: leave out retry');
    }
    return this.#run('query', format, (client, rest) => client.query(text, given, rest));
  }

  /** As `query`; the options are for all. */
  async batch(queries, options = NO_OPTIONS) {
    const given = Array.isArray(queries) ? queries.map(keptQuery) : queries;
    return this.#run('batch', options, (client, rest) => client.batch(given, rest));
  }

  /**
   * Has a connection to itself, whose settings are reset after it.
   * @returns {Promise<RowReader[]>} rejects with a UsageError where it leaves a transaction block open
   */
  async simpleQuery(text, options = NO_OPTIONS) {
    checkText(text, 'text');
    return this.#run('simpleQuery', options, async (client, rest) => {
      const results = await client.simpleQuery(text, rest);
      if (client.transactionStatus === 'I') return results;
      const left = 'simpleQuery left a transaction block open, which is rolled back: use transaction()';
      throw new UsageError(left, '25001');
    }, { reset: true });
  }

  /**
   * Has a connection to itself. Options beside Client's: `readOnly` goes to a replica; `retry`: the function may be
   * called again when the connection is lost, also where that may have been after the commit; `signal` ends the
   * waiting.
   */
  async transaction(work, options = NO_OPTIONS) {
    if (typeof work !== 'function') throw new TypeError('transaction takes a function');
    const { signal, ...own } = options ?? NO_OPTIONS;
    let begun = false;
    const begin = tx => {
      begun = true;
      return work(tx);
    };
    const repeats = (error, retry) => retry || !begun;
    return this.#run('transaction', options, client => client.transaction(begin, own), { repeats });
  }

  /**
   * Gives a function a client for itself. Afterwards an open transaction block is rolled back, and settings, temporary
   * tables, prepared statements and locks of the session are discarded.
   * @param {function(Client): Promise} work
   * @param {object} [options] `reset`: false leaves what is the session's, but rolls back; `readOnly`: a replica will
   *   do; `retry`: the function may be called again when the connection is lost; `signal` ends the waiting
   * @returns {Promise} of what the function returned
   */
  async connection(work, options = NO_OPTIONS) {
    if (typeof work !== 'function') throw new TypeError('connection takes a function');
    const how = { reset: options?.reset ?? true, repeats: () => options.retry };
    return this.#run('connection', options, client => work(client), how);
  }

  /** Has a connection to itself while the target takes the result; a response that waits for its turn has none. */
  async queryTo(target, text, values = NO_VALUES, options = NO_OPTIONS) {
    values = kept(values);
    // A WritableStream has no turn, and no event that could end the program; who writes to it locks it.
    const isWeb = typeof target?.getWriter === 'function';
    const own = isWeb || target instanceof Target ? target : new Target(target, options?.stall_timeout);
    const before = isWeb ? undefined : () => turnOf(own, { signal: options.signal });
    // Nothing may have been written: else the target was ended when the query failed; or destroyed, which takes nothing.
    const isUntouched = () => options.end !== false && own.stream?.writableEnded === false;
    const repeats = (error, retry) => isRepeated(error, retry && isUntouched());
    const ask = (client, rest) => client.queryTo(target, text, values, rest);
    return this.#run('queryTo', options, ask, { before, repeats });
  }

  get decode() { return this.#template.decode; }

  /** Has a connection to itself from the first row to the last. */
  cursor(text, values = NO_VALUES, given = NO_OPTIONS) {
    checkNames(given, TAKEN.cursor);
    const { readOnly, ...options } = given;
    this.#template.cursor(text, values, options); // throws for bad input
    values = kept(values);
    const { batchSize = 1000, signal } = options;
    const open = client => client.cursor(text, values, { ...options, batchSize });
    return new Cursor(() => new PooledPortal(this.#holder(readOnly, signal), open), { batchSize, signal });
  }

  /** @returns {function(function(Client): Promise): Promise} calls a function with a client of its own */
  #holder(readOnly, signal) { return work => this.connection(work, { reset: false, readOnly, signal }); }

  /** Has a connection to itself. */
  copyTo(text, options = NO_OPTIONS) { return this.#copy('copyTo', 'TO STDOUT', text, options); }

  /** Has a connection to itself. */
  copyFrom(text, options = NO_OPTIONS) { return this.#copy('copyFrom', 'FROM STDIN', text, options); }

  #copy(method, what, text, given) {
    checkNames(given, TAKEN[method]);
    const { readOnly, ...options } = given;
    const isOut = method === 'copyTo';
    const isCopy = typeof text === 'string' && copyDirection(text) === (isOut ? 'out' : 'in');
    if (!isCopy) throw new TypeError(`${method} takes COPY … ${what}`);
    const { signal, highWaterMark } = options;
    checkLimits({ signal });
    const open = client => client[method](text, options);
    return new PooledCopy(this.#holder(readOnly, signal), open, { isOut, highWaterMark });
  }

  /**
   * All listening is done on one connection more. When that was lost, and there is another, the loop gets a
   * notification with `missed: true`: others may have been missed.
   */
  listen(channel, options = NO_OPTIONS) {
    checkNames(options, TAKEN.listen);
    if (this.#refused !== undefined) throw this.#refused;
    if (this.#channels?.state !== 'open') {
      const one = { ...this.#options, size: 1, idle_timeout: 0, max_lifetime: 0, replicas: undefined };
      const pool = new Pool(this.#config, one);
      pool.on('error', error => { if (this.listenerCount('error') > 0) this.emit('error', error); });
      this.#channels = new Channels(pool);
    }
    return new Listener(this.#channels, channel, options.signal);
  }

  /**
   * Lets all that was asked finish, then closes the connections. What is asked from now on rejects.
   * @returns {Promise<void>}
   */
  async end() {
    if (this.#refused === undefined) this.#close('ended');
    const before = this.#idle;
    if (this.#pending > 0) await new Promise(resolve => { this.#idle = () => resolve(before()); });
    await Promise.all([this.#primary.end(), this.#replicas?.end()]);
  }

  #close(state, error) {
    const message = `the pool was ${state}: it takes no more requests`;
    this.#refused = new ConnectionError(message, { code: '08003', cause: error, sent: false });
    this.#channels?.close(error);
  }

  /** Closes the connections now; all that is pending rejects. @param {Error} [error] to reject with */
  destroy(error) {
    this.#close('destroyed', error);
    for (const each of [this.#primary, this.#replicas]) each?.destroy(error, this.#refused);
  }
}

module.exports = { Pool };
