'use strict';

const crypto = require('node:crypto');
const { late } = require('../late');
const { ConnectionError } = require('../protocol');

// Its expressions take milliseconds to make.
const later = late({ saslprep: () => require('./saslprep') });

const pbkdf2 = require('node:util').promisify(crypto.pbkdf2);

/**
 * The most iterations done for a server, about half a second of a pool thread; PostgreSQL's default is 4,096. A hostile
 * server could demand 2^31.
 */
const MAX_ITERATIONS = 1000000;

const SERVER_FIRST = /^r=([\x21-\x2b\x2d-\x7e]+),s=([A-Za-z0-9+/]+={0,2}),i=([1-9]\d{0,9})$/;
const SERVER_FINAL = /^v=([A-Za-z0-9+/]{43}=)$/;

// In a browser these are promises.
const hmac = (key, data) => crypto.createHmac('sha256', key).update(data).digest();
const sha256 = data => crypto.createHash('sha256').update(data).digest();

/** The last derived keys: a pool uses one password, and deriving costs as much as connecting. */
let last = {};

/** Derives both sides' keys (RFC 5802, section 3), off the event loop. */
function deriveKeys(password, salt, iterations) {
  if (last.password !== password || last.salt !== salt || last.iterations !== iterations) {
    // As in PostgreSQL, a password that SASLprep prohibits is used unchanged; it changes nothing in ASCII.
    const prepared = /^[ -~]+$/.test(password) ? password : (later.saslprep.saslprep(password) ?? password);
    const keys = pbkdf2(prepared, Buffer.from(salt, 'base64'), iterations, 32, 'sha256').then(async key => ({
      clientKey: await hmac(key, 'Client Key'),
      serverKey: await hmac(key, 'Server Key')
    }));
    last = { password, salt, iterations, keys };
  }
  return last.keys;
}

const refused = what => new ConnectionError(`SCRAM authentication failed: ${what}`, { code: '28000' });

/**
 * The client's side of SCRAM-SHA-256 or SCRAM-SHA-256-PLUS (RFC 5802, RFC 7677). The user name is empty, since
 * PostgreSQL uses that of the StartupMessage.
 *
 *     C: client-first n,,n=,r=NONCE
 *     S: server-first r=NONCE+MORE,s=SALT,i=ITERATIONS
 *     C: client-final c=BINDING,r=NONCE+MORE,p=PROOF
 *     S: server-final v=SIGNATURE
 *
 * @param {object} [options] `binding`: tls-server-end-point data for SCRAM-SHA-256-PLUS; `able`: the client could
 *   bind, but the server did not offer it, so that the server detects a manipulated offer ("y" in the header); `nonce`
 *   and `user` are for tests
 * @returns {{mechanism: string, first: string, final: function(string): Promise<string>, verify: function(string)}}
 *   `final` makes the client-final-message, `verify` checks the server-final-message; both throw a ConnectionError
 *   (28000)
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
      if (theirs === undefined) throw refused("the server's first message is malformed");
      if (theirs === ours || !theirs.startsWith(ours))
        throw refused("the server's nonce does not continue that of the client");
      if (count > MAX_ITERATIONS) {
        throw refused(`the server asks for ${count} iterations; the limit is ${MAX_ITERATIONS}`);
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
      if (signature === undefined) throw refused("the server's final message is malformed");
      if (right === null || !crypto.timingSafeEqual(Buffer.from(signature, 'base64'), right)) {
        throw refused("the server's signature is wrong, it does not know the password");
      }
    }
  };
}

module.exports = { startScram, MAX_ITERATIONS };
