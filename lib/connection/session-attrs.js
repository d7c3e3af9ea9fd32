'use strict';

/*
 * target_session_attrs: what kind of session is wanted. PostgreSQL 14 and later report what tells, others and
 * poolers are asked.
 */

const RECOVERY = 'SELECT pg_catalog.pg_is_in_recovery()';
const READ_ONLY = 'SHOW transaction_read_only';

/** What asks for each kind, and why a session is not of it. */
const KINDS = {
  'read-write': { question: READ_ONLY, fault: 'the session is read-only' },
  'read-only': { question: READ_ONLY, fault: 'the session is not read-only' },
  primary: { question: RECOVERY, fault: 'the server is in hot standby mode' },
  standby: { question: RECOVERY, fault: 'the server is not in hot standby mode' }
};

/**
 * Whether a session is what is wanted.
 * @param {string} wanted read-write, read-only, primary or standby
 * @param {Object<string, string>} parameters 'on' or 'off', as the server has reported or answered them
 * @returns {boolean|undefined} undefined when it has to be asked
 */
function fits(wanted, { in_hot_standby: standby, default_transaction_read_only: readOnly }) {
  if (standby === undefined) return undefined;
  if (wanted === 'primary' || wanted === 'standby') return (standby === 'on') === (wanted === 'standby');
  if (readOnly === undefined) return undefined;
  return (standby === 'on' || readOnly === 'on') === (wanted === 'read-only');
}

module.exports = { fits, KINDS };
