'use strict';

const { Buffer } = require('#platform');
const { failed } = require('./attempt');
const { PostgresError, protocolError } = require('../protocol/errors');
const { decodeFields, decodeParameterStatus } = require('../protocol/messages');

/*
 * target_session_attrs: what kind of session is wanted. PostgreSQL 14 and later report what tells, others and
 * poolers are asked.
 */

const STANDBY_QUERY = 'SELECT pg_catalog.pg_is_in_recovery()';
const READ_ONLY_QUERY = 'SHOW transaction_read_only';
const TRUE = ['on', 't'];

const WRONG = {
  'read-write': 'the session is read-only',
  'read-only': 'the session is not read-only',
  primary: 'the server is in hot standby mode',
  standby: 'the server is not in hot standby mode'
};

/**
 * Whether a session is what is wanted, as far as the server has reported.
 * @param {string} wanted any, read-write, read-only, primary or standby
 * @param {Object<string, string>} parameters reported by ParameterStatus
 * @returns {boolean|undefined} undefined when it has to be asked
 */
function fits(wanted, { in_hot_standby: standby, default_transaction_read_only: readOnly }) {
  if (wanted === 'any') return true;
  if (standby === undefined) return undefined;
  if (wanted === 'primary' || wanted === 'standby') return (standby === 'on') === (wanted === 'standby');
  if (readOnly === undefined) return undefined;
  return (standby === 'on' || readOnly === 'on') === (wanted === 'read-only');
}

/** @returns {ConnectionError} why a session that is not what is wanted is not used */
function unfit(wanted) {
  return failed(`${WRONG[wanted]} (target_session_attrs=${wanted})`);
}

/** Asks the server what kind of session it is, and handles the messages of the answer. */
class Question {
  #wanted;
  #parameters;
  #done;
  #value = null;

  /**
   * @param {string} wanted
   * @param {Object<string, string>} parameters kept up to date
   * @param {function(boolean): void} done called at ReadyForQuery with whether the session fits
   */
  constructor(wanted, parameters, done) {
    this.#wanted = wanted;
    this.#parameters = parameters;
    this.#done = done;
  }

  /** @returns {Buffer} the Query message */
  query() {
    const text = /standby|primary/.test(this.#wanted) ? STANDBY_QUERY : READ_ONLY_QUERY;
    const message = Buffer.alloc(text.length + 6);
    message.write('Q');
    message.writeUInt32BE(text.length + 5, 1);
    message.write(text, 5);
    return message;
  }

  /**
   * @param {number} type
   * @param {Buffer} buf
   * @param {number} start
   * @param {number} end
   * @throws {PostgresError|ConnectionError}
   */
  message(type, buf, start, end) {
    switch (type) {
      case 68: // DataRow
        if (end - start < 11) throw protocolError('DataRow of a wrong length');
        this.#value = buf.toString('latin1', start + 11, end);
        break;
      case 69: // ErrorResponse
        throw new PostgresError(decodeFields(buf, start, end));
      case 83: { // ParameterStatus
        const [name, value] = decodeParameterStatus(buf, start, end);
        this.#parameters[name] = value;
        break;
      }
      case 90: // ReadyForQuery
        if (this.#value === null) throw protocolError('no answer to the question for the kind of session');
        this.#done(TRUE.includes(this.#value) === ['read-only', 'standby'].includes(this.#wanted));
        break;
      case 67: case 78: case 84: // CommandComplete, NoticeResponse, RowDescription
        break;
      default:
        throw protocolError(`message of type 0x${type.toString(16)} in the answer to a query`);
    }
  }
}

module.exports = { fits, unfit, Question };
