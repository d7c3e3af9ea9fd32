'use strict';

const { ConnectionError, checkText } = require('../protocol');
const { checkLimits, watchSignal } = require('./abort');
const { callerOf, showCaller } = require('./failure');
const { outcome } = require('./request');

/** The server cuts off longer names, and with them what would come of it. */
const LONGEST = 63;

/** @type {WeakMap<Client, Set<Listener>>} a client has one 'notification' listener for all of them */
const listenersOf = new WeakMap();

function deliver(notification) {
  for (const listener of listenersOf.get(this)) if (listener.channel === notification.channel) listener.give(notification);
}

/** What the loop throws when the connection is gone. */
function lost(error) {
  return new ConnectionError(`the connection was lost: ${error.message}`, { code: error.code, cause: error });
}

/** The notifications of one channel, as an async iterable. What comes while nobody takes it is kept. */
class Listener {
  #client;
  #error;
  #name;
  #notifications = this.#generate();
  #over = false;
  #queue = [];
  #unwatch = () => {};
  #wake = () => {};

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
    checkLimits({ signal });
    this.channel = channel;
    this.#client = client;
    this.#name = `"${channel.replace(/"/g, '""')}"`;
    if (!listenersOf.has(client)) listenersOf.set(client, new Set());
    const all = listenersOf.get(client);
    if (all.size === 0) client.on('notification', deliver);
    all.add(this);
    client.closed.then(error => this.end(error && lost(error)));
    const caller = callerOf(client.listen);
    const asked = client.query(`LISTEN ${this.#name}`, [], { cache: false });
    asked.catch(error => this.end(showCaller(error, caller)));
    const aborted = new Promise((resolve, reject) => {
      if (signal?.aborted) reject(signal.reason);
      else if (signal !== undefined) this.#unwatch = watchSignal(signal, ({ cause }) => reject(cause));
    });
    aborted.catch(reason => this.end(reason));
    /** @type {Promise} resolves when the server has begun to notify; rejects, too, with the reason of the signal */
    this.ready = Promise.race([aborted, asked]);
    this.ready.catch(() => {});
  }

  async * #generate() {
    while (!this.#over || this.#queue.length > 0) {
      yield* this.#queue.splice(0);
      if (this.#queue.length === 0 && !this.#over) await new Promise(resolve => { this.#wake = resolve; });
    }
    if (this.#error !== undefined) throw this.#error;
  }

  [Symbol.asyncIterator]() { return this; }

  /** Takes a notification. */
  give(notification) {
    this.#queue.push(notification);
    this.#wake();
  }

  /**
   * @returns {Promise<{value: object, done: boolean}>} the next notification `{ processId, channel, payload }`; rejects
   *   once with the error that ended it: of LISTEN, of the connection, the reason of the signal, or what `end` was given
   */
  next() { return this.#notifications.next().catch(error => outcome({ error })); }

  /**
   * Stops listening: what `break` calls.
   * @param {*} [value] to be given back
   * @returns {Promise} resolves when the server has stopped notifying; never rejects
   */
  async return(value) {
    await this.end();
    await this.#notifications.return().catch(() => {});
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
    this.#error = error;
    this.#unwatch();
    this.#wake();
    const client = this.#client;
    const all = listenersOf.get(client);
    all.delete(this);
    if (all.size === 0) client.removeListener('notification', deliver);
    if (client.state !== 'open' || [...all].some(({ channel }) => channel === this.channel)) return;
    await client.query(`UNLISTEN ${this.#name}`, [], { cache: false }).catch(() => {});
  }
}

module.exports = { Listener };
