'use strict';

const { ConnectionError, Session } = require('../..');
const { NO_OPTIONS, checkOptions, unhindered } = require('../query');
const { PoolLease } = require('./lease');
const { Listening } = require('./listening');
const { OF_CONNECTION, optionsOf } = require('./options');

/** What new requests reject with. */
const refused = (state, cause) =>
  new ConnectionError(`the pool was ${state}: it takes no more requests`, { code: '08003', cause, sent: false });

/**
 * Pipelined connections side by side: a session whose requests go to whichever connection suits them.
 *
 * Events: 'connect' `(client)`: a connection is being made, of which nothing has been asked; 'error' `(error)`: one was
 * lost, or could not be made. Without a listener it is not an event that ends the program.
 */
class Pool extends Session {
  #config;
  #listening;
  #options;

  /**
   * @param {object|string|URL} [config] of the clients
   * @param {object} [options]
   * @param {number} [options.size=4] most connections
   * @param {number} [options.reserved=1] connections that are left to plain queries, if there are more
   * @param {number} [options.acquire_timeout=30000] milliseconds that a request waits for a connection; 0: for ever
   * @param {number} [options.idle_timeout=30000] milliseconds after which an unused connection is closed; 0: never
   * @param {number} [options.min=0] connections that idle_timeout leaves open
   * @param {number} [options.max_lifetime=1800000] milliseconds after which a connection is replaced; 0: never
   * @param {boolean} [options.patient=true] false: an error of connecting goes to who waits, also in a later outage
   * @param {number} [options.silence_timeout=2000] milliseconds after which a connection is replaced on which the server
   *   says nothing though a request was given up and it was asked to cancel that; 0: never
   * @throws {TypeError}
   */
  constructor(config = {}, options = NO_OPTIONS) {
    super();
    this.#config = config;
    this.#options = optionsOf(options);
    this.lease = new PoolLease(config, this.#options, (event, what) => this.#emit(event, what));
  }

  /** Without a listener, an error is no event that ends the program. */
  #emit(event, what) { if (this.listenerCount(event) > 0) unhindered(() => this.emit(event, what)); }

  /** How many connections there are, how many requests they have, and how many wait for one. */
  get stats() { return this.lease.stats; }

  /**
   * Gives a function a client for itself. Afterwards an open transaction block is rolled back, and settings, temporary
   * tables, prepared statements and locks of the session are discarded.
   * @param {function(Client): Promise} work
   * @param {object} [options] `reset`: false leaves what is the session's, but rolls back; `retry`: the function may be
   *   called again when the connection is lost; `signal` ends the waiting for a connection
   * @returns {Promise} of what the function returned
   */
  async connection(work, options = NO_OPTIONS) {
    if (typeof work !== 'function') throw new TypeError('connection takes a function, which gets the client');
    checkOptions(options, OF_CONNECTION);
    const { reset = true, shared = false } = options;
    const need = shared ? 'shared' : reset ? 'connection' : 'alone';
    return this.lease.run(need, options, (scope, client) => work(client), (error, retry) => retry);
  }

  /** @private See Session.listen. One connection more than `size` listens to all channels. */
  get channels() {
    this.lease.checkOpen();
    if (this.#listening === undefined || this.#listening.isOver) {
      const options = { ...this.#options, reached: this.lease.reached };
      this.#listening = new Listening(this.#config, options, error => this.#emit('error', error));
    }
    return this.#listening.channels;
  }

  /**
   * Replaces every connection once what it was asked is over, for example after a migration: a prepared statement keeps
   * the parameter types of its first use.
   */
  renew() { this.lease.renew(); }

  /**
   * Lets all that was asked finish, then closes the connections. What is asked from now on rejects.
   * @returns {Promise<void>}
   */
  async end() {
    this.#listening?.close();
    await this.lease.end(refused('ended'));
  }

  /** Closes the connections now; all that is pending rejects. @param {Error} [error] to reject with */
  destroy(error) {
    this.#listening?.close(error && new ConnectionError(`the connection was lost: ${error.message}`, { cause: error }));
    this.lease.destroy(error, refused('destroyed', error));
  }
}

module.exports = { Pool };
