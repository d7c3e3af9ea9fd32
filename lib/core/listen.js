'use strict';

const { LEASE } = require('./internal');
const { ConnectionError, checkText, isOurs, quoted } = require('./protocol');
const { after } = require('./timer');
const { SyncRequest, handOut, showCaller, submitIn, watchSignal } = require('./pipeline');

/** The server truncates longer names. */
const LONGEST_CHANNEL = 63;

/** Milliseconds without a message until the server is asked whether it is there. */
const KEEPALIVE = 30000;

/** @throws {TypeError|RangeError} for an invalid channel name */
function checkChannel(channel) {
  checkText(channel, 'channel');
  if (channel === '') throw new TypeError('channel must not be empty');
  if (Buffer.byteLength(channel) <= LONGEST_CHANNEL) return;
  throw new RangeError(`channel must not be longer than ${LONGEST_CHANNEL} bytes`);
}

/** The error of the loop when the connection is lost. */
function lost(error) {
  // What destroy(error) was given stays the cause.
  const why = isOurs(error) || error.syscall !== undefined ? `: ${error.message}` : '';
  return new ConnectionError(`the connection was lost${why}`, { code: error.code, cause: error });
}

const NOT_KEPT =
  'a pooler gives each transaction any server: listen on the direct URL of the server, ' +
  'or, if the pooler keeps the session, with { session: true }';

/**
 * Listens on channels in one round trip, and only in the session that the server has told of in BackendKeyData: behind
 * a pooler in transaction mode, another client would get the notifications.
 * @param {boolean} [options.session] whether a pooler that has a BackendKeyData of its own keeps the session
 */
async function listenOn(client, names, { session = false, signal }) {
  if (!session && client.processId === undefined) await client.sync(); // it is being connected
  // An error undoes LISTEN.
  const checks =
    session || client.processId === undefined ? [] : [`SELECT 1 / (pg_backend_pid() = ${client.processId})::int`];
  const texts = [...checks, ...names.map(name => `LISTEN ${quoted(name)}`)];
  try {
    await client.batch(
      texts.map(text => [text, [], { cache: false }]),
      { signal }
    );
  } catch (error) {
    throw checks.length > 0 && error.index === 0 && error.code === '22012'
      ? new ConnectionError(NOT_KEPT, { code: '0A000', cause: error })
      : error;
  }
}

/**
 * Asks a server that has said nothing since the last call, and gives the connection up if there is no answer: of a
 * network that went dark, the system tells only after hours.
 * @returns {function(number)} to be called each so many milliseconds
 */
function keeperOf(client) {
  const {
    pipeline,
    pipeline: { scopes }
  } = client[LEASE];
  let before;
  return time => {
    const { reads } = pipeline;
    const isQuiet = reads === before;
    before = reads;
    // What is under way may take as long as it likes.
    if (!isQuiet || client.state !== 'open' || pipeline.isBusy || scopes.active !== scopes.root) return;
    const request = new SyncRequest();
    submitIn(request, scopes.root).catch(() => {});
    const giveUp = () => {
      if (request.pending && pipeline.reads === reads)
        client.destroy(new ConnectionError(`the server was silent for ${time + Channels.silenceLimit} ms`));
    };
    after(Channels.silenceLimit, giveUp, 0, false);
  };
}

class Channels {
  /** Milliseconds in which a server that is asked whether it is there has to answer. */
  static silenceLimit = 3000;

  #every = Infinity; // milliseconds between two calls of #keep
  #keep;
  #listeners = new Map(); // sets by channel
  #say;
  #timer;

  /** @param {function(number)} keep see keeperOf */
  constructor(say, keep) {
    this.#say = say;
    this.#keep = keep;
  }

  get names() {
    return [...this.#listeners.keys()];
  }

  /** Gives a notification to the loops over its channel. */
  deliver(notification) {
    for (const listener of this.#listeners.get(notification.channel) ?? []) listener.give(notification);
  }

  /** @returns {Promise} resolves when the server has begun to notify */
  add(listener, options) {
    const { channel } = listener;
    this.#listeners.set(channel, (this.#listeners.get(channel) ?? new Set()).add(listener));
    this.#keepAlive(options.keepalive ?? KEEPALIVE);
    return this.#say('LISTEN', channel, options);
  }

  /** @returns {Promise|undefined} resolves when the server has stopped notifying; nothing if other loops continue */
  remove(listener) {
    const { channel } = listener;
    const listeners = this.#listeners.get(channel);
    listeners.delete(listener);
    if (listeners.size > 0) return undefined;
    this.#listeners.delete(channel);
    if (this.#listeners.size === 0) this.#stop();
    return this.#say('UNLISTEN', channel);
  }

  /** The shortest time of the loops counts; 0 is none. */
  #keepAlive(time) {
    if (time === 0 || time >= this.#every) return;
    this.#stop();
    this.#every = time;
    this.#timer = setInterval(() => this.#keep(time), time);
    this.#timer.unref?.();
  }

  #stop() {
    clearInterval(this.#timer);
    this.#every = Infinity;
  }

  /** Ends all loops. @param {Error} [error] for them to throw */
  end(error) {
    for (const listeners of [...this.#listeners.values()]) for (const each of listeners) each.end(error);
  }
}

/** @returns {Channels} of a client's connection */
function channelsOf(client) {
  const say = async (command, channel, options) => {
    if (command === 'LISTEN') await listenOn(client, [channel], options);
    else if (client.state === 'open') await client.query(`UNLISTEN ${quoted(channel)}`, [], { cache: false });
  };
  const channels = new Channels(say, keeperOf(client));
  client.closed.then(error => channels.end(error && lost(error)));
  return channels;
}

/** The notifications on one channel, as an async iterable. They are kept until they are read. */
class Listener {
  #channels;
  #error;
  #notifications = this.#generate();
  #isOver = false;
  #queue = [];
  #unwatch = () => {};
  #wake = () => {};

  constructor(channels, channel, options, caller) {
    const { signal } = options;
    this.channel = channel;
    this.#channels = channels;
    const asked = channels.add(this, options);
    asked.catch(error => this.end(showCaller(error, caller)));
    const aborted = new Promise((resolve, reject) => {
      if (signal?.aborted) reject(signal.reason);
      else if (signal !== undefined) this.#unwatch = watchSignal(signal, ({ cause }) => reject(cause));
    });
    aborted.catch(reason => this.end(reason));
    /** @type {Promise} resolves when the server has begun to notify; rejects with the signal's reason as well */
    this.ready = Promise.race([aborted, asked]);
    this.ready.catch(() => {});
  }

  async *#generate() {
    while (!this.#isOver || this.#queue.length > 0) {
      yield* this.#queue.splice(0);
      if (this.#queue.length === 0 && !this.#isOver)
        await new Promise(resolve => {
          this.#wake = resolve;
        });
    }
    if (this.#error !== undefined) throw this.#error;
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  give(notification) {
    this.#queue.push(notification);
    this.#wake();
  }

  /**
   * @returns {Promise<{value: object, done: boolean}>} the next notification; rejects once with the error that ended
   * the loop
   */
  next() {
    return handOut(this.#notifications.next());
  }

  /**
   * Stops listening, as `break` does.
   * @param {*} [value] to be given back
   * @returns {Promise} resolves when the server has stopped notifying; never rejects
   */
  async return(value) {
    await this.end();
    await this.#notifications.return().catch(() => {});
    return { value, done: true };
  }

  /** For `await using`; not every engine has the symbol. */
  [Symbol.asyncDispose ?? Symbol()]() {
    return this.end();
  }

  /**
   * Stops listening.
   * @param {*} [error] for the loop to throw
   * @returns {Promise} resolves when the server has stopped notifying; never rejects
   */
  async end(error) {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#error = error;
    this.#unwatch();
    this.#wake();
    await this.#channels.remove(this)?.catch(() => {});
  }
}

module.exports = { Channels, KEEPALIVE, Listener, channelsOf, checkChannel, keeperOf, listenOn };
