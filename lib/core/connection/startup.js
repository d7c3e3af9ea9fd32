'use strict';

const { failed, unexpected, STEP } = require('./attempt');
const { authenticate } = require('./auth');
const {
  VERSION_3_0,
  backend,
  frontend,
  decodeAuthentication,
  decodeBackendKeyData,
  decodeFields,
  decodeNegotiateProtocolVersion,
  frame,
  protocolError,
  takeParameter
} = require('../protocol');

/**
 * Whether a session is what target_session_attrs wants. PostgreSQL 14 and later report it; other servers and poolers
 * are asked.
 * @param {string} wanted read-write, read-only, primary or standby
 * @param {Object<string, string>} parameters 'on' or 'off'
 * @returns {boolean|undefined} undefined if the server must be asked
 */
function fits(wanted, { in_hot_standby: standby, default_transaction_read_only: readOnly }) {
  if (standby === undefined || readOnly === undefined) return undefined;
  const isOn = standby === 'on' || (wanted.startsWith('read') && readOnly === 'on');
  return isOn === (wanted === 'read-only' || wanted === 'standby');
}

/**
 * From the StartupMessage to the first ReadyForQuery of the wanted session.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-START-UP
 * @param {{wanted: string, early: boolean}} plan the wanted session, and whether to send ahead what is possible
 * @param {import('./attempt').Attempt} attempt with its socket open
 * @returns {Promise<object>} `{ parameters, backendKey, processId }`
 */
async function start(config, plan, attempt, login, hooks) {
  const session = { parameters: Object.create(null), backendKey: null };
  const { max_protocol_version: asked, min_protocol_version: oldest } = config;

  /** Sends bytes. Waiting requests go with the last message that authentication needs. */
  const send = async (last, bytes) => {
    if (last && config.require_auth.single !== null && plan.wanted === 'any') {
      const requests = (hooks.requests ??= (await hooks.earlyRequests()) ?? Buffer.alloc(0));
      attempt.requestsSent ||= requests.length > 0;
      bytes = Buffer.concat([bytes, requests]);
    }
    attempt.socket.stream.write(bytes);
  };

  /** Reads the next Authentication message. The version is negotiated before the first one, by PgBouncer 1.24 twice. */
  const request = async () => {
    for (;;) {
      while (!attempt.read()) await attempt.more();
      const { bytes, start: at, end } = attempt;
      const type = bytes[at];
      if (type === backend.AuthenticationRequest) {
        attempt.doing = STEP.AUTHENTICATE;
        return decodeAuthentication(bytes, at, end);
      }
      if (type !== backend.NegotiateProtocolVersion || attempt.doing !== STEP.START) throw unexpected(type);
      const version = decodeNegotiateProtocolVersion(bytes, at, end);
      // There are no others.
      if (version !== VERSION_3_0 && version !== asked)
        throw protocolError(`NegotiateProtocolVersion names version 0x${version.toString(16)}`);
      if (version < oldest) throw failed('the server does not support min_protocol_version');
    }
  };

  attempt.doing = STEP.START;
  let text = `user\0${config.user}\0database\0${config.database}\0`;
  for (const name in config.parameters) text += `${name}\0${config.parameters[name]}\0`;
  const startupMessage = frame(null, asked, `${text}\0`);
  await authenticate(login, { attempt, startupMessage, early: plan.early, send, request });
  attempt.doing = STEP.WAIT;
  await untilReady(attempt, session, hooks);
  if (plan.wanted !== 'any') await checkKind(plan.wanted, attempt, session, hooks);
  return session;
}

/** The first ParameterStatus messages of the last session, and what they say: the next one mostly begins with these. */
let lastBytes = Buffer.alloc(1);
let lastParameters;

/**
 * Takes a ParameterStatus, with those that have come right behind it.
 * @param {number} reports those that were counted before: 0 if the session has none
 * @returns {number} with these; messages that are known count as one
 */
function takeParameters(attempt, parameters, reports) {
  const { bytes, start } = attempt;
  const isFirst = reports === 0;
  const end = start + lastBytes.length;
  if (isFirst && lastBytes.equals(bytes.subarray(start, end))) {
    Object.assign(parameters, lastParameters);
    attempt.unread = bytes.subarray(end);
    return 1;
  }
  do takeParameter(parameters, bytes, attempt.start, attempt.end, reports++);
  while (bytes[attempt.end] === backend.ParameterStatus && attempt.read());
  if (isFirst) {
    lastBytes = Buffer.from(bytes.subarray(start, attempt.end));
    lastParameters = { ...parameters };
  }
  return reports;
}

/**
 * Reads everything up to ReadyForQuery into the session.
 * @returns {Promise<string|undefined>} the answer to a question: the only column of the only row
 */
async function untilReady(attempt, session, { notice }) {
  const asks = attempt.doing === STEP.ASK;
  let value;
  for (let reports = asks ? 1 : 0; ;) {
    while (!attempt.read()) await attempt.more();
    const { bytes, start: at, end } = attempt;
    const type = bytes[at];
    if (type === backend.ReadyForQuery) {
      if (end - at !== 6 || bytes[at + 5] !== 73) throw protocolError('ReadyForQuery of a wrong kind');
      return value;
    } else if (type === backend.ParameterStatus) {
      reports = takeParameters(attempt, session.parameters, reports);
    } else if (type === backend.NoticeResponse) {
      notice(decodeFields(bytes, at, end));
    } else if (!asks && type === backend.BackendKeyData) {
      session.backendKey = decodeBackendKeyData(bytes, at, end);
      session.processId = session.backendKey.readInt32BE(0);
    } else if (asks && type === backend.DataRow) {
      if (end - at < 11) throw protocolError('DataRow of a wrong length');
      value = bytes.toString('latin1', at + 11, end);
    } else if (!asks || (type !== backend.RowDescription && type !== backend.CommandComplete)) {
      throw unexpected(type);
    }
  }
}

/** Checks the session against target_session_attrs, by what the server reported or by asking it. */
async function checkKind(wanted, attempt, session, hooks) {
  let isFit = fits(wanted, session.parameters);
  if (isFit === undefined) {
    attempt.doing = STEP.ASK;
    const question = wanted.startsWith('read') ? 'SHOW transaction_read_only' : 'SELECT pg_catalog.pg_is_in_recovery()';
    attempt.socket.stream.write(frame(frontend.Query, question, '\0'));
    const value = await untilReady(attempt, session, hooks);
    if (value === undefined) throw protocolError('no answer to the query for the kind of session');
    const kind = value === 'on' || value === 't' ? 'on' : 'off';
    isFit = fits(wanted, { in_hot_standby: kind, default_transaction_read_only: kind });
  }
  if (!isFit) throw failed(`the server is not what target_session_attrs=${wanted} asks for`);
}

module.exports = { start, fits };
