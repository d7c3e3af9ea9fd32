'use strict';

const { EventEmitter } = require('node:events');
const { UsageError } = require('../..');
const { Pool: Connections } = require('../pool');
const { Client, settle } = require('./client');
const { hide, libpqConfig, parametersOf } = require('./config');
const { ask, errorOf } = require('./query');
const { TypeOverrides, adoptTypes } = require('./types');
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
    adoptTypes();
    const settings = { ...parameters, isPool: true, texts: new Map(), types: new TypeOverrides(given.types) };
    const pool = new Connections(libpqConfig(parameters), {
      size: options.max, reserved: 0, acquire_timeout: Number(connectionTimeoutMillis ?? 0),
      idle_timeout: options.idleTimeoutMillis, max_lifetime: (maxLifetimeSeconds ?? 0) * 1000
    });
    pool.on('connect', connection => this._add(connection, new Client(given, connection)));
    // `clients` by those of this library, until these are closed; `held`: those that were taken, and how they are
    // released; `freeing`: how many are being released, `freed`: the promise of when they can be taken again.
    hide(this, { _state: { pool, settings, clients: new Map(), held: new Map(), freeing: 0, freed: undefined } });
  }

  _add(connection, client) {
    this._state.clients.set(connection, client);
    connection.on('error', error => {
      if (!this._state.held.has(client) && this.listenerCount('error') > 0) this.emit('error', errorOf(error), client);
    });
    connection.closed.then(() => this._state.clients.delete(connection));
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
    return settle(() => this._take(), callback && tell);
  }

  async _take() {
    if (this.ending) throw new Error(ENDED);
    if (this._state.freed !== undefined) await this._state.freed;
    let over;
    const [connection, client, giveBack] = await new Promise((resolve, reject) => {
      const hold = each => new Promise(giveBack => { resolve([each, this._state.clients.get(each), giveBack]); });
      over = this._state.pool.connection(hold, { reset: false }).catch(error => reject(errorOf(error)));
    });
    const release = client.release = destroy => {
      const isOver = this._state.held.get(client) !== release;
      if (isOver) throw new Error('Release called on client which has already been released to the pool.');
      this._state.held.delete(client);
      this.emit('release', destroy, client);
      if (destroy || (this.ending && client.submitted)) connection.destroy();
      giveBack(client.submitted); // which goes on
      if (client.submitted) return;
      this._state.freeing++;
      this._state.freed = over.then(() => { if (--this._state.freeing === 0) this._state.freed = undefined; });
    };
    this._state.held.set(client, release);
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
    return settle(() => this._ask(config, values), callback ?? config?.callback);
  }

  async _ask(config, values) {
    if (this._state.freed !== undefined) await this._state.freed;
    if (this.ending) throw new Error(ENDED);
    try {
      return await ask(this._state.pool, config, values, this._state.settings);
    } catch (error) {
      if (!needsOwn(error)) throw error;
    }
    const work = async connection => {
      const result = await ask(connection, config, values, { ...this._state.settings, isPool: false });
      if (connection.transactionStatus !== 'T') return result;
      throw new UsageError('the text left a transaction block open, which is rolled back: use pool.connect()', '25001');
    };
    return this._state.pool.connection(work, { reset: false }).catch(error => { throw errorOf(error); });
  }

  /**
   * Closes the connections, when they have been released; what was submitted and goes on is given up.
   * @param {function} [callback]
   * @returns {Promise<void>|undefined}
   */
  end(callback) {
    if (this.ending) return settle(async () => { throw new Error('Called end on pool more than once'); }, callback);
    this.ending = true;
    for (const [connection, client] of this._state.clients) {
      if (client.submitted && !this._state.held.has(client)) connection.destroy(); // nobody may read it any more
    }
    return settle(() => this._state.pool.end(), callback);
  }

  /** Connections that there are or are being made. */
  get totalCount() { return [...this._state.clients.keys()].filter(({ state }) => state !== 'closed').length; }
  /** Those of them that nobody uses. */
  get idleCount() { return Math.max(0, this._spare); }
  /** Who waits for one. */
  get waitingCount() { return Math.max(0, -this._spare); }

  /** How many connections are left when all who wait have got one; negative where too few are. */
  get _spare() {
    const { connected, idle, waiting } = this._state.pool.stats;
    const free = Math.min(idle + this._state.freeing, this.totalCount - this._state.held.size);
    return free - Math.max(0, waiting - (this.totalCount - connected));
  }
}

module.exports = { Pool };
