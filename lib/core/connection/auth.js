'use strict';

const { unexpected, REASON } = require('./attempt');
const { late } = require('../late');
const { backend, ConnectionError, frame, frontend, protocolError } = require('../protocol');

const later = late({ crypto: () => require('node:crypto'), scram: () => require('./scram') });

/** Codes of the Authentication messages. */
const OK = 0;
const CLEARTEXT = 3;
const MD5 = 5;
const SASL = 10;
const SASL_CONTINUE = 11;
const SASL_FINAL = 12;

/** Their methods in `require_auth`, and the methods that are not supported. */
const SCRAM = 'scram-sha-256';
const PLUS = 'SCRAM-SHA-256-PLUS';
const METHODS = {
  [OK]: 'none',
  [CLEARTEXT]: 'password',
  [MD5]: 'md5',
  [SASL]: SCRAM,
  [SASL_CONTINUE]: SCRAM,
  [SASL_FINAL]: SCRAM
};
const UNSUPPORTED = { 2: 'Kerberos V5', 6: 'SCM credentials', 7: 'GSSAPI', 8: 'GSSAPI', 9: 'SSPI' };

const refuse = what => new ConnectionError(what, { code: '28000' });

/** @returns {Buffer} a PasswordMessage, SASLInitialResponse or SASLResponse, which have one type byte */
const answer = (...parts) => frame(frontend.PasswordMessage, ...parts);

/**
 * What goes with the StartupMessage if `require_auth` leaves one method: `parts`, `isLast` if the client sends nothing
 * more, and `scram`, which has begun. md5 needs the server's salt.
 */
const AHEAD = {
  none: () => ({ parts: [], isLast: true }),
  password: login => ({ parts: [cleartext(login)], isLast: true }),
  [SCRAM](login) {
    const scram = scramFor(login, login.binding);
    return { parts: [initialResponse(scram)], isLast: false, scram };
  }
};
const NOTHING = { parts: [], isLast: false };

function sentAhead(login) {
  const { single } = login.config.require_auth;
  if (!Object.hasOwn(AHEAD, single)) return NOTHING;
  checkAllowed(login, single);
  return AHEAD[single](login);
}

/** How the client answers each request of the server, up to AuthenticationOk. */
const ANSWERS = {
  [CLEARTEXT]({ login, ahead, send }) {
    if (ahead === NOTHING) send(true, cleartext(login));
  },

  [MD5]({ login, send }, salt) {
    send(true, md5(login, salt));
  },

  async [SASL]({ login, ahead, attempt, send, expect }, mechanisms) {
    const scram = chooseMechanism(login, mechanisms, ahead.scram, attempt);
    if (ahead === NOTHING) send(false, initialResponse(scram));
    const challenge = await expect(SASL_CONTINUE);
    const proof = await scram.final(challenge.toString('latin1'));
    const { unread } = attempt;
    if (unread.length > 0 && unread[0] !== backend.ErrorResponse) throw unexpected(unread);
    send(true, answer(proof));
    scram.verify((await expect(SASL_FINAL)).toString('latin1'));
  }
};

/**
 * Sends the StartupMessage and authenticates in the way that the server asks for. The client refuses a method that
 * `require_auth` forbids, a cleartext password on a way that others can read, and AuthenticationOk before the method is
 * complete.
 * @param {object} login `config`, `password`, `encrypted`, `local` (the way is on this machine), `binding`
 *   (tls-server-end-point data or null)
 * @param {object} exchange `attempt`, `startupMessage`, `early` (an answer may go with it), `send(isLast, ...buffers)`,
 *   `request()` (reads the next Authentication message)
 * @throws {ConnectionError} 28000 if the client refuses, 08P01 for a protocol violation
 */
async function authenticate(login, { attempt, startupMessage, early, send, request }) {
  const ahead = early ? sentAhead(login) : NOTHING;
  send(ahead.isLast, startupMessage, ...ahead.parts);
  const expect = async expected => {
    const { code, data } = await request();
    if (code === expected) return data;
    if (code === OK) throw refuse('the server accepted the client before it proved that it knows the password');
    throw protocolError(`the server asks for ${methodOf(code)} out of order`);
  };
  let first;
  try {
    first = await request();
  } catch (error) {
    // A password that was sent under TLS is not sent again without.
    const isSent = login.config.require_auth.single === 'password';
    if (error.code === '28000' && attempt.encrypted && !isSent) attempt.reason = REASON.REFUSED;
    throw error;
  }
  const { code, data } = first;
  checkAllowed(login, methodOf(code));
  if (code === OK) return;
  if (!Object.hasOwn(ANSWERS, code)) throw protocolError(`the server asks for ${methodOf(code)} out of order`);
  await ANSWERS[code]({ login, ahead, attempt, send, expect }, data);
  await expect(OK);
}

/** @returns {string} the method of `require_auth` for a code */
function methodOf(code) {
  const method = METHODS[code];
  if (method !== undefined) return method;
  throw refuse(`the server asks for ${UNSUPPORTED[code] ?? `method ${code}`}, which is not supported`);
}

/** Throws unless `require_auth` allows the method and it gives the `channel_binding` required. */
function checkAllowed(
  {
    config: {
      require_auth: { allowed },
      channel_binding: binding
    }
  },
  method
) {
  const asks = `the server ${method === 'none' ? 'did not ask for authentication' : `asks for ${method}`}`;
  if (!allowed.has(method)) throw refuse(`${asks}, but require_auth allows only ${[...allowed].join(', ')}`);
  if (method !== SCRAM && binding === 'require') throw refuse(`${asks}, but channel binding is required`);
}

/** @returns {string} the password; throws if there is none */
function passwordOf({ password }, method) {
  if (password) return password;
  throw refuse(
    `no password was given, and authentication by ${method} needs one: set password, PGPASSWORD, or ` +
      'a line in the password file'
  );
}

function cleartext(login) {
  const {
    config: {
      require_auth: { named }
    },
    encrypted,
    local
  } = login;
  if (encrypted || local || named.has('password')) return answer(passwordOf(login, 'password'), '\0');
  throw refuse(
    'the server asks for the password in cleartext, and the connection is not encrypted; it ' +
      'is sent only if require_auth names "password"'
  );
}

function md5(login, salt) {
  if (salt.length !== 4) throw protocolError('AuthenticationMD5Password of a wrong length');
  const hash = (text, more) => later.crypto.createHash('md5').update(text).update(more).digest('hex');
  return answer('md5', hash(hash(passwordOf(login, 'md5'), login.config.user), salt), '\0');
}

/**
 * Reads the server's mechanisms, each with a NUL behind it and one more at the end.
 * @param {object} [begun] the SCRAM that went with the StartupMessage
 * @returns {object} the SCRAM to continue
 */
function chooseMechanism(login, list, begun, attempt) {
  const offered = list.toString('latin1').split('\0');
  if (offered.pop() !== '' || offered.pop() !== '') throw protocolError('a list of SASL mechanisms without its end');
  const plus = offered.includes(PLUS);
  if (begun === undefined && plus && !login.encrypted) {
    throw refuse('the server offers SCRAM-SHA-256-PLUS over a connection without TLS');
  }
  const mechanism = begun?.mechanism ?? (plus && login.binding ? PLUS : 'SCRAM-SHA-256');
  if (offered.includes(mechanism)) return begun ?? scramFor(login, plus ? login.binding : null);
  if (mechanism === PLUS && login.config.channel_binding === 'prefer') attempt.reason = REASON.UNBOUND;
  // The server is not authenticated yet, so only plausible names are shown.
  const names = offered
    .filter(name => /^[A-Z0-9_-]{1,20}$/.test(name))
    .slice(0, 10)
    .join(', ');
  throw refuse(`the server offers ${names || 'nothing'} and not ${mechanism}`);
}

/** @returns {object} see `startScram`; bound to the channel if there is `binding` */
function scramFor(login, binding) {
  if (binding === null && login.config.channel_binding === 'require') {
    const why = !login.encrypted
      ? 'the connection has no TLS'
      : login.binding
        ? 'the server does not offer it'
        : "the server's certificate is signed with an algorithm that has none";
    throw refuse(`channel binding is required, but ${why}`);
  }
  return later.scram.startScram(passwordOf(login, SCRAM), { binding, able: login.binding !== null });
}

const initialResponse = ({ mechanism, first }) => answer(mechanism, '\0', first.length, first);

module.exports = { authenticate };
