'use strict';

const { failed } = require('./attempt');

/*
 * target_session_attrs: what kind of session is wanted. PostgreSQL 14 and later report what tells, others and
 * poolers are asked.
 */

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

/** @returns {string} the query that asks what kind of session it is */
function question(wanted) {
  return wanted === 'primary' || wanted === 'standby'
    ? 'SELECT pg_catalog.pg_is_in_recovery()'
    : 'SHOW transaction_read_only';
}

/**
 * @param {string} wanted
 * @param {string} answer the value that the query gave: on, off, t or f
 * @returns {boolean} whether the session is what is wanted
 */
function answerFits(wanted, answer) {
  return (answer === 'on' || answer === 't') === (wanted === 'read-only' || wanted === 'standby');
}

/** @returns {ConnectionError} why a session that is not what is wanted is not used */
function unfit(wanted) {
  return failed(`${WRONG[wanted]} (target_session_attrs=${wanted})`);
}

module.exports = { fits, question, answerFits, unfit };
