'use strict';

const { tracingChannel } = require('node:diagnostics_channel');
const { ConnectionError, PostgresError, TimeoutError } = require('../..');
const { tooLong, waitsForItself, watchLimits } = require('../pipeline');
const { Connection, Use } = require('./connection');

const channel = tracingChannel?.('quickgres:pool');

/** The first and the longest pause between two attempts to connect, in milliseconds. */
const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 2000;

/** Milliseconds for which an attempt to connect may be silent, at least. */
const ATTEMPT = 10000;

/** Milliseconds for which plain queries wait for a new connection rather than behind other requests. */
const PATIENCE = 1000;

const tooLate = tooLong('request', () => ': it waited for a connection');

const firstOf = queue => queue.values().next().value?.since ?? Infinity;

/** Errors of connecting that another attempt would not change: the server refuses, or the config is invalid. */
const isFinal = (error, { answered }) => answered < 0 && (/^(?:0A|22|28|3D|42)/.test(error.code) ||
  ![ConnectionError, PostgresError, TimeoutError, AggregateError].some(each => error instanceof each));

/**
 * Whether the server closed the connection because of a request, such as BEGIN in PgBouncer's statement mode; others still
 * work.
 */
const isRefusal = error => error instanceof PostgresError && error.code === '08P01';

/** The connections of a pool: which request gets which, and when they are opened, closed and replaced. */
class Connections {
  #all = [];
  #config;
  #emit;
  #isDestroyed = false;
  #options;
  #outage; // `{ failures, pause, error }`, from a failed attempt until the next connection has answered
  #queues = { owned: new Set(), shared: new Set() }; // waiting requests
  #sweeping;

  /**
   * @param {object|string} config of the clients
   * @param {object} options a Pool's, and `longTexts`, `silent`, `reached`
   * @param {function(string, Client|Error, Promise)} emit gets 'error', and 'connect' with each new client and the promise of
   *   its connect()
   */
  constructor(config, options, emit) {
    this.#config = config;
    this.#options = options;
    this.#emit = emit;
    /** @type {{decode: *}|undefined} the default of readers */
    this.decoding = undefined;
    /** Whether there was a connection; from then on, requests wait during an outage. */
    this.reached = options.reached === true;
    /** @type {ConnectionError|undefined} the error of new requests after the end */
    this.refused = undefined;
  }

  get stats() {
    const count = is => this.#all.filter(is).length;
    return {
      size: this.#options.size,
      connected: count(each => each.isOpen), idle: count(each => each.isIdle), owned: count(each => each.isOwned),
      pending: this.#all.reduce((sum, { client }) => sum + client.pending, 0),
      waiting: this.#queues.owned.size + this.#queues.shared.size
    };
  }

  /** Whether the running code is the function of a transaction on one of them. */
  get isInside() { return this.#all.some(({ pipeline }) => waitsForItself(pipeline.scopes.root)); }

  /** During an outage there is one attempt at a time. */
  get #mayOpen() {
    return this.#all.length < this.#options.size &&
      (this.#outage === undefined || (this.#outage.pause === undefined && !this.#all.some(each => each.isOpening)));
  }

  /** Whether another connection will be open within PATIENCE. */
  get #isGrowing() {
    return this.#mayOpen || this.#all.some(each => each.isOpening && performance.now() - each.since < PATIENCE);
  }

  /**
   * The connection with the shortest estimated wait, if any. Owners leave `reserved` connections to plain queries. One that is
   * held up does not count, unless there is no other.
   */
  #find(kind, isLimited) {
    const { reserved, size } = this.#options;
    const most = Math.max(1, size - reserved);
    if (kind === 'owned' && this.#all.filter(each => each.isOwned || each.isHeld).length >= most) return undefined;
    const now = performance.now();
    let best, least = Infinity;
    for (const each of this.#all) {
      const wait = each.waitAt(now, isLimited, isLimited || size === 1);
      if (wait < least) [best, least] = [each, wait];
    }
    if (best === undefined || (!best.isUnused && this.#isGrowing)) return undefined;
    if (kind === 'owned') best.state = best.isUnused ? Use.OWNED : Use.DRAINING;
    if (best.state === Use.DRAINING) return undefined;
    best.begin(isLimited);
    return best;
  }

  /** @returns {Connection|undefined} like `wait`, if there is no wait */
  take(kind, isLimited) { return this.#queues[kind].size === 0 ? this.#find(kind, isLimited) : undefined; }

  /**
   * @param {string} kind 'owned' by one request, or 'shared'
   * @param {boolean} isLimited whether the request has a signal or a time limit
   * @param {object} limits of the request, which began at `since`
   * @returns {Promise<Connection>} to be released; rejects with an error of connecting, a TimeoutError or an AbortError
   */
  async wait(kind, isLimited, { signal, statement_timeout: time = Infinity }, since) {
    if (this.#isDestroyed) throw this.refused;
    const queue = this.#queues[kind];
    const entry = { since: performance.now(), isLimited };
    const waiting = new Promise((resolve, reject) => Object.assign(entry, { resolve, reject }));
    const left = time - (performance.now() - since);
    const unwatch = watchLimits({ signal, statement_timeout: Math.min(this.#options.acquire_timeout, left) }, error => {
      queue.delete(entry);
      entry.reject(error);
    }, limit => limit === left ? tooLate(time) : this.#late(limit), () => false);
    queue.add(entry);
    this.#serve();
    return (channel?.tracePromise(() => waiting, { owner: kind === 'owned', waiting: queue.size }) ?? waiting).finally(unwatch);
  }

  #late(time) {
    const { size, connected, owned } = this.stats;
    const cause = connected > 0 ? undefined : this.#outage?.error ??
      new ConnectionError('the server has not answered the attempt to connect', { code: '08001' });
    const why = cause?.message ?? `of ${size}, ${connected} are open, ${owned} of them owned by transactions, cursors, COPY, ` +
      '{ alone: true } or connection(). A transaction inside another one is tx.transaction()';
    return new TimeoutError(`no connection for ${time} ms (acquire_timeout): ${why}`, { code: cause ? '08001' : '53300', cause });
  }

  /** Gives connections to waiting requests in their order, and opens more for the rest. */
  #serve() {
    const { owned, shared } = this.#queues;
    for (const each of this.#all) if (each.state === Use.DRAINING) each.state = Use.SHARED;
    const kinds = firstOf(owned) < firstOf(shared) ? ['owned', 'shared'] : ['shared', 'owned'];
    for (const kind of kinds) {
      for (const entry of this.#queues[kind]) {
        const connection = this.#find(kind, entry.isLimited);
        if (connection === undefined) break;
        this.#queues[kind].delete(entry);
        entry.resolve(connection);
      }
    }
    const opening = this.#all.filter(each => each.isOpening).length;
    for (let wanted = owned.size + shared.size; wanted > opening && this.#mayOpen; wanted--) this.#open();
  }

  /**
   * A request that was given up may be under way, and an owner may have left any state.
   * @param {boolean} [isLimited] as it was taken
   * @param {boolean} [reset] whether settings of the session may have changed
   */
  async release(connection, isLimited, reset) {
    const wasAlone = connection.isOpening || connection.isOwned;
    connection.end(isLimited);
    if (connection.isOpen && connection.answered === 1) this.#resume();
    if (wasAlone || (connection.users === 0 && !connection.isUnused)) await connection.restore(wasAlone, reset);
    if (wasAlone) connection.state = Use.SHARED;
    if (this.#queues.owned.size > 0 || this.#queues.shared.size > 0) this.#serve();
  }

  #open() {
    const { max_lifetime: most, idle_timeout: idle, silence_timeout: silence, longTexts, learned, silent } = this.#options;
    const connection = new Connection(this.#config, most);
    const { client } = connection;
    connection.pipeline.share({ longTexts, learned, decoding: this.decoding });
    client.silent = silent;
    this.#all.push(connection);
    client.closed.then(error => this.#closed(connection, error));
    const opening = client.connect();
    opening.then(() => {
      this.reached = this.#options.patient;
      this.release(connection);
    }, () => {});
    this.#sweeping ??= setInterval(() => this.#sweep(), Math.min(1000, most / 2, idle / 2, silence / 4));
    this.#sweeping.unref?.();
    this.#emit('connect', client, opening);
  }

  /** Replaces a connection at once if it has answered, else after a pause. The first one ever is not tried again. */
  #closed(connection, error) {
    this.#all.splice(this.#all.indexOf(connection), 1);
    const isOver = error !== undefined && connection.isOpening && // after 57P03, the server is starting, a later attempt succeeds
      !this.#all.some(each => each.isOpen || (each.isOpening && !this.reached)) && (isFinal(error, connection) || !(this.reached || error.code === '57P03'));
    if (connection.isOpening || (connection.answered < 1 && error !== undefined && !isRefusal(error))) this.#pause(error);
    if (isOver) {
      const NoConnection = error instanceof TimeoutError ? TimeoutError : ConnectionError;
      this.#refuse(isFinal(error, connection) ? error : new NoConnection(`no connection: ${error.message}`, { code: error.code, cause: error, sent: false }));
      if (!this.reached) this.#resume();
    }
    this.#serve();
    if (error !== undefined) this.#emit('error', error);
  }

  #pause(error) {
    const outage = Object.assign(this.#outage ??= { failures: 0 }, { error });
    outage.pause ??= setTimeout(() => {
      outage.pause = undefined;
      this.#serve();
    }, Math.min(FIRST_PAUSE * 2 ** outage.failures++, LONGEST_PAUSE) * (0.5 + Math.random() / 2));
  }

  /** Ends the pauses between attempts. */
  #resume() {
    clearTimeout(this.#outage?.pause);
    this.#outage = undefined;
  }

  #refuse(error) {
    for (const queue of Object.values(this.#queues)) {
      for (const entry of queue) entry.reject(error);
      queue.clear();
    }
  }

  /** Closes connections that are too old, unused for too long, or silent. */
  #sweep() {
    const now = performance.now();
    const { acquire_timeout, idle_timeout, min, silence_timeout } = this.#options;
    for (const each of [...this.#all]) {
      const time = each.isOpening ? Math.max(acquire_timeout, ATTEMPT) : silence_timeout;
      const isOld = now >= each.expires || (each.isIdle && now - each.since >= idle_timeout && this.stats.connected > min);
      if (now - each.silentSince > time) {
        for (const { client } of this.#all.filter(other => other.isIdle)) client.destroy(); // the next request would find out
        each.client.destroy(new ConnectionError(`the server was silent for ${time} ms`));
      }
      else if (isOld && each.isOpen && each.state === Use.SHARED) each.client.end();
    }
    this.#serve();
  }

  /** Replaces each connection after its current requests. */
  renew() {
    for (const each of this.#all) each.expires = 0;
    this.#sweep();
  }

  /** Closes all connections after their current requests, without waiting for those that are being opened. */
  async close() {
    for (const { client } of this.#all.filter(each => each.isOpening)) client.destroy();
    await Promise.all(this.#all.map(({ client }) => client.end()));
    clearTimeout(this.#outage?.pause);
    clearInterval(this.#sweeping);
  }

  /**
   * Closes all connections now.
   * @param {Error|undefined} error of requests on them
   * @param {Error} refused of waiting requests
   */
  destroy(error, refused) {
    this.refused ??= refused;
    this.#isDestroyed = true;
    this.#refuse(this.refused);
    for (const { client } of [...this.#all]) client.destroy(error);
    this.close();
  }
}

module.exports = { Connections };
