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
