'use strict';

const { ConnectionError } = require('../..');
const { quoted } = require('../core/protocol');
const { Channels, keeperOf, listenOn } = require('../core/listen');
const { PoolLease } = require('./pool-lease');

/** The connection on which all loops of a pool listen; it is replaced if it is lost. */
class Listening {
  #hasListened = false;
  #keepsSession = false; // a pooler does, says the caller
  #keep; // see keeperOf
  #lease;

  /**
   * @param {object|string} config of the client
   * @param {object} options see Connections
   * @param {function(Error)} onerror called with each connection's error
   */
  constructor(config, options, onerror) {
    const emit = (event, what) => (event === 'connect' ? this.#listen(what) : onerror(what));
    const one = {
      ...options,
      size: 1,
      acquire_timeout: Infinity,
      idle_timeout: Infinity,
      max_lifetime: Infinity,
      policy: { ...options.policy, exitsOnIdle: false }
    };
    this.#lease = new PoolLease(config, one, emit);
    this.channels = new Channels(
      (...what) => this.#say(...what),
      time => this.#keep?.(time)
    );
  }

  get isOver() {
    return this.#lease.refusal !== undefined;
  }

  #say(command, channel, { session, signal } = {}) {
    const isNew = command === 'LISTEN';
    this.#keepsSession ||= session === true;
    if (!isNew && this.channels.names.length === 0) return this.close();
    if (!isNew && this.#lease.stats.connected === 0) return undefined; // the next connection does not listen on it
    const work = (scope, client) =>
      isNew
        ? listenOn(client, [channel], { session: this.#keepsSession, signal })
        : client.query(`UNLISTEN ${quoted(channel)}`, [], { cache: false });
    return this.#lease.run('shared', { signal, idempotent: true }, work, ({ code }) => isNew && code !== '0A000');
  }

  /** Listens on all channels of a new connection; if it is lost, another one is opened. */
  async #listen(client) {
    const { channels } = this;
    this.#keep = keeperOf(client);
    let isBehind = this.#hasListened; // something may have been missed, which is told before anything else
    const tell = () => {
      if (isBehind)
        for (const channel of channels.names) channels.deliver({ processId: 0, channel, payload: '', missed: true });
      isBehind = false;
    };
    client.on('notification', notification => {
      tell(); // it may come with the answer to LISTEN
      channels.deliver(notification);
    });
    try {
      await listenOn(client, channels.names, { session: this.#keepsSession });
    } catch (error) {
      // The waiting loops are rejected, or get another connection.
      if (error instanceof ConnectionError && error.code !== '0A000') return;
      return this.close(error);
    }
    tell();
    this.#hasListened = true;
    await client.closed;
    if (!this.isOver)
      this.#lease.run('shared', { idempotent: true }, (scope, next) => next.sync()).catch(error => this.close(error));
  }

  close(error) {
    if (this.isOver) return;
    const refusal = error ?? new ConnectionError('the pool has stopped listening', { code: '08003' });
    this.#lease.destroy(undefined, refusal);
    this.channels.end(error);
  }
}

module.exports = { Listening };
