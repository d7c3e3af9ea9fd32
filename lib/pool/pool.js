'use strict';

const { EventEmitter } = require('#platform').events;
const { Client, ConnectionError, PostgresError, UsageError } = require('../..');
const { checkValues, snapshot } = require('../protocol');
const { Listener, NAMES, NO_OPTIONS, NO_VALUES, checkCount, checkNames, copyDirection, firstWord } = require('../query');
const { Channels } = require('./channels');
const { Connections } = require('./connections');
const { isFresh } = require('./lag');
const { PooledCopy, PooledCursor } = require('./streams');

/** How many connections may be lost under one request. */
const LOSSES = 5;

/** First words of statements that concern a session: here it would be that of whichever connection is free. */
const OF_SESSIONS = /^(?:begin|start|set|reset|discard|listen|unlisten|prepare|deallocate|declare)$/;

const DEFAULTS = { size: 4, reserved: 1, acquire_timeout: 30000, idle_timeout: 30000, max_lifetime: 1800000 };
const OPTIONS = new Set([...Object.keys(DEFAULTS), 'patient', 'replicas', 'max_lag']);

/** The options of a request: its own in `rest`, and those of the pool. */
function split(options) {
  if (typeof options !== 'object' || options === null) return { rest: options };
  const { readOnly, retry, ...rest } = options;
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
function kept(values) {
  checkValues(values);
  return snapshot(values);
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
  #lag;
  #options;
  #pending = 0;
  #primary;
  #refused = null; // what new requests are rejected with
  #replicas;
  #state = 'open'; // 'ended', 'destroyed'
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
    checkNames(options, OPTIONS);
    const all = this.#options = { ...DEFAULTS };
    for (const name in all) checkCount(all[name] = options[name] ?? all[name], name, name === 'size' ? 1 : 0);
    if (options.max_lag !== undefined) checkCount(this.#lag = options.max_lag, 'max_lag', 1);
    this.#config = config;
    this.#template = new Client(config);
    all.patient = options.patient ?? true;
    this.#primary = new Connections(config, all, this);
    if (options.replicas !== undefined) this.#replicas = new Connections(options.replicas, all, this);
  }

  /** How many connections there are, and who has or waits for them; `replicas`: the same of these. */
  get stats() { return { ...this.#primary.stats, ...(this.#replicas && { replicas: this.#replicas.stats }) }; }

  /**
   * Asks on a connection; on another one, where that is lost and nothing was sent.
   * @param {object} options of the request
   * @param {function(Client, object): Promise} ask gets the request's own options
   * @param {object} [how] `owner`, `settings`: see Connections; `keep()`: later changes of the input are not to matter;
   *   `again(error)`: whether to repeat what was lost; `home`: Connections to ask
   */
  async #run(options, ask, { owner = false, settings, keep, again, home } = NO_OPTIONS) {
    if (this.#state !== 'open') throw this.#refused;
    const { readOnly, retry, signal, rest } = split(options);
    const { acquire_timeout: time } = this.#options;
    const deadline = () => time > 0 ? performance.now() + time : Infinity;
    let until = deadline();
    let replicas = home === undefined && readOnly ? this.#replicas : undefined; // until they cannot answer
    this.#pending++;
    try {
      for (let losses = 0; ;) {
        if (replicas?.isDown) replicas = undefined;
        const connections = replicas ?? home ?? this.#primary;
        const connection = connections.take(owner) ?? (keep?.(), await connections.wait(owner, signal));
        const { client, opened } = connection;
        try {
          if (retry || client.state !== 'open') keep?.();
          if (owner) await opened;
          const isFit = replicas === undefined || this.#lag === undefined || await isFresh(client, this.#lag).catch(() => false);
          if (isFit) return await ask(client, rest);
        } catch (error) {
          if (client.state !== 'closed') throw error;
          const refusal = await opened.catch(reason => reason);
          if (refusal !== undefined && replicas === undefined && connections.isOver(refusal)) throw refusal;
          const isAsked = error !== refusal && !(refusal instanceof PostgresError); // one that says no has done nothing
          if (isAsked && !(error instanceof ConnectionError && (again?.(error) ?? (retry || error.sent === false)))) throw error;
          if (refusal === undefined && ++losses < LOSSES) until = deadline();
          if (performance.now() > until || losses === LOSSES || this.#state === 'destroyed') throw error;
        } finally {
          connections.release(connection, settings);
        }
        if (replicas !== undefined) until = deadline();
        replicas = undefined;
      }
    } finally {
      if (--this.#pending === 0) this.#idle();
    }
  }

  /** @returns {Promise<{client: Client, release: function()}>} a connection of one's own until `release` is called */
  #hold(options) {
    return new Promise((resolve, reject) => {
      this.#run(options, client => new Promise(release => { resolve({ client, release }); }), { owner: true }).catch(reject);
    });
  }

  /**
   * Goes to the connection on which it is likely to wait least. Beside Client's there are the options `readOnly`: it may
   * be asked of a replica; `retry`: it may be repeated when the connection is lost (not with a `stream`).
   * @param {string} text
   * @param {Array|Row} [values=[]]
   * @param {number|object} [format=Client.STRING] or all options
   * @param {boolean} [cache=true]
   * @param {RowReader|Writable|{write: function}} [stream]
   * @returns {Promise<RowReader>} rejects with a UsageError for BEGIN, SET, LISTEN and what else concerns a session
   */
  async query(text, values = NO_VALUES, format = 0, cache = true, stream) {
    checkPlain(text);
    // A stream may have a part of the result already.
    const again = (format?.stream ?? stream) === undefined ? undefined : error => error.sent === false;
    const keep = () => { values = kept(values); };
    return this.#run(format, (client, rest) => client.query(text, values, rest, cache, stream), { keep, again });
  }

  /** As `query`; the options are for all. */
  async batch(queries, options = NO_OPTIONS) {
    const each = Array.isArray(queries) ? queries : [];
    for (const query of each) checkPlain(Array.isArray(query) ? query[0] : query);
    const keep = () => {
      queries = each.map(query => Array.isArray(query) ? [query[0], kept(query[1] ?? NO_VALUES), query[2]] : query);
    };
    return this.#run(options, (client, rest) => client.batch(queries, rest), { keep: each === queries ? keep : undefined });
  }

  /**
   * Has a connection to itself, whose settings are reset after it.
   * @returns {Promise<RowReader[]>} rejects with a UsageError where it leaves a transaction block open
   */
  async simpleQuery(text, options = NO_OPTIONS) {
    return this.#run(options, async (client, rest) => {
      const results = await client.simpleQuery(text, rest);
      if (client.transactionStatus === 'I') return results;
      throw new UsageError('simpleQuery left a transaction block open, which is rolled back: use transaction()', '25001');
    }, { owner: true, settings: true });
  }

  /**
   * Has a connection to itself. Options beside Client's: `readOnly` goes to a replica; `retry`: the function may be
   * called again when the connection is lost, also where that may have been after the commit; `signal` ends the waiting.
   */
  async transaction(work, options = NO_OPTIONS) {
    if (typeof work !== 'function') throw new TypeError('transaction takes a function');
    const { signal, retry, ...rest } = options;
    checkNames(rest, NAMES.transaction);
    let begun = false;
    const begin = tx => {
      begun = true;
      return work(tx);
    };
    const again = () => retry || !begun;
    return this.#run({ ...rest, signal }, client => client.transaction(begin, rest), { owner: true, again });
  }

  /**
   * Gives a function a client for itself. Afterwards an open transaction block is rolled back, and settings, temporary
   * tables, prepared statements and locks of the session are discarded.
   * @param {function(Client): Promise} work
   * @param {object} [options] `reset`: false leaves what is the session's, but rolls back; `readOnly`: a replica will do;
   *   `signal` ends the waiting
   * @returns {Promise} of what the function returned
   */
  async connection(work, { reset: settings = true, ...options } = NO_OPTIONS) {
    if (typeof work !== 'function') throw new TypeError('connection takes a function');
    const { readOnly, ...rest } = options;
    checkNames(rest, NAMES.listen);
    return this.#run(options, async client => work(client), { owner: true, settings, again: () => false });
  }

  /** Has a connection to itself while the target takes the result. */
  async queryTo(target, text, values = NO_VALUES, options = NO_OPTIONS) {
    values = kept(values);
    const again = error => error.sent === false;
    return this.#run(options, (client, rest) => client.queryTo(target, text, values, rest), { owner: true, again });
  }

  /** Has a connection to itself from the first row to the last. */
  cursor(text, values = NO_VALUES, options = NO_OPTIONS) {
    const { rest } = split(options);
    this.#template.cursor(text, values, rest); // throws for bad input
    return new PooledCursor(this.#rows(options, text, kept(values), rest));
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
  copyTo(text, options = NO_OPTIONS) { return this.#copy('copyTo', 'TO STDOUT', 'out', text, options); }

  /** Has a connection to itself. */
  copyFrom(text, options = NO_OPTIONS) { return this.#copy('copyFrom', 'FROM STDIN', 'in', text, options); }

  #copy(method, what, direction, text, options) {
    const { rest } = split(options);
    checkNames(rest, NAMES[method]);
    if (typeof text !== 'string' || copyDirection(text) !== direction) throw new TypeError(`${method} takes COPY … ${what}`);
    return new PooledCopy(method, this.#hold(options), text, rest);
  }

  /**
   * All listening is done on one connection more. When that was lost, and there is another, the loop gets a notification
   * with `missed: true`: others may have been missed.
   */
  listen(channel, options = NO_OPTIONS) {
    checkNames(options, NAMES.listen);
    if (this.#state !== 'open') throw this.#refused;
    if (this.#channels?.state !== 'open') {
      const channels = this.#channels = new Channels(ask => this.#run({ retry: true }, ask, { home }));
      const home = new Connections(this.#config, { ...this.#options, size: 1, idle_timeout: 0, max_lifetime: 0 }, channels);
      channels.once('close', () => home.destroy(undefined, new ConnectionError('nobody listens any more', { code: '08003' })));
    }
    return new Listener(this.#channels, channel, options.signal);
  }

  /**
   * Lets all that was asked finish, then closes the connections. What is asked from now on rejects.
   * @returns {Promise<void>}
   */
  async end() {
    if (this.#state === 'open') this.#close('ended');
    const before = this.#idle;
    if (this.#pending > 0) await new Promise(resolve => { this.#idle = () => resolve(before()); });
    await Promise.all([this.#primary.end(), this.#replicas?.end()]);
  }

  #close(state, error) {
    this.#state = state;
    this.#refused = new ConnectionError(`the pool was ${state}`, { code: '08003', cause: error, sent: false });
    this.#channels?.close(error);
  }

  /** Closes the connections now; all that is pending rejects. @param {Error} [error] to reject with */
  destroy(error) {
    this.#close('destroyed', error);
    for (const each of [this.#primary, this.#replicas]) each?.destroy(error, this.#refused);
  }
}

module.exports = { Pool };
