'use strict';

const { unexpected } = require('./attempt');
const { backend, ConnectionError, frame, frontend, protocolError } = require('../protocol');

/** Codes of the Authentication messages. */
const OK = 0;
const CLEARTEXT = 3;
const MD5 = 5;
const SASL = 10;
const SASL_CONTINUE = 11;
const SASL_FINAL = 12;

/** The methods of `require_auth` that they ask for, and what they ask for that is not supported. */
const SCRAM = 'scram-sha-256';
const PLUS = 'SCRAM-SHA-256-PLUS';
const METHODS = {
  [OK]: 'none', [CLEARTEXT]: 'password', [MD5]: 'md5', [SASL]: SCRAM, [SASL_CONTINUE]: SCRAM, [SASL_FINAL]: SCRAM
};
const FOREIGN = { 2: 'Kerberos V5', 6: 'SCM credentials', 7: 'GSSAPI', 8: 'GSSAPI', 9: 'SSPI' };

/** @returns {ConnectionError} we do not go on with this server */
const refuse = what => new ConnectionError(what, { code: '28000' });

/** @returns {Buffer} a PasswordMessage, SASLInitialResponse or SASLResponse, which share the byte of their type */
const answer = (...parts) => frame(frontend.PasswordMessage, ...parts);

/**
 * Opens a session: sends the StartupMessage, and says who we are in the way that the server asks for. A server is
 * refused when it asks for what `require_auth` does not allow, when it would have a password in cleartext that others
 * can read on the way, and when it says that all is well before it is.
 *
 * Where `require_auth` leaves only one thing that the server may ask for, the answer goes with the StartupMessage.
 *
 * @param {object} login
 * @param {object} login.config resolved
 * @param {string|undefined} login.password
 * @param {boolean} login.encrypted by TLS
 * @param {boolean} login.local nobody can listen on the way
 * @param {Buffer|null} login.binding tls-server-end-point of the connection, if there is one that may be used
 * @param {object} exchange
 * @param {import('./attempt').Attempt} exchange.attempt
 * @param {Buffer} exchange.startupMessage
 * @param {boolean} exchange.early whether an answer may go with the StartupMessage
 * @param {function(boolean, ...Buffer): void} exchange.send sends bytes; true where the server needs no more from us
 * @param {function(): Promise<{code: number, data: Buffer}>} exchange.request reads the next Authentication message
 * @returns {Promise<void>} when the server has let us in
 * @throws {ConnectionError} 28000 when we refuse, 08P01 when the server makes no sense
 */
async function authenticate(login, { attempt, startupMessage, early, send, request }) {
  const { single } = login.config.require_auth;
  const sent = early && single !== 'md5' ? single : null;
  if (sent !== null) checkAllowed(login, sent);
  let scram = sent === SCRAM ? scramFor(login, true) : null;
  const first = sent === 'password' ? [cleartext(login)] : scram ? [initialResponse(scram)] : [];
  send(sent !== null && scram === null, startupMessage, ...first);

  /** Reads the one message that may come now. */
  const expect = async expected => {
    const { code, data } = await request();
    if (code === expected) return data;
    if (code === OK) throw refuse('the server lets us in before it has proven that it knows the password');
    throw protocolError(`the server asks for ${methodOf(code)} out of order`);
  };
  const { code, data } = await request();
  checkAllowed(login, methodOf(code));
  if (code === OK) return;
  if (code === CLEARTEXT) {
    if (sent === null) send(true, cleartext(login));
  } else if (code === MD5) {
    send(true, md5(login, data));
  } else if (code === SASL) {
    const plus = chooseMechanism(login, data, scram, attempt);
    if (scram === null) {
      scram = scramFor(login, plus);
      send(false, initialResponse(scram));
    }
    const challenge = await expect(SASL_CONTINUE);
    const proof = await scram.final(challenge.toString('latin1'));
    const { unread } = attempt;
    if (unread.length > 0 && unread[0] !== backend.ErrorResponse) throw unexpected(unread);
    send(true, answer(proof));
    scram.verify((await expect(SASL_FINAL)).toString('latin1'));
  } else throw protocolError(`the server asks for ${methodOf(code)} out of order`);
  await expect(OK);
}

/** @returns {string} the method of `require_auth` that an Authentication message asks for */
function methodOf(code) {
  const method = METHODS[code];
  if (method !== undefined) return method;
  throw refuse(`the server asks for ${FOREIGN[code] ?? `method ${code}`}, which is not supported`);
}

/** Throws unless the method is allowed by `require_auth` and gives the `channel_binding` required. */
function checkAllowed({ config: { require_auth: { allowed }, channel_binding: binding } }, method) {
  const asks = `the server ${method === 'none' ? 'did not ask for authentication' : `asks for ${method}`}`;
  if (!allowed.has(method)) throw refuse(`${asks}, but require_auth allows only ${[...allowed].join(', ')}`);
  if (method !== SCRAM && binding === 'require') throw refuse(`${asks}, but channel binding is required`);
}

/** @returns {string} the password, which must be there */
function passwordOf({ password }, method) {
  if (password) return password;
  throw refuse(`no password was given, and authentication by ${method} needs one: set password, PGPASSWORD, or ` +
    'a line in the password file');
}

/** @returns {Buffer} the answer to AuthenticationCleartextPassword */
function cleartext(login) {
  const { config: { require_auth: { named } }, encrypted, local } = login;
  if (encrypted || local || named.has('password')) return answer(passwordOf(login, 'password'), '\0');
  throw refuse('the server asks for the password in cleartext, and the connection is not encrypted; it ' +
    'is sent only if require_auth names "password"');
}

/** @returns {Buffer} the answer to AuthenticationMD5Password */
function md5(login, salt) {
  if (salt.length !== 4) throw protocolError('AuthenticationMD5Password of a wrong length');
  const { createHash } = require('node:crypto'); // late: most servers ask for no MD5
  const hash = (text, more) => createHash('md5').update(text).update(more).digest('hex');
  return answer('md5', hash(hash(passwordOf(login, 'md5'), login.config.user), salt), '\0');
}

/**
 * Takes the list of mechanisms that the server offers, each with a NUL behind it, and another one at the end.
 * @returns {boolean} whether it is to be the one with channel binding
 */
function chooseMechanism(login, list, scram, attempt) {
  const offered = list.toString('latin1').split('\0');
  if (offered.pop() !== '' || offered.pop() !== '') throw protocolError('a list of SASL mechanisms without its end');
  const plus = offered.includes(PLUS);
  if (scram === null && plus && !login.encrypted) {
    throw refuse('the server offers SCRAM-SHA-256-PLUS over a connection without TLS');
  }
  const mechanism = scram?.mechanism ?? (plus && login.binding ? PLUS : 'SCRAM-SHA-256');
  if (offered.includes(mechanism)) return plus;
  attempt.unbound = mechanism === PLUS && login.config.channel_binding === 'prefer';
  // Nobody has vouched for the server yet, so only what can be a name is shown.
  const names = offered.filter(name => /^[A-Z0-9_-]{1,20}$/.test(name)).slice(0, 10).join(', ');
  throw refuse(`the server offers ${names || 'nothing'} and not ${mechanism}`);
}

/** @returns {object} what `startScram` gives; `plus`: bound to the channel if it can be */
function scramFor(login, plus) {
  const binding = plus ? login.binding : null;
  if (binding === null && login.config.channel_binding === 'require') {
    const why = !login.encrypted ? 'the connection has no TLS'
      : login.binding ? 'the server does not offer it'
        : 'the server\'s certificate is signed with an algorithm that has none';
    throw refuse(`channel binding is required, but ${why}`);
  }
  const { startScram } = require('./scram');
  return startScram(passwordOf(login, SCRAM), { binding, able: login.binding !== null });
}

/** @returns {Buffer} SASLInitialResponse */
const initialResponse = ({ mechanism, first }) => answer(mechanism, '\0', first.length, first);

module.exports = { authenticate };
