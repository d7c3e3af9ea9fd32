'use strict';

const { Buffer } = require('#platform');
const { failed, STEP } = require('./attempt');
const { frame } = require('./frame');
const {
  backend, frontend, decodeAuthentication, decodeBackendKeyData, decodeFields, decodeNegotiateProtocolVersion,
  decodeParameterStatus, decodeReadyForQuery, PostgresError, protocolError
} = require('../protocol');

const VERSION_3_0 = 0x30000;
const VERSION_3_1 = 0x30001;

/** Longest message accepted before the session is ready. Nothing of honest origin comes near. */
const MAX_LENGTH = 65536;

/** Most parameters that a server may report; PostgreSQL has some 400 in all. */
const MAX_PARAMETERS = 1000;

const AUTHENTICATION = { [backend.AuthenticationRequest]: 'authenticate' };
const REPORTS = {
  [backend.ParameterStatus]: 'parameter',
  [backend.NoticeResponse]: 'notice',
  [backend.ReadyForQuery]: 'ready'
};

/** What may come at which step of the attempt, and is done about it. An ErrorResponse may come at any. */
const HANDLERS = {
  [STEP.START]: { ...AUTHENTICATION, [backend.NegotiateProtocolVersion]: 'negotiate' }, // PgBouncer 1.24 says it twice
  [STEP.AUTHENTICATE]: AUTHENTICATION,
  [STEP.PROVE]: {},
  [STEP.WAIT]: { ...REPORTS, [backend.BackendKeyData]: 'key' },
  [STEP.ASK]: {
    ...REPORTS,
    [backend.RowDescription]: 'ignore',
    [backend.DataRow]: 'row',
    [backend.CommandComplete]: 'ignore'
  }
};

/**
 * From the StartupMessage to the first ReadyForQuery; the state is the step that the attempt is at.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-START-UP
 */
class Startup {
  #config;
  #plan;
  #attempt;
  #hooks;
  #done;
  #reported = 0; // parameters
  #kind = null; // of the session, as the server has answered

  /**
   * @param {object} config resolved
   * @param {{wanted: string, version: number, early: boolean}} plan the session that is wanted, the version of the
   *   protocol to ask for, and whether what may go with the StartupMessage does
   * @param {import('./attempt').Attempt} attempt with its socket open, and its Authenticator
   * @param {{earlyRequests: function(): Buffer, notice: function(object, Buffer, number, number): void}} hooks
   */
  constructor(config, plan, attempt, hooks) {
    this.#config = config;
    this.#plan = plan;
    this.#attempt = attempt;
    this.#hooks = hooks;
    this.version = plan.version;
    this.parameters = Object.create(null);
    /** @type {Buffer|null} process id and secret */
    this.backendKey = null;
  }

  /**
   * Sends the StartupMessage and does what the server asks for.
   * @param {import('../protocol/reader').FrameReader} reader whose handler this is
   * @param {function(): void} ready called in the handling of the first ReadyForQuery
   * @returns {Promise<void>}
   */
  run(reader, ready) {
    const attempt = this.#attempt;
    const { maxLength } = reader;
    reader.maxLength = MAX_LENGTH;
    attempt.socket.handOver(attempt.listener((chunk, length) => {
      try {
        reader.push(chunk, length);
      } catch (error) {
        reader.stop();
        attempt.socket.destroy(attempt.fail(error));
      }
    }));
    return attempt.wait(resolve => {
      this.#done = () => {
        reader.maxLength = maxLength;
        attempt.release();
        resolve();
        ready();
      };
      attempt.doing = STEP.START;
      const { user, database, parameters } = this.#config;
      const pairs = Object.entries({ user, database, ...parameters });
      const text = pairs.map(([name, value]) => `${name}\0${value}\0`).join('');
      const answer = this.#plan.early ? attempt.auth.early() : null;
      this.#send(answer, frame(null, this.version, `${text}\0`));
    });
  }

  /**
   * Handles a message of the server.
   * @throws {PostgresError|ConnectionError}
   */
  message(type, buf, start, end) {
    const { doing } = this.#attempt;
    if (type === backend.ErrorResponse) throw new PostgresError(decodeFields(buf, start, end));
    const handler = HANDLERS[doing][type];
    if (handler === undefined) throw protocolError(`message of type 0x${type.toString(16)}, which may not come now`);
    this[handler](buf, start, end);
  }

  /** Passes a request for authentication on, and its answer back. */
  authenticate(buf, start, end) {
    const attempt = this.#attempt;
    attempt.doing = STEP.AUTHENTICATE;
    const { code, data } = decodeAuthentication(buf, start, end);
    const answer = attempt.auth.respond(code, data);
    if (attempt.auth.done) attempt.doing = STEP.WAIT;
    if (!(answer instanceof Promise)) return this.#send(answer);
    attempt.doing = STEP.PROVE;
    answer.then(proof => {
      attempt.doing = STEP.AUTHENTICATE;
      if (!attempt.error) this.#send(proof);
    }).catch(error => attempt.fail(error));
  }

  negotiate(buf, start, end) {
    const { version, options } = decodeNegotiateProtocolVersion(buf, start, end);
    if (!options.every(name => name.startsWith('_pq_.'))) {
      throw protocolError('NegotiateProtocolVersion names an option that is none of the protocol');
    }
    if (version < VERSION_3_0 || version === VERSION_3_1 || version > this.version) {
      throw protocolError(`NegotiateProtocolVersion names version 0x${version.toString(16)}`);
    }
    if (version < this.#config.min_protocol_version) throw failed('the server does not support min_protocol_version');
    this.version = version;
  }

  parameter(buf, start, end) {
    const [name, value] = decodeParameterStatus(buf, start, end);
    this.parameters[name] = value;
    if (++this.#reported > MAX_PARAMETERS) throw protocolError(`more than ${MAX_PARAMETERS} parameters`);
  }

  key(buf, start, end) { this.backendKey = decodeBackendKeyData(buf, start, end); }

  notice(buf, start, end) { this.#hooks.notice(decodeFields(buf, start, end), buf, start, end); }

  /** Takes the answer to what kind of session it is: the only column of the only row. */
  row(buf, start, end) {
    if (end - start < 11) throw protocolError('DataRow of a wrong length');
    const kind = ['on', 't'].includes(buf.toString('latin1', start + 11, end)) ? 'on' : 'off';
    this.#kind = { in_hot_standby: kind, default_transaction_read_only: kind };
  }

  /** Makes sure that the session is what target_session_attrs wants. */
  ready(buf, start, end) {
    if (decodeReadyForQuery(buf, start, end) !== 'I') throw protocolError('ReadyForQuery of a wrong kind');
    const attempt = this.#attempt;
    const { wanted } = this.#plan;
    if (wanted === 'any') return this.#done();
    const { fits, question, unfit } = require('./session-attrs');
    const verdict = fits(wanted, this.#kind ?? this.parameters);
    if (verdict === true) return this.#done();
    if (verdict === false) throw unfit(wanted);
    if (attempt.doing === STEP.ASK) throw protocolError('no answer to the question for the kind of session');
    attempt.doing = STEP.ASK;
    attempt.socket.write(frame(frontend.Query, question(wanted), '\0'));
  }

  ignore() {}

  /** Writes bytes and an answer; the last answer with the requests that wait for it. */
  #send(answer, ...parts) {
    if (answer !== null) parts.push(answer.message);
    if (answer?.last && this.#config.require_auth.single !== null && this.#plan.wanted === 'any') {
      const requests = this.#hooks.earlyRequests();
      this.#attempt.requestsSent ||= requests.length > 0;
      parts.push(requests);
    }
    if (parts.length > 0) this.#attempt.socket.write(Buffer.concat(parts));
  }
}

module.exports = { Startup };
