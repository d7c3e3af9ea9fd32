'use strict';

// https://www.postgresql.org/docs/current/protocol-error-fields.html
const FIELDS = {
  S: 'severity', V: 'severity', C: 'code', M: 'message', D: 'detail', H: 'hint', P: 'position',
  p: 'internalPosition', q: 'internalQuery', W: 'where', s: 'schema', t: 'table', c: 'column',
  d: 'dataType', n: 'constraint', F: 'file', L: 'line', R: 'routine'
};
const NUMBERS = new Set(['position', 'internalPosition', 'line']);

/**
 * An ErrorResponse of the server, every field by its name; absent fields are undefined.
 * `severity` is the untranslated one (ERROR, FATAL, PANIC), `code` the SQLSTATE, `position`,
 * `internalPosition` and `line` are numbers (position counts characters of the query text from 1).
 */
class PostgresError extends Error {
  /** @param {Object<string, string>} fields as `decodeFields` gives them */
  constructor(fields) {
    super(fields.message || 'the server reported an error without a message');
    for (const name in fields) {
      if (name !== 'message') this[name] = NUMBERS.has(name) ? Number(fields[name]) : fields[name];
    }
  }
}
PostgresError.prototype.name = 'PostgresError';

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
ConnectionError.prototype.name = 'ConnectionError';

/** What a request rejects with when its signal aborted; `cause` is the signal's reason. */
class AbortError extends Error {
  code = 'ABORT_ERR';

  /**
   * @param {string} message
   * @param {*} [cause]
   */
  constructor(message, cause) { super(message, cause === undefined ? undefined : { cause }); }
}
AbortError.prototype.name = 'AbortError';

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
UsageError.prototype.name = 'UsageError';

/**
 * The server broke the protocol; the connection cannot be used after it.
 * @param {string} message
 * @returns {ConnectionError}
 */
function protocolError(message) {
  return new ConnectionError(`protocol violation: ${message}`, { code: '08P01' });
}

module.exports = { PostgresError, ConnectionError, AbortError, UsageError, protocolError, FIELDS };
