'use strict';

const { Buffer } = require('#platform');
const { UsageError } = require('../protocol/errors');
const { checkText } = require('../protocol/writer');

/** The server cuts off longer names, and with them what would come of it. */
const LONGEST = 63;

/** @type {WeakMap<Client, Channels>} */
const channelsOf = new WeakMap();

/** Who listens to what on one client: it has one listener for all. */
class Channels {
  constructor(client) {
    this._client = client;
    this._listeners = new Map(); // by channel, sets
    this._closed = undefined; // the promise of the connection whose end is watched
    this._onnotification = notification => {
      const listeners = this._listeners.get(notification.channel);
      if (listeners !== undefined) for (const listener of listeners) listener.give(notification);
    };
  }

  add(channel, listener) {
    if (this._listeners.size === 0) this._client.on('notification', this._onnotification);
    if (!this._listeners.has(channel)) this._listeners.set(channel, new Set());
    this._listeners.get(channel).add(listener);
    const { closed } = this._client;
    if (closed === this._closed) return;
    this._closed = closed;
    closed.then(error => {
      for (const listeners of [...this._listeners.values()]) for (const each of [...listeners]) each.end(error);
    });
  }

  /** @returns {boolean} whether nobody listens to the channel any more */
  remove(channel, listener) {
    const listeners = this._listeners.get(channel);
    listeners.delete(listener);
    if (listeners.size > 0) return false;
    this._listeners.delete(channel);
    if (this._listeners.size === 0) this._client.removeListener('notification', this._onnotification);
    return true;
  }
}

/** The notifications of one channel, as an async iterable. */
class Listener {
  /**
   * @param {Client} client
   * @param {string} channel
   * @param {AbortSignal} [signal]
   * @throws {TypeError|RangeError}
   */
  constructor(client, channel, signal) {
    checkText(channel, 'channel');
    if (channel === '') throw new TypeError('channel must not be empty');
    if (Buffer.byteLength(channel) > LONGEST) throw new RangeError(`channel must not be longer than ${LONGEST} bytes`);
    this.channel = channel;
    this._client = client;
    this._name = `"${channel.replace(/"/g, '""')}"`;
    this._queue = []; // notifications, of which nobody has taken those from `_first` on
    this._first = 0;
    this._waiting = []; // those who wait for one
    this._over = false;
    this._error = undefined;
    this._signal = signal;
    this._onabort = () => this.end(signal.reason);
    if (signal !== undefined) signal.addEventListener('abort', this._onabort);
    if (!channelsOf.has(client)) channelsOf.set(client, new Channels(client));
    channelsOf.get(client).add(channel, this);
    /** @type {Promise} resolves when the server has begun to notify */
    this.ready = client.query(`LISTEN ${this._name}`, [], { cache: false });
    this.ready.catch(error => this.end(error));
    if (signal !== undefined && signal.aborted) this._onabort();
  }

  [Symbol.asyncIterator]() { return this; }

  /** Takes a notification. */
  give(notification) {
    if (this._waiting.length > 0) this._waiting.shift().resolve({ value: notification, done: false });
    else this._queue.push(notification);
  }

  /**
   * @returns {Promise<{value: object, done: boolean}>} the next notification `{ processId, channel, payload }`; rejects once with the
   *   error that ended it: of LISTEN, of the connection, the reason of the signal, or what `end` was given
   */
  next() {
    if (this._first < this._queue.length) {
      const value = this._queue[this._first++];
      if (this._first === this._queue.length || (this._first > 1000 && this._first > this._queue.length / 2)) {
        this._queue.splice(0, this._first);
        this._first = 0;
      }
      return Promise.resolve({ value, done: false });
    }
    if (this._error !== undefined) {
      const error = this._error;
      this._error = undefined;
      return Promise.reject(error);
    }
    if (this._over) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve, reject) => this._waiting.push({ resolve, reject }));
  }

  /**
   * Stops listening: what `break` calls.
   * @param {*} [value] to be given back
   * @returns {Promise} resolves when the server has stopped notifying; never rejects
   */
  async return(value) {
    this._queue = [];
    this._first = 0;
    await this.end();
    return { value, done: true };
  }

  /**
   * No notification comes any more.
   * @param {*} [error] what the loop is to throw
   * @returns {Promise} resolves when the server has stopped notifying; never rejects
   */
  async end(error) {
    if (this._over) return;
    this._over = true;
    const client = this._client;
    if (this._signal !== undefined) this._signal.removeEventListener('abort', this._onabort);
    const [first, ...others] = this._waiting.splice(0);
    if (error !== undefined && first !== undefined) first.reject(error);
    else {
      this._error = error;
      if (first !== undefined) first.resolve({ value: undefined, done: true });
    }
    for (const { resolve } of others) resolve({ value: undefined, done: true });
    const last = channelsOf.get(client).remove(this.channel, this);
    if (!last || client.state !== 'open') return;
    await client.query(`UNLISTEN ${this._name}`, [], { cache: false }).catch(() => {});
  }
}

/**
 * Listens to a channel, see Session.listen.
 * @param {Session} session
 * @param {string} channel
 * @param {object} [options]
 * @param {AbortSignal} [options.signal]
 * @returns {Listener}
 * @throws {TypeError|RangeError|UsageError}
 */
function listen(session, channel, { signal } = {}) {
  if (session._depth !== undefined) {
    throw new UsageError('listen is the client\'s: in a transaction it would begin with the commit', '25001');
  }
  return new Listener(session, channel, signal);
}

module.exports = { listen };
