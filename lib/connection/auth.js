'use strict';

const { Buffer, crypto } = require('#platform');
const { ConnectionError, protocolError } = require('../protocol/errors');
const { Scram } = require('./scram');

/** Codes of the Authentication messages and what they ask for. */
const OK = 0;
const CLEARTEXT = 3;
const MD5 = 5;
const SASL = 10;
const SASL_CONTINUE = 11;
const SASL_FINAL = 12;
const FOREIGN = { 2: 'Kerberos V5', 6: 'SCM credentials', 7: 'GSSAPI', 8: 'GSSAPI', 9: 'SSPI' };

/**
 * Makes a PasswordMessage, SASLInitialResponse or SASLResponse; they share the type byte.
 * @param {...(string|Buffer)} parts of the body
 * @returns {Buffer}
 */
function message(...parts) {
  const body = Buffer.concat(parts.map(part => Buffer.from(part)));
  const head = Buffer.from([112, 0, 0, 0, 0]); // p
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** @returns {ConnectionError} we do not go on with this server */
function refuse(what) {
  return new ConnectionError(what, { code: '28000' });
}

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
  #password;
  #scram = null;
  /** start → early → asked → done; with SCRAM start → early → first → final → asked → done */
  #state = 'start';

  /**
   * @param {object} config resolved: user, require_auth and channel_binding are of interest
   * @param {object} connection
   * @param {string|undefined} connection.password
   * @param {boolean} connection.encrypted by TLS
   * @param {boolean} connection.local nobody can listen on the way
   * @param {Buffer|null} [connection.binding] tls-server-end-point of the connection, if there is one
   */
  constructor(config, { password, encrypted, local, binding = null }) {
    this.#config = config;
    this.#password = password;
    this.encrypted = encrypted;
    this.local = local;
    this.binding = config.channel_binding === 'disable' ? null : binding;
    /** Whether something made of the password has been given away. */
    this.answered = false;
    /** Whether it is worth another connection without early(): the server does not offer channel binding. */
    this.unbound = false;
  }

  /** Whether the server has let us in, by the agreed method. */
  get done() { return this.#state === 'done'; }

  /** The one method that `require_auth` names, if it is one. */
  get single() { return this.#config.require_auth.single; }

  /**
   * What can go with the StartupMessage because `require_auth` leaves only one thing the server may ask for.
   * @returns {{message: Buffer, last: boolean}|null}
   * @throws {ConnectionError} 28000 when it cannot work
   */
  early() {
    if (this.single === 'none') {
      this.#allow('none');
      return { message: Buffer.alloc(0), last: true };
    }
    if (this.single === 'password') {
      this.#allow('password');
      this.#state = 'early';
      return this.#answer(this.#secret('password'), '\0');
    }
    if (this.single !== 'scram-sha-256') return null;
    const first = this.#first(this.binding !== null, false);
    this.#state = 'early';
    return first;
  }

  /**
   * Takes an Authentication message.
   * @param {number} code
   * @param {Buffer} body what follows the code; not needed after the call
   * @returns {{message: Buffer, last: boolean}|null|Promise<{message: Buffer, last: boolean}>}
   * @throws {ConnectionError} 28000 when we refuse, 08P01 when it makes no sense now
   */
  respond(code, body) {
    switch (code) {
      case OK: return this.#ok();
      case CLEARTEXT: return this.#cleartext();
      case MD5: return this.#md5(body);
      case SASL: return this.#sasl(body);
      case SASL_CONTINUE: return this.#continue(body);
      case SASL_FINAL: return this.#final(body);
      default: {
        const method = FOREIGN[code] ?? `method ${code}`;
        throw refuse(`the server asks for ${method}, which is not supported`);
      }
    }
  }

  #ok() {
    if (this.#state === 'start') this.#allow('none');
    else if (this.#state !== 'asked') {
      throw refuse(this.#scram
        ? 'the server says that SCRAM is complete before it has proven that it knows the password'
        : 'the server did not ask for the password that require_auth demands');
    }
    this.#state = 'done';
    return null;
  }

  #cleartext() {
    this.#allow('password');
    if (this.#state === 'early') {
      this.#state = 'asked';
      return null;
    }
    this.#begin();
    if (!this.encrypted && !this.local && !this.#config.require_auth.named.has('password')) {
      throw refuse('the server asks for the password in cleartext, and the connection is not encrypted; it ' +
        'is sent only if require_auth names "password"');
    }
    return this.#answer(this.#secret('password'), '\0');
  }

  #md5(body) {
    this.#allow('md5');
    this.#begin();
    if (body.length !== 4) throw protocolError('AuthenticationMD5Password of a wrong length');
    const hash = (text, salt) => crypto.createHash('md5').update(text).update(salt).digest('hex');
    return this.#answer('md5', hash(hash(this.#secret('md5'), this.#config.user), body), '\0');
  }

  #sasl(body) {
    this.#allow('scram-sha-256');
    const offered = body.toString('latin1').split('\0');
    if (offered.pop() !== '' || offered.pop() !== '') throw protocolError('a list of SASL mechanisms without its end');
    if (this.#state === 'early') {
      this.#state = 'first';
      if (offered.includes(this.#scram.mechanism)) return null;
      this.unbound = this.binding !== null && this.#config.channel_binding !== 'require';
      throw this.#notOffered(offered);
    }
    this.#begin();
    const plus = offered.includes('SCRAM-SHA-256-PLUS');
    if (plus && !this.encrypted) {
      throw refuse('the server offers SCRAM-SHA-256-PLUS over a connection without TLS');
    }
    const bind = plus && this.binding !== null;
    if (!bind && !offered.includes('SCRAM-SHA-256')) throw this.#notOffered(offered);
    return this.#first(bind, this.binding !== null);
  }

  /** Starts SCRAM; `able`: we could bind to the channel and were not offered to. */
  #first(bind, able) {
    if (!bind && this.#config.channel_binding === 'require') {
      throw refuse(`channel binding is required, but ${
        !this.encrypted ? 'the connection has no TLS'
          : this.binding ? 'the server does not offer it'
            : 'the server\'s certificate is signed with an algorithm that has none'}`);
    }
    const binding = bind ? this.binding : undefined;
    this.#scram = new Scram(this.#secret('scram-sha-256'), { binding, able });
    this.#state = 'first';
    const first = this.#scram.first();
    const length = Buffer.alloc(4);
    length.writeUInt32BE(first.length);
    return { message: message(this.#scram.mechanism, '\0', length, first), last: false };
  }

  #continue(body) {
    if (this.#state !== 'first') throw protocolError('AuthenticationSASLContinue out of order');
    this.#state = 'final';
    return this.#scram.final(body.toString('latin1')).then(final => this.#answer(final));
  }

  #final(body) {
    if (this.#state !== 'final') throw protocolError('AuthenticationSASLFinal out of order');
    this.#scram.verify(body.toString('latin1'));
    this.#state = 'asked';
    return null;
  }

  /** The server may ask once, and not while it has our answer to something else. */
  #begin() {
    if (this.#state !== 'start') throw protocolError('the server asks for authentication again');
    this.#state = 'asked';
  }

  /** Throws unless the method is allowed by `require_auth` and gives the `channel_binding` required. */
  #allow(method) {
    const { allowed } = this.#config.require_auth;
    const asks = `the server ${method === 'none' ? 'did not ask for authentication' : `asks for ${method}`}`;
    if (!allowed.has(method)) {
      throw refuse(`${asks}, but require_auth allows only ${[...allowed].join(', ')}`);
    }
    if (method !== 'scram-sha-256' && this.#config.channel_binding === 'require') {
      throw refuse(`${asks}, but channel binding is required`);
    }
  }

  #notOffered(offered) {
    // Nobody has vouched for the server yet, so only what can be a name is shown.
    const names = offered.filter(name => /^[A-Z0-9_-]{1,20}$/.test(name)).slice(0, 10).join(', ');
    const wanted = this.#scram?.mechanism ?? 'SCRAM-SHA-256';
    return refuse(`the server offers ${names || 'nothing'} and not ${wanted}`);
  }

  /** The password, which must be there. */
  #secret(method) {
    if (typeof this.#password === 'string' && this.#password !== '') return this.#password;
    throw refuse(`no password was given, and authentication by ${method} needs one`);
  }

  #answer(...parts) {
    this.answered = true;
    return { message: message(...parts), last: true };
  }
}

module.exports = { Authenticator };
