'use strict';

const platform = require('#platform'); // whose crypto is not loaded before it is needed
const { frame } = require('./frame');
const { ConnectionError, frontend, protocolError } = require('../protocol');

/** Codes of the Authentication messages. */
const OK = 0;
const CLEARTEXT = 3;
const MD5 = 5;
const SASL = 10;
const SASL_CONTINUE = 11;
const SASL_FINAL = 12;

/** The methods of `require_auth` that they ask for, and what they ask for that is not supported. */
const SCRAM = 'scram-sha-256';
const METHODS = {
  [OK]: 'none', [CLEARTEXT]: 'password', [MD5]: 'md5', [SASL]: SCRAM, [SASL_CONTINUE]: SCRAM, [SASL_FINAL]: SCRAM
};
const FOREIGN = { 2: 'Kerberos V5', 6: 'SCM credentials', 7: 'GSSAPI', 8: 'GSSAPI', 9: 'SSPI' };

/** What may come in which state. */
const EXPECTED = {
  start: [OK, CLEARTEXT, MD5, SASL],
  earlyPassword: [CLEARTEXT], // the password went with the StartupMessage
  earlyScram: [SASL], // so did SCRAM's first message
  first: [SASL_CONTINUE], // of SCRAM's messages we have sent the first
  final: [SASL_FINAL], // and the last
  answered: [OK],
  unbound: [],
  done: []
};

/** @returns {ConnectionError} we do not go on with this server */
const refuse = what => new ConnectionError(what, { code: '28000' });

/**
 * The client's side of authentication: it is told what the server asks for, and says what to answer.
 * A server is refused when it asks for what `require_auth` does not allow, when it would have a password in
 * cleartext that others can read on the way, and when it says that all is well before it is.
 *
 * An answer is `{ message, last }`: bytes to send, and whether they are the last that the server needs from
 * us; or null for nothing.
 */
class Authenticator {
  #config;
  #connection;
  #binding;
  #scram = null;
  #state = 'start';

  /**
   * @param {object} config resolved: user, require_auth and channel_binding are of interest
   * @param {object} connection
   * @param {string|undefined} connection.password
   * @param {boolean} connection.encrypted by TLS
   * @param {boolean} connection.local nobody can listen on the way
   * @param {Buffer|null} [connection.binding] tls-server-end-point of the connection, if there is one
   */
  constructor(config, connection) {
    this.#config = config;
    this.#connection = connection;
    this.#binding = config.channel_binding === 'disable' ? null : connection.binding ?? null;
  }

  /** Whether the server has let us in, by the agreed method. */
  get done() { return this.#state === 'done'; }

  /** Whether another connection without early() may do: the server does not offer channel binding. */
  get unbound() { return this.#state === 'unbound'; }

  /**
   * What can go with the StartupMessage because `require_auth` leaves only one thing the server may ask for.
   * @returns {{message: Buffer, last: boolean}|null}
   * @throws {ConnectionError} 28000 when it cannot work
   */
  early() {
    const { single } = this.#config.require_auth;
    if (single === null || single === 'md5') return null;
    this.#allow(single);
    if (single === 'none') return { message: platform.Buffer.alloc(0), last: true };
    return single === 'password' ? this.#cleartext('earlyPassword') : this.#first('earlyScram', this.#binding, false);
  }

  /**
   * Takes an Authentication message.
   * @param {number} code
   * @param {Buffer} data what follows the code; not needed after the call
   * @returns {{message: Buffer, last: boolean}|null|Promise<{message: Buffer, last: boolean}>}
   * @throws {ConnectionError} 28000 when we refuse, 08P01 when it makes no sense now
   */
  respond(code, data) {
    const state = this.#state;
    const method = METHODS[code];
    if (method === undefined) {
      throw refuse(`the server asks for ${FOREIGN[code] ?? `method ${code}`}, which is not supported`);
    }
    if (code !== OK || state === 'start') this.#allow(method);
    if (!EXPECTED[state].includes(code)) {
      if (code !== OK) throw protocolError(`the server asks for ${method} out of order`);
      throw refuse(state === 'earlyPassword'
        ? 'the server did not ask for the password that require_auth demands'
        : 'the server says that SCRAM is complete before it has proven that it knows the password');
    }
    switch (code) {
      case CLEARTEXT: return state === 'start' ? this.#cleartext('answered') : this.#nothing('answered');
      case MD5: return this.#md5(data);
      case SASL: return this.#sasl(data);
      case SASL_CONTINUE: return this.#scram.final(data.toString('latin1')).then(proof => this.#answer('final', proof));
      case SASL_FINAL:
        this.#scram.verify(data.toString('latin1'));
        return this.#nothing('answered');
      default: return this.#nothing('done');
    }
  }

  #cleartext(state) {
    const { encrypted, local } = this.#connection;
    if (encrypted || local || this.#config.require_auth.named.has('password')) {
      return this.#answer(state, this.#password('password'), '\0');
    }
    throw refuse('the server asks for the password in cleartext, and the connection is not encrypted; it ' +
      'is sent only if require_auth names "password"');
  }

  #md5(salt) {
    if (salt.length !== 4) throw protocolError('AuthenticationMD5Password of a wrong length');
    const hash = (text, more) => platform.crypto.createHash('md5').update(text).update(more).digest('hex');
    return this.#answer('answered', 'md5', hash(hash(this.#password('md5'), this.#config.user), salt), '\0');
  }

  /** Takes the list of mechanisms that the server offers, each with a NUL behind it, and another one at the end. */
  #sasl(list) {
    const offered = list.toString('latin1').split('\0');
    if (offered.pop() !== '' || offered.pop() !== '') throw protocolError('a list of SASL mechanisms without its end');
    const plus = offered.includes('SCRAM-SHA-256-PLUS');
    const started = this.#scram !== null;
    if (!started && plus && !this.#connection.encrypted) {
      throw refuse('the server offers SCRAM-SHA-256-PLUS over a connection without TLS');
    }
    const binding = plus || started ? this.#binding : null;
    const mechanism = binding === null ? 'SCRAM-SHA-256' : 'SCRAM-SHA-256-PLUS';
    if (!offered.includes(mechanism)) {
      if (binding !== null && this.#config.channel_binding === 'prefer') this.#state = 'unbound';
      // Nobody has vouched for the server yet, so only what can be a name is shown.
      const names = offered.filter(name => /^[A-Z0-9_-]{1,20}$/.test(name)).slice(0, 10).join(', ');
      throw refuse(`the server offers ${names || 'nothing'} and not ${mechanism}`);
    }
    return started ? this.#nothing('first') : this.#first('first', binding, this.#binding !== null);
  }

  /** Starts SCRAM; `able`: we could bind to the channel and were not offered to. */
  #first(state, binding, able) {
    if (binding === null && this.#config.channel_binding === 'require') {
      const why = !this.#connection.encrypted ? 'the connection has no TLS'
        : this.#binding ? 'the server does not offer it' : 'the server\'s certificate has an algorithm without one';
      throw refuse(`channel binding is required, but ${why}`);
    }
    const { Scram } = require('./scram');
    this.#scram = new Scram(this.#password(SCRAM), { binding, able });
    const first = this.#scram.first();
    return { ...this.#answer(state, this.#scram.mechanism, '\0', first.length, first), last: false };
  }

  /** Throws unless the method is allowed by `require_auth` and gives the `channel_binding` required. */
  #allow(method) {
    const { require_auth: { allowed }, channel_binding: binding } = this.#config;
    const asks = `the server ${method === 'none' ? 'did not ask for authentication' : `asks for ${method}`}`;
    if (!allowed.has(method)) throw refuse(`${asks}, but require_auth allows only ${[...allowed].join(', ')}`);
    if (method !== SCRAM && binding === 'require') throw refuse(`${asks}, but channel binding is required`);
  }

  /** The password, which must be there. */
  #password(method) {
    const { password } = this.#connection;
    if (password) return password;
    throw refuse(`no password was given, and authentication by ${method} needs one: set password, PGPASSWORD, or ` +
      'a line in the password file');
  }

  #nothing(state) {
    this.#state = state;
    return null;
  }

  /** A PasswordMessage, SASLInitialResponse or SASLResponse, which share the byte of their type. */
  #answer(state, ...parts) {
    this.#state = state;
    return { message: frame(frontend.PasswordMessage, ...parts), last: true };
  }
}

module.exports = { Authenticator };
