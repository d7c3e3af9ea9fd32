'use strict';

const { PostgresError } = require('../../client-parser/messages.js');

/** The connection could not be made, was refused by us, broke, or was used after its end. */
class ConnectionError extends Error {
  /**
   * @param {string} message
   * @param {object} [more]
   * @param {string} [more.code='08006'] the system's code (ECONNREFUSED, …) or an SQLSTATE of class 08 or 28
   * @param {Error} [more.cause]
   * @param {boolean} [more.sent] of a request that was lost: whether it had been written to the server,
   *   which then may have carried it out
   */
  constructor(message, { code = '08006', cause, sent } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    if (sent !== undefined) this.sent = sent;
  }
}

/** What a request rejects with when its signal aborted; `cause` is the signal's reason. */
class AbortError extends Error {
  code = 'ABORT_ERR';

  /**
   * @param {string} message
   * @param {*} [cause]
   */
  constructor(message, cause) { super(message, cause === undefined ? undefined : { cause }); }
}

/**
 * A time limit of ours has passed: `statement_timeout` of a request (57014), `acquire_timeout` (53300, or 08001 with the
 * cause), `connect_timeout` (08001), `stall_timeout` (57014).
 */
class TimeoutError extends Error {
  /**
   * @param {string} message
   * @param {object} more
   * @param {string} more.code SQLSTATE
   * @param {Error} [more.cause]
   * @param {boolean} [more.sent] whether the request had been written to the server, which may have carried it out
   */
  constructor(message, { code, cause, sent }) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    if (sent !== undefined) this.sent = sent;
  }
}

/** Something that cannot be done as it was asked for, now or at all; `code` is the SQLSTATE that fits. */
class UsageError extends Error {
  /**
   * @param {string} message
   * @param {string} code
   * @param {Error} [cause]
   */
  constructor(message, code, cause) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

/**
 * The server broke the protocol; the connection cannot be used after it.
 * @param {string} message
 * @param {Error} [cause]
 * @returns {ConnectionError}
 */
function protocolError(message, cause) {
  return new ConnectionError(`protocol violation: ${message}`, { code: '08P01', cause });
}

// Defined, not assigned: a program may have frozen Error.prototype.
for (const [name, each] of Object.entries({ AbortError, ConnectionError, TimeoutError, UsageError })) {
  Object.defineProperty(each.prototype, 'name', { value: name, writable: true, configurable: true });
}

module.exports = { PostgresError, ConnectionError, AbortError, TimeoutError, UsageError, protocolError };
