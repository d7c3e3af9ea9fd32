'use strict';

const { Buffer } = require('#platform');
const { checkText } = require('../protocol');
const { checkLimits } = require('./abort');

/** The server cuts off longer names, and with them what would come of it. */
const LONGEST = 63;

/** @type {WeakMap<Client, Channels>} */
const channelsOf = new WeakMap();

/** Who listens to what on one client: it has one listener for all. */
class Channels {
  #client;
  #closed; // the promise of the connection whose end is watched
  #listeners = new Map(); // by channel, sets
  #onnotification = notification => {
    for (const listener of this.#listeners.get(notification.channel) ?? []) listener.give(notification);
  };

  constructor(client) {
    this.#client = client;
  }

  add(channel, listener) {
    if (this.#listeners.size === 0) this.#client.on('notification', this.#onnotification);
    if (!this.#listeners.has(channel)) this.#listeners.set(channel, new Set());
    this.#listeners.get(channel).add(listener);
    const { closed } = this.#client;
    if (closed === this.#closed) return;
    this.#closed = closed;
    closed.then(error => {
      for (const listeners of [...this.#listeners.values()]) for (const each of [...listeners]) each.end(error);
    });
  }

  /** @returns {boolean} whether nobody listens to the channel any more */
  remove(channel, listener) {
    const listeners = this.#listeners.get(channel);
    listeners.delete(listener);
    if (listeners.size > 0) return false;
    this.#listeners.delete(channel);
    if (this.#listeners.size === 0) this.#client.removeListener('notification', this.#onnotification);
    return true;
  }
}

/** The notifications of one channel, as an async iterable. */
class Listener {
  #client;
  #error;
  #first = 0; // of the queue
  #name;
  #onabort;
  #over = false;
  #queue = []; // notifications, of which nobody has taken those from #first on
  #signal;
  #waiting = []; // those who wait for one

  /**
   * @param {Client} client
   * @param {string} channel
   * @param {AbortSignal} [signal]
   * @throws {TypeError|RangeError}
   */
  constructor(client, channel, signal) {
    checkText(channel, 'channel');
    if (signal?.aborted !== true) checkLimits({ signal });
    if (channel === '') throw new TypeError('channel must not be empty');
    if (Buffer.byteLength(channel) > LONGEST) throw new RangeError(`channel must not be longer than ${LONGEST} bytes`);
    this.channel = channel;
    this.#client = client;
    this.#name = `"${channel.replace(/"/g, '""')}"`;
    this.#signal = signal;
    this.#onabort = () => this.end(signal.reason);
    if (signal !== undefined) signal.addEventListener('abort', this.#onabort);
    if (!channelsOf.has(client)) channelsOf.set(client, new Channels(client));
    channelsOf.get(client).add(channel, this);
    /** @type {Promise} resolves when the server has begun to notify */
    this.ready = client.query(`LISTEN ${this.#name}`, [], { cache: false });
    this.ready.catch(error => this.end(error));
    if (signal !== undefined && signal.aborted) this.#onabort();
  }

  [Symbol.asyncIterator]() { return this; }

  /** Takes a notification. */
  give(notification) {
    if (this.#waiting.length > 0) this.#waiting.shift().resolve({ value: notification, done: false });
    else this.#queue.push(notification);
  }

  /**
   * @returns {Promise<{value: object, done: boolean}>} the next notification `{ processId, channel, payload }`; rejects once with the
   *   error that ended it: of LISTEN, of the connection, the reason of the signal, or what `end` was given
   */
  next() {
    if (this.#first < this.#queue.length) {
      const value = this.#queue[this.#first++];
      if (this.#first === this.#queue.length || (this.#first > 1000 && this.#first > this.#queue.length / 2)) {
        this.#queue.splice(0, this.#first);
        this.#first = 0;
      }
      return Promise.resolve({ value, done: false });
    }
    if (this.#error !== undefined) {
      const error = this.#error;
      this.#error = undefined;
      return Promise.reject(error);
    }
    if (this.#over) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /**
   * Stops listening: what `break` calls.
   * @param {*} [value] to be given back
   * @returns {Promise} resolves when the server has stopped notifying; never rejects
   */
  async return(value) {
    this.#queue = [];
    this.#first = 0;
    await this.end();
    return { value, done: true };
  }

  /**
   * No notification comes any more.
   * @param {*} [error] what the loop is to throw
   * @returns {Promise} resolves when the server has stopped notifying; never rejects
   */
  async end(error) {
    if (this.#over) return;
    this.#over = true;
    const client = this.#client;
    if (this.#signal !== undefined) this.#signal.removeEventListener('abort', this.#onabort);
    const [first, ...others] = this.#waiting.splice(0);
    if (error !== undefined && first !== undefined) first.reject(error);
    else {
      this.#error = error;
      if (first !== undefined) first.resolve({ value: undefined, done: true });
    }
    for (const { resolve } of others) resolve({ value: undefined, done: true });
    const last = channelsOf.get(client).remove(this.channel, this);
    if (!last || client.state !== 'open') return;
    await client.query(`UNLISTEN ${this.#name}`, [], { cache: false }).catch(() => {});
  }
}

module.exports = { Listener };
