'use strict';

const { events: { EventEmitter }, process, util } = require('../platform');
const { UsageError } = require('../..');
const { Pool: Connections } = require('../pool');
const { Client, settle } = require('./client');
const { hide, libpqConfig, parametersOf } = require('./config');
const { ask, errorOf, queryOf } = require('./query');
const { TypeOverrides } = require('./types');
const { defaults } = require('./values');

/** Routines of the server that refuse several statements in one text, and a prepared one whose columns have changed. */
const REFUSING = ['exec_parse_message', 'RevalidateCachedQuery'];

/** Whether a text that was refused needs a connection of its own: so do SET, BEGIN, COPY, … */
const needsOwn = error => error instanceof UsageError ? error.code === '0A000' : REFUSING.includes(error.routine);

/** Options of node-postgres that would have no effect here, and what to use instead. */
const REFUSED = {
  onConnect: "the event 'connect', or options: '-c name=value'", verify: 'a query of the client that connect() gives',
  maxUses: 'maxLifetimeSeconds', allowExitOnIdle: 'end(), or a short idleTimeoutMillis'
};

/**
 * Connections as node-postgres' pool has them. What `query` asks is pipelined on connections that are shared; what
 * `connect` gives is one's own until it is released.
 *
 * Events: 'connect' (client), before anything is asked of it; 'acquire' (client) and 'release' (error, client), around
 * what `connect` gives; 'remove' (client); 'error' (error, client): a connection was lost that nobody had taken.
 */
class Pool extends EventEmitter {
  #clients = new WeakMap(); // by those of this library
  #held = new Map(); // clients that were taken, and how they are released
  #pool;
  #settings;

  /**
   * @param {object|string} [options] those of Client, and `max`, `idleTimeoutMillis`, `connectionTimeoutMillis`,
   *   `maxLifetimeSeconds`
   * @throws {TypeError|Error} as Client; TypeError for onConnect, verify, maxUses and allowExitOnIdle
   */
  constructor(options) {
    super();
    const parameters = parametersOf(options);
    const { password, ssl, given } = parameters;
    const { connectionString, connectionTimeoutMillis = 0, idleTimeoutMillis = 10000, maxLifetimeSeconds = 0 } = given;
    const max = given.max || defaults.max;
    const refused = Object.keys(REFUSED).find(name => given[name] && given[name] !== Infinity);
    if (refused) throw new TypeError(`a pool has no ${refused}: use ${REFUSED[refused]}`);
    this.options = hide({ ...given, idleTimeoutMillis, max }, { connectionString, password, ssl });
    this.ending = false;
    this.#settings = { ...parameters, max, held: this.#held, texts: new Map(), types: new TypeOverrides(given.types) };
    this.#pool = new Connections(libpqConfig(parameters), {
      size: max, reserved: 0, patient: false, acquire_timeout: connectionTimeoutMillis,
      idle_timeout: idleTimeoutMillis, max_lifetime: maxLifetimeSeconds * 1000
    });
    this.#pool.on('connect', connection => this.#add(connection, new Client(given, connection)));
  }

  #add(connection, client) {
    this.#clients.set(connection, client);
    client.on('error', error => {
      if (!this.#held.has(client) && this.listenerCount('error') > 0) this.emit('error', error, client);
    });
    connection.once('end', () => this.emit('remove', client));
    this.emit('connect', client);
  }

  /**
   * Takes a client, until its `release(destroy)` is called.
   * @param {function(Error|undefined, Client, function)} [callback]
   * @returns {Promise<Client>|undefined} nothing with a callback
   */
  connect(callback) {
    const taking = this.#take();
    if (!callback) return taking;
    taking.then(client => process.nextTick(callback, undefined, client, client.release),
      error => process.nextTick(callback, error, undefined, () => {}));
  }

  async #take() {
    if (this.ending) throw new Error('Cannot use a pool after calling end on the pool');
    const [connection, giveBack] = await new Promise((resolve, reject) => {
      const hold = connection => new Promise(giveBack => { resolve([connection, giveBack]); });
      this.#pool.connection(hold, { reset: false }).catch(error => reject(errorOf(error, this.#settings)));
    });
    const client = this.#clients.get(connection);
    const release = client.release = destroy => {
      const isOver = this.#held.get(client) !== release;
      if (isOver) throw new Error('Release called on client which has already been released to the pool.');
      this.#held.delete(client);
      this.emit('release', destroy, client);
      if (destroy) connection.destroy();
      giveBack();
    };
    this.#held.set(client, release);
    this.emit('acquire', client);
    return client;
  }

  /**
   * Asks on whichever connection is free soonest.
   * @param {string|object} config as of Client
   * @param {Array|function} [values]
   * @param {function(Error|undefined, Result)} [callback]
   * @returns {Promise<Result>|undefined} nothing with a callback
   */
  query(config, values, callback) {
    if (typeof values === 'function') [values, callback] = [undefined, values];
    return settle(this.#query(config, values), callback ?? config?.callback);
  }

  async #query(config, values) {
    if (typeof config?.submit !== 'function' && !this.ending) {
      try {
        return await ask(this.#pool, queryOf(config, values), this.#settings);
      } catch (error) {
        if (!needsOwn(error)) throw error;
      }
    }
    const client = await this.#take();
    try {
      const result = await util.promisify(client.query).call(client, config, values);
      if (client.getTransactionStatus() !== 'T') return result;
      throw new UsageError('the text left a transaction block open, which is rolled back: use pool.connect()', '25001');
    } finally {
      client.release();
    }
  }

  /**
   * Closes the connections, when they have been released.
   * @param {function} [callback]
   * @returns {Promise<void>|undefined}
   */
  end(callback) {
    if (this.ending) return settle(Promise.reject(new Error('Called end on pool more than once')), callback);
    this.ending = true;
    return settle(this.#pool.end(), callback);
  }

  /** Connections that there are. */
  get totalCount() { return this.#pool.stats.connected; }
  /** Those of them that nobody uses. */
  get idleCount() { return this.#pool.stats.idle + this.#pool.stats.owned - this.#held.size; }
  /** Who waits for one. */
  get waitingCount() { return this.#pool.stats.waiting; }
}

module.exports = { Pool };
