'use strict';

const { Client, ConnectionError } = require('../..');
const { resolve } = require('../config');
const { checkLimits, watchSignal } = require('../query');

/** Tells tracers of who waits for a connection, and how long: `{ owner, waiting }`. */
const channel = require('#platform').diagnostics_channel.tracingChannel?.('quickgres:pool');

/** The first and the longest pause between two attempts to connect, in milliseconds. */
const PAUSE = 50;
const LONGEST = 2000;

/** How long the server may go on with what nobody waits for, before its connection is taken for lost. */
const STUCK = 10000;

/*
 * A connection is `{ home, client, opened, state, users, since, expires, proved }`. Its state is 'shared' by plain queries;
 * 'draining': it gets no more of them, as somebody waits to own it; 'owned' by one; 'ending'. `opened`: promise of the
 * client's connect(); `users`: requests that it was given to; `since`: when the last of them was over; `proved`: it has
 * served one.
 */
const isOpen = ({ client, state }) => client.state === 'open' && state !== 'ending';
const isUnused = ({ client, users }) => users === 0 && client.pending === 0;
const isIdle = each => isUnused(each) && isOpen(each) && each.state !== 'owned';

/** Errors of connecting that no other attempt will change: the server says no, or the config makes no sense. */
const isFinal = error => error instanceof TypeError || /^(?:0A|22|28|3D|42)/.test(error.code);

/** Connections to one place: who gets which, and when others are opened. */
class Connections {
  #all = [];
  #config;
  #emitter;
  #failing; // since when no attempt has succeeded
  #failures = 0;
  #options;
  #owning = new Set(); // who waits to own a connection
  #pause; // the timer of the next attempt
  #sharing = new Set(); // plain queries that wait for one
  #sweeping;

  /**
   * @param {object|string} config of the clients
   * @param {object} options `{ size, acquire_timeout, idle_timeout, max_lifetime }`
   * @param {EventEmitter} emitter 'connect', with a client of which nothing has been asked; 'error'
   */
  constructor(config, options, emitter) {
    this.#config = config;
    this.#options = options;
    this.#emitter = emitter;
  }

  get stats() {
    const open = this.#all.filter(isOpen);
    const pending = open.reduce((sum, { client }) => sum + client.pending, 0);
    const waiting = this.#owning.size + this.#sharing.size;
    const { size } = this.#options;
    return { size, connected: open.length, idle: open.filter(isIdle).length, owned: this.#count('owned'), pending, waiting };
  }

  /** Whether nothing can be asked here for now; after each pause somebody has to try. */
  get isDown() {
    return this.#failures > 0 && (this.#pause !== undefined || this.#all.length > 0) && !this.#all.some(isOpen);
  }

  #count(state) { return this.#all.reduce((count, each) => count + (each.state === state), 0); }

  /** While no connection can be made, one attempt at a time is. */
  get #mayOpen() {
    return this.#all.length < this.#options.size && (this.#failures === 0 ||
      (this.#pause === undefined && this.#all.every(({ client }) => client.state !== 'connecting')));
  }

  /** The connection on which a plain query is likely to wait least: as long again as the one before it, and for others. */
  #best() {
    const now = performance.now();
    let best, least = Infinity;
    for (const each of this.#all) {
      if (each.state !== 'shared' || each.client.state === 'closed') continue;
      const cost = isUnused(each) ? -1 : now - each.since + each.users;
      if (cost < least) [best, least] = [each, cost];
    }
    return best;
  }

  #share() {
    const best = this.#best();
    return (best === undefined || !isUnused(best)) && this.#mayOpen ? this.#open() : best;
  }

  /** Some are left for plain queries, one where they wait, unless there is no other. */
  #own() {
    const { reserved, size } = this.#options;
    const left = this.#sharing.size > 0 ? 1 : reserved;
    const most = Math.max(1, (this.#failures === 0 ? size : this.#all.length) - left);
    if (this.#count('owned') >= most) return undefined;
    const connection = this.#all.find(isIdle) ?? (this.#mayOpen ? this.#open() : undefined);
    const best = this.#count('draining') === 0 ? this.#best() : undefined;
    if (connection !== undefined) connection.state = 'owned';
    else if (best !== undefined) best.state = 'draining';
    return connection;
  }

  /**
   * @param {boolean} owner whether nobody else is to have it
   * @returns {object|undefined} a connection, to be released; undefined where one has to wait
   */
  take(owner) {
    if ((owner ? this.#owning : this.#sharing).size > 0) return undefined;
    const connection = owner ? this.#own() : this.#share();
    if (connection !== undefined && connection.users++ === 0) connection.since = performance.now();
    return connection;
  }

  /**
   * @param {boolean} owner
   * @param {AbortSignal} [signal] ends the waiting
   * @returns {Promise<object>} a connection, to be released; rejects with an error of connecting, a ConnectionError after
   *   acquire_timeout, or an AbortError
   */
  async wait(owner, signal) {
    checkLimits({ signal });
    const { acquire_timeout: time } = this.#options;
    const queue = owner ? this.#owning : this.#sharing;
    const entry = {};
    const waiting = new Promise((resolve, reject) => Object.assign(entry, { resolve, reject }));
    const giveUp = error => {
      queue.delete(entry);
      entry.reject(error);
      this.#serve(); // nobody has to make room for it any more
    };
    const late = `no connection was free for ${time} ms (acquire_timeout)`;
    const timer = time > 0 && setTimeout(() => giveUp(new ConnectionError(late, { code: '53300', sent: false })), time);
    const unwatch = signal && watchSignal(signal, giveUp);
    queue.add(entry);
    try {
      return await (channel?.tracePromise(() => waiting, { owner, waiting: queue.size }) ?? waiting);
    } finally {
      clearTimeout(timer);
      unwatch?.();
    }
  }

  /** Gives connections to who waits. */
  #serve() {
    for (const [queue, find] of [[this.#owning, () => this.#own()], [this.#sharing, () => this.#share()]]) {
      for (const entry of queue) {
        const connection = find();
        if (connection === undefined) break;
        queue.delete(entry);
        if (connection.users++ === 0) connection.since = performance.now();
        entry.resolve(connection);
      }
    }
    for (const each of this.#all) if (each.state === 'draining' && this.#owning.size === 0) each.state = 'shared';
  }

  /**
   * @param {object} connection that was taken
   * @param {boolean} [settings] whether those of the session may have been changed
   */
  async release(connection, settings = false) {
    const { client } = connection;
    const isOwner = connection.state === 'owned';
    connection.users--;
    connection.since = performance.now();
    connection.proved ||= client.state === 'open';
    try {
      // A request that was given up may be under way; and who has owned the connection may have left it in any state.
      if (client.pending > connection.users) await client.sync();
      if (isOwner && client.transactionStatus !== 'I') await client.query('ROLLBACK');
      if (settings) await client.query('DISCARD ALL', [], 0, false);
    } catch {
      client.destroy();
    }
    if (isOwner) connection.state = 'shared';
    if (this.#owning.size + this.#sharing.size > 0) this.#serve();
  }

  #open() {
    const { acquire_timeout: time, max_lifetime: most, idle_timeout: idle } = this.#options;
    const client = new Client(this.#config);
    const since = performance.now();
    // Not all at once, where all were opened at once.
    const expires = most > 0 ? since + most * (0.9 + Math.random() / 10) : Infinity;
    const connection = { home: this, client, state: 'shared', users: 0, since, expires, proved: false };
    this.#all.push(connection);
    client.closed.then(error => this.#closed(connection, error));
    connection.opened = client.connect();
    const late = new ConnectionError(`no connection was made in ${time} ms (acquire_timeout)`, { code: '08001' });
    const timer = time > 0 && setTimeout(() => client.destroy(late), time);
    connection.opened.then(() => {
      this.#failures = 0;
      this.#failing = undefined;
      this.#serve();
    }, () => {}).finally(() => clearTimeout(timer));
    this.#sweeping ??= setInterval(() => this.#sweep(), Math.min(1000, (most || 2000) / 2, (idle || 2000) / 2));
    this.#sweeping.unref?.();
    this.#emitter.emit('connect', client);
    return connection;
  }

  /** One that has served is replaced at once, others after a pause. */
  #closed(connection, error) {
    this.#all.splice(this.#all.indexOf(connection), 1);
    if (error !== undefined && !connection.proved) {
      this.#failing ??= connection.since;
      const pause = Math.min(PAUSE * 2 ** this.#failures, LONGEST) * (0.5 + Math.random() / 2);
      if (this.#pause === undefined) this.#failures++;
      this.#pause ??= setTimeout(() => {
        this.#pause = undefined;
        this.#serve();
      }, pause);
      if (!this.#all.some(isOpen) && this.isOver(error)) {
        this.#refuse(new ConnectionError(`no connection: ${error.message}`, { code: error.code, cause: error, sent: false }));
      }
    }
    this.#serve();
    if (error !== undefined && this.#emitter.listenerCount('error') > 0) this.#emitter.emit('error', error);
  }

  /** Whether no attempt helps after this error of connecting, or none has for as long as connect_timeout says. */
  isOver(error) {
    if (isFinal(error) || !this.#options.patient) return true;
    const { connect_timeout: seconds } = resolve(this.#config);
    return seconds > 0 && performance.now() - this.#failing >= seconds * 1000;
  }

  #refuse(error) {
    for (const queue of [this.#owning, this.#sharing]) {
      for (const { reject } of queue) reject(error);
      queue.clear();
    }
  }

  /** Ends what is too old, has not been used for too long, or does not answer. */
  #sweep() {
    const now = performance.now();
    const { idle_timeout: most } = this.#options;
    for (const each of [...this.#all]) {
      const unused = now - each.since;
      if (each.users === 0 && each.client.pending > 0 && unused > STUCK) {
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
    clearInterval(this.#sweeping);
    clearTimeout(this.#pause);
    await Promise.all(this.#all.map(each => this.#end(each)));
  }

  /**
   * Closes all connections now.
   * @param {Error|undefined} error that what is pending on them rejects with
   * @param {Error} refused that what waits for them rejects with
   */
  destroy(error, refused) {
    this.#refuse(refused);
    for (const { client } of [...this.#all]) client.destroy(error);
    this.end();
  }
}

module.exports = { Connections };
