'use strict';

const { unexpected, REASON } = require('./attempt');
const { late } = require('../late');
const { backend, ConnectionError, frame, frontend, protocolError } = require('../protocol');

const later = late({
  crypto: () => require('node:crypto'),
  oauth: () => require('./oauth'),
  scram: () => require('./scram')
});

/** Codes of the Authentication messages. */
const OK = 0;
const CLEARTEXT = 3;
const MD5 = 5;
const SASL = 10;
const SASL_CONTINUE = 11;
const SASL_FINAL = 12;

/** Their methods in `require_auth`, and the methods that are not supported. */
const SCRAM = 'scram-sha-256';
const PLAIN = 'SCRAM-SHA-256';
const PLUS = `${PLAIN}-PLUS`;
const OAUTH = 'oauth';
const METHODS = {
  [OK]: 'none',
  [CLEARTEXT]: 'password',
  [MD5]: 'md5',
  [SASL]: SCRAM,
  [SASL_CONTINUE]: SCRAM,
  [SASL_FINAL]: SCRAM
};
const UNSUPPORTED = { 2: 'Kerberos V5', 6: 'SCM secrets', 7: 'GSSAPI', 8: 'GSSAPI', 9: 'SSPI' };

const refuse = what => new ConnectionError(what, { code: '28000' });

/** @returns {Buffer} a PasswordMessage, SASLInitialResponse or SASLResponse, which have one type byte */
const answer = (...parts) => frame(frontend.PasswordMessage, ...parts);

/**
 * What goes with the StartupMessage if `require_auth` leaves one method: `parts`, `isLast` if the client sends nothing
 * more, `isSecret` if they hold the secret itself, and `scram`, which has begun. md5 needs the server's salt.
 */
const AHEAD = {
  none: () => ({ parts: [], isLast: true }),
  password: login => ({ parts: [cleartext(login)], isLast: true, isSecret: true }),
  [SCRAM](login) {
    const scram = scramFor(login, login.binding());
    return { parts: [initialResponse(scram)], isLast: false, scram };
  },
  // Requests wait: behind a refused token the server reports them in place of it.
  [OAUTH]: async login => ({ parts: [await bearer(login)], isLast: false, isSecret: true })
};
const NOTHING = { parts: [], isLast: false };

function sentAhead(login) {
  const { single } = login.config.require_auth;
  if (!Object.hasOwn(AHEAD, single)) return NOTHING;
  checkAllowed(login, single);
  return AHEAD[single](login);
}

/**
 * How the client answers each method that the server asks for, up to AuthenticationOk, which OAUTHBEARER reads itself.
 */
const ANSWERS = {
  async password({ login, ahead, send }) {
    if (ahead === NOTHING) await send(true, cleartext(login));
  },

  async md5({ login, send }, salt) {
    await send(true, md5(login, salt));
  },

  async [SCRAM]({ login, ahead, attempt, send, expect }, offered) {
    const scram = chooseMechanism(login, offered, ahead.scram, attempt);
    if (ahead === NOTHING) await send(false, initialResponse(scram));
    const challenge = await expect(SASL_CONTINUE);
    const proof = await scram.final(challenge.toString('latin1'));
    const { unread } = attempt;
    if (unread.length > 0 && unread[0] !== backend.ErrorResponse) throw unexpected(unread[0]);
    await send(true, answer(proof));
    scram.verify((await expect(SASL_FINAL)).toString('latin1'));
  },

  async [OAUTH](exchange) {
    const { login, ahead, send } = exchange;
    if (ahead === NOTHING) await send(false, await bearer(login));
    await later.oauth.finish(exchange, answer('\x01'), early);
  }
};

/**
 * Sends the StartupMessage and authenticates in the way that the server asks for. The client refuses a method that
 * `require_auth` forbids, a cleartext password on a way that others can read, and AuthenticationOk before the method is
 * complete.
 * @param {object} login `config`, `password()`, `token()` ('' asks the server for the issuer), `encrypted`, `local`
 *   (the way is on this machine), `binding()` (tls-server-end-point data or null), and `secrets`, see connect.js
 * @param {object} exchange `attempt`, `startupMessage`, `early` (an answer may go with it), `send(isLast, bytes)`,
 *   `request()` (reads the next Authentication message)
 * @throws {ConnectionError} 28000 if the client refuses, 08P01 for a protocol violation
 */
async function authenticate(login, { attempt, startupMessage, early: isEarly, send, request }) {
  const ahead = isEarly ? await sentAhead(login) : NOTHING;
  await send(ahead.isLast, ahead === NOTHING ? startupMessage : Buffer.concat([startupMessage, ...ahead.parts]));
  const expect = async expected => {
    const { code, data } = await request();
    if (code === expected) return data;
    if (code === OK) throw refuse('the server accepted the client before it proved that it knows the password');
    throw early(code);
  };
  let first;
  try {
    first = await request();
  } catch (error) {
    // A secret that was sent under TLS is not sent again without.
    if (error.code === '28000' && attempt.encrypted && !ahead.isSecret) attempt.reason = REASON.REFUSED;
    throw error;
  }
  const { code, data } = first;
  const offered = code === SASL ? mechanismsIn(data) : [];
  const { oauth_token: token, require_auth: auth } = login.config;
  const prefersToken = (token && auth.allowed.has(OAUTH)) || !offered.includes(PLAIN); // a server may offer SCRAM, too
  const method = offered.includes('OAUTHBEARER') && prefersToken ? OAUTH : methodOf(code);
  checkAllowed(login, method);
  if (code === OK) return;
  if (code > SASL) throw early(code);
  await ANSWERS[method]({ login, ahead, attempt, send, request, expect }, code === SASL ? offered : data);
  if (method !== OAUTH) await expect(OK);
}

/** @returns {ConnectionError} for a message that may not come now */
const early = code =>
  protocolError(`the server ${code === OK ? 'accepts the client' : `asks for ${methodOf(code)}`} out of order`);

/** @returns {string} the method of `require_auth` for a code */
function methodOf(code) {
  const method = METHODS[code];
  if (method !== undefined) return method;
  throw refuse(`the server asks for ${UNSUPPORTED[code] ?? `method ${code}`}, which is not supported`);
}

/** Throws unless `require_auth` allows the method and it gives the `channel_binding` required. */
function checkAllowed({ config }, method) {
  const { allowed } = config.require_auth;
  const asks = `the server ${method === 'none' ? 'did not ask for authentication' : `asks for ${method}`}`;
  if (!allowed.has(method)) throw refuse(`${asks}, but require_auth allows only ${[...allowed].join(', ')}`);
  if (method !== SCRAM && config.channel_binding === 'require')
    throw refuse(`${asks}, but channel binding is required`);
}

/** @returns {string} the password; throws if there is none */
function passwordOf(login, method) {
  const password = login.password();
  if (password) return password;
  throw refuse(
    `no password was given, and authentication by ${method} needs one: set password, PGPASSWORD, or ` +
      'a line in the password file'
  );
}

function cleartext(login) {
  if (login.encrypted || login.local || login.config.require_auth.named.has('password'))
    return answer(passwordOf(login, 'password'), '\0');
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

/** @returns {string[]} the server's SASL mechanisms, each with a NUL behind it and one more at the end */
function mechanismsIn(list) {
  const offered = list.toString('latin1').split('\0');
  if (offered.pop() !== '' || offered.pop() !== '') throw protocolError('a list of SASL mechanisms without its end');
  return offered;
}

const bearer = async login => initialResponse(await later.oauth.begin(login, refuse));

/**
 * @param {object} [begun] the SCRAM that went with the StartupMessage
 * @returns {object} the SCRAM to continue
 */
function chooseMechanism(login, offered, begun, attempt) {
  const plus = offered.includes(PLUS);
  if (begun === undefined && plus && !login.encrypted) {
    throw refuse('the server offers SCRAM-SHA-256-PLUS over a connection without TLS');
  }
  const mechanism = begun?.mechanism ?? (plus && login.binding() ? PLUS : PLAIN);
  if (offered.includes(mechanism)) return begun ?? scramFor(login, plus ? login.binding() : null);
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
      : login.binding()
        ? 'the server does not offer it'
        : "the server's certificate is signed with an algorithm that has none";
    throw refuse(`channel binding is required, but ${why}`);
  }
  return later.scram.startScram(passwordOf(login, SCRAM), { binding, able: login.binding() !== null });
}

const initialResponse = ({ mechanism, first }) => answer(mechanism, '\0', first.length, first);

module.exports = { authenticate };
