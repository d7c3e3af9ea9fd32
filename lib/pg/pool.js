'use strict';

const { EventEmitter } = require('node:events');
const { LEASE } = require('../core/internal');
const { UsageError } = require('../..');
const pools = require('../pool');
const { channel, rejectAgain, traceAbove } = require('../core/pipeline');
const { after, setImmediate } = require('../core/timer');
const { isWorkerd } = require('../core/worker');
const { Client, POOLED, settle, turn } = require('./client');
const { ConnectionParameters, hide, libpqConfig } = require('./config');
const { NAMES, Query, SHARED, TOO_LATE, configOf, errorOf, unhindered } = require('./query');
const { TypeOverrides } = require('./types');
const { defaults } = require('./values');

/**
 * Routines of the server that reject several statements in one text, and a prepared statement whose columns have
 * changed.
 */
const REFUSING = ['exec_parse_message', 'RevalidateCachedQuery'];

/** Whether a rejected text needs a connection of its own, as SET, BEGIN and COPY do. */
const needsOwn = error => (error instanceof UsageError ? error.code === '0A000' : REFUSING.includes(error?.routine));

const ENDED = 'Cannot use a pool after calling end on the pool';

/** Calls with a callback. @returns {Promise} */
const called = work =>
  new Promise((resolve, reject) => work((error, result) => (error ? reject(error) : resolve(result))));

/**
 * A pool with node-postgres' methods and events. `query` is pipelined on shared connections; a client from `connect`
 * has a connection of its own until it is released.
 */
class Pool extends EventEmitter {
  constructor(config) {
    super();
    const parameters = new ConnectionParameters(config);
    const { oauth_token, password, sslpassword, ssl, given } = parameters;
    const { connectionString, idleTimeoutMillis, log = () => {}, Promise: Own } = given;
    this.Client = given.Client ?? Client;
    if (this.Client !== Client && !(this.Client.prototype instanceof Client)) {
      throw new TypeError('Client must be a class that extends the Client of quickgres/pg: leave it out');
    }
    const options = {
      max: Number(given.max) || Number(given.poolSize) || defaults.max,
      min: Number(given.min) || 0,
      maxUses: Number(given.maxUses) || Infinity,
      allowExitOnIdle: Boolean(given.allowExitOnIdle),
      maxLifetimeSeconds: Number(given.maxLifetimeSeconds) || 0,
      idleTimeoutMillis: Number(idleTimeoutMillis ?? 10000)
    };
    this.options = hide({ ...given, ...options }, { connectionString, oauth_token, password, sslpassword, ssl });
    this.ending = false;
    this.ended = false;
    const pool = new pools.Pool(libpqConfig(parameters, this.options), {
      size: options.max,
      acquire_timeout: Number(given.connectionTimeoutMillis ?? 0),
      idle_timeout: options.idleTimeoutMillis,
      max_lifetime: options.maxLifetimeSeconds * 1000
    });
    Object.assign(pool[LEASE].policy, {
      reserved: 0,
      least: options.min,
      exitsOnIdle: options.allowExitOnIdle,
      isPatient: false
    });
    let { max } = options;
    const set = count => {
      pool.size = max = count;
    };
    Object.defineProperty(this.options, 'max', { get: () => max, set, enumerable: true });
    const types = new TypeOverrides(given.types);
    pool.on('connect', (client, opening) => {
      this._add(
        client,
        new this.Client({ ...given, password: this.options.password, types, [POOLED]: { client, opening } })
      );
    });
    // `shared` is what the config of a query on a shared connection gets; `entries` by connections that are not closed;
    // `freeing`: how many are being released; `freed`: resolves when they are free.
    const shared = { pool, texts: new Map() };
    hide(this, { log, Promise: Own, _state: { pool, shared, entries: new Map(), freeing: 0, freed: undefined } });
  }

  _add(connection, client) {
    const fail = error => {
      // while it is not taken
      error.client = client;
      connection.destroy(error);
      if (this.listenerCount('error') > 0) this.emit('error', error, client);
    };
    this.log('connecting new client');
    // A subclass may only give a promise.
    const connected = called(done => client.connect(done)?.then?.(() => done(), done));
    connected.catch(() => {}); // the pool rejects requests itself
    const expires = performance.now() + (this.options.maxLifetimeSeconds || Infinity) * 1000;
    const entry = {
      connection,
      client,
      connected,
      expires,
      uses: 0,
      users: 0,
      ready: undefined,
      release: undefined,
      fail
    };
    this._state.entries.set(connection, entry);
    client.once('error', fail);
    connection.on('error', () => {
      if (entry.users > 0) client.off('error', fail);
    }); // its queries reject
    connection.closed.then(() => entry.release || this._state.entries.delete(connection));
    connection.once('end', () => entry.release || this.emit('remove', client));
  }

  /** Emits 'connect' before the first use of a connection, and waits for onConnect and verify. */
  async _prepare(entry) {
    const { connection, client, connected } = entry;
    const { onConnect, verify } = this.options;
    try {
      await connected;
      this.log('new client connected');
      this.emit('connect', client);
      await onConnect?.(client);
      if (verify) await called(done => verify(client, done));
      entry.ready = null;
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }

  /** @param {number} since when the request began, which waits for at most connectionTimeoutMillis */
  async _use(connection, work, since) {
    const entry = this._state.entries.get(connection);
    entry.users++;
    try {
      if (entry.ready !== null) await this._inTime((entry.ready ??= this._prepare(entry)), since);
      this.emit('acquire', entry.client);
      return await work(entry.client, entry);
    } finally {
      entry.users--;
    }
  }

  /** Waits for a connection that is being prepared, which may take longer than the request waits. */
  async _inTime(ready, since) {
    const limit = Number(this.options.connectionTimeoutMillis ?? 0);
    if (limit === 0) return ready;
    let stop;
    const timeout = new Promise((resolve, reject) => {
      stop = after(limit, () => reject(new Error(TOO_LATE)), performance.now() - since);
    });
    return Promise.race([ready, timeout]).finally(stop);
  }

  /** Tells of the end of a use, which may have been the last one. */
  _released(entry, error) {
    const { connection, client, users } = entry;
    this.emit('release', error, client);
    if (++entry.uses < this.options.maxUses || connection.state !== 'open') return;
    this.log('remove expended client');
    (users > 1 || client.submitted ? connection : client).end();
  }

  /** Has a connection until a function is over, in the state that node-postgres' pool leaves it in. */
  _own(work) {
    return this._state.pool[LEASE].run('owned', {}, (scope, connection) => work(connection));
  }

  /** Takes a client until its `release(destroy)` is called. */
  connect(callback) {
    const tell = (error, client) => callback(error, client, client?.release ?? (() => {}));
    return settle(() => this._take(), callback && tell, undefined, this.Promise);
  }

  async _take() {
    if (this.ending) throw new Error(ENDED);
    const since = performance.now();
    if (this._state.freed !== undefined && !isWorkerd) await this._state.freed; // another request's may never come
    const loan = { over: undefined }; // resolves when the connection is free again
    return new Promise((taken, reject) => {
      const lend = (client, entry) => this._lend(entry, loan, taken);
      loan.over = this._own(connection => this._use(connection, lend, since)).catch(error => reject(errorOf(error)));
    }).catch(rejectAgain);
  }

  /**
   * Gives a client the method `release`.
   * @param {{over: Promise}} loan see _take
   * @param {function(Client)} taken gets the client
   * @returns {Promise} resolves when it is released, and its Submittable over
   */
  _lend(entry, loan, taken) {
    const { client } = entry;
    client.off('error', entry.fail);
    return new Promise(giveBack => {
      const release = destroy => {
        if (entry.release !== release)
          throw new Error('Release called on client which has already been released to the pool.');
        entry.release = undefined;
        this._takeBack(entry, destroy);
        giveBack(client.submitted);
        if (!client.submitted) this._free(loan.over);
      };
      taken(Object.assign(client, { release: (entry.release = release) }));
    });
  }

  _takeBack(entry, destroy) {
    const { client, connection } = entry;
    this._released(entry, destroy);
    if (!destroy) client.once('error', entry.fail); // a loss is told after the query, which may release at once
    if (connection.state === 'closed' && this._state.entries.delete(connection)) this.emit('remove', client);
    if (destroy || (this.ending && client.submitted)) connection.destroy();
  }

  /** Counts a connection that is being released until it is free. */
  _free(over) {
    this._state.freeing++;
    this._state.freed = over.then(() => {
      if (--this._state.freeing === 0) this._state.freed = undefined;
    });
  }

  /** Runs a query on the connection that is free soonest. */
  query(config, values, callback) {
    if (typeof config === 'function') {
      return void setImmediate(
        config,
        new Error('Passing a function as the first parameter to pool.query is not supported')
      );
    }
    if (typeof values === 'function') [values, callback] = [undefined, values];
    const called = callback ?? config?.callback;
    const work = () => (called ? this._ask(config, values).finally(() => turn(true)) : this._ask(config, values));
    return settle(work, called, undefined, this.Promise);
  }

  async _ask(config, values) {
    const { freed, shared } = this._state;
    if (freed !== undefined && !isWorkerd) await freed;
    if (this.ending) throw new Error(ENDED);
    const given = configOf(config);
    const isQuery = config instanceof Query;
    const emitter = isQuery ? config : undefined;
    if (isQuery) config.callback ??= () => {}; // as node-postgres' pool: the result has the rows
    // A spread would leave out the getters of a class, such as that of sql-template-strings.
    const query = { [SHARED]: isQuery ? { ...shared, emitter } : shared, values: given.values };
    for (const name of NAMES) query[name] = given[name];
    const ownsOne = typeof config.submit === 'function' ? !isQuery : this.connect !== Pool.prototype.connect;
    if (ownsOne) return this._hold(config, values);
    const results = await (channel.hasSubscribers
      ? traceAbove(query.text, enter => {
          query[SHARED] = { ...query[SHARED], enter };
          return this._share(query, values);
        })
      : this._share(query, values));
    if (isQuery) unhindered(() => config.emit('end', results));
    return results;
  }

  /** Runs a query on a shared connection, or on one of its own if it needs that. */
  async _share(query, values) {
    const { pool } = this._state;
    const since = performance.now();
    const ask = (connection, given) => {
      const work = async (client, entry) => {
        try {
          return await client.query(given, values);
        } finally {
          this._released(entry);
        }
      };
      return this._use(connection, work, since);
    };
    try {
      return await pool[LEASE].run(
        'shared',
        { signal: query.signal },
        (scope, connection) => ask(connection, query),
        undefined,
        query.text
      );
    } catch (error) {
      if (!needsOwn(error)) throw errorOf(error);
    }
    return this._own(async connection => {
      const { emitter, enter } = query[SHARED];
      const result = await ask(connection, { ...query, [SHARED]: { emitter, enter } });
      if (connection.transactionStatus !== 'T') return result;
      throw new UsageError('the text left a transaction block open, which is rolled back: use pool.connect()', '25001');
    }).catch(error => {
      throw errorOf(error);
    });
  }

  /** Gives a Submittable a client of its own until it is over, and a query the client of a subclass's `connect`. */
  async _hold(config, values) {
    const client = await called(done => this.connect(done)?.then?.(taken => taken && done(null, taken), done));
    const result = client.query(config, values);
    return Promise.allSettled([result, client.submitted])
      .finally(() => client.release())
      .then(() => result);
  }

  /** Closes the connections when they are released. Submittables that are still running are given up. */
  end(callback) {
    return settle(() => this._end(), callback, undefined, this.Promise);
  }

  async _end() {
    if (this.ending) throw new Error('Called end on pool more than once');
    this.ending = true;
    for (const { connection, client, release } of this._state.entries.values()) {
      if (client.submitted && release === undefined) connection.destroy(); // it may never be read to its end
    }
    await this._state.pool.end();
    this.ended = true;
  }

  /** The clients, as node-postgres' pool has them. */
  get _clients() {
    return [...this._state.entries.values()].map(({ client }) => client);
  }

  _count(is) {
    return [...this._state.entries.values()].filter(is).length;
  }

  get totalCount() {
    return this._count(({ connection, release }) => release || !/^(?:closed|ending)$/.test(connection.state));
  }
  get idleCount() {
    return Math.max(0, this._spare);
  }
  get waitingCount() {
    return Math.max(0, -this._spare);
  }
  /** Taken connections that are older than maxLifetimeSeconds. */
  get expiredCount() {
    return this._count(({ release, expires }) => release && performance.now() > expires);
  }

  /** How many connections are left when each request has one; negative if there are too few. */
  get _spare() {
    const { connected, idle, waiting } = this._state.pool.stats;
    const held = this._count(({ release }) => release !== undefined);
    const free = Math.min(idle + this._state.freeing, this.totalCount - held);
    return free - Math.max(0, waiting - (this.totalCount - connected));
  }
}

module.exports = { Pool };
