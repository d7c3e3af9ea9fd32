'use strict';

const crypto = require('node:crypto');
const util = require('node:util');
const { ConnectionError } = require('../protocol');
const { saslprep } = require('./saslprep');

const pbkdf2 = util.promisify(crypto.pbkdf2);

/**
 * Most iterations done for a server, about half a second of a pool thread. PostgreSQL's default is 4,096; a
 * lying server must not be able to keep us busy with 2^31.
 */
const MAX_ITERATIONS = 1000000;

const SERVER_FIRST = /^r=([\x21-\x2b\x2d-\x7e]+),s=([A-Za-z0-9+/]+={0,2}),i=([1-9][0-9]{0,9})$/;
const SERVER_FINAL = /^v=([A-Za-z0-9+/]{43}=)$/;

// In a browser these are promises.
const hmac = (key, data) => crypto.createHmac('sha256', key).update(data).digest();
const sha256 = data => crypto.createHash('sha256').update(data).digest();

/** What was derived last: a pool opens its connections with one password, and deriving costs as much as connecting. */
let last = {};

/**
 * Derives what a client and a server prove to each other they know (RFC 5802, section 3), off the event loop.
 * @param {string} password
 * @param {string} salt in base64
 * @param {number} iterations
 * @returns {Promise<{clientKey: Buffer, serverKey: Buffer}>}
 */
function deriveKeys(password, salt, iterations) {
  if (last.password !== password || last.salt !== salt || last.iterations !== iterations) {
    // What cannot be prepared is taken as it is, as PostgreSQL does.
    const keys = pbkdf2(saslprep(password) ?? password, Buffer.from(salt, 'base64'), iterations, 32, 'sha256')
      .then(async key => ({ clientKey: await hmac(key, 'Client Key'), serverKey: await hmac(key, 'Server Key') }));
    last = { password, salt, iterations, keys };
  }
  return last.keys;
}

/** @returns {ConnectionError} the server did something that SCRAM does not allow */
const refused = what => new ConnectionError(`SCRAM authentication failed: ${what}`, { code: '28000' });

/**
 * The client's side of one SCRAM-SHA-256 or SCRAM-SHA-256-PLUS exchange (RFC 5802, RFC 7677). The user name
 * is left empty: PostgreSQL takes the one of the StartupMessage.
 *
 *     C: client-first   n,,n=,r=NONCE
 *     S: server-first   r=NONCE+MORE,s=SALT,i=ITERATIONS
 *     C: client-final   c=BINDING,r=NONCE+MORE,p=PROOF
 *     S: server-final   v=SIGNATURE
 *
 * @param {string} password
 * @param {object} [options]
 * @param {Buffer|null} [options.binding=null] tls-server-end-point data: makes it SCRAM-SHA-256-PLUS
 * @param {boolean} [options.able=false] we could have bound, but the server did not offer it: if it did
 *   offer it and somebody took that out on the way, the server will now notice ("y" in the header)
 * @param {string} [options.nonce] for tests
 * @param {string} [options.user=''] for tests
 * @returns {{mechanism: string, first: string, final: function(string): Promise<string>, verify: function(string)}}
 *   `first` is the client-first-message; `final` makes the client-final-message of the server-first-message,
 *   `verify` checks the server-final-message; both throw a ConnectionError (28000)
 */
function startScram(password, { binding = null, able = false, nonce, user = '' } = {}) {
  const ours = nonce ?? crypto.randomBytes(18).toString('base64');
  const header = binding ? 'p=tls-server-end-point,,' : able ? 'y,,' : 'n,,';
  const firstBare = `n=${user},r=${ours}`;
  let right = null; // the server's signature

  return {
    mechanism: binding ? 'SCRAM-SHA-256-PLUS' : 'SCRAM-SHA-256',
    first: header + firstBare,

    async final(serverFirst) {
      const [, theirs, salt, count] = SERVER_FIRST.exec(serverFirst) ?? [];
      if (theirs === undefined) throw refused('the server\'s first message is malformed');
      if (theirs === ours || !theirs.startsWith(ours)) throw refused('the server\'s nonce does not continue ours');
      if (count > MAX_ITERATIONS) {
        throw refused(`the server asks for ${count} iterations, at most ${MAX_ITERATIONS} are done`);
      }
      const { clientKey, serverKey } = await deriveKeys(password, salt, Number(count));
      const channel = Buffer.concat([Buffer.from(header), binding ?? Buffer.alloc(0)]).toString('base64');
      const withoutProof = `c=${channel},r=${theirs}`;
      const authMessage = `${firstBare},${serverFirst},${withoutProof}`;
      const signature = await hmac(await sha256(clientKey), authMessage);
      const proof = signature.map((byte, i) => byte ^ clientKey[i]);
      right = await hmac(serverKey, authMessage);
      return `${withoutProof},p=${Buffer.from(proof).toString('base64')}`;
    },

    verify(serverFinal) {
      const [, signature] = SERVER_FINAL.exec(serverFinal) ?? [];
      if (signature === undefined) throw refused('the server\'s final message is malformed');
      if (right === null || !crypto.timingSafeEqual(Buffer.from(signature, 'base64'), right)) {
        throw refused('the server\'s signature is wrong, it does not know the password');
      }
    }
  };
}

module.exports = { startScram, MAX_ITERATIONS };
