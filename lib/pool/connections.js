'use strict';

const { tracingChannel } = require('node:diagnostics_channel');
const { ConnectionError, PostgresError, TimeoutError } = require('../..');
const { tooLong, waitsForItself, watchLimits } = require('../core/pipeline');
const { Alarm, LONGEST } = require('./alarm');
const { Connection, Use } = require('./connection');
const { Kind, Waiting } = require('./waiting');

const channel = tracingChannel?.('quickgres:pool');

/** The first and the longest pause between two attempts to connect, in milliseconds. */
const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 2000;

/** Milliseconds for which an attempt to connect may be silent, at least. */
const ATTEMPT = 10000;

/** Milliseconds for which plain queries wait for a new connection rather than behind other requests. */
const PATIENCE = 1000;

/** How many connections queries that are known to be quick share at a time. */
const SHARING = 4;

/** Milliseconds after a quick query in which a connection is left to the next one. */
const RECENT = 100;

const tooLate = tooLong('request', () => ': it waited for a connection');

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
  #quickAt = -Infinity; // when the last quick query was sent
  #outage; // `{ failures, pause, error }`, from a failed attempt until the next connection has answered
  #alarm = new Alarm(now => this.#look(now));
  #waiting = new Waiting();

  /**
   * @param {object|string} config of the clients
   * @param {object} options a Pool's, and `common`, `reached`
   * @param {function(string, Client|Error, Promise)} emit gets 'error', and 'connect' with each new client and the promise of
   *   its connect()
   */
  constructor(config, options, emit) {
    this.#config = config;
    this.#options = options;
    this.#emit = emit;
    /** Whether there was a connection; from then on, requests wait during an outage. */
    this.reached = options.reached === true;
    /** @type {ConnectionError|undefined} the error of new requests after the end */
    this.refused = undefined;
  }

  get stats() {
    const count = is => this.#all.filter(is).length;
    return {
      size: this.#options.size,
      connected: count(each => each.isOpen), idle: count(each => each.isIdle), owned: count(each => each.hasOwner),
      pending: this.#all.reduce((sum, { client }) => sum + client.pending, 0),
      waiting: this.#waiting.size, why: this.#waiting.why
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
  #isGrowing(now) { return this.#mayOpen || this.#all.some(each => each.isOpening && now - each.since < PATIENCE); }

  /** The kind of a request that may share a connection. */
  kindOf(known) { return known === undefined || known.isQuick ? Kind.QUICK : Kind.UNPROVEN; }

  /** Whether a request may take one more connection: `reserved` ones are left to quick queries, but not for long by other queries. */
  #mayOwn({ kind, since }, now) {
    const { reserved, size } = this.#options;
    const taken = this.#all.filter(each => each.isTaken).length;
    const most = Math.max(1, size - reserved);
    if (taken < most || (kind === Kind.UNPROVEN && now >= this.#quickAt + RECENT)) return true;
    return now >= since + this.#patience && (kind === Kind.UNPROVEN || this.#all.filter(each => each.hasOwner || each.isHeld).length < most);
  }

  /** Milliseconds for which an unproven query leaves the last connection to quick ones. */
  get #patience() { return Math.min(...this.#all.map(each => each.patience)); }

  /**
   * The connection for a request, if any: an unused one, or for a quick query the one with the shortest estimated wait, if
   * enough are in use. One that is held up does not count.
   */
  #find(use, now) {
    const { isLimited, kind, known } = use;
    const isQuick = kind === Kind.QUICK;
    const mayMix = isQuick && !isLimited && known?.isSteady !== false;
    if (!isQuick && !this.#mayOwn(use, now)) return undefined;
    let best, unused, least = Infinity, shared = 0;
    for (const each of this.#all) {
      const wait = each.waitAt(now, isLimited, isLimited || this.#options.size === 1);
      if (wait < 0) unused ??= each;
      else if (wait < Infinity) {
        if (wait < least) [best, least] = [each, wait];
        if (++shared === SHARING && mayMix) break;
      }
    }
    const isEnough = isQuick && shared >= SHARING;
    if (unused !== undefined && !(mayMix && isEnough)) best = unused;
    else if (best === undefined || (!isEnough && this.#isGrowing(now))) return undefined;
    if (!isQuick) best.state = best === unused ? Use.OWNED : Use.DRAINING;
    if (best.state === Use.DRAINING) return undefined;
    if (isQuick) this.#quickAt = now;
    best.begin(use, now);
    if (known !== undefined) this.#alarm.setTo(now + best.patience);
    return best;
  }

  /** @returns {Connection|undefined} like `wait`, if there is no wait */
  take(use) { return this.#waiting[use.kind].size === 0 ? this.#find(use, use.since) : undefined; }

  /**
   * @param {object} use see PoolLease.run
   * @param {object} limits of the request, which began at `since`
   * @returns {Promise<Connection>} to be released; rejects with an error of connecting, a TimeoutError or an AbortError
   */
  async wait(use, { signal, onwait, statement_timeout: time = Infinity }, since) {
    if (this.#isDestroyed) throw this.refused;
    const { promise, reject } = this.#waiting.add(use);
    onwait?.(reject);
    const left = time - (performance.now() - since);
    // Without a limit as well, a timer keeps the program alive.
    const unwatch = watchLimits({ signal, statement_timeout: Math.min(this.#options.acquire_timeout, left, LONGEST) }, reject,
      limit => limit === left ? tooLate(time) : this.#late(limit), () => false);
    this.#serve();
    return (channel?.tracePromise(() => promise, { why: use.kind, waiting: this.#waiting.size }) ?? promise).finally(unwatch);
  }

  #late(time) {
    const { size, connected, owned } = this.stats;
    const cause = connected > 0 ? undefined : this.#outage?.error ??
      new ConnectionError('the server has not answered the attempt to connect', { code: '08001' });
    const why = cause?.message ?? `size ${size}, open ${connected}; owned by transactions, cursors, COPY, { alone: true } or connection(): ${owned}; ` +
      `taken by queries that are slow or not known to be quick: ${this.#all.filter(each => each.isTaken && !each.hasOwner).length}. ` +
      "If a transaction's function waits for this, use its tx: tx.query(), tx.transaction()";
    return new TimeoutError(`no connection for ${time} ms (acquire_timeout): ${why}`, { code: cause ? '08001' : '53300', cause });
  }

  /** Gives connections to waiting requests, and opens more for the rest. */
  #serve(now = performance.now()) {
    if (this.#waiting.size === 0) return;
    for (const each of this.#all) if (each.state === Use.DRAINING) each.state = Use.SHARED;
    this.#waiting.serve(use => this.#find(use, now), known => this.kindOf(known));
    const opening = this.#all.filter(each => each.isOpening).length;
    const shared = this.#all.filter(each => !each.isTaken).length - opening;
    const { owner, unproven, quick } = this.#waiting.why;
    const wanted = owner + unproven + Math.min(quick, Math.max(0, SHARING - shared));
    for (let more = wanted - opening; more > 0 && this.#mayOpen; more--) this.#open();
    const held = [Kind.OWNER, Kind.UNPROVEN].map(kind => this.#waiting.since(kind) + this.#patience);
    this.#alarm.setTo(Math.min(...held.filter(until => until > now)));
  }

  /**
   * A request that was given up may be under way, and an owner may have left any state.
   * @param {object} use as it was taken
   * @param {boolean} [reset] whether settings of the session may have changed
   */
  release(connection, use, reset) {
    const now = performance.now();
    const wasOwned = connection.isOpening || connection.isOwned;
    connection.end(use, now);
    if (connection.isOpen && connection.answered === 1) this.#resume();
    if (connection.users === 0) this.#watch(connection, now);
    if (connection.users === 0 && this.#options.exit_on_idle) connection.client.unref();
    if (!wasOwned && (connection.users > 0 || connection.isUnused)) return this.#serve(now);
    return connection.restore(wasOwned, reset).then(() => {
      if (wasOwned) connection.state = Use.SHARED;
      if (connection.users === 0) this.#watch(connection, now);
      this.#serve();
    });
  }

  #open() {
    const connection = new Connection(this.#config, this.#options.max_lifetime);
    const { client } = connection;
    connection.pipeline.share(this.common);
    this.#all.push(connection);
    client.closed.then(error => this.#closed(connection, error));
    const opening = client.connect();
    opening.then(() => {
      this.reached = this.#options.patient;
      this.release(connection, { since: connection.since, isAnswered: true, isLimited: false });
    }, () => {});
    this.#watch(connection, connection.since);
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
      this.#waiting.refuse(isFinal(error, connection) ? error : new NoConnection(`no connection: ${error.message}`, { code: error.code, cause: error, sent: false }));
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

  /** Does what is due. */
  #look(now) {
    this.#sweep(now);
    this.#serve(now);
    for (const each of this.#all) this.#watch(each, now);
  }

  /** How long a connection may be silent, and when it has been for too long, is too old or unused for too long, and is late. */
  #deadlinesOf(each) {
    const { acquire_timeout, idle_timeout, min, silence_timeout } = this.#options;
    const silence = each.isOpening ? Math.max(acquire_timeout, ATTEMPT) : silence_timeout;
    const isSpare = each.isIdle && (min === 0 || this.#all.filter(other => other.isOpen).length > min);
    const old = each.isOpen && each.state === Use.SHARED ? Math.min(each.expires, isSpare ? each.since + idle_timeout : Infinity) : Infinity;
    return { silence, silent: each.silentSince + silence, old, late: each.lateAt };
  }

  #watch(each, now) {
    const { silence, silent, old, late } = this.#deadlinesOf(each);
    const again = each.isOpening ? each.since + PATIENCE : each.isDropping ? now + silence : 0;
    this.#alarm.setTo(Math.min(silent, old, late, again > now ? again : Infinity));
  }

  #sweep(now) {
    for (const each of [...this.#all]) {
      const { silence, silent, old, late } = this.#deadlinesOf(each);
      if (now >= silent) {
        for (const { client } of this.#all.filter(other => other.isIdle)) client.destroy(); // the next request would find out
        each.client.destroy(new ConnectionError(`the server was silent for ${silence} ms`));
      } else if (now >= old) each.client.end();
      else if (now >= late) this.#suspect(each);
    }
  }

  /** An answer is late if it has not come although the event loop was not busy: it has read what there was. */
  #suspect(connection) {
    const { first, pipeline, pipeline: { reads } } = connection;
    first.isSuspected = true;
    setImmediate(() => {
      first.isSuspected = first.isLate = pipeline.reads === reads && connection.first === first;
      if (first.isLate) return;
      connection.since = performance.now();
      this.#watch(connection, connection.since);
    });
  }

  /** Replaces each connection after its current requests. */
  renew() {
    for (const each of this.#all) each.expires = 0;
    if (this.common.ownTypes !== undefined) this.common.ownTypes.isKnown = false;
    this.#sweep(performance.now());
    this.#serve();
  }

  /** Closes all connections after their current requests, without waiting for those that are being opened. */
  async close() {
    for (const { client } of this.#all.filter(each => each.isOpening)) client.destroy();
    for (const { client } of this.#all) client.ref();
    await Promise.all(this.#all.map(({ client }) => client.end()));
    clearTimeout(this.#outage?.pause);
    this.#alarm.stop();
  }

  /**
   * Closes all connections now.
   * @param {Error|undefined} error of requests on them
   * @param {Error} refused of waiting requests
   */
  destroy(error, refused) {
    this.refused ??= refused;
    this.#isDestroyed = true;
    this.#waiting.refuse(this.refused);
    for (const { client } of [...this.#all]) client.destroy(error);
    this.close();
  }
}

module.exports = { Connections };
