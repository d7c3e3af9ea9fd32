'use strict';

const { process } = require('#platform');
const { Client, ConnectionError, PostgresError } = require('../..');
const { resolve } = require('../config');
const { checkLimits, watchSignal } = require('../query');
const { costOf, isIdle, isOpen, isUnused } = require('./connection');

/** Tells tracers of who waits for a connection, and how long: `{ owner, waiting }`. */
const channel = require('#platform').diagnostics_channel.tracingChannel?.('quickgres:pool');

/** The first and the longest pause between two attempts to connect, in milliseconds. */
const PAUSE = 50;
const LONGEST = 2000;

/** How long the server may go on with what nobody waits for, before its connection is taken for lost. */
const STUCK = 10000;

/** Errors of connecting that no other attempt will change: the server says no, or the config makes no sense. */
const isFinal = error => !(error instanceof ConnectionError || error instanceof PostgresError) ||
  /^(?:0A|22|28|3D|42)/.test(error.code);

/** Connections to one place: who gets which, and when others are opened. */
class Connections {
  #all = [];
  #config;
  #emitter;
  #error; // of the last attempt
  #failing; // since when no attempt has succeeded
  #failures = 0;
  #options;
  #over = false;
  #owning = new Set(); // who waits to own a connection
  #retry; // the timer of the next attempt
  #sharing = new Set(); // plain queries that wait for one
  #sweeping;

  /**
   * @param {object|string} config of the clients
   * @param {object} options `{ size, acquire_timeout, idle_timeout, max_lifetime }`; `optional`: nobody waits for an
   *   attempt after one that has failed
   * @param {EventEmitter} emitter 'connect', with a client of which nothing has been asked; 'error'
   */
  constructor(config, options, emitter) {
    this.#config = config;
    this.#options = options;
    this.#emitter = emitter;
  }

  get stats() {
    const open = this.#all.filter(isOpen);
    return {
      size: this.#options.size,
      connected: open.length,
      idle: open.filter(isIdle).length,
      owned: this.#count('owned'),
      pending: open.reduce((sum, { client }) => sum + client.pending, 0),
      waiting: this.#owning.size + this.#sharing.size
    };
  }

  #emit(...event) {
    try {
      if (event[0] !== 'error' || this.#emitter.listenerCount('error') > 0) this.#emitter.emit(...event);
    } catch (error) {
      process.nextTick(() => { throw error; }); // what a listener throws is thrown where nothing of ours is running
    }
  }

  #count(state) { return this.#all.reduce((count, each) => count + (each.state === state), 0); }

  /** Whether another connection is, or can be, on its way. */
  get #grows() {
    return this.#failures === 0 && (this.#all.length < this.#options.size || this.#count('connecting') > 0);
  }

  /** The connection on which a plain query is likely to wait least. */
  #best() {
    const now = performance.now();
    let best, least = Infinity;
    for (const each of this.#all) {
      const cost = each.state === 'shared' && each.client.state === 'open' ? costOf(each, now) : Infinity;
      if (cost < least) [best, least] = [each, cost];
    }
    return best;
  }

  /** @returns {object|undefined} a connection for a plain query, unless that has to wait; to be released */
  share() {
    const best = this.#sharing.size > 0 ? undefined : this.#best();
    if (best === undefined || (!isUnused(best) && this.#grows)) return undefined;
    if (best.users++ === 0) best.since = performance.now();
    return best;
  }

  /**
   * @param {boolean} owner whether nobody else is to have it
   * @param {AbortSignal} [signal] ends the waiting
   * @returns {Promise<object>} a connection, to be released; rejects with the error of connecting, a ConnectionError
   *   after acquire_timeout, or an AbortError
   */
  async take(owner, signal) {
    const free = owner ? undefined : this.share();
    if (free !== undefined) return free;
    checkLimits({ signal });
    const { acquire_timeout: time, optional } = this.#options;
    const queue = owner ? this.#owning : this.#sharing;
    const isDown = optional && this.#failures > 0 && !this.#all.some(isOpen);
    const entry = {};
    const waiting = new Promise((resolve, reject) => Object.assign(entry, { resolve, reject }));
    const giveUp = error => {
      queue.delete(entry);
      entry.reject(error);
      this.#serve(); // nobody has to make room for it any more
    };
    const timer = time > 0 && setTimeout(() => giveUp(new ConnectionError(`no connection was free for ${time} ms ` +
      '(acquire_timeout)', { code: '53300', cause: this.#error, sent: false })), time);
    const unwatch = signal && watchSignal(signal, giveUp);
    queue.add(entry);
    this.#serve();
    if (isDown) giveUp(this.#error);
    try {
      return await (channel?.tracePromise(() => waiting, { owner, waiting: queue.size }) ?? waiting);
    } finally {
      clearTimeout(timer);
      unwatch?.();
    }
  }

  /**
   * @param {object} connection that was taken
   * @param {boolean} [settings] whether those of the session may have been changed
   */
  release(connection, settings = false) {
    const { client } = connection;
    connection.users--;
    connection.since = performance.now();
    connection.proved ||= client.state === 'open';
    if (connection.state === 'owned') {
      const isClean = !settings && client.pending === 0 && client.transactionStatus === 'I';
      if (client.state === 'open' && !isClean) return void this.#reset(connection, settings);
      connection.state = 'shared';
    } else if (client.pending > connection.users) client.sync().then(() => this.#serve(), () => {}); // it was given up
    if (this.#owning.size + this.#sharing.size > 0) this.#serve();
  }

  /** Makes the session what it was before somebody owned it; where that is not possible, the connection is closed. */
  async #reset(connection, settings) {
    const { client } = connection;
    try {
      await client.sync();
      if (client.transactionStatus !== 'I') await client.query('ROLLBACK');
      if (settings) await client.query('DISCARD ALL', [], 0, false);
    } catch {
      client.destroy();
    }
    if (connection.state === 'owned') connection.state = 'shared';
    this.#serve();
  }

  /** Gives connections to who waits, opens what is missing, and makes room. */
  #serve() {
    const { size } = this.#options;
    const connecting = this.#count('connecting');
    // One is left for plain queries, unless there is no other.
    let room = Math.max(1, (this.#failures === 0 ? size : this.#all.length) - 1) - this.#count('owned');
    const give = (queue, entry, connection) => {
      queue.delete(entry);
      if (connection.users++ === 0) connection.since = performance.now();
      entry.resolve(connection);
    };
    for (const entry of this.#owning) {
      const idle = room > 0 ? this.#all.find(isIdle) : undefined;
      if (idle === undefined) break;
      idle.state = 'owned';
      room--;
      give(this.#owning, entry, idle);
    }
    // Each connection that is on its way gets its part of what waits.
    const isFree = !this.#grows || this.#all.some(each => each.state === 'shared' && isIdle(each));
    let part = isFree ? Math.ceil(this.#sharing.size / (this.#grows ? 1 + connecting : 1)) : 0;
    for (const entry of this.#sharing) {
      const best = this.#best();
      if (best === undefined || part-- === 0) break;
      give(this.#sharing, entry, best);
    }
    const wanted = Math.min(this.#owning.size, room);
    for (let missing = this.#sharing.size + wanted - connecting; missing > 0 && this.#all.length < size; missing--) {
      if (this.#failures > 0 && (this.#retry !== undefined || this.#count('connecting') > 0)) break;
      this.#open();
    }
    for (const each of this.#all) if (each.state === 'draining') each.state = 'shared';
    for (let missing = wanted - this.#count('connecting'); missing > 0; missing--) {
      const best = this.#best();
      if (best !== undefined) best.state = 'draining';
    }
  }

  #open() {
    const { max_lifetime: most, idle_timeout: idle } = this.#options;
    const since = performance.now();
    // Not all at once, where all were opened at once.
    const expires = most > 0 ? since + most * (0.9 + Math.random() / 10) : Infinity;
    const client = new Client(this.#config);
    const connection = { home: this, client, state: 'connecting', users: 0, since, expires, proved: false };
    this.#all.push(connection);
    client.connect().then(() => this.#opened(connection), error => this.#failed(connection, error));
    this.#sweeping ??= setInterval(() => this.#sweep(), Math.min(1000, (most || 2000) / 2, (idle || 2000) / 2));
    this.#sweeping.unref?.();
  }

  #opened(connection) {
    connection.state = 'shared';
    connection.client.closed.then(error => {
      if (error === undefined) this.#remove(connection);
      else this.#failed(connection, error);
    });
    this.#failures = 0;
    this.#failing = this.#error = undefined;
    this.#emit('connect', connection.client);
    this.#serve();
  }

  #remove(connection) {
    this.#all.splice(this.#all.indexOf(connection), 1);
    this.#serve();
  }

  /** There is no connection, or no longer. One that has served is replaced at once, others after a pause. */
  #failed(connection, error) {
    if (this.#over) return this.#remove(connection);
    if (!connection.proved) {
      this.#error = error;
      this.#failing ??= connection.since;
      const pause = Math.min(PAUSE * 2 ** this.#failures, LONGEST) * (0.5 + Math.random() / 2);
      if (this.#retry === undefined) this.#failures++;
      this.#retry ??= setTimeout(() => {
        this.#retry = undefined;
        this.#serve();
      }, pause);
      const isOver = () => {
        const { connect_timeout: seconds } = resolve(this.#config);
        return this.#options.optional || (seconds > 0 && performance.now() - this.#failing >= seconds * 1000);
      };
      if (!this.#all.some(isOpen) && (isFinal(error) || isOver())) this.#refuse(error);
    }
    this.#remove(connection);
    this.#emit('error', error);
  }

  /** Nobody has to wait any more. */
  #refuse(error) {
    for (const queue of [this.#owning, this.#sharing]) {
      for (const entry of queue) entry.reject(error);
      queue.clear();
    }
  }

  /** Ends what is too old, has not been used for too long, or does not answer. */
  #sweep() {
    const now = performance.now();
    const { idle_timeout: most } = this.#options;
    for (const each of [...this.#all]) {
      const unused = now - each.since;
      if (each.users === 0 && each.client.pending > 0 && unused > STUCK && each.state !== 'connecting') {
        each.client.destroy(new ConnectionError(`the server was silent for ${STUCK} ms after a request was given up`));
      } else if (each.state === 'shared' && (now >= each.expires || (most > 0 && isIdle(each) && unused >= most))) this.#end(each);
    }
  }

  #end(connection) {
    connection.state = 'ending';
    return connection.client.end();
  }

  /** Closes all connections, when what they were asked is over. */
  async end() {
    this.#stop();
    await Promise.all(this.#all.map(each => this.#end(each)));
  }

  /** Closes all connections now. @param {Error} error that everything pending rejects with */
  destroy(error) {
    this.#stop();
    this.#refuse(error);
    for (const { client } of [...this.#all]) client.destroy(error);
  }

  #stop() {
    this.#over = true;
    clearTimeout(this.#retry);
    clearInterval(this.#sweeping);
  }
}

module.exports = { Connections };
