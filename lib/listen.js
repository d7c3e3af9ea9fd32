'use strict';

const { UsageError } = require('./errors');
const { checkText } = require('./writer');

/** The server cuts off longer names, and with them what would come of it. */
const LONGEST = 63;

/** @type {WeakMap<Client, Map<string, number>>} how many listen to each channel */
const listeners = new WeakMap();

/** Adds to the number of those who listen. @returns {number} the number before, and after */
function count(client, channel, change) {
  let channels = listeners.get(client);
  if (channels === undefined) listeners.set(client, channels = new Map());
  const before = channels.get(channel) || 0;
  channels.set(channel, before + change);
  return [before, before + change];
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
    this._onnotification = notification => {
      if (notification.channel === channel) this._give(notification);
    };
    this._signal = signal;
    this._onabort = () => this._end(signal.reason);
    client.on('notification', this._onnotification);
    if (signal !== undefined) signal.addEventListener('abort', this._onabort);
    const { closed } = client;
    closed.then(error => this._end(error));
    count(client, channel, 1);
    /** @type {Promise} resolves when the server has begun to notify */
    this.ready = client.query(`LISTEN ${this._name}`, [], { cache: false });
    this.ready.catch(error => this._end(error));
    if (signal !== undefined && signal.aborted) this._onabort();
  }

  [Symbol.asyncIterator]() { return this; }

  _give(notification) {
    if (this._waiting.length > 0) this._waiting.shift().resolve({ value: notification, done: false });
    else this._queue.push(notification);
  }

  /** @returns {Promise<{value: object, done: boolean}>} the next notification `{ processId, channel, payload }` */
  next() {
    if (this._first < this._queue.length) {
      const value = this._queue[this._first++];
      if (this._first === this._queue.length || this._first > 1000) {
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

  /** Stops listening: what `break` calls. @returns {Promise} resolves when the server has stopped notifying */
  async return(value) {
    this._queue = [];
    this._first = 0;
    await this._end();
    return { value, done: true };
  }

  /** No notification comes any more. */
  async _end(error) {
    if (this._over) return;
    this._over = true;
    const client = this._client;
    client.removeListener('notification', this._onnotification);
    if (this._signal !== undefined) this._signal.removeEventListener('abort', this._onabort);
    const [first, ...others] = this._waiting.splice(0);
    if (error !== undefined && first !== undefined) first.reject(error);
    else {
      this._error = error;
      if (first !== undefined) first.resolve({ value: undefined, done: true });
    }
    for (const { resolve } of others) resolve({ value: undefined, done: true });
    const [, left] = count(client, this.channel, -1);
    if (left === 0 && client.state === 'open') await client.query(`UNLISTEN ${this._name}`, [], { cache: false }).catch(() => {});
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
