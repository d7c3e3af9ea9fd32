'use strict';

const { Client, ConnectionError, PostgresError } = require('../..');
const { resolve } = require('../config');
const { watchSignal } = require('../query');

/** Tells tracers of who waits for a connection, and how long: `{ owner, waiting }`. */
const channel = require('../platform').diagnostics_channel.tracingChannel?.('quickgres:pool');

/** The first and the longest pause between two attempts to connect, in milliseconds. */
const PAUSE = 50;
const LONGEST = 2000;

/** How long the server may go on with what nobody waits for, before its connection is taken for lost. */
const STUCK = 10000;

/*
 * A connection is `{ client, opened, state, users, since, expires, proved }`. Its state is 'shared' by plain queries;
 * 'draining': it gets no more of them, as somebody waits to own it; or 'owned' by one. `opened`: promise of the
 * client's connect(); `users`: requests that it was given to; `since`: when the last of them was over; `proved`: it
 * has served one.
 */
const isOpen = ({ client }) => client.state === 'open';
const isUnused = ({ client, users }) => users === 0 && client.pending === 0;
const isIdle = each => isUnused(each) && isOpen(each) && each.state !== 'owned';
const isConnecting = ({ client }) => client.state === 'connecting';

/** Errors of connecting that no other attempt will change: the server says no, or the config makes no sense. */
const isFinal = error => /^(?:0A|22|28|3D|42)/.test(error.code) ||
  ![ConnectionError, PostgresError, AggregateError].some(each => error instanceof each);

/** Connections to one place: who gets which, and when others are opened. */
class Connections {
  #all = [];
  #config;
  #emitter;
  #options;
  #outage; // while no attempt has succeeded: `{ since, failures, pause, error }`: the next one's timer, the last one's
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
    const open = this.#all.filter(isOpen);
    const pending = this.#all.reduce((sum, { client }) => sum + client.pending, 0);
    const { size } = this.#options;
    const idle = open.filter(isIdle).length;
    return { size, connected: open.length, idle, owned: this.#owned, pending, waiting: this.#waiting };
  }

  get #owned() { return this.#all.reduce((count, { state }) => count + (state === 'owned'), 0); }

  get #waiting() { return this.#queues.owned.size + this.#queues.shared.size; }

  /** Whether nothing can be asked here for now; after each pause somebody has to try. */
  get isDown() {
    const isPaused = this.#outage?.pause !== undefined;
    return (isPaused || (this.#outage !== undefined && this.#all.length > 0)) && !this.#all.some(isOpen);
  }

  /** While no connection can be made, one attempt at a time is. */
  get #mayOpen() {
    return this.#all.length < this.#options.size &&
      (this.#outage === undefined || (this.#outage.pause === undefined && !this.#all.some(isConnecting)));
  }

  /** Where a plain query is likely to wait least: as long again as the one before it has, and for others. */
  #best() {
    const now = performance.now();
    let best, least = Infinity;
    for (const each of this.#all) {
      const isUsable = isOpen(each) || (isConnecting(each) && this.#outage === undefined);
      if (each.state !== 'shared' || !isUsable) continue;
      const cost = isUnused(each) ? -1 : now - each.since + each.users;
      if (cost < least) [best, least] = [each, cost];
    }
    return best;
  }

  #share() {
    const best = this.#best();
    if ((best !== undefined && isUnused(best)) || !this.#mayOpen) return best;
    this.#open();
    return this.#best();
  }

  /** Some are left for plain queries, one where they wait, unless there is no other. */
  #own() {
    const { reserved, size } = this.#options;
    const { owned, shared } = this.#queues;
    const most = (this.#outage === undefined ? size : this.#all.length) - (shared.size > 0 ? 1 : reserved);
    if (this.#owned >= Math.max(1, most)) return undefined;
    const idle = this.#all.find(isIdle);
    const best = idle ?? this.#best();
    if (idle !== undefined) idle.state = 'owned';
    else if (!this.#mayOpen && best !== undefined) best.state = 'draining';
    else if (this.#mayOpen && this.#all.filter(isConnecting).length < owned.size) this.#open();
    return idle;
  }

  #find(kind) {
    const found = kind === 'owned' ? this.#own() : this.#share();
    if (found !== undefined && found.users++ === 0) found.since = performance.now();
    return found;
  }

  /**
   * @param {string} kind 'owned', where nobody else is to have it, and it is to be open; or 'shared'
   * @returns {object|undefined} a connection, to be released; undefined where one has to wait
   */
  take(kind) { return this.#refused === undefined && this.#queues[kind].size === 0 ? this.#find(kind) : undefined; }

  /**
   * @param {string} kind
   * @param {AbortSignal} [signal] ends the waiting
   * @returns {Promise<object>} a connection, to be released; rejects with an error of connecting, a ConnectionError
   *   after acquire_timeout, or an AbortError
   */
  async wait(kind, signal) {
    if (this.#refused !== undefined) throw this.#refused;
    const { acquire_timeout: time } = this.#options;
    const queue = this.#queues[kind];
    const entry = {};
    const waiting = new Promise((resolve, reject) => Object.assign(entry, { resolve, reject }));
    const giveUp = error => {
      queue.delete(entry);
      entry.reject(error);
      this.#serve(); // nobody has to make room for it any more
    };
    const timer = time > 0 && setTimeout(() => giveUp(this.#late(time)), time);
    const unwatch = signal && watchSignal(signal, giveUp);
    queue.add(entry);
    this.#serve();
    try {
      return await (channel?.tracePromise(() => waiting, { owner: kind === 'owned', waiting: queue.size }) ?? waiting);
    } finally {
      clearTimeout(timer);
      unwatch?.();
    }
  }

  /** @returns {ConnectionError} for who has waited for so many milliseconds */
  #late(time) {
    const { connected, owned, size } = this.stats;
    const cause = this.#outage?.error;
    const waited = `for ${time} ms (acquire_timeout)`;
    if (cause !== undefined && connected === 0) {
      return new ConnectionError(`no connection ${waited}: ${cause.message}`, { code: '08001', cause, sent: false });
    }
    return new ConnectionError(`no connection was free ${waited}: of ${size}, ${connected} are open, ${owned} of them ` +
      'owned by transactions, cursors, COPY, queryTo() or connection(). A transaction inside another one is ' +
      'tx.transaction()', { code: '53300', cause, sent: false });
  }

  /** Gives connections to who waits. */
  #serve() {
    for (const each of this.#all) if (each.state === 'draining') each.state = 'shared';
    for (const kind of ['owned', 'shared']) {
      for (const entry of this.#queues[kind]) {
        const connection = this.#find(kind);
        if (connection === undefined) break;
        this.#queues[kind].delete(entry);
        entry.resolve(connection);
      }
    }
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
      if (connection.users === 0 && client.pending > 0) await client.sync();
      if (isOwner && client.transactionStatus !== 'I') await client.query('ROLLBACK');
      if (settings) await client.query('DISCARD ALL', [], 0, false);
    } catch {
      client.destroy();
    }
    if (isOwner) connection.state = 'shared';
    if (this.#waiting > 0) this.#serve();
  }

  #open() {
    const { acquire_timeout: time, max_lifetime: most, idle_timeout: idle } = this.#options;
    const client = new Client(this.#config);
    const since = performance.now();
    // Not all at once, where all were opened at once.
    const expires = most > 0 ? since + most * (0.9 + Math.random() / 10) : Infinity;
    const connection = { client, state: 'shared', users: 0, since, expires, proved: false };
    this.#all.push(connection);
    client.closed.then(error => this.#closed(connection, error));
    connection.opened = client.connect();
    const late = new ConnectionError(`no connection was made in ${time} ms (acquire_timeout)`, { code: '08001' });
    const timer = time > 0 && setTimeout(() => client.destroy(late), time);
    connection.opened.then(() => {
      clearTimeout(this.#outage?.pause);
      this.#outage = undefined;
      this.#serve();
      // Who listens to 'connect' may have asked something.
      if (client.pending > 0 && this.#queues.owned.size > 0) return client.sync().then(() => this.#serve());
    }).catch(() => {}).finally(() => clearTimeout(timer));
    this.#sweeping ??= setInterval(() => this.#sweep(), Math.min(1000, (most || 2000) / 2, (idle || 2000) / 2));
    this.#sweeping.unref?.();
    this.#emitter.emit('connect', client);
  }

  /** One that has served is replaced at once, others after a pause. */
  #closed(connection, error) {
    this.#all.splice(this.#all.indexOf(connection), 1);
    if (error !== undefined && !connection.proved) {
      const outage = this.#outage ??= { since: connection.since, failures: 0, pause: undefined, error: undefined };
      outage.error = error;
      outage.pause ??= setTimeout(() => {
        outage.pause = undefined;
        this.#serve();
      }, Math.min(PAUSE * 2 ** outage.failures++, LONGEST) * (0.5 + Math.random() / 2));
      if (!this.#all.some(isOpen) && this.isOver(error)) {
        const more = { code: error.code, cause: error, sent: false };
        this.#refuse(isFinal(error) ? error : new ConnectionError(`no connection: ${error.message}`, more));
      }
    }
    this.#serve();
    if (error !== undefined && this.#emitter.listenerCount('error') > 0) this.#emitter.emit('error', error);
  }

  /** Whether no attempt helps after this error of connecting, or none has for as long as connect_timeout says. */
  isOver(error) {
    if (isFinal(error) || !this.#options.patient) return true;
    const { connect_timeout: seconds } = resolve(this.#config);
    return seconds > 0 && performance.now() - this.#outage?.since >= seconds * 1000;
  }

  #refuse(error) {
    for (const queue of Object.values(this.#queues)) {
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
      const isOld = now >= each.expires || (most > 0 && isIdle(each) && unused >= most);
      if (each.users === 0 && each.client.pending > 0 && unused > STUCK) {
        each.client.destroy(new ConnectionError(`the server was silent for ${STUCK} ms after a request was given up`));
      } else if (isOld && isOpen(each) && each.state === 'shared') each.client.end();
    }
  }

  /** Closes all connections, when what they were asked is over. */
  async end() {
    clearInterval(this.#sweeping);
    clearTimeout(this.#outage?.pause);
    await Promise.all(this.#all.map(({ client }) => client.end()));
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
