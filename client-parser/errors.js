/** Names a class of errors. To assign it throws if the program has frozen Error.prototype. */
export const named = (type, value) => Object.defineProperty(type.prototype, 'name', { value, writable: true });

/** The bytes are malformed (`code` 08P01), or end before the result does (`code` 08006). */
export class ProtocolError extends Error {
  constructor(message, code = '08P01') {
    super(message);
    this.code = code;
  }
}
named(ProtocolError, 'ProtocolError');

/** @throws {ProtocolError} unless it is ok */
export function check(ok, message, code) {
  if (!ok) throw new ProtocolError(message, code);
}
