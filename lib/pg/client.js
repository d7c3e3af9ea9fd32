'use strict';

const { EventEmitter, once } = require('node:events');
const { Client: Connection, ConnectionError } = require('../..');
const { hide, libpqConfig, parametersOf } = require('./config');
const { Query, Submission, ask, configOf, errorOf } = require('./query');
const { TypeOverrides } = require('./types');
const { escapeIdentifier, escapeLiteral } = require('./values');

/**
 * Gives the promise of a piece of work, or calls back with its outcome; what the callback throws is nobody's to catch.
 * @param {function(): Promise} work
 * @param {function(Error|null|undefined, *)} [callback]
 * @param {null|undefined} none what stands for no error
 * @throws {TypeError} for a callback that is no function, before anything is done
 */
function settle(work, callback, none) {
  if (!callback) return work();
  if (typeof callback !== 'function') throw new TypeError('callback is not a function');
  work().then(result => process.nextTick(callback, none, result), error => process.nextTick(callback, error));
}

/**
 * A connection as node-postgres has it.
 *
 * Events: 'connect', 'notification' `{ processId, channel, payload }`, 'notice' (the fields of a NoticeResponse),
 * 'drain' (nothing is pending any more), 'error' (the connection was lost; without a listener it is not an event that
 * ends the program), 'end'.
 */
class Client extends EventEmitter {
  static Query = Query;

  #answered = 0; // of what was asked
  #asked = 0;
  #client;
  #owner; // promise of when the connection is free of what was submitted
  #settings;

  /**
   * @param {object|string} [config] node-postgres', or a connection string
   * @param {Client} [client] of this library, connected, which it takes in place of a new one
   * @throws {TypeError|Error} for a connection string that cannot be read
   */
  constructor(config, client) {
    super();
    const parameters = this.connectionParameters = parametersOf(config);
    const { host, port, user, database, binary, password, ssl, given } = parameters;
    hide(Object.assign(this, { host, port, user, database, binary }), { password, ssl });
    this.#settings = { ...parameters, types: new TypeOverrides(given.types), texts: new Map() };
    this.#client = client ?? new Connection(libpqConfig(parameters));
    /** Emits 'parameterStatus', and 'rowDescription' for what was submitted; `stream.destroy()` closes it. */
    this.connection = new EventEmitter().on('error', error => this.#client.destroy(error));
    this.connection.stream = { destroy: (error = new ConnectionError('destroyed')) => this.#client.destroy(error) };
    this._ending = false;
    for (const name of ['notification', 'notice']) this.#client.on(name, sent => this.emit(name, { name, ...sent }));
    this.#client.on('parameter', this.#parameter);
    this.#client.on('error', error => {
      if (!this._ending && this.listenerCount('error') > 0) this.emit('error', errorOf(error));
    });
    this.#client.on('end', this.#over);
  }

  #over = () => { setImmediate(() => this.emit('end')); }; // when what was pending has been told

  #parameter = (parameterName, parameterValue) =>
    this.connection.emit('parameterStatus', { parameterName, parameterValue });

  /** @type {number|null} of the server process */
  get processID() { return this.#client.processId ?? null; }

  /**
   * Connects. A client connects once.
   * @param {function(Error|null, Client)} [callback]
   * @returns {Promise<Client>|undefined} of itself; nothing with a callback
   */
  connect(callback) { return settle(() => this.#connect(), callback, null); }

  async #connect() {
    const client = this.#client;
    if (client.state !== 'new') throw new Error('Client has already been connected. You cannot reuse a client.');
    await client.connect().catch(error => {
      this.#over();
      throw errorOf(error);
    });
    for (const name in client.serverParameters) this.#parameter(name, client.serverParameters[name]);
    this.emit('connect');
    return this;
  }

  /**
   * Asks. A text without values may have several statements, and resolves to an array of their results then.
   * @param {string|object} config text; `{ text, values, name, rowMode: 'array', types, binary, query_timeout,
   *   signal }`; or what has a method `submit`: a Query, a cursor of pg-cursor, a stream of pg-query-stream
   * @param {Array|function} [values]
   * @param {function(Error|null, Result)} [callback]
   * @returns {Promise<Result>|undefined|object} nothing with a callback; what was submitted
   * @throws {TypeError} without a query, or for a callback that is no function
   */
  query(config, values, callback) {
    const query = configOf(config);
    if (typeof query.submit === 'function') return this.#submit(query, values, callback);
    if (typeof values === 'function') [values, callback] = [undefined, values];
    return settle(() => {
      const promise = this.#ask(query, values);
      // If it cannot connect, who connects is told: a query that nobody waits for ends no program.
      if (this.#client.state === 'connecting') promise.catch(() => {});
      return promise;
    }, callback || query.callback, null);
  }

  #ask(config, values) { return this.#run(client => ask(client, config, values, this.#settings)); }

  /** Does a piece of work, when what was submitted before is over. */
  async #run(work) {
    this.#asked++;
    try {
      if (this.#owner !== undefined) await this.#owner;
      if (this._ending) throw new Error('Client was closed and is not queryable');
      if (!this._queryable) throw new Error('Client has encountered a connection error and is not queryable');
      return await work(this.#client);
    } finally {
      const count = ++this.#answered;
      if (count === this.#asked) setImmediate(() => { if (count === this.#asked) this.emit('drain'); });
    }
  }

  /** @returns {Promise<void>|undefined} of when what was submitted is over; nothing where nothing was */
  get submitted() { return this.#owner; }

  /** Whether it can be asked, as far as is known. */
  get _queryable() { return this.#client.state !== 'closed'; }

  #submit(query, values, callback) {
    query.callback ??= typeof values === 'function' ? values : callback;
    if (query instanceof Query) settle(() => this.#ask(query), (...outcome) => query.finish(...outcome));
    else {
      if (query._result) query._result._types ??= this.#settings.types; // which else are those of pg
      const tell = description => this.connection.emit('rowDescription', description);
      const begin = client => once(new Submission(client, query).on('rowDescription', tell), 'readyForQuery');
      const owner = this.#owner = this.#run(begin)
        .catch(error => query.handleError(error, this.connection))
        .then(() => { if (this.#owner === owner) this.#owner = undefined; });
    }
    return query;
  }

  /**
   * Closes the connection: at once where a query is under way, which then rejects, unless the config says `pipeline`.
   * @param {function} [callback]
   * @returns {Promise<void>|undefined} resolves when it is closed
   */
  end(callback) {
    this._ending = true;
    if (this.#asked > this.#answered && !this.connectionParameters.given.pipeline) this.#client.destroy();
    // A new one may still connect.
    return settle(async () => this.#client.state === 'new' ? undefined : this.#client.end(), callback);
  }

  /** A COPY … TO STDOUT as a Readable, and a COPY … FROM STDIN as a Writable: see Client of this library. */
  copyTo(text, options) { return this.#client.copyTo(text, options); }
  copyFrom(text, options) { return this.#client.copyFrom(text, options); }

  /** @returns {'I'|'T'|'E'|null} outside a transaction block, in one, in a failed one; null without a connection */
  getTransactionStatus() { return this.#client.transactionStatus ?? null; }

  /** How values of a type are read by this client, or by all of its pool; see `types`. */
  setTypeParser(oid, format, parse) { this.#settings.types.setTypeParser(oid, format, parse); }
  getTypeParser(oid, format) { return this.#settings.types.getTypeParser(oid, format); }
  escapeIdentifier(name) { return escapeIdentifier(name); }
  escapeLiteral(text) { return escapeLiteral(text); }
  ref() { this.#client.ref(); }
  unref() { this.#client.unref(); }
}

module.exports = { Client, settle };
