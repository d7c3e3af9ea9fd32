'use strict';

const { Buffer } = require('#platform');
const { failed } = require('./attempt');
const { PostgresError, protocolError } = require('../protocol/errors');
const { decodeFields, decodeParameterStatus, stringEnd } = require('../protocol/messages');
const { fits, unfit, Question } = require('./session-attrs');

const VERSION_3_0 = 0x30000;
const VERSION_3_1 = 0x30001;

/** Longest message accepted before the session is ready. Nothing of honest origin comes near. */
const MAX_LENGTH = 65536;

/**
 * From the StartupMessage to the first ReadyForQuery.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-START-UP
 */
class Startup {
  #attempt;
  #auth;
  #flight;
  #notice;
  #resolve;
  #asked = false;
  #waiting = false;

  /**
   * @param {object} options
   * @param {object} options.config resolved
   * @param {string} options.wanted target_session_attrs
   * @param {import('./attempt').Attempt} options.attempt with its transport open
   * @param {import('./auth').Authenticator} options.auth
   * @param {boolean} options.early whether what may go with the StartupMessage does
   * @param {number} options.version of the protocol
   * @param {function(): Buffer} options.flight bytes to go with the last answer
   * @param {function(object): void} options.notice
   */
  constructor({ config, wanted, attempt, auth, early, version, flight, notice }) {
    this.config = config;
    this.wanted = wanted;
    this.early = early;
    this.version = version;
    this.requested = version;
    this.parameters = Object.create(null);
    this.backendKey = null;
    /** Whether the server has said anything, and whether that was only one message so far. */
    this.answered = false;
    this.first = false;
    /** Whether bytes of the client's requests have been sent. */
    this.flown = false;
    this.#attempt = attempt;
    this.#auth = auth;
    this.#flight = flight;
    this.#notice = notice;
  }

  /**
   * Sends the StartupMessage and does what the server asks for.
   * @param {import('../protocol/reader').FrameReader} reader
   * @param {function(): void} ready called in the handling of the first ReadyForQuery
   * @returns {Promise<void>}
   */
  run(reader, ready) {
    const { transport } = this.#attempt;
    const maxLength = reader.maxLength;
    reader.maxLength = MAX_LENGTH;
    reader.handler = this;
    transport.onchunk = (chunk, length) => {
      try {
        reader.push(chunk, length);
      } catch (error) {
        reader.stop();
        transport.destroy(this.#attempt.fail(error));
      }
    };
    return this.#attempt.wait(resolve => {
      this.#resolve = () => {
        reader.maxLength = maxLength;
        resolve();
        ready();
      };
      this.reader = reader;
      this.#attempt.doing = 'starting the session';
      const answer = this.early ? this.#auth.early() : null;
      this.#send(answer, startupMessage(this.config, this.version));
    });
  }

  /**
   * Handles a message of the server.
   * @param {number} type
   * @param {Buffer} buf
   * @param {number} start
   * @param {number} end
   * @throws {PostgresError|ConnectionError}
   */
  message(type, buf, start, end) {
    this.first = !this.answered;
    this.answered = true;
    if (type === 69) throw new PostgresError(decodeFields(buf, start, end));
    if (!this.#auth.done) {
      if (type === 82) return this.#authentication(buf, start, end);
      // PgBouncer 1.24 says it twice.
      if (type === 118 && !this.#asked) return this.#negotiate(buf, start, end);
      throw protocolError(`message of type 0x${type.toString(16)} before authentication is complete`);
    }
    switch (type) {
      case 83: { // ParameterStatus
        const [name, value] = decodeParameterStatus(buf, start, end);
        this.parameters[name] = value;
        break;
      }
      case 75: // BackendKeyData: a process id and a secret of 4 to 256 bytes
        if (end - start < 13 || end - start > 265) throw protocolError('BackendKeyData of a wrong length');
        this.backendKey = Buffer.from(buf.subarray(start + 5, end));
        break;
      case 78: // NoticeResponse
        this.#notice(decodeFields(buf, start, end));
        break;
      case 90: // ReadyForQuery
        if (end - start !== 6 || buf[start + 5] !== 73) throw protocolError('ReadyForQuery of a wrong kind');
        this.#check();
        break;
      default:
        throw protocolError(`message of type 0x${type.toString(16)} before ReadyForQuery`);
    }
  }

  /** Passes an Authentication message on, and its answer back. */
  #authentication(buf, start, end) {
    if (end - start < 9) throw protocolError('Authentication of a wrong length');
    if (this.#waiting) throw protocolError('the server goes on before it has our answer');
    this.#asked = true;
    this.#attempt.doing = 'authenticating';
    const answer = this.#auth.respond(buf.readUInt32BE(start + 5), buf.subarray(start + 9, end));
    if (this.#auth.done) this.#attempt.doing = 'waiting for the session to be ready';
    if (!(answer instanceof Promise)) return this.#send(answer);
    this.#waiting = true;
    answer.then(late => {
      this.#waiting = false;
      if (!this.#attempt.error) this.#send(late);
    }).catch(error => this.#attempt.fail(error));
  }

  /** Writes an answer, the last one with the requests that wait for it, in one write. */
  #send(answer, before) {
    const parts = before ? [before] : [];
    if (answer) parts.push(answer.message);
    if (answer?.last && this.#auth.single !== null && this.wanted === 'any') {
      const flight = this.#flight();
      if (flight.length > 0) {
        this.flown = true;
        parts.push(flight);
      }
    }
    if (parts.length > 0) this.#attempt.transport.write(Buffer.concat(parts));
  }

  /** NegotiateProtocolVersion: the newest version the server has, and the options it does not know. */
  #negotiate(buf, start, end) {
    if (end - start < 13) throw protocolError('NegotiateProtocolVersion of a wrong length');
    const newest = buf.readUInt32BE(start + 5);
    // The documentation says "minor version", PostgreSQL sends both numbers; take either.
    const version = newest < 0x10000 ? VERSION_3_0 + newest : newest;
    let off = start + 13;
    for (let count = buf.readUInt32BE(start + 9); count > 0; count--) {
      const stop = stringEnd(buf, off, end, 'NegotiateProtocolVersion');
      if (!buf.toString('latin1', off, stop).startsWith('_pq_.')) {
        throw protocolError('NegotiateProtocolVersion names an option that is none of the protocol');
      }
      off = stop + 1;
    }
    if (off !== end) throw protocolError('NegotiateProtocolVersion of a wrong length');
    if (version < VERSION_3_0 || version === VERSION_3_1 || version > this.version) {
      throw protocolError(`NegotiateProtocolVersion names version 0x${version.toString(16)}`);
    }
    if (version < this.config.min_protocol_version) {
      throw failed('the server does not support min_protocol_version');
    }
    this.version = version;
  }

  /** Makes sure that the session is what target_session_attrs wants. */
  #check() {
    const verdict = fits(this.wanted, this.parameters);
    if (verdict === true) return this.#resolve();
    if (verdict === false) throw unfit(this.wanted);
    this.#attempt.doing = 'asking what kind of session it is';
    const question = new Question(this.wanted, this.parameters, fit => {
      if (!fit) throw unfit(this.wanted);
      this.#resolve();
    });
    this.reader.handler = question;
    this.#attempt.transport.write(question.query());
  }
}

/**
 * @param {{user: string, database: string, parameters: Object<string, string>}} config
 * @param {number} version
 * @returns {Buffer}
 */
function startupMessage({ user, database, parameters }, version) {
  const pairs = Object.entries({ user, database, ...parameters });
  const text = pairs.map(([name, value]) => `${name}\0${value}\0`).join('');
  const message = Buffer.alloc(9 + Buffer.byteLength(text));
  message.writeUInt32BE(message.length, 0);
  message.writeUInt32BE(version, 4);
  message.write(text, 8);
  return message;
}

module.exports = { Startup };
