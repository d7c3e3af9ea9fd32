'use strict';

const { ConnectionError, PostgresError } = require('../protocol');

/*
 * What an attempt is doing, in the order of things: for messages, and for what may come next. Where a server has
 * let us in, it may have carried out requests that were sent along.
 */
const STEP = {
  LOOKUP: 'looking up the address',
  TLS_SETUP: 'setting up TLS',
  CONNECT: 'connecting',
  TLS_REQUEST: 'asking for TLS',
  TLS: 'TLS handshake',
  DIRECT_TLS: 'direct TLS handshake',
  START: 'starting the session',
  AUTHENTICATE: 'authenticating',
  PROVE: 'computing the answer to the server',
  WAIT: 'waiting for the session to be ready',
  ASK: 'asking what kind of session it is'
};

const NAME_THE_SIGNER = 'name who has signed the certificate by sslrootcert or ssl.ca';

/** What to do about some of the system's errors. */
const HINTS = {
  ECONNREFUSED: 'does a server listen there?',
  ENOENT: 'does a server have its Unix socket there? To connect by TCP, name a host',
  DEPTH_ZERO_SELF_SIGNED_CERT: NAME_THE_SIGNER,
  SELF_SIGNED_CERT_IN_CHAIN: NAME_THE_SIGNER,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: NAME_THE_SIGNER
};

/** @returns {ConnectionError} 08001: no connection, and no system's code to say why */
const failed = message => new ConnectionError(message, { code: '08001' });

/**
 * One try to connect, from the first step to the last: its clock, what it is doing, what it has opened.
 * However it fails, at whatever step, everything is closed and whoever waits is told where, what and why.
 */
class Attempt {
  #over = false;
  #timer;
  #signal;
  #reject;

  /**
   * @param {string} where for messages
   * @param {object} [limits]
   * @param {number} [limits.seconds=0] connect_timeout; 0 for none
   * @param {number} [limits.begun] when those began, as performance.now() has it; now unless given
   * @param {AbortSignal} [limits.signal]
   */
  constructor(where, { seconds = 0, begun = performance.now(), signal } = {}) {
    this.where = where;
    this.doing = STEP.CONNECT;
    /** @type {import('./socket').Socket|null} */
    this.socket = null;
    /** @type {import('stream').Duplex|null} what carries the bytes, below TLS if there is any */
    this.stream = null;
    /** @type {import('tls').TLSSocket|null} */
    this.tls = null;
    /** @type {import('./auth').Authenticator|null} */
    this.auth = null;
    /** Whether requests of the client's have been sent along. */
    this.requestsSent = false;
    /** Whether connect_timeout is over. */
    this.expired = false;
    /** @type {Error|null} why it has failed */
    this.error = null;
    this.#signal = signal;
    const expire = () => {
      this.expired = true;
      this.fail(failed(`no success within ${seconds} s (connect_timeout)`));
    };
    if (seconds > 0) this.#timer = setTimeout(expire, begun + seconds * 1000 - performance.now());
    if (signal?.aborted) this.#abort();
    else signal?.addEventListener('abort', this.#abort);
  }

  #abort = () => {
    const { reason: cause } = this.#signal;
    this.#end(cause instanceof ConnectionError ? cause : new ConnectionError('connecting was aborted', { cause }));
  };

  /** Whether the server has let us in. */
  get authenticated() { return this.doing === STEP.WAIT || this.doing === STEP.ASK; }

  /**
   * Waits for something that may never come.
   * @template T
   * @param {function(function(T): void): void} start is given what to call when it came
   * @returns {Promise<T>} rejects when the attempt fails
   */
  wait(start) {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      if (this.error !== null) reject(this.error);
      else start(resolve);
    });
  }

  /**
   * Who listens to a socket of the attempt's: its end is that of the attempt.
   * @param {function(Buffer, number): void} [chunk]
   * @returns {import('./socket').SocketListener}
   */
  listener(chunk = () => {}) {
    return { chunk, closed: error => this.fail(error) };
  }

  /**
   * Ends the attempt.
   * @param {Error} [error] none for: the server has closed the connection
   * @returns {Error} why the attempt has failed
   */
  fail(error = new ConnectionError('the server closed the connection')) {
    if (error instanceof PostgresError) return this.#end(error);
    const { code = '08001', message } = error;
    const cause = error instanceof ConnectionError ? error.cause : error;
    const hint = Object.hasOwn(HINTS, code) ? `: ${HINTS[code]}` : '';
    return this.#end(new ConnectionError(`${this.where}: ${this.doing}: ${message}${hint}`, { code, cause }));
  }

  #end(error) {
    if (this.#over) return this.error ?? error;
    this.error = error;
    this.release();
    this.socket?.destroy();
    this.stream?.destroy();
    this.#reject?.(error);
    return error;
  }

  /** The attempt is over; after a success what it has opened is no longer its own. */
  release() {
    this.#over = true;
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#abort);
  }
}

module.exports = { Attempt, failed, STEP };
