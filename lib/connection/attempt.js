'use strict';

const { ConnectionError, PostgresError } = require('../protocol/errors');

/** What an attempt is doing; these two decide whether another one is worth it. */
const CONNECTING = 'connecting';
const HANDSHAKE = 'TLS handshake';

/** @returns {ConnectionError} 08001: no connection, and no system's code to say why */
const failed = message => new ConnectionError(message, { code: '08001' });

/**
 * One try to connect, from the first step to the last: its clock, what it is doing, what it has opened.
 * However it fails, at whatever step, everything is closed and whoever waits is told where, what and why.
 */
class Attempt {
  #seconds;
  #timer;
  #signal;
  #reject = null;
  #over = false;

  /**
   * @param {string} where for messages
   * @param {object} [limits]
   * @param {number} [limits.seconds=0] connect_timeout; 0 for none
   * @param {number} [limits.begun] when those began, as performance.now() has it; now unless given
   * @param {AbortSignal} [limits.signal]
   */
  constructor(where, { seconds = 0, begun = performance.now(), signal } = {}) {
    this.where = where;
    this.doing = CONNECTING;
    /** @type {import('./socket').Transport|null} */
    this.transport = null;
    /** The caller's stream below a TLS one. */
    this.stream = null;
    this.error = null;
    /** Whether connect_timeout is over. */
    this.expired = false;
    this.#seconds = seconds;
    this.#signal = signal;
    const left = begun + seconds * 1000 - performance.now();
    if (seconds > 0) this.#timer = setTimeout(() => this.#expire(), left);
    if (signal?.aborted) this.aborted();
    else signal?.addEventListener('abort', this.aborted);
  }

  aborted = () => {
    const { reason } = this.#signal;
    if (reason instanceof ConnectionError) this.#fail(reason);
    else this.#fail(new ConnectionError('connecting was aborted', { cause: reason }));
  };

  #expire() {
    this.expired = true;
    this.fail(failed(`no success within ${this.#seconds} s (connect_timeout)`));
  }

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
   * Ends the attempt.
   * @param {Error} [error] none for: the server has closed the connection
   * @returns {Error} what the attempt has failed of
   */
  fail(error = new ConnectionError('the server closed the connection', { code: '08006' })) {
    if (error instanceof PostgresError) return this.#fail(error);
    if (error === this.error) return error;
    const code = error.code ?? '08001';
    const cause = error instanceof ConnectionError ? error.cause : error;
    return this.#fail(new ConnectionError(`${this.where}: ${this.doing}: ${error.message}`, { code, cause }));
  }

  #fail(error) {
    if (this.#over) return this.error ?? error;
    this.error = error;
    this.release();
    this.transport?.destroy();
    this.stream?.destroy();
    this.#reject?.(error);
    return error;
  }

  /** The attempt has succeeded: what it has opened is no longer its own. */
  release() {
    this.#over = true;
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.aborted);
  }

  /** Makes a new transport the one whose end is the attempt's, unless that has ended already. */
  own(transport) {
    if (this.error !== null) throw this.error;
    this.transport = transport;
    transport.onclose = error => this.fail(error);
    return transport;
  }
}

module.exports = { Attempt, failed, CONNECTING, HANDSHAKE };
