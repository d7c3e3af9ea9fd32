'use strict';

const { BEGIN_STEPS, CHANNELS, END_STEPS, LEASE, STREAM } = require('./internal');
const { late } = require('./late');
const { ConnectionError, UsageError, isOurs, takeParameter } = require('./protocol');
const { checkNoMore } = require('./options');
const { debug, Pipeline, unhindered } = require('./pipeline');
const rows = require('./rows');
const requests = require('./requests');
const { Steps } = require('./steps');
const { after, setImmediate } = require('./timer');

/** Milliseconds in which end() expects the server to close the connection, or to answer a request that was given up. */
const CLOSE_TIMEOUT = 3000;

const later = late({
  resolve: () => require('./config').resolve,
  connect: () => require('./connection').connect,
  transaction: () => require('./transaction')
});

/** What connecting needs of an AbortController and its signal, which cost as much as reading the config. */
class Abort {
  #listeners = new Set();
  aborted = false;
  reason = undefined;

  addEventListener(event, listener) {
    this.#listeners.add(listener);
  }
  removeEventListener(event, listener) {
    this.#listeners.delete(listener);
  }

  abort(reason) {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    for (const listener of this.#listeners) listener();
  }
}

const DESTROYED = 'the client was destroyed';

/**
 * One connection to a PostgreSQL server. Its events, of which none needs a listener, are ClientEvents in index.d.ts.
 */
class Client extends Steps {
  #channels; // of this connection
  #aborting; // of connect(), later of CancelRequests
  #common; // see Pipeline
  #config;
  #connecting; // the promise of connect()
  #ending; // undefined, then 'asked', 'sent'
  #pipeline;
  #referenced = true;
  #resolveClosed;
  #connection = null;

  constructor(config = {}) {
    super();
    checkNoMore(arguments, 1, 'new Client({ connectionString: url, ssl })');
    this.#config = config;
    this.#common = new requests.Common({ isPooled: false, decoding: rows.decodingOf(config, false) });
    /** @type {Object<string, string>} settings that the server reports */
    this.serverParameters = Object.create(null);
    /** @type {Buffer|null} process id and secret, of which a CancelRequest is made */
    this.backendKey = null;
    /** @type {number|undefined} the server process */
    this.processId = undefined;
    /** @type {(function(Buffer)|undefined)} called with each NoticeResponse */
    this.onNotice = undefined;
    /** @type {(function(Buffer)|undefined)} called with each NotificationResponse */
    this.onNotification = undefined;
    this.#reset();
  }

  #reset() {
    /** 'new', 'connecting', 'open', 'ending' or 'closed' */
    this.state = 'new';
    this.#ending = this.#connecting = undefined;
    this.#common.forgetTypes();
    const pipeline = (this.#pipeline = new Pipeline(
      {
        notice: (...message) => this.#message('notice', 'onNotice', ...message),
        notification: (...message) => {
          this.#channels?.deliver(message[0]);
          this.#message('notification', 'onNotification', ...message);
        },
        parameter: (...message) => this.#emit('parameter', ...takeParameter(this.serverParameters, ...message)),
        // An earlier socket can no longer be lost.
        lost: error => {
          if (this.#pipeline === pipeline && this.state !== 'closed') this.#lose(error);
        },
        cancel: () => this.#connection.cancel((this.#aborting ??= new Abort())),
        drained: () => this.#emit('drain'),
        queued: () => {
          if (this.state === 'new') setImmediate(() => this.#expectConnect(pipeline));
        }
      },
      this.#common
    ));
    this[BEGIN_STEPS](pipeline.scopes.root);
    this.#channels = undefined;
    /** @type {Promise<Error|undefined>} resolves when the connection is over, with the error if there was one */
    this.closed = new Promise(resolve => {
      this.#resolveClosed = resolve;
    });
  }

  #emit(...event) {
    unhindered(() => this.emit(...event));
  }

  /** Tells of a message: its bytes as kig/quickgres 0.4 does, and as an event. */
  #message(event, callback, decoded, buf, start, end) {
    if (this[callback] && buf) unhindered(() => this[callback](Buffer.from(buf.subarray(start, end))));
    this.#emit(event, decoded);
  }

  /** A query before connect() waits for it, but not forever. */
  #expectConnect(pipeline) {
    if (this.state !== 'new' || this.#pipeline !== pipeline) return;
    pipeline.lose(undefined, 'not connected: call connect() first', '08003');
    this.#reset();
  }

  /**
   * Connects. Queries may be sent at once.
   * @param {number|string} [port] or the path of a Unix socket; by default the config's
   * @param {string} [host]
   * @param {object|boolean} [ssl] options of tls.connect
   * @returns {Promise<void>} resolves when the server takes queries
   */
  connect(port, host, ssl) {
    const promise = this.#connect(port, host, ssl);
    this.#connecting ??= promise;
    return promise;
  }

  async #connect(port, host, ssl) {
    if (this.state === 'closed') this.#reset();
    if (this.state !== 'new') {
      throw new UsageError(
        `connect() while the client is ${this.state}: it has one connection; for another, make ` +
          'another Client, or await end() first',
        '08002'
      );
    }
    this.state = 'connecting';
    const pipeline = this.#pipeline;
    const signal = (this.#aborting = new Abort());
    const hooks = {
      earlyRequests: () => pipeline.earlyRequests(),
      ready: connection => this.#open(connection),
      notice: fields => this.#emit('notice', fields)
    };
    try {
      await undefined; // requests of this tick share the outcome
      rows.checkDecode(this.#common.decoding.decode);
      const config = later.resolve(this.#config, port === undefined ? undefined : { port, host, ssl });
      if (signal.aborted) throw signal.reason;
      pipeline.configure(config);
      const { decoding } = pipeline.common;
      hooks.silent = pipeline.common.silent;
      if (rows.hasNames(decoding.decode)) pipeline.askFirst([decoding.decode]);
      const connected = later.connect(config, hooks, signal);
      connected.catch(() => {}); // the next line may throw
      // Meanwhile, since later there may be no descriptor for their files. In a bundle they are not files.
      if (module.filename !== undefined) void [later.transaction, rows.decoders];
      await connected;
    } catch (error) {
      // An error made in a socket's event would not show the awaiting caller.
      if (isOurs(error)) Error.captureStackTrace?.(error);
      if (!signal.aborted) this.#close(error, error.message, error.code, hooks.mayHaveRun !== true);
      throw error;
    }
  }

  #open(connection) {
    this.#aborting = undefined;
    this.#connection = connection;
    this.state = this.#ending === undefined ? 'open' : 'ending';
    this.serverParameters = connection.parameters;
    this.backendKey = connection.backendKey;
    this.processId = connection.processId;
    const { host, port, config } = connection;
    debug(
      'process %s: connected to %s:%s, database %s, user %s',
      this.processId,
      host,
      port,
      config.database,
      config.user
    );
    if (!this.#referenced) connection.socket.unref();
    this.#pipeline.open(connection, requests.proofFor(connection));
  }

  /** The connection is over, unexpectedly unless Terminate was sent. */
  #lose(error) {
    if (this.#ending === 'sent') return this.#close(undefined, 'the client was ended', '08003');
    error ??= new ConnectionError('the server closed the connection');
    this.#close(error, `the connection was lost: ${error.message}`, error.code);
  }

  /**
   * Ends everything: rejects pending requests and emits events.
   * @param {Error|undefined} error none for an expected end
   * @param {string} message and code of the requests' errors
   * @param {boolean} [isUnread] whether the server has carried out no request, although one may have been sent
   */
  #close(error, message, code, isUnread) {
    const connection = this.#connection;
    this.state = 'closed';
    this.#connection = null;
    debug('process %s: not connected: %s', connection?.processId, message);
    // Queries have waited for connect() and reject as it does: it need not be handled as well.
    if (connection === null && this.#ending === undefined && this.#pipeline.isBusy) this.#connecting?.catch(() => {});
    this.#aborting?.abort(new ConnectionError(message, { code, cause: error }));
    if (connection !== null) {
      connection.reader.stop();
      connection.socket.destroy();
    }
    this.#pipeline.lose(error, message, code, isUnread);
    this.#resolveClosed(error);
    if (error !== undefined && connection !== null && this.listenerCount('error') > 0) this.#emit('error', error);
    if (connection !== null) this.#emit('end');
  }

  /**
   * Waits for all requests, then closes the connection.
   * @returns {Promise<void>} resolves when the connection is closed or lost; rejects inside the function of
   *   transaction()
   */
  async end() {
    if (this.state === 'new') this.#close(undefined, 'the client was ended', '08003');
    if (this.state === 'closed') return;
    if (this.#ending === undefined) {
      const pipeline = this.#pipeline;
      const refused = () =>
        new ConnectionError('the client was ended: it takes no more requests', { code: '08003', sent: false });
      pipeline.scopes.check(this[LEASE]);
      this.#ending = 'asked';
      this[END_STEPS](refused);
      if (this.state === 'open') this.state = 'ending';
      pipeline.endAll(refused, () => this.#terminate());
      if (this.#ending === 'asked') this.#destroyIfSilent(pipeline);
    }
    await this.closed;
  }

  /**
   * A silent connection does not answer requests that were given up. No interval: a mocked clock would run it for days.
   */
  #destroyIfSilent(pipeline) {
    const look = () => {
      const isSilent = performance.now() - (pipeline.silentSince || Infinity) > CLOSE_TIMEOUT;
      if (isSilent) this.destroy(new ConnectionError('the server was silent'));
      else if (this.#ending === 'asked') this.#destroyIfSilent(pipeline);
    };
    this.closed.then(after(CLOSE_TIMEOUT / 3, look, 0, false));
  }

  #terminate() {
    const { socket } = this.#connection;
    this.#ending = 'sent';
    this.#pipeline.writer.terminate();
    socket.flush(this.#pipeline.writer);
    socket.end();
    const timer = setTimeout(() => socket.destroy(), CLOSE_TIMEOUT);
    this.closed.then(() => clearTimeout(timer));
  }

  /** For `await using`; not every engine has the symbol. */
  [Symbol.asyncDispose ?? Symbol()]() {
    return this.end();
  }

  /** Closes the connection now, and rejects all requests. @param {Error} [error] the cause */
  destroy(error) {
    if (this.state === 'closed') return;
    const cause = error || new ConnectionError(DESTROYED, { code: '08003' });
    if (this.#connection === null) this.#aborting?.abort(cause); // connect() rejects with it
    // The caller's error stays the cause, so the message does not repeat it.
    this.#close(error, isOurs(cause) ? cause.message : DESTROYED, cause.code);
  }

  /**
   * Asks the server to cancel whatever it is running for this client. To cancel one query and no other, pass a
   * `signal`. What it makes reject needs no handler.
   * @returns {Promise<void>} resolves when the server has taken the request
   */
  cancel() {
    return this.#pipeline.cancel();
  }

  /** @type {string|undefined} 'I' idle, 'T' in a transaction block, 'E' in a failed one, as of the last answer */
  get transactionStatus() {
    return this.#connection === null ? undefined : this.#pipeline.status;
  }

  /** The stream to the server while the connection is open, which quickgres/pg shows. */
  get [STREAM]() {
    return this.#connection?.socket.stream ?? null;
  }

  /** See Session.listen. */
  get [CHANNELS]() {
    return (this.#channels ??= require('./listen').channelsOf(this));
  }

  get pending() {
    return this.#pipeline.pending;
  }

  get bufferedBytes() {
    return this.#pipeline.bufferedBytes;
  }

  ref() {
    this.#referenced = true;
    this.#connection?.socket.ref();
  }

  unref() {
    this.#referenced = false;
    this.#connection?.socket.unref();
  }

  toJSON() {
    return { state: this.state, pending: this.pending, processId: this.processId };
  }

  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    return `Client ${inspect({ ...this.toJSON(), serverParameters: { ...this.serverParameters } }, options)}`;
  }
}

Client.STRING = 0;
Client.BINARY = 1;

module.exports = { Client };
