'use strict';

const { Client, ConnectionError, PostgresError, TimeoutError } = require('../..');
const { resolve } = require('../config');
const { watchSignal } = require('../query');

/** Tells tracers of who waits for a connection, and how long: `{ owner, waiting }`. */
const channel = require('node:diagnostics_channel').tracingChannel('quickgres:pool');

/** The first and the longest pause between two attempts to connect, in milliseconds. */
const PAUSE = 50;
const LONGEST = 2000;

/** How long the server may be silent with what nobody waits for, and at least with an attempt, in milliseconds. */
const STUCK = 10000;

/** How long plain queries wait for a connection that is being opened rather than behind others, in milliseconds. */
const HOPE = 1000;

/*
 * A connection is `{ client, state, users, since, expires, answers, pace }`. Its state is 'opening'; 'shared' by plain
 * queries; 'draining': it gets no more of them, as somebody waits to own it; or 'owned' by one. `users`: requests that
 * it was given to, and at first who opens it; `since`: when the first of them began, or the last was over; `answers`:
 * how many were over while it was open, of those it was given to; `pace`: milliseconds from one to the next, as a mean
 * of the last ones, each of which counts as one at most.
 */
const isOpen = ({ client }) => client.state === 'open';
const isUnused = ({ client, users }) => users === 0 && client.pending === 0;
const isIdle = each => isUnused(each) && isOpen(each) && each.state === 'shared';
const isOpening = ({ state }) => state === 'opening';
const isOwned = ({ state }) => state === 'owned';

/** When the first one in a queue has come. */
const firstOf = queue => queue.values().next().value?.since ?? Infinity;

/** Errors of connecting that no other attempt will change: the server says no, or the config makes no sense. */
const isFinal = error => /^(?:0A|22|28|3D|42)/.test(error.code) ||
  ![ConnectionError, TimeoutError, PostgresError, AggregateError].some(each => error instanceof each);

/** Connections to one place: who gets which, and when others are opened. */
class Connections {
  #all = [];
  #config;
  #emitter;
  #options;
  #outage; // from when an attempt fails until the next connection has answered: `{ failures, pause, error }`
  #queues = { owned: new Set(), shared: new Set() }; // who waits to own a connection, and plain queries
  #refused; // what requests are rejected with, once it was destroyed
  #sweeping;

  /**
   * @param {object|string} config of the clients
   * @param {object} options `{ size, reserved, patient, acquire_timeout, idle_timeout, max_lifetime }`
   * @param {EventEmitter} emitter 'connect', with a client of which nothing has been asked; 'error'
   */
  constructor(config, options, emitter) {
    this.#config = config;
    this.#options = options;
    this.#emitter = emitter;
  }

  get stats() {
    const [connected, idle, owned] = [isOpen, isIdle, isOwned].map(is => this.#all.filter(is).length);
    const pending = this.#all.reduce((sum, { client }) => sum + client.pending, 0);
    const waiting = this.#queues.owned.size + this.#queues.shared.size;
    return { size: this.#options.size, connected, idle, owned, pending, waiting };
  }

  /** Whether there is none, so that others have to answer; then one is tried, after each pause. */
  get isDown() {
    if (this.#outage === undefined || this.#all.some(isOpen)) return false;
    if (this.#mayOpen) this.#open();
    return true;
  }

  /** While no connection can be made, one attempt at a time is. */
  get #mayOpen() {
    return this.#all.length < this.#options.size &&
      (this.#outage === undefined || (this.#outage.pause === undefined && !this.#all.some(isOpening)));
  }

  /** Whether there will soon be another connection. */
  get #isGrowing() {
    return this.#mayOpen || this.#all.some(each => isOpening(each) && performance.now() - each.since < HOPE);
  }

  /** Where a plain query is likely to wait least: as long again as the oldest one there has, and for the others. */
  #best() {
    const now = performance.now();
    let best, least = Infinity;
    for (const each of this.#all) {
      if (each.state !== 'shared' || !isOpen(each)) continue;
      const cost = isUnused(each) ? -1 : now - each.since + each.users * each.pace;
      if (cost < least) [best, least] = [each, cost];
    }
    return best;
  }

  /**
   * Some are left for plain queries, unless there is no other.
   * @param {string} kind 'owned', where nobody else is to have it; or 'shared'
   * @returns {object|undefined} an open connection, to be released; undefined where it is better to wait
   */
  #find(kind) {
    const { reserved, size } = this.#options;
    const most = Math.max(1, size - reserved);
    if (kind === 'owned' && this.#all.filter(isOwned).length >= most) return undefined;
    const best = this.#best();
    if (best === undefined || (!isUnused(best) && this.#isGrowing)) return undefined;
    if (kind === 'owned') best.state = isUnused(best) ? 'owned' : 'draining';
    if (best.state === 'draining') return undefined;
    if (best.users++ === 0) best.since = performance.now();
    return best;
  }

  /** @returns {object|undefined} as `wait`, where one need not wait */
  take(kind) { return this.#queues[kind].size === 0 ? this.#find(kind) : undefined; }

  /**
   * @param {string} kind 'owned', where nobody else is to have it; or 'shared'
   * @param {AbortSignal} [signal] ends the waiting
   * @returns {Promise<object>} an open connection, to be released; rejects with an error of connecting, a
   *   ConnectionError after acquire_timeout, or an AbortError
   */
  async wait(kind, signal) {
    if (this.#refused !== undefined) throw this.#refused;
    const { acquire_timeout: time } = this.#options;
    const queue = this.#queues[kind];
    const entry = { since: performance.now() };
    const waiting = new Promise((resolve, reject) => Object.assign(entry, { resolve, reject }));
    const giveUp = error => {
      queue.delete(entry);
      entry.reject(error);
    };
    const timer = time < Infinity && setTimeout(() => giveUp(this.#late(time)), time);
    const unwatch = signal && watchSignal(signal, giveUp);
    queue.add(entry);
    this.#serve();
    try {
      return await (channel.tracePromise(() => waiting, { owner: kind === 'owned', waiting: queue.size }));
    } finally {
      clearTimeout(timer);
      unwatch?.();
    }
  }

  /** @returns {ConnectionError} for who has waited for so many milliseconds */
  #late(time) {
    const { size, connected, owned } = this.stats;
    const cause = connected > 0 ? undefined : this.#outage?.error;
    const why = cause?.message ?? `of ${size}, ${connected} are open, ${owned} of them owned by transactions, ` +
      'cursors, COPY, queryTo() or connection(). A transaction inside another one is tx.transaction()';
    const message = `no connection for ${time} ms (acquire_timeout): ${why}`;
    return new ConnectionError(message, { code: cause === undefined ? '53300' : '08001', cause, sent: false });
  }

  /** Gives connections to who waits, those first who have waited longest, and opens others for the rest. */
  #serve() {
    const { owned, shared } = this.#queues;
    for (const each of this.#all) if (each.state === 'draining') each.state = 'shared';
    const kinds = firstOf(owned) < firstOf(shared) ? ['owned', 'shared'] : ['shared', 'owned'];
    for (const kind of kinds) {
      for (const entry of this.#queues[kind]) {
        const connection = this.#find(kind);
        if (connection === undefined) break;
        this.#queues[kind].delete(entry);
        entry.resolve(connection);
      }
    }
    const opening = this.#all.filter(isOpening).length;
    for (let wanted = owned.size + shared.size; wanted > opening && this.#mayOpen; wanted--) this.#open();
  }

  /**
   * A request that was given up may be under way; and who had a connection alone may have left it in any state.
   * @param {object} connection that was taken
   * @param {boolean} [reset] whether settings of the session may have been changed
   */
  async release(connection, reset) {
    const { client } = connection;
    const wasAlone = isOwned(connection) || isOpening(connection);
    const now = performance.now();
    connection.users--;
    if (!wasAlone) connection.pace += (Math.min(1, now - connection.since) - connection.pace) / 32;
    connection.since = now;
    if (isOpen(connection) && ++connection.answers === 1) {
      clearTimeout(this.#outage?.pause);
      this.#outage = undefined;
    }
    try {
      if (connection.users === 0 && client.pending > 0) await client.sync();
      if (wasAlone && client.transactionStatus !== 'I') await client.query('ROLLBACK');
      if (reset) await client.query('DISCARD ALL', [], 0, false);
    } catch {
      client.destroy();
    }
    if (wasAlone) connection.state = 'shared';
    if (this.#queues.owned.size > 0 || this.#queues.shared.size > 0) this.#serve();
  }

  #open() {
    const { max_lifetime: most, idle_timeout: idle } = this.#options;
    const client = new Client(this.#config);
    const since = performance.now();
    // Not all at once, where all were opened at once.
    const expires = since + most * (0.9 + Math.random() / 10);
    const connection = { client, state: 'opening', users: 1, since, expires, answers: -1, pace: 1 };
    this.#all.push(connection);
    client.closed.then(error => this.#closed(connection, error));
    client.connect().then(() => this.release(connection), () => {});
    this.#sweeping ??= setInterval(() => this.#sweep(), Math.min(1000, most / 2, idle / 2));
    this.#sweeping.unref?.();
    this.#emit('connect', client);
  }

  /** What a listener throws is thrown where nothing of ours is running. */
  #emit(event, what) {
    try {
      if (this.#emitter.listenerCount(event) > 0) this.#emitter.emit(event, what);
    } catch (error) {
      process.nextTick(() => { throw error; });
    }
  }

  /** One that has answered is replaced at once, others after a pause. */
  #closed(connection, error) {
    this.#all.splice(this.#all.indexOf(connection), 1);
    if (connection.answers < 1 && (error !== undefined || isOpening(connection))) this.#pause(error);
    if (error !== undefined && isOpening(connection) && !this.#all.some(isOpen)) this.#tell(error);
    this.#serve();
    if (error !== undefined) this.#emit('error', error);
  }

  #pause(error) {
    const outage = this.#outage ??= { failures: 0 };
    outage.error = error;
    outage.pause ??= setTimeout(() => {
      outage.pause = undefined;
      this.#serve();
    }, Math.min(PAUSE * 2 ** outage.failures++, LONGEST) * (0.5 + Math.random() / 2));
  }

  /** Rejects those whom no other attempt to connect helps, or none has for as long as connect_timeout says. */
  #tell(error) {
    if (isFinal(error)) return this.#refuse(error);
    const time = this.#options.patient ? (resolve(this.#config).connect_timeout || Infinity) * 1000 : 0;
    const more = { code: error.code, cause: error, sent: false };
    this.#refuse(new ConnectionError(`no connection: ${error.message}`, more), performance.now() - time);
  }

  /** Rejects those who wait; or those of them who do so since `time`. */
  #refuse(error, time = Infinity) {
    for (const queue of Object.values(this.#queues)) {
      for (const entry of queue) {
        if (entry.since > time) break;
        queue.delete(entry);
        entry.reject(error);
      }
    }
  }

  /** Ends what is too old, has not been used for too long, or does not answer. */
  #sweep() {
    const now = performance.now();
    const { acquire_timeout: most, idle_timeout } = this.#options;
    for (const each of [...this.#all]) {
      const unused = now - each.since;
      const isGivenUp = each.users === 0 && each.client.pending > 0;
      const silence = isOpening(each) ? Math.max(most, STUCK) : isGivenUp ? STUCK : Infinity;
      const isOld = now >= each.expires || (isIdle(each) && unused >= idle_timeout);
      if (unused > silence) each.client.destroy(new ConnectionError(`the server was silent for ${silence} ms`));
      else if (isOld && isOpen(each) && each.state === 'shared') each.client.end();
    }
  }

  /** Closes all connections, when what they were asked is over; what is being opened is not waited for. */
  async end() {
    for (const { client } of this.#all.filter(isOpening)) client.destroy();
    await Promise.all(this.#all.map(({ client }) => client.end()));
    clearTimeout(this.#outage?.pause);
    clearInterval(this.#sweeping);
  }

  /**
   * Closes all connections now.
   * @param {Error|undefined} error that what is pending on them rejects with
   * @param {Error} refused that what waits for them rejects with
   */
  destroy(error, refused) {
    this.#refuse(this.#refused = refused);
    for (const { client } of [...this.#all]) client.destroy(error);
    this.end();
  }
}

module.exports = { Connections };
