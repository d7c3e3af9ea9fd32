'use strict';

const { failed } = require('./attempt');

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

const URL_KEY = 'openid-configuration';

/** @param {string} token '' asks what the server wants @returns {string} */
const firstMessage = token => `n,,\x01auth=${token && `Bearer ${token}`}\x01\x01`;

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
  throw failed('the server refuses the token for a malformed reason');
}

/** @returns {{issuer: string, openid_configuration: string, scope: string}} what a refusal names, with libpq's names */
function issuerIn({ [URL_KEY]: url, scope }) {
  const [, origin, before, behind] = ISSUER.exec(url) ?? [];
  if (!origin || (before && behind)) throw failed('the server names no https://…/.well-known/openid-configuration');
  return { issuer: origin + before + behind, openid_configuration: url, scope };
}

module.exports = { firstMessage, readRefusal, issuerIn };
