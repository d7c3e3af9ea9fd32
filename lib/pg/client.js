'use strict';

const { EventEmitter, once } = require('node:events');
const { STREAM } = require('../core/internal');
const quickgres = require('../..');
const { setImmediate } = require('../core/timer');
const { ConnectionParameters, hide, libpqConfig } = require('./config');
const { DatabaseError, Query, Submission, ask, configOf, errorOf, lengthOf, unhindered } = require('./query');
const { TypeOverrides, adoptTypes } = require('./types');
const { escapeIdentifier, escapeLiteral } = require('./values');

const { nextTick } = process; // fake timers replace it later

/** Outcomes in their order: `{ resolve, isCalled }`. What a callback begins runs before the next one. */
const turns = [];

function takeTurns() {
  for (; turns.length > 0; turns.shift()) {
    const [{ resolve, isCalled }] = turns;
    resolve();
    if (isCalled)
      return void setImmediate(() => {
        turns.shift();
        takeTurns();
      });
  }
}

/** @returns {Promise<void>} resolves when earlier callbacks, of answers in the same packet, are over */
function turn(isCalled) {
  return new Promise(resolve => {
    if (turns.push({ resolve, isCalled }) === 1) takeTurns();
  });
}

/**
 * Returns the promise of `work()`, or calls back with its outcome, before later promises settle. An error that the
 * callback throws is an uncaught exception.
 * @param {null|undefined} none the first argument on success
 * @param {function} [Own] the class of the promise
 */
function settle(work, callback, none, Own) {
  if (!callback)
    return Own
      ? new Own((resolve, reject) => {
          work().then(resolve, reject);
        })
      : work();
  if (typeof callback !== 'function') throw new TypeError('callback is not a function');
  work().then(
    result => unhindered(() => callback(none, result)),
    error => unhindered(() => callback(error))
  );
}

/** The `connection` of a client. Emits 'parameterStatus', and 'rowDescription' for a Submittable. */
class Connection extends EventEmitter {
  #client;
  #unopened = Object.assign(new EventEmitter(), {
    // what there is before and after the stream
    destroy: (error = new quickgres.ConnectionError('destroyed')) => this.#client.destroy(error),
    end() {
      this.destroy();
    }
  });

  constructor(client) {
    super();
    if (!(client instanceof quickgres.Client))
      throw new TypeError('quickgres/pg has no Connection to be made: use Client');
    this.#client = client;
    this.on('error', error => client.destroy(error));
    client.on('end', () => setImmediate(() => this.#unopened.emit('end'))); // 'error' comes first
  }

  get stream() {
    return this.#client[STREAM] ?? this.#unopened;
  }

  end() {
    this.stream.end();
  }
}

/** A pool adds it to the config of a client: `{ client, opening }`, a connection and the promise of its connect(). */
const POOLED = Symbol('pooled');

/** A client with node-postgres' methods and events. */
class Client extends EventEmitter {
  static Query = Query;

  constructor(config) {
    super();
    adoptTypes();
    const parameters = (this.connectionParameters = new ConnectionParameters(config));
    const { host, port, user, database, binary, password, ssl, given } = parameters;
    const { client = new quickgres.Client(libpqConfig(parameters)), opening } = given[POOLED] ?? {};
    Object.assign(this, { host, port, user, database, binary, pipeline: Boolean(given.pipeline), _ending: false });
    // All changing state is in one object, since programs wrap clients in a Proxy and inherit from them by
    // Object.create. `asked` and `answered` count requests; `last` is the promise of the last one, `owner` that of the
    // Submittable.
    const _state = {
      client,
      settings: { ...parameters, types: new TypeOverrides(given.types), texts: new Map() },
      asked: 0,
      answered: 0,
      last: undefined,
      owner: undefined,
      isPaused: false,
      opening,
      open: () => opening ?? client.connect()
    };
    hide(this, { password, ssl, _Promise: given.Promise, _state });
    this.connection = new Connection(client);
    client.on('notification', sent => this.emit('notification', { name: 'notification', ...sent }));
    client.on('notice', sent => this.emit('notice', { name: 'notice', length: lengthOf(sent), ...sent }));
    client.on('parameter', (parameterName, parameterValue) =>
      this.connection.emit('parameterStatus', { parameterName, parameterValue })
    );
    client.on('error', error => this._lost(errorOf(error)));
    client.on('end', () => this._over());
  }

  /**
   * As in node-postgres, the server's reason is an event only if no query rejects with it, and the loss is one after
   * that, unless end() is called in between.
   */
  _lost(error) {
    const tell = each => {
      if (!this._ending && this.listenerCount('error') > 0) this.emit('error', each);
    };
    const isReason = error instanceof DatabaseError;
    if (isReason && this._state.asked === this._state.answered) tell(error);
    // After pending promises.
    setImmediate(tell, isReason ? new Error('Connection terminated unexpectedly', { cause: error }) : error);
  }

  _over() {
    setImmediate(() => this.emit('end'));
  } // after pending promises

  get processID() {
    return this._state.client.processId ?? null;
  }

  /** The package pg-pool closes a released client without it. */
  get _queryable() {
    return this._state.client.state !== 'closed';
  }

  connect(callback) {
    return settle(() => this._connect(), callback, null, this._Promise);
  }

  async _connect() {
    const { client, open, opening } = this._state;
    if (open === undefined) throw new Error('Client has already been connected. You cannot reuse a client.');
    this._state.open = undefined;
    await open().catch(error => {
      this._over();
      if (opening === undefined || error.code !== '08003') throw errorOf(error);
    });
    if (client.state === 'closed') return this; // the end of its pool is no error
    for (const name of Object.keys(client.serverParameters))
      client.emit('parameter', name, client.serverParameters[name]);
    this.emit('connect');
    return this;
  }

  /**
   * Runs a query. A text without values may have several statements, and resolves to an array of their results.
   * @returns {Promise<Result|Result[]>|undefined|object} nothing with a callback; the Submittable itself
   */
  query(config, values, callback) {
    const query = configOf(config);
    if (typeof query.submit === 'function') return this._submit(query, values, callback);
    if (typeof values === 'function') [values, callback] = [undefined, values];
    const called = callback || query.callback;
    return settle(
      () => {
        const promise = this._ask(called, query, values);
        // connect() reports the error as well, so an ignored query must not end the program.
        if (this._state.client.state === 'connecting') promise.catch(() => {});
        return promise;
      },
      called,
      null,
      this._Promise
    );
  }

  _ask(called, ...query) {
    return (this._state.last = this._run(client => ask(client, ...query, this._state.settings), Boolean(called)));
  }

  /**
   * Runs `work` after the Submittable before it is over. @param {boolean} [isCalled] whether the outcome goes to a
   * callback
   */
  async _run(work, isCalled = false) {
    this._state.asked++;
    try {
      if (this._state.owner !== undefined) await this._state.owner;
      if (this._ending) throw new Error('Client was closed and is not queryable');
      if (this._state.client.state === 'closed')
        throw new Error('Client has encountered a connection error and is not queryable');
      return await work(this._state.client);
    } finally {
      if (isCalled || turns.length > 0) await turn(isCalled);
      const count = ++this._state.answered;
      // The callback may ask more, and so may a tick that it begins. setImmediate would cost 2 µs.
      if (count === this._state.asked) nextTick(nextTick, () => this._drain(count));
    }
  }

  /** Tracers read this property: the promise of the last request, or nothing if all are answered. */
  get queryQueue() {
    return this._state.asked > this._state.answered ? [this._state.last] : [];
  }

  /** @returns {Promise<void>} resolves when the Submittable is over */
  get submitted() {
    return this._state.owner;
  }

  _drain(count) {
    if (count === this._state.asked && !this._state.isPaused) this.emit('drain');
  }

  /** Delays the event 'drain' until `resumeDrain()`. */
  pauseDrain() {
    this._state.isPaused = true;
  }
  resumeDrain() {
    if (!this._state.isPaused) return;
    this._state.isPaused = false;
    this._drain(this._state.answered);
  }

  _submit(query, values, callback) {
    query.callback ??= typeof values === 'function' ? values : callback;
    if (query instanceof Query)
      settle(
        () => this._ask(true, query, undefined),
        (...outcome) => query.finish(...outcome)
      );
    else {
      const { query_timeout: timeout, types } = this._state.settings;
      if (query._result) query._result._types ??= types; // the default is that of pg itself
      const tell = description => this.connection.emit('rowDescription', description);
      const begin = client => once(new Submission(client, query, timeout).on('rowDescription', tell), 'over');
      const owner = (this._state.owner = this._run(begin)
        .catch(error => query.handleError(error, this.connection))
        .then(() => {
          if (this._state.owner === owner) this._state.owner = undefined;
        }));
    }
    return query;
  }

  /** Closes the connection. A running query rejects, unless the config has `pipeline`. */
  end(callback) {
    this._ending = true;
    if (this._state.asked > this._state.answered && !this.pipeline) this._state.client.destroy();
    // A new client may still connect. The event comes before the promise resolves.
    const work = async () => {
      if (this._state.client.state !== 'new') await this._state.client.end().then(() => new Promise(setImmediate));
    };
    return settle(work, callback, undefined, this._Promise);
  }

  copyTo(text, options) {
    return this._state.client.copyTo(text, options);
  }
  copyFrom(text, options) {
    return this._state.client.copyFrom(text, options);
  }

  getTransactionStatus() {
    return this._state.client.transactionStatus ?? null;
  }

  setTypeParser(oid, format, parse) {
    this._state.settings.types.setTypeParser(oid, format, parse);
  }
  getTypeParser(oid, format) {
    return this._state.settings.types.getTypeParser(oid, format);
  }
  escapeIdentifier(name) {
    return escapeIdentifier(name);
  }
  escapeLiteral(text) {
    return escapeLiteral(text);
  }
  ref() {
    this._state.client.ref();
  }
  unref() {
    this._state.client.unref();
  }
}

module.exports = { Client, Connection, POOLED, settle, turn };
