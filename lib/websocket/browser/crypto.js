'use strict';

const { Buffer } = require('./buffer');

/*
 * What authentication needs of Node's crypto, by the platform's own, whose digests are promises. Of MD5, which
 * PostgreSQL gives up, platforms have none.
 */

/** @returns {SubtleCrypto} */
function subtle() {
  const { subtle } = globalThis.crypto;
  if (subtle !== undefined) return subtle;
  const { UsageError } = require('../../protocol'); // which needs this platform itself
  throw new UsageError('SCRAM needs crypto.subtle, which browsers have only on https: pages and on localhost', '0A000');
}

const SHA256 = { name: 'SHA-256' };
const HMAC = { name: 'HMAC', hash: SHA256 };

const importKey = (key, algorithm, use) => subtle().importKey('raw', Buffer.from(key), algorithm, false, [use]);

/** @returns {{update: function(Buffer|string), digest: function(): Promise<Buffer>}} a Hash or Hmac of one update */
const collect = finish => ({
  update: data => ({ digest: async () => Buffer.from(await finish(Buffer.from(data))) })
});

function createHash(name) {
  if (name === 'sha256') return collect(data => subtle().digest(SHA256, data));
  const { UsageError } = require('../../protocol');
  throw new UsageError(`browsers have no ${name}: let the server keep the password for scram-sha-256`, '0A000');
}

const createHmac = (name, key) => collect(async data => subtle().sign(HMAC, await importKey(key, HMAC, 'sign'), data));

/** @returns {Promise<Buffer>} PBKDF2 with HMAC-SHA-256 */
async function pbkdf2(password, salt, iterations, length) {
  const key = await importKey(password, 'PBKDF2', 'deriveBits');
  return Buffer.from(await subtle().deriveBits({ name: 'PBKDF2', hash: SHA256, salt, iterations }, key, 8 * length));
}

const randomBytes = length => globalThis.crypto.getRandomValues(Buffer.alloc(length));
const timingSafeEqual = (a, b) => a.reduce((different, byte, i) => different | byte ^ b[i], 0) === 0;

module.exports = { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual };
