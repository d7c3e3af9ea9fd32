'use strict';

const { PostgresError } = require('../../../client-parser/messages.js');
const { kindOf } = require('./values');

/** What errors were made of whose messages say it. */
const origins = new WeakMap();

/** @returns {*} what an error was made of: its cause, unless its message says that */
const originOf = error => origins.get(error) ?? error?.cause;

/** The fields of an error of the system. */
const OF_SYSTEM = ['errno', 'syscall', 'address', 'port', 'hostname'];

/**
 * Notes what an error was made of, whose message says it: a log would print a cause behind it, the same again.
 * @returns {Error} with the fields of the system's error
 */
function withOrigin(error, origin) {
  origins.set(error, origin);
  for (const name of OF_SYSTEM) if (origin[name] !== undefined) error[name] = origin[name];
  return error;
}

/** Whether a message is that of a cause, with a place in front of it or more behind it. */
const says = (message, cause) =>
  Boolean(cause?.message) && (message.startsWith(cause.message) || message.includes(`: ${cause.message}`));

/** An error of this library. */
class OwnError extends Error {
  /**
   * @param {object} more `code`; `cause`, which the error has unless its message says it; `sent`: whether a lost
   *   request had been written, so that the server may have executed it
   */
  constructor(message, { code, cause, sent }) {
    const isSaid = code !== 'ABORT_ERR' && says(message, cause); // a signal's reason is the caller's
    super(message, cause === undefined || isSaid ? undefined : { cause });
    this.code = code;
    if (sent !== undefined) this.sent = sent;
    if (isSaid) withOrigin(this, cause);
  }
}

/**
 * The connection could not be made, was refused by the client, broke, or was used after its end; `code` is the system's
 * (ECONNREFUSED, …) or an SQLSTATE of class 08 or 28.
 */
class ConnectionError extends OwnError {
  constructor(message, { code = '08006', cause, sent } = {}) {
    super(message, { code, cause, sent });
  }
}

/** A request was ended by its signal; `cause` is the signal's reason. */
class AbortError extends OwnError {
  /** @param {*} [cause] */
  constructor(message, cause) {
    super(message, { code: 'ABORT_ERR', cause });
  }
}

/**
 * A time limit has passed: `statement_timeout` or `stall_timeout` (57014), `acquire_timeout` (53300, or 08001 with the
 * cause), `connect_timeout` (08001).
 */
class TimeoutError extends OwnError {}

/** The library was used incorrectly; `code` is the SQLSTATE that fits. */
class UsageError extends OwnError {
  /** @param {Error} [cause] */
  constructor(message, code, cause) {
    super(message, { code, cause });
  }
}

/** Whether an error is of a class of this library, rather than of user code or of the system. */
const isOurs = error => error instanceof OwnError || error instanceof PostgresError;

/**
 * Whether an error of connecting is one that another attempt would not change: the server or a pooler refuses, or the
 * config is invalid.
 */
const isFinal = error =>
  /^(?:0A|22|28|3D|42)/.test(error.code) ||
  /unsupported startup parameter/.test(error.message) ||
  !(isOurs(error) || error.errors);

/**
 * Says where user code has thrown, which may throw any value. A stream takes null for success.
 * @param {object} [more] fields of the error
 * @returns {Error} what was thrown, if it is an error
 */
function placed(thrown, place, more) {
  const error =
    typeof thrown?.message === 'string' ? thrown : new Error(`${kindOf(thrown)} was thrown`, { cause: thrown });
  for (const [name, value] of Object.entries({ ...more, message: `${place}: ${error.message}` }))
    Reflect.set(error, name, value);
  return error;
}

/** @returns {ConnectionError} for a server that broke the protocol, which ends the connection */
function protocolError(message, cause) {
  return new ConnectionError(`protocol violation: ${message}`, { code: '08P01', cause });
}

// Assigning would fail in a program that has frozen Error.prototype.
for (const [name, each] of Object.entries({ AbortError, ConnectionError, TimeoutError, UsageError })) {
  Object.defineProperty(each.prototype, 'name', { value: name, writable: true, configurable: true });
}

module.exports = {
  PostgresError,
  ConnectionError,
  AbortError,
  TimeoutError,
  UsageError,
  isFinal,
  isOurs,
  originOf,
  placed,
  protocolError,
  withOrigin
};
