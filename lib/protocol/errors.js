'use strict';

const { PostgresError } = require('../../client-parser/messages.js');

/** An error of this library. */
class OwnError extends Error {
  /**
   * @param {string} message
   * @param {object} more
   * @param {string} more.code
   * @param {*} [more.cause]
   * @param {boolean} [more.sent] of a request: whether it had been written to the server, which may have carried it out
   */
  constructor(message, { code, cause, sent }) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    if (sent !== undefined) this.sent = sent;
  }
}

/**
 * The connection could not be made, was refused by us, broke, or was used after its end; `code` is the system's
 * (ECONNREFUSED, …) or an SQLSTATE of class 08 or 28.
 */
class ConnectionError extends OwnError {
  constructor(message, { code = '08006', cause, sent } = {}) { super(message, { code, cause, sent }); }
}

/** What a request rejects with when its signal aborted; `cause` is the signal's reason. */
class AbortError extends OwnError {
  constructor(message, cause) { super(message, { code: 'ABORT_ERR', cause }); }
}

/**
 * A time limit of ours has passed: `statement_timeout` of a request (57014), `acquire_timeout` (53300, or 08001 with the
 * cause), `connect_timeout` (08001), `stall_timeout` (57014).
 */
class TimeoutError extends OwnError {}

/** Something that cannot be done as it was asked for, now or at all; `code` is the SQLSTATE that fits. */
class UsageError extends OwnError {
  constructor(message, code, cause) { super(message, { code, cause }); }
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
