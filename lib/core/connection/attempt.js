'use strict';

const {
  backend,
  decodeFields,
  lengthAt,
  ConnectionError,
  PostgresError,
  TimeoutError,
  protocolError,
  withOrigin
} = require('../protocol');
const { after } = require('../timer');

/** The longest message before the session is ready; no honest server comes near. */
const MAX_LENGTH = 65536;

/** The most bytes that are held before they are read. */
const MAX_UNREAD = 16 * MAX_LENGTH;

const NOTHING = Buffer.alloc(0);

/* The steps of an attempt in their order, for messages and for the choice of the next attempt. */
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

/**
 * Why another attempt at the same server may succeed: it does not offer channel binding, which is optional; the TLS
 * handshake failed; it refused the session over TLS before it asked for anything.
 */
const REASON = { UNBOUND: 1, BROKEN: 2, REFUSED: 3 };

const NAME_THE_SIGNER = 'pass its certificate authority: a file as sslrootcert, or PEM text as ssl.ca';

/** PgBouncer and Neon's pooler say so of settings in the config. */
const NO_SETTINGS =
  'a pooler refuses settings in the config: use ALTER ROLE … SET, session.with(…), or the URL without the pooler';

/** What to do about some of the system's errors. */
const HINTS = {
  '08P01': 'does PostgreSQL listen there?',
  EAGAIN: 'too many connections begin at once',
  EAI_AGAIN: 'is the host name right, and does name resolution work?',
  ENOTFOUND: 'is the host name right?',
  ECONNREFUSED: 'does a server listen there?',
  ENOENT: 'does a server have its Unix socket there? To connect by TCP, name a host (is the URL undefined?)',
  DEPTH_ZERO_SELF_SIGNED_CERT: NAME_THE_SIGNER,
  SELF_SIGNED_CERT_IN_CHAIN: NAME_THE_SIGNER,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: NAME_THE_SIGNER,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: NAME_THE_SIGNER
};

const failed = message => new ConnectionError(message, { code: '08001' });

const unexpected = type => protocolError(`invalid response of type 0x${type.toString(16)}`);

/**
 * One attempt to connect: its clock, its step, what it has opened and what the server has sent. `wait` waits for
 * anything that may never come.
 */
class Attempt {
  #at = 0; // offset of the next message
  #isOver = false; // the time is over, the signal has aborted or the connection is lost
  #error; // why
  #waiting = []; // functions that reject what waits
  #more; // called when bytes have come
  #abort = () => this.#reject();
  #signal;
  #stop; // ends the time limit

  doing = STEP.CONNECT;
  socket = null;
  /** @type {import('stream').Duplex|null} the stream below TLS */
  stream = null;
  /** Whether requests of the client were sent. */
  requestsSent = false;
  /** @type {number|undefined} one of REASON */
  reason = undefined;
  /** Whether there is TLS on the stream. */
  encrypted = false;
  /** Whether its connection is not wanted, or was handed over. */
  released = false;
  /** Received bytes; `read` sets the place of a message in them. */
  bytes = NOTHING;
  start = 0;
  end = 0;

  /**
   * @param {string} where for messages
   * @param {object} [limits] `seconds`: connect_timeout, 0 for none; `begun`: their beginning, by default now;
   *   `signal`; `quick`: whether the address, one of several, has to accept within 250 ms
   */
  constructor(where, { seconds = 0, begun = seconds > 0 ? performance.now() : 0, signal, quick = false } = {}) {
    this.where = where;
    this.quick = quick;
    this.#signal = signal;
    if (seconds > 0) {
      const expire = () =>
        this.#reject(new TimeoutError(`no success within ${seconds} s (connect_timeout)`, { code: '08001' }));
      this.#stop = after(seconds * 1000, expire, performance.now() - begun);
    }
    if (signal?.aborted) this.#abort();
    signal?.addEventListener('abort', this.#abort);
  }

  /** Received bytes that were not read. */
  get unread() {
    return this.bytes.subarray(this.#at);
  }

  set unread(bytes) {
    this.bytes = bytes;
    this.#at = 0;
  }

  #reject(error) {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#error = error;
    for (const reject of this.#waiting) reject(error);
  }

  listener = {
    chunk: (bytes, length) => {
      const rest = this.bytes.length - this.#at;
      if (rest > MAX_UNREAD) return this.socket.destroy(protocolError('more bytes than may come now'));
      const all = Buffer.allocUnsafe(rest + length);
      if (rest > 0) all.set(this.unread);
      bytes.copy(all, rest, 0, length);
      this.unread = all;
      this.#more?.();
    },
    closed: error => this.#reject(error ?? new ConnectionError('the server closed the connection'))
  };

  /**
   * Waits for something that may never come.
   * @param {Promise|function(function)} what a promise, or a function that gets its resolve
   * @returns {Promise} rejects when the attempt is over before
   */
  wait(what) {
    return new Promise((resolve, reject) => {
      if (this.#isOver) reject(this.#error);
      else this.#waiting.push(reject);
      if (typeof what === 'function') what(resolve);
      else what.then(resolve, reject);
    });
  }

  more() {
    return this.wait(resolve => {
      this.#more = resolve;
    });
  }

  /**
   * Reads the server's next message: until more bytes come, it is in bytes[start … end).
   * @returns {boolean} false if it is not there yet
   * @throws {PostgresError} for an ErrorResponse
   */
  read() {
    this.checkAborted();
    const { bytes } = this;
    const at = this.#at;
    const end = bytes.length - at < 5 ? Infinity : at + 1 + lengthAt(bytes, at, MAX_LENGTH);
    if (bytes.length < end) return false;
    this.#at = end;
    if (bytes[at] === backend.ErrorResponse) throw new PostgresError(decodeFields(bytes, at, end));
    this.start = at;
    this.end = end;
    return true;
  }

  /** @throws if the signal has aborted, for example while the last message was handled */
  checkAborted() {
    if (this.#signal?.aborted) throw this.#signal.reason;
  }

  /** Ends the attempt; after a success, what it has opened is handed over. */
  release() {
    this.released = true;
    this.#stop?.();
    this.#signal?.removeEventListener('abort', this.#abort);
  }

  /**
   * Ends the attempt and closes what it has opened.
   * @returns {Error} with the place, the step and the reason
   */
  fail(error) {
    this.release();
    this.#reject(error); // for parallel steps
    this.socket?.destroy();
    this.stream?.destroy();
    if (this.#signal?.aborted) {
      const { reason: cause } = this.#signal;
      return cause instanceof ConnectionError ? cause : new ConnectionError('connecting was aborted', { cause });
    }
    const { code = '08001', message } = error;
    if (code === '08P01' && /unsupported startup parameter/.test(message)) error.hint ??= NO_SETTINGS;
    const sentence = `${this.where}: ${this.doing}: ${message}`;
    if (error instanceof PostgresError) {
      return withOrigin(new PostgresError({ ...error, message: sentence }), error);
    }
    const hint = Object.hasOwn(HINTS, code) ? `: ${HINTS[code]}` : '';
    const Class = error instanceof TimeoutError ? TimeoutError : ConnectionError;
    return new Class(sentence + hint, { code, cause: (error instanceof Class && error.cause) || error });
  }
}

module.exports = { Attempt, failed, unexpected, REASON, STEP };
