'use strict';

const { EventEmitter } = require('node:events');
const { UsageError } = require('../..');
const { Pool: Connections } = require('../pool');
const { Client, settle } = require('./client');
const { hide, libpqConfig, parametersOf } = require('./config');
const { ask, errorOf } = require('./query');
const { TypeOverrides } = require('./types');
const { defaults } = require('./values');

/** Routines of the server that refuse several statements in one text, and a prepared one whose columns have changed. */
const REFUSING = ['exec_parse_message', 'RevalidateCachedQuery'];

/** Whether a text that was refused needs a connection of its own: so do SET, BEGIN, COPY, … */
const needsOwn = error => error instanceof UsageError ? error.code === '0A000' : REFUSING.includes(error.routine);

const ENDED = 'Cannot use a pool after calling end on the pool';

/**
 * Connections as node-postgres' pool has them. What `query` asks is pipelined on connections that are shared; what
 * `connect` gives is one's own until it is released.
 *
 * Events: 'connect' (client), before anything is asked of it; 'acquire' (client) and 'release' (error, client), around
 * what `connect` gives; 'remove' (client); 'error' (error, client): a connection was lost that nobody had taken.
 */
class Pool extends EventEmitter {
  /** Makes one outside of the pool: Kysely cancels queries by it. */
  Client = Client;

  #clients = new Map(); // by those of this library, until these are closed
  #freed; // promise of when clients that were released can be taken again
  #freeing = 0; // how many of them there are
  #held = new Map(); // clients that were taken, and how they are released
  #pool;
  #settings;

  /**
   * @param {object|string} [config] as of Client, and `max`, `idleTimeoutMillis`, `connectionTimeoutMillis`,
   *   `maxLifetimeSeconds`
   * @throws {TypeError|Error} as Client; TypeError for onConnect and verify
   */
  constructor(config) {
    super();
    const parameters = parametersOf(config);
    const { password, ssl, given } = parameters;
    const isHooked = given.onConnect || given.verify;
    if (isHooked) throw new TypeError("a pool has neither onConnect nor verify: use the event 'connect'");
    const { connectionString, max = 0, idleTimeoutMillis, connectionTimeoutMillis, maxLifetimeSeconds } = given;
    const options = { max: Number(max) || defaults.max, idleTimeoutMillis: Number(idleTimeoutMillis ?? 10000) };
    this.options = hide({ ...given, ...options }, { connectionString, password, ssl });
    this.ending = false;
    this.#settings = { ...parameters, isPool: true, texts: new Map(), types: new TypeOverrides(given.types) };
    this.#pool = new Connections(libpqConfig(parameters), {
      size: options.max, reserved: 0, patient: false, acquire_timeout: Number(connectionTimeoutMillis ?? 0),
      idle_timeout: options.idleTimeoutMillis, max_lifetime: (maxLifetimeSeconds ?? 0) * 1000
    });
    this.#pool.on('connect', connection => this.#add(connection, new Client(given, connection)));
  }

  #add(connection, client) {
    this.#clients.set(connection, client);
    connection.on('error', error => {
      if (!this.#held.has(client) && this.listenerCount('error') > 0) this.emit('error', errorOf(error), client);
    });
    connection.closed.then(() => this.#clients.delete(connection));
    connection.once('end', () => this.emit('remove', client));
    this.emit('connect', client);
  }

  /**
   * Takes a client, until its `release(destroy)` is called.
   * @param {function(Error|undefined, Client, function)} [callback]
   * @returns {Promise<Client>|undefined} nothing with a callback
   */
  connect(callback) {
    const tell = (error, client) => callback(error, client, client?.release ?? (() => {}));
    return settle(() => this.#take(), callback && tell);
  }

  async #take() {
    if (this.ending) throw new Error(ENDED);
    if (this.#freed !== undefined) await this.#freed;
    let over;
    const [connection, client, giveBack] = await new Promise((resolve, reject) => {
      const hold = each => new Promise(giveBack => { resolve([each, this.#clients.get(each), giveBack]); });
      over = this.#pool.connection(hold, { reset: false }).catch(error => reject(errorOf(error)));
    });
    const release = client.release = destroy => {
      const isOver = this.#held.get(client) !== release;
      if (isOver) throw new Error('Release called on client which has already been released to the pool.');
      this.#held.delete(client);
      this.emit('release', destroy, client);
      if (destroy || (this.ending && client.submitted)) connection.destroy();
      giveBack(client.submitted); // which goes on
      if (client.submitted) return;
      this.#freeing++;
      this.#freed = over.then(() => { if (--this.#freeing === 0) this.#freed = undefined; });
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
    return settle(() => this.#ask(config, values), callback ?? config?.callback);
  }

  async #ask(config, values) {
    if (this.#freed !== undefined) await this.#freed;
    if (this.ending) throw new Error(ENDED);
    try {
      return await ask(this.#pool, config, values, this.#settings);
    } catch (error) {
      if (!needsOwn(error)) throw error;
    }
    const work = async connection => {
      const result = await ask(connection, config, values, { ...this.#settings, isPool: false });
      if (connection.transactionStatus !== 'T') return result;
      throw new UsageError('the text left a transaction block open, which is rolled back: use pool.connect()', '25001');
    };
    return this.#pool.connection(work, { reset: false }).catch(error => { throw errorOf(error); });
  }

  /**
   * Closes the connections, when they have been released; what was submitted and goes on is given up.
   * @param {function} [callback]
   * @returns {Promise<void>|undefined}
   */
  end(callback) {
    if (this.ending) return settle(async () => { throw new Error('Called end on pool more than once'); }, callback);
    this.ending = true;
    for (const [connection, client] of this.#clients) {
      if (client.submitted && !this.#held.has(client)) connection.destroy(); // nobody may read it any more
    }
    return settle(() => this.#pool.end(), callback);
  }

  /** Connections that there are or are being made. */
  get totalCount() { return [...this.#clients.keys()].filter(({ state }) => state !== 'closed').length; }
  /** Those of them that nobody uses. */
  get idleCount() { return Math.max(0, this.#spare); }
  /** Who waits for one. */
  get waitingCount() { return Math.max(0, -this.#spare); }

  /** How many connections are left when all who wait have got one; negative where too few are. */
  get #spare() {
    const { connected, idle, waiting } = this.#pool.stats;
    const free = Math.min(idle + this.#freeing, this.totalCount - this.#held.size);
    return free - Math.max(0, waiting - (this.totalCount - connected));
  }
}

module.exports = { Pool };
