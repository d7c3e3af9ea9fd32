'use strict';

const { setMaxListeners } = require('node:events');
const { ConnectionError, TimeoutError, UsageError, takeParameter } = require('./protocol');
const query = require('./query');
const { checkDecode } = require('./rows');
const { Steps } = require('./steps');

/** How long the server has to close the connection after Terminate, in milliseconds. */
const CLOSE_TIMEOUT = 3000;

let connecting; // what connecting needs, loaded by the first connect()

/**
 * One connection to a PostgreSQL server.
 *
 * Events: 'notification' `{ processId, channel, payload }`, 'notice' (fields of the NoticeResponse), 'parameter'
 * `(name, value)`, 'drain', 'error' (the connection was lost; without a listener it is not an event that ends the
 * program), 'end' (the connection, which had been open, is over, for whatever reason).
 */
class Client extends Steps {
  #channels; // that are listened to on this connection
  #aborting; // AbortController of connect(), then, once there are any, of CancelRequests
  #config;
  #connecting; // the promise of connect()
  #ending; // what end() has come to: nothing, 'asked', 'sent'
  #pipeline;
  #referenced = true;
  #resolveClosed;
  #session = null;

  /**
   * @param {object|string} [config] libpq's parameters by their names, as an object, a URL or a list of
   *   `key=value`; other keys of an object go to the server as run-time parameters. Beside libpq's:
   *   `statement_cache`, `max_buffer_bytes`, `decode`, `ssl`, `socket`, `password` as a function
   */
  constructor(config = {}) {
    super();
    this.#config = config;
    /** @type {Object<string, string>} as the server reports them: server_version, TimeZone, … */
    this.serverParameters = Object.create(null);
    /** @type {Buffer|null} process id and secret, what a CancelRequest is made of */
    this.backendKey = null;
    /** @type {number|undefined} of the server process */
    this.processId = undefined;
    /** @type {(function(Buffer)|undefined)} called with each NoticeResponse message */
    this.onNotice = undefined;
    /** @type {(function(Buffer)|undefined)} called with each NotificationResponse message */
    this.onNotification = undefined;
    this.#reset();
  }

  /** Makes what each connection has of its own. */
  #reset() {
    /** 'new', 'connecting', 'open', 'ending' or 'closed' */
    this.state = 'new';
    this.#ending = this.#connecting = undefined;
    const pipeline = this.#pipeline = new query.Pipeline({
      notice: (...message) => this.#message('notice', 'onNotice', ...message),
      notification: (...message) => {
        this.#channels?.deliver(message[0]);
        this.#message('notification', 'onNotification', ...message);
      },
      parameter: (...message) => this.#emit('parameter', ...takeParameter(this.serverParameters, ...message)),
      // Of a socket of before there is nothing to lose any more.
      lost: error => { if (this.#pipeline === pipeline && this.state !== 'closed') this.#lose(error); },
      drained: () => this.#emit('drain'),
      queued: () => { if (this.state === 'new') setImmediate(() => this.#expectConnect(pipeline)); }
    }, this.#config?.decode ?? undefined);
    this.beginSteps(pipeline.scopes.root);
    this.#channels = undefined;
    /** @type {Promise<Error|undefined>} resolves when the connection is over: with the error, if there was one */
    this.closed = new Promise(resolve => { this.#resolveClosed = resolve; });
  }

  #emit(...event) { query.unhindered(() => this.emit(...event)); }

  /** Tells of a message: its bytes as kig/quickgres 0.4 does, and as an event. */
  #message(event, callback, decoded, buf, start, end) {
    if (this[callback] && buf) query.unhindered(() => this[callback](Buffer.from(buf.subarray(start, end))));
    this.#emit(event, decoded);
  }

  /** A query before connect() waits for it; but not for a connect() that never comes. */
  #expectConnect(pipeline) {
    if (this.state !== 'new' || this.#pipeline !== pipeline) return;
    pipeline.abandon('not connected: connect() was not called', undefined, '08003');
    this.#reset();
  }

  /**
   * Connects. Queries may be sent at once: they leave as early as the server can take them.
   * @param {number|string} [port] or as socketPath the path of a Unix socket; without it, the config says where to
   * @param {string} [host='localhost']
   * @param {object|boolean} [ssl] options of tls.connect
   * @returns {Promise<void>} resolves when the server takes queries; rejects with a ConnectionError, with the server's
   *   PostgresError, or with a TypeError for a config that cannot be; afterwards connect() may be called again. Where
   *   queries have waited for it, and so are rejected, it need not be handled, too
   * @see https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-START-UP
   */
  connect(port, host, ssl) {
    const promise = this.#connect(port, host, ssl);
    this.#connecting ??= promise;
    return promise;
  }

  async #connect(port, host, ssl) {
    if (this.state === 'closed') this.#reset();
    if (this.state !== 'new') {
      throw new UsageError(`connect() while the client is ${this.state}: it has one connection; for another, make ` +
        'another Client, or await end() first', '08002');
    }
    this.state = 'connecting';
    const pipeline = this.#pipeline;
    const { signal } = this.#aborting = new AbortController();
    try {
      const config = await this.#resolve(port, host, ssl); // what is asked in this tick shares its fate
      if (signal.aborted) throw signal.reason;
      pipeline.statements.limit = config.statement_cache;
      pipeline.maxBuffered = config.max_buffer_bytes;
      await connecting.connect(config, {
        earlyRequests: () => pipeline.earlyRequests(),
        ready: session => this.#open(session),
        notice: fields => this.#emit('notice', fields)
      }, signal);
    } catch (error) {
      // Made by an event of a socket, it would not show who awaits.
      if (error instanceof ConnectionError || error instanceof TimeoutError) Error.captureStackTrace?.(error);
      if (!signal.aborted) this.#close(error, error.message, error.code);
      throw error;
    }
  }

  async #resolve(port, host, ssl) {
    checkDecode(this.#config?.decode ?? undefined);
    connecting ??= { ...require('./config'), ...require('./connection') };
    return connecting.resolve(this.#config, port === undefined ? undefined : { port, host, ssl });
  }

  #open(session) {
    this.#aborting = undefined;
    this.#session = session;
    this.state = this.#ending === undefined ? 'open' : 'ending';
    this.serverParameters = session.parameters;
    this.backendKey = session.backendKey;
    this.processId = session.processId;
    if (!this.#referenced) session.socket.unref();
    const { cancel } = session;
    this.#pipeline.open(Object.assign(session, { cancel: () => cancel(this.#signal) }));
  }

  /** Aborts CancelRequests, however many. */
  get #signal() {
    this.#aborting ??= new AbortController();
    setMaxListeners(0, this.#aborting.signal);
    return this.#aborting.signal;
  }

  /** The connection is over and was not to be, unless Terminate was sent. */
  #lose(error) {
    if (this.#ending === 'sent') return this.#close(undefined, 'the client was ended', '08003');
    error ??= new ConnectionError('the server closed the connection');
    this.#close(error, `the connection was lost: ${error.message}`, error.code);
  }

  /**
   * Ends everything: rejects what is pending and tells who listens.
   * @param {Error|undefined} error none where it was to be
   * @param {string} message and code of what is rejected with
   */
  #close(error, message, code) {
    const session = this.#session;
    this.state = 'closed';
    this.#session = null;
    // Queries have waited for connect() and reject as it does: it need not be handled as well.
    if (session === null && this.#ending === undefined && this.#pipeline.waited) this.#connecting?.catch(() => {});
    this.#aborting?.abort(new ConnectionError(message, { code, cause: error }));
    if (session !== null) {
      session.reader.stop();
      session.socket.destroy();
    }
    this.#pipeline.abandon(message, error, code);
    this.#resolveClosed(error);
    if (error !== undefined && session !== null && this.listenerCount('error') > 0) this.#emit('error', error);
    if (session !== null) this.#emit('end');
  }

  /**
   * Lets all that was asked before finish, then closes the connection. A COPY FROM STDIN that copyData writes
   * to fails, a query of startQuery is ended; cursors, transactions and the streams of copyFrom go on to their end.
   * @returns {Promise<void>} resolves when the connection is closed, also when it is lost; rejects, and does nothing,
   *   with a UsageError (25001) inside the function of transaction(), which it would wait for
   */
  async end() {
    if (this.state === 'new') this.#close(undefined, 'the client was ended', '08003');
    if (this.state === 'closed') return;
    if (this.#ending === undefined) {
      const pipeline = this.#pipeline;
      const { root } = pipeline.scopes;
      const refused = () => new ConnectionError('the client was ended: it takes no more requests',
        { code: '08003', sent: false });
      pipeline.scopes.check(root);
      this.#ending = 'asked';
      this.abandonSteps(refused);
      if (this.state === 'open') this.state = 'ending';
      pipeline.enter(new query.Scope(pipeline, root, 'end()', { alone: true, entered: () => this.#terminate() }));
      root.refused = refused;
    }
    await this.closed;
  }

  #terminate() {
    const { socket } = this.#session;
    this.#ending = 'sent';
    this.#pipeline.writer.terminate();
    socket.flush(this.#pipeline.writer);
    socket.end();
    const timer = setTimeout(() => socket.destroy(), CLOSE_TIMEOUT);
    this.closed.then(() => clearTimeout(timer));
  }

  /**
   * Closes the connection now; everything pending rejects.
   * @param {Error} [error] the cause to reject with; where it is given, 'error' is emitted
   */
  destroy(error) {
    if (this.state === 'closed') return;
    const cause = error || new ConnectionError('the client was destroyed', { code: '08003' });
    if (this.#session === null) this.#aborting?.abort(cause); // what connect() rejects with
    this.#close(error, cause.message, cause.code);
  }

  /**
   * Asks the server, over a connection of its own, to cancel what it is running for this client, whatever that is.
   * To cancel a certain query and no other, give it a `signal`.
   * @returns {Promise<void>} resolves when the server has taken the request, which may have come too late; never
   *   after the promise of the query which it cancelled has rejected, so that one may await the one, then the other.
   *   Rejects with a ConnectionError where the server cannot be reached, or the client is not connected (08003)
   * @see https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-CANCELING-REQUESTS
   */
  cancel() {
    const { cancelling } = this.#pipeline;
    return new Promise((resolve, reject) => {
      cancelling.add(resolve);
      this.#pipeline.cancel().then(resolve, reject).finally(() => cancelling.delete(resolve));
    });
  }

  /** @type {string|undefined} 'I' idle, 'T' in a transaction block, 'E' in a failed one, as of the last answer */
  get transactionStatus() { return this.#session === null ? undefined : this.#pipeline.status; }

  /** @private See Session.listen. */
  get channels() { return (this.#channels ??= query.channelsOf(this)); }

  /** Requests that were made and are not over. */
  get pending() { return this.#pipeline.pending; }

  /** Bytes written that the system has not taken. */
  get bufferedBytes() { return this.#pipeline.bufferedBytes; }

  /** The connection keeps the program running (the default). */
  ref() {
    this.#referenced = true;
    this.#session?.socket.ref();
  }

  /** The connection does not keep the program running, once it is there. */
  unref() {
    this.#referenced = false;
    this.#session?.socket.unref();
  }

  toJSON() { return { state: this.state, pending: this.pending, processId: this.processId }; }

  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    return `Client ${inspect({ ...this.toJSON(), serverParameters: { ...this.serverParameters } }, options)}`;
  }
}

/** Text format of results: columns are strings. */
Client.STRING = 0;
/** Binary format of results: columns are Buffers. */
Client.BINARY = 1;

module.exports = { Client };
