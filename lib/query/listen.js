'use strict';

const { ConnectionError, checkText, quoted } = require('../protocol');
const { watchSignal } = require('./abort');
const { showCaller } = require('./failure');
const { outcome } = require('./request');

/** The server cuts off longer names, and with them what would come of it. */
const LONGEST_CHANNEL = 63;

/** @throws {TypeError|RangeError} where it is no name of a channel */
function checkChannel(channel) {
  checkText(channel, 'channel');
  if (channel === '') throw new TypeError('channel must not be empty');
  if (Buffer.byteLength(channel) <= LONGEST_CHANNEL) return;
  throw new RangeError(`channel must not be longer than ${LONGEST_CHANNEL} bytes`);
}

/** What the loop throws when the connection is gone. */
function lost(error) {
  return new ConnectionError(`the connection was lost: ${error.message}`, { code: error.code, cause: error });
}

/** Which loops listen to which channels. */
class Channels {
  #listeners = new Map(); // sets of them by channel
  #say;

  /** @param {function(string, string): Promise} say has the server run LISTEN or UNLISTEN for a channel */
  constructor(say) { this.#say = say; }

  get names() { return [...this.#listeners.keys()]; }

  /** @param {object} notification for the loops over its channel */
  deliver(notification) {
    for (const listener of this.#listeners.get(notification.channel) ?? []) listener.give(notification);
  }

  /** @returns {Promise} resolves when the server has begun to notify */
  add(listener) {
    const { channel } = listener;
    if (!this.#listeners.has(channel)) this.#listeners.set(channel, new Set());
    this.#listeners.get(channel).add(listener);
    return this.#say('LISTEN', channel);
  }

  /** @returns {Promise|undefined} resolves when the server has stopped notifying; nothing where others go on */
  remove(listener) {
    const { channel } = listener;
    const listeners = this.#listeners.get(channel);
    listeners.delete(listener);
    if (listeners.size > 0) return undefined;
    this.#listeners.delete(channel);
    return this.#say('UNLISTEN', channel);
  }

  /** No notification comes any more. @param {Error} [error] what the loops are to throw */
  end(error) { for (const listeners of [...this.#listeners.values()]) for (const each of listeners) each.end(error); }
}

/** @returns {Channels} of the connection that a client has */
function channelsOf(client) {
  const say = async (command, channel) => {
    if (command === 'UNLISTEN' && client.state !== 'open') return;
    await client.query(`${command} ${quoted(channel)}`, [], { cache: false });
  };
  const channels = new Channels(say);
  client.closed.then(error => channels.end(error && lost(error)));
  return channels;
}

/** The notifications of one channel, as an async iterable. What comes while nobody takes it is kept. */
class Listener {
  #channels;
  #error;
  #notifications = this.#generate();
  #over = false;
  #queue = [];
  #unwatch = () => {};
  #wake = () => {};

  /**
   * @param {Channels} channels
   * @param {string} channel
   * @param {AbortSignal} [signal]
   * @param {{stack: string}} caller see callerOf
   */
  constructor(channels, channel, signal, caller) {
    this.channel = channel;
    this.#channels = channels;
    const asked = channels.add(this);
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
    await this.#channels.remove(this)?.catch(() => {});
  }
}

module.exports = { Channels, Listener, channelsOf, checkChannel };
