import { text } from './text.js';

// https://www.postgresql.org/docs/current/protocol-error-fields.html
const FIELDS = {
  S: 'severity', V: 'severity', C: 'code', M: 'message', D: 'detail', H: 'hint', P: 'position',
  p: 'internalPosition', q: 'internalQuery', W: 'where', s: 'schema', t: 'table', c: 'column',
  d: 'dataType', n: 'constraint', F: 'file', L: 'line', R: 'routine'
};

/**
 * An ErrorResponse of the server, every field by its name; absent fields are undefined. `severity` is the
 * untranslated one, `code` the SQLSTATE; `position`, `internalPosition` and `line` are numbers, positions
 * count the characters of the query from 1.
 */
export class PostgresError extends Error {
  /** @param {Object<string, string>} fields by name */
  constructor(fields) {
    super(fields.message || 'an error without a message');
    for (const name in fields) {
      if (name !== 'message') this[name] = /osition|line/.test(name) ? Number(fields[name]) : fields[name];
    }
  }
}
PostgresError.prototype.name = 'PostgresError';

/**
 * The bytes are not what a PostgreSQL server sends (`code` 08P01), or they stop before the result does
 * (`code` 08006).
 */
export class ProtocolError extends Error {
  /**
   * @param {string} message
   * @param {string} [code='08P01']
   */
  constructor(message, code = '08P01') {
    super(message);
    this.code = code;
  }
}
ProtocolError.prototype.name = 'ProtocolError';

/**
 * @param {boolean} ok
 * @param {string} message
 * @throws {ProtocolError} unless it is ok
 */
export function check(ok, message) {
  if (!ok) throw new ProtocolError(message);
}

/**
 * Finds the end of a null-terminated string.
 * @returns {number} offset of the terminator
 * @throws {ProtocolError} if there is none before `end`
 */
export function stringEnd(bytes, start, end) {
  const at = bytes.indexOf(0, start);
  check(at >= 0 && at < end, 'a string without an end');
  return at;
}

/**
 * Decodes an ErrorResponse.
 * @param {Uint8Array} bytes
 * @param {number} start of the message's body
 * @param {number} end of the message
 * @returns {PostgresError}
 * @throws {ProtocolError} if it is malformed
 */
export function decodeError(bytes, start, end) {
  const fields = {};
  while (start < end && bytes[start] !== 0) {
    const name = FIELDS[String.fromCharCode(bytes[start])];
    const stop = stringEnd(bytes, start + 1, end);
    // V, the untranslated severity, comes after S and replaces it; servers before 9.6 send S alone.
    if (name !== undefined) fields[name] = text(bytes, start + 1, stop);
    start = stop + 1;
  }
  check(start === end - 1, 'a message of a wrong length');
  return new PostgresError(fields);
}
