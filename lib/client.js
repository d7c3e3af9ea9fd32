'use strict';

const { Buffer, process, setImmediate } = require('#platform');
const { setMaxListeners } = require('#platform').events;
const { guard } = require('./query/deadlock');
const { ConnectionError, PostgresError, UsageError } = require('./protocol/errors');
const { Pipeline } = require('./query/pipeline');
const rooms = require('./rooms');
const { Scope } = require('./query/scope');
const { Session } = require('./session');
const { Statements } = require('./query/statements');

/** Name of the last owner of a connection. */
const END = 'end()';

/** How long the server has to close the connection after the last message, in milliseconds. */
const FAREWELL = 3000;

/** Runs code of the user that must not break ours: what it throws is thrown where nothing of ours is running. */
function call(work) {
  try {
    work();
  } catch (error) {
    process.nextTick(() => { throw error; });
  }
}

/**
 * One connection to a PostgreSQL server.
 *
 * Events: 'notification' `{ processId, channel, payload }`, 'notice' (fields of the NoticeResponse), 'parameter'
 * `(name, value)`, 'drain', 'error' (the connection was lost; without a listener it is not an event that ends the
 * program), 'end' (the connection is over, for whatever reason).
 */
class Client extends Session {
  #config;
  #session = null;
  #connecting = null; // AbortController
  #cancelling = null; // AbortController of the CancelRequests under way
  #ending = null;
  #expecting = false;
  #referenced = true;
  #resolveClosed;

  /**
   * @param {object|string} [config] libpq's parameters by their names, as an object, a URL or a list of
   *   `key=value`; unknown keys of an object go to the server as startup parameters. Beside libpq's:
   *   `statement_cache`, `ssl`, `socket`, `password` as a function.
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
    /** 'new', 'connecting', 'open', 'ending' or 'closed' */
    this.state = 'new';
    this.#reset();
  }

  #reset() {
    this.#renew();
    this.#ending = null;
    /** @type {Promise<Error|undefined>} resolves when the connection is over: with the error, if there was one */
    this.closed = new Promise(resolve => { this.#resolveClosed = resolve; });
  }

  #renew() {
    Object.defineProperty(this, '_pipeline', {
      value: new Pipeline(new Statements(0, `_${Math.random().toString(36).slice(2, 8)}`), {
        notice: (fields, buf, start, end) => this.#notice(fields, buf, start, end),
        notification: (notification, buf, start, end) => {
          if (this.onNotification) call(() => this.onNotification(Buffer.from(buf.subarray(start, end))));
          call(() => this.emit('notification', notification));
        },
        parameter: (name, value) => {
          this.serverParameters[name] = value;
          call(() => this.emit('parameter', name, value));
        },
        lost: error => this.#lose(error)
      }),
      configurable: true,
      enumerable: false
    });
    Object.defineProperty(this, '_scope', { value: this._pipeline.root, configurable: true, enumerable: false });
    this._copy = this._portal = null;
  }

  #notice(fields, buf, start, end) {
    if (this.onNotice && buf) call(() => this.onNotice(Buffer.from(buf.subarray(start, end))));
    call(() => this.emit('notice', fields));
  }

  _check() {
    if (this.state === 'closed') throw new ConnectionError('the connection is closed', { code: '08003', sent: false });
    if (this.#ending !== null) throw new ConnectionError('the client was ended', { code: '08003', sent: false });
    if (this.state === 'new') this.#expectConnect();
  }

  /** A query before connect() waits for it; but not for a connect() that never comes. */
  #expectConnect() {
    if (this.#expecting) return;
    this.#expecting = true;
    setImmediate(() => {
      this.#expecting = false;
      if (this.state !== 'new') return;
      this._pipeline.abandon('not connected: connect() was not called', undefined, '08003');
      this.#renew();
    });
  }

  /**
   * Connects. Queries may be sent at once: they leave in the first flight that can carry them.
   * @param {number|string} [port] or as socketPath the path of a Unix socket; without it, the config says where to
   * @param {string} [host='localhost']
   * @param {object} [ssl] options of tls.connect
   * @returns {Promise<void>} resolves when the server takes queries; rejects with a ConnectionError, or with the
   *   server's PostgresError; afterwards connect() may be called again
   * @see https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-START-UP
   */
  async connect(port, host, ssl) {
    if (this.state === 'connecting' || this.state === 'open' || this.state === 'ending') {
      throw new UsageError(`connect() while the client is ${this.state}`, '08002');
    }
    if (this.state === 'closed') this.#reset();
    this.state = 'connecting';
    const abort = this.#connecting = new AbortController();
    const pipeline = this._pipeline;
    try {
      const resolved = rooms.config.resolve(this.#config, port === undefined ? undefined : { port, host, ssl });
      pipeline.statements.limit = resolved.statement_cache;
      await rooms.connect.connect(resolved, {
        earlyRequests: () => pipeline.firstFlight(),
        ready: session => {
          if (this.#connecting === abort) return this.#open(session, resolved);
          session.reader.stop(); // destroyed in a handler of a notice
          session.socket.destroy();
        },
        notice: (...notice) => this.#notice(...notice)
      }, abort.signal);
    } catch (error) {
      // Made by an event of a socket, it would not show who awaits.
      if (error instanceof ConnectionError || error instanceof PostgresError) Error.captureStackTrace?.(error);
      if (this.#connecting === abort) this.#close(error, error.message, error.code);
      throw error;
    }
  }

  #open(session, config) {
    const { socket, reader, parameters, backendKey, processId } = session;
    const pipeline = this._pipeline;
    this.#connecting = null;
    this.#session = session;
    this.state = this.#ending === null ? 'open' : 'ending';
    this.serverParameters = Object.assign(Object.create(null), parameters);
    this.backendKey = backendKey;
    this.processId = processId;
    reader.handler = pipeline;
    reader.maxLength = 0x40000000;
    socket.handOver({
      chunk: (chunk, length) => {
        try {
          reader.push(chunk, length);
        } catch (error) {
          this.#lose(error);
        }
      },
      closed: error => {
        if (this.#session === session) this.#lose(error || new ConnectionError('the server closed the connection'));
      },
      drained: () => {
        pipeline.drained();
        this.emit('drain');
      }
    });
    if (!this.#referenced) socket.unref();
    const { where, host, port } = session;
    pipeline.made = { config, where, host, port, processId };
    pipeline.open(session);
  }

  /** The connection is over and was not to be. */
  #lose(error) {
    if (this.state === 'closed') return;
    if (this._pipeline.owner.name === END) this.#close(undefined, 'the client was ended', '08003');
    else this.#close(error, `the connection was lost: ${error.message}`, error.code);
  }

  /**
   * Ends everything: rejects what is pending and tells who listens.
   * @param {Error|undefined} error none where it was to be
   * @param {string} message and code of what is rejected with
   */
  #close(error, message, code) {
    const session = this.#session;
    const pipeline = this._pipeline;
    this.state = 'closed';
    this.#session = this.#connecting = null;
    if (session !== null) {
      if (this.#cancelling !== null) this.#cancelling.abort(new ConnectionError(message, { code, cause: error }));
      this.#cancelling = null;
      session.reader.stop();
      session.socket.destroy();
    }
    pipeline.abandon(message, error, code);
    this.#resolveClosed(error);
    if (error !== undefined && session !== null && this.listenerCount('error') > 0) call(() => this.emit('error', error));
    call(() => this.emit('end'));
  }

  /**
   * Lets all that was asked before finish, then closes the connection. A COPY FROM STDIN that copyData writes
   * to fails, a query of startQuery is ended; cursors, transactions and the streams of copyFrom go on to their end.
   * @returns {Promise<void>} resolves when the connection is closed, also when it is lost; rejects only with a UsageError (40P01)
   *   where code awaits it that it waits for, such as the function of a transaction
   */
  end() {
    if (this.state === 'new') this.#close(undefined, 'not connected: the client was ended', '08003');
    if (this.state === 'closed') return Promise.resolve();
    if (this.#ending === null) this.#end();
    return guard(this.#ending, this._scope);
  }

  #end() {
    const pipeline = this._pipeline;
    if (this._copy !== null) this.copyFail('the client was ended').catch(() => {});
    if (this.inQuery) this._portal.close().catch(() => {});
    const scope = new Scope(this._scope, END);
    scope.alone = true;
    scope.onenter = () => {
      const { socket } = this.#session;
      pipeline.writer.terminate();
      pipeline.flush();
      socket.end();
      const timer = setTimeout(() => socket.destroy(), FAREWELL);
      scope.onlost = () => clearTimeout(timer);
    };
    if (this.state === 'open') this.state = 'ending';
    this.#ending = this.closed.then(() => {});
    pipeline.enter(scope);
  }

  /**
   * Closes the connection now; everything pending rejects.
   * @param {Error} [error] the cause to reject with; where it is given, 'error' is emitted
   */
  destroy(error) {
    if (this.state === 'closed') return;
    const cause = error || new ConnectionError('the client was destroyed', { code: '08003' });
    if (this.#connecting !== null) this.#connecting.abort(cause);
    this.#close(error, cause.message, cause.code);
  }

  _cancel() {
    if (this.#session === null) return Promise.reject(new ConnectionError('not connected', { code: '08003' }));
    if (this.#cancelling === null) {
      this.#cancelling = new AbortController();
      setMaxListeners(0, this.#cancelling.signal);
    }
    return this.#session.cancel(this.#cancelling.signal);
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
    const { cancelling } = this._pipeline;
    return new Promise((resolve, reject) => {
      cancelling.add(resolve);
      this._cancel().then(resolve, reject).finally(() => cancelling.delete(resolve));
    });
  }

  /** Requests that were made and are not over. */
  get pending() { return this._pipeline.pending; }

  /** Bytes written that the system has not taken. */
  get bufferedBytes() { return this._pipeline.bufferedBytes; }

  /** The connection keeps the program running (the default). */
  ref() {
    this.#referenced = true;
    if (this.#session !== null) this.#session.socket.ref();
  }

  /** The connection does not keep the program running, once it is there. */
  unref() {
    this.#referenced = false;
    if (this.#session !== null) this.#session.socket.unref();
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
