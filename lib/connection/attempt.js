'use strict';

const {
  backend, decodeFields, lengthAt, ConnectionError, PostgresError, TimeoutError, protocolError
} = require('../protocol');

/** Longest message accepted before the session is ready, in bytes. Nothing of honest origin comes near. */
const MAX_LENGTH = 65536;

/** Most bytes that are held before they are read. */
const MAX_UNREAD = 16 * MAX_LENGTH;

const NOTHING = Buffer.alloc(0);

/*
 * What an attempt is doing, in the order of things: for messages, and for what to try
 * next.
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
  WAIT: 'waiting for the session to be ready',
  ASK: 'asking what kind of session it is'
};

const NAME_THE_SIGNER = 'name who has signed the certificate by sslrootcert or ssl.ca';

/** What to do about some of the system's errors. */
const HINTS = {
  '08P01': 'does PostgreSQL listen there?',
  EAGAIN: 'too many connections begin at once',
  ENOTFOUND: 'is the host name right?',
  ECONNREFUSED: 'does a server listen there?',
  ENOENT: 'does a server have its Unix socket there? To connect by TCP, name a host (is connectionString undefined?)',
  DEPTH_ZERO_SELF_SIGNED_CERT: NAME_THE_SIGNER,
  SELF_SIGNED_CERT_IN_CHAIN: NAME_THE_SIGNER,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: NAME_THE_SIGNER
};

/** @returns {ConnectionError} 08001: no connection, and no system's code to say why */
const failed = message => new ConnectionError(message, { code: '08001' });

/** @returns {ConnectionError} for a message, or its beginning, that may not come now */
const unexpected = ([type]) => protocolError(`message of type 0x${type.toString(16)}, which may not come now`);

/**
 * One try to connect, from the first step to the last: its clock, what it is doing, what it has opened, and what the
 * server has said. Whatever may never come is waited for by `wait`, which rejects when the attempt is over.
 */
class Attempt {
  #aborted = false;
  #bytes = NOTHING; // that were received
  #at = 0; // where in them the next message begins
  #over; // a promise that rejects when the time is over, the signal is aborted or the connection is lost
  #reject;
  #abort = () => {
    this.#aborted = true;
    this.#reject();
  };
  #signal;
  #timer;
  #wake = () => {};

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
    /** Whether requests of the client's have been sent along. */
    this.requestsSent = false;
    /** Whether it failed for want of channel binding, and may do without. */
    this.unbound = false;
    /** Whether nobody wants its connection any more, or somebody else has it. */
    this.over = false;
    this.#over = new Promise((_, reject) => { this.#reject = reject; });
    this.#over.catch(() => {});
    this.#signal = signal;
    const expire = () => this.#reject(new TimeoutError(`no success within ${seconds} s (connect_timeout)`, { code: '08001' }));
    if (seconds > 0) this.#timer = setTimeout(expire, begun + seconds * 1000 - performance.now());
    if (signal?.aborted) this.#abort();
    signal?.addEventListener('abort', this.#abort);
  }

  /** Bytes that were received and not read. */
  get unread() { return this.#bytes.subarray(this.#at); }

  set unread(bytes) {
    this.#bytes = bytes;
    this.#at = 0;
  }

  /** @type {import('./socket').SocketListener} who listens to its socket */
  listener = {
    chunk: (bytes, length) => {
      const { unread } = this;
      if (unread.length > MAX_UNREAD) return this.socket.destroy(protocolError('more bytes than may come now'));
      this.unread = Buffer.concat([unread, bytes.subarray(0, length)]);
      this.#wake();
    },
    closed: error => this.#reject(error ?? new ConnectionError('the server closed the connection'))
  };

  /**
   * Waits for something that may never come.
   * @template T
   * @param {Promise<T>|function(function(T): void): void} what or a function that is given what to call when it came
   * @returns {Promise<T>} rejects when the attempt is over before
   */
  wait(what) { return Promise.race([typeof what === 'function' ? new Promise(what) : what, this.#over]); }

  /** Waits for bytes. */
  more() { return this.wait(resolve => { this.#wake = resolve; }); }

  /**
   * Reads the server's next message.
   * @returns {Promise<Buffer>} all of it, from its type on
   * @throws {PostgresError} when it is an ErrorResponse
   */
  async next() {
    for (let message; ; await this.more()) if ((message = this.read()) !== null) return message;
  }

  /** As `next`, but null where the message is not there. */
  read() {
    this.checkAborted();
    const bytes = this.#bytes;
    const at = this.#at;
    const end = bytes.length - at < 5 ? Infinity : at + 1 + lengthAt(bytes, at, MAX_LENGTH);
    if (bytes.length < end) return null;
    this.#at = end;
    if (bytes[at] === backend.ErrorResponse) throw new PostgresError(decodeFields(bytes, at, end));
    return bytes.subarray(at, end);
  }

  /** @throws where the signal is aborted, also by what was done about the last message */
  checkAborted() { if (this.#aborted) throw this.#signal.reason; }

  /** The attempt is over; after a success what it has opened is no longer its own. */
  release() {
    this.over = true;
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#abort);
  }

  /**
   * Ends the attempt and closes what it has opened.
   * @param {Error} error why
   * @returns {Error} what to reject with: where, doing what and why
   */
  fail(error) {
    this.release();
    this.#reject(error); // what is under way beside what has failed
    this.socket?.destroy();
    this.stream?.destroy();
    if (this.#aborted) {
      const { reason: cause } = this.#signal;
      return cause instanceof ConnectionError ? cause : new ConnectionError('connecting was aborted', { cause });
    }
    if (error instanceof PostgresError) return error;
    const { code = '08001', message } = error;
    const Class = error instanceof TimeoutError ? TimeoutError : ConnectionError;
    const cause = error instanceof Class ? error.cause : error;
    const hint = Object.hasOwn(HINTS, code) ? `: ${HINTS[code]}` : '';
    return new Class(`${this.where}: ${this.doing}: ${message}${hint}`, { code, cause });
  }
}

module.exports = { Attempt, failed, unexpected, STEP };
