'use strict';

const { Attempt, failed } = require('./attempt');

/*
 * The messages of OAUTHBEARER (RFC 7628). A server that refuses a token says why in JSON, and names the document that
 * says who issues tokens for it.
 *
 *     C: n,,^Aauth=Bearer TOKEN^A^A        without a token: n,,^Aauth=^A^A
 *     S: {"status": "invalid_token", "openid-configuration": "https://…", "scope": "…"}
 *     C: ^A
 */

/**
 * The issuer's origin and path of a discovery URL, as libpq takes them out (RFC 8414, section 3.1): one path at most.
 */
const ISSUER =
  /^(https:\/\/[^/?#\s]+)((?:\/(?!\.well-known\/)[^/?#\s]*)*)\/\.well-known\/(?:openid-configuration|oauth-authorization-server)((?:\/[^?#\s]*)?)$/;

/** The code of AuthenticationSASLContinue. */
const CONTINUE = 11;

const URL_KEY = 'openid-configuration';

/**
 * @param {Buffer} data untrusted
 * @returns {object} what the server says of a token that it refuses: `status`, and perhaps `openid-configuration` and
 * `scope`
 */
function readRefusal(data) {
  try {
    const said = JSON.parse(data);
    if ([said.status, said[URL_KEY] ?? '', said.scope ?? ''].every(each => typeof each === 'string')) return said;
  } catch {} // not JSON
  throw failed('the refusal of the token is malformed');
}

/** @returns {{issuer: string, openid_configuration: string, scope: string}} what a refusal names, with libpq's names */
function issuerIn({ [URL_KEY]: url, scope }) {
  const [, origin, before, behind] = ISSUER.exec(url) ?? [];
  if (!origin || (before && behind)) throw failed('the server names no https://… discovery URL');
  return { issuer: origin + before + behind, openid_configuration: url, scope };
}

/** @returns {Promise<object>} the SASL mechanism, and the first message */
async function begin({ encrypted, local, token, secrets }, refuse) {
  // Naming oauth in `require_auth` does not allow others to read the token.
  if (!encrypted && !local) throw refuse('a token goes to another host over TLS alone: use sslmode=verify-full');
  const sent = (secrets.sent = await token());
  if (sent === undefined) throw refuse('no OAuth token was given: set oauth_token');
  return { mechanism: 'OAUTHBEARER', first: `n,,\x01auth=${sent && `Bearer ${sent}`}\x01\x01` };
}

/** @param {function(number): Error} early makes the error of a code that may not come now */
async function finish({ login: { secrets }, send, request }, end, early) {
  const { code, data } = await request();
  secrets.isAccepted = code === 0 && secrets.sent !== '';
  if (secrets.isAccepted) return;
  if (code !== CONTINUE) throw early(code);
  secrets.refusal = readRefusal(data);
  await send(false, end);
  const next = await request().catch(error => {
    error.detail = JSON.stringify(secrets.refusal);
    throw error;
  });
  throw early(next.code);
}

/** Asks a server who issues the tokens that it takes, on a connection of its own, which the server then ends. */
async function discover(open, config, server, plan, main) {
  const attempt = new Attempt(server.where, plan);
  main.wait(() => {}).catch(error => attempt.fail(error));
  const asking = { password: () => () => undefined, token: async () => '' };
  const ready = () => {
    throw failed('the server asks for no token');
  };
  const opened = open(config, server, plan, asking, attempt, { notice() {}, ready });
  const error = await opened.catch(reason => attempt.fail(reason));
  if (!asking.refusal) throw error;
  return issuerIn(asking.refusal);
}

module.exports = { begin, discover, finish, issuerIn, readRefusal };
