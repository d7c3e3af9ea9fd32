'use strict';

const { Buffer } = require('./buffer');

/*
 * What authentication needs of Node's crypto. A platform has only asynchronous digests, and none of MD5, so these
 * are our own; the costly part, the derivation of keys, is the platform's.
 */

const rotate = (x, n) => x << n | x >>> 32 - n;

/** The first 32 bits behind the point of roots of the first primes (FIPS 180-4, sections 4.2.2 and 5.3.3). */
function rootsOfPrimes(count, exponent) {
  const roots = [];
  for (let n = 2; roots.length < count; n++) {
    let prime = true;
    for (let i = 2; i * i <= n; i++) if (n % i === 0) prime = false;
    if (prime) roots.push((n ** exponent % 1) * 2 ** 32 | 0);
  }
  return roots;
}

const SHA256_K = rootsOfPrimes(64, 1 / 3);
const SHA256_START = rootsOfPrimes(8, 1 / 2);
const MD5_K = Array.from({ length: 64 }, (_, i) => Math.abs(Math.sin(i + 1)) * 2 ** 32 | 0);
const MD5_START = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476];
const MD5_SHIFTS = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/** FIPS 180-4, section 6.2.2. */
function sha256Block(state, block) {
  const w = Array.from({ length: 16 }, (_, i) => block.getInt32(4 * i));
  for (let i = 16; i < 64; i++) {
    const [a, b] = [w[i - 15], w[i - 2]];
    const [c, d] = [rotate(a, 25) ^ rotate(a, 14) ^ a >>> 3, rotate(b, 15) ^ rotate(b, 13) ^ b >>> 10];
    w[i] = w[i - 16] + c + w[i - 7] + d | 0;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i++) {
    const one = h + (rotate(e, 26) ^ rotate(e, 21) ^ rotate(e, 7)) + (e & f ^ ~e & g) + SHA256_K[i] + w[i] | 0;
    const two = (rotate(a, 30) ^ rotate(a, 19) ^ rotate(a, 10)) + (a & b ^ a & c ^ b & c) | 0;
    [a, b, c, d, e, f, g, h] = [one + two | 0, a, b, c, d + one | 0, e, f, g];
  }
  return [a, b, c, d, e, f, g, h].map((word, i) => word + state[i] | 0);
}

/** RFC 1321, section 3.4. */
function md5Block(state, block) {
  let [a, b, c, d] = state;
  for (let i = 0; i < 64; i++) {
    const round = i >> 4;
    const [mix, at] = round === 0 ? [b & c | ~b & d, i]
      : round === 1 ? [b & d | c & ~d, 5 * i + 1]
        : round === 2 ? [b ^ c ^ d, 3 * i + 5]
          : [c ^ (b | ~d), 7 * i];
    const sum = a + mix + MD5_K[i] + block.getInt32(4 * (at % 16), true) | 0;
    [a, b, c, d] = [d, b + rotate(sum, MD5_SHIFTS[round][i % 4]) | 0, b, c];
  }
  return [a, b, c, d].map((word, i) => word + state[i] | 0);
}

const DIGESTS = {
  sha256: { compress: sha256Block, start: SHA256_START, little: false },
  md5: { compress: md5Block, start: MD5_START, little: true }
};

/** @returns {Buffer} the digest of bytes */
function digest(name, bytes) {
  const { compress, start, little } = DIGESTS[name];
  // One bit, zeros, and the length in bits fill the last block.
  const padded = Buffer.alloc(Math.ceil((bytes.length + 9) / 64) * 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n, little);
  let state = start;
  for (let off = 0; off < padded.length; off += 64) state = compress(state, new DataView(padded.buffer, off, 64));
  const result = Buffer.alloc(4 * state.length);
  for (const [i, word] of state.entries()) new DataView(result.buffer).setInt32(4 * i, word, little);
  return result;
}

/** @returns {{update: function, digest: function}} like Node's Hash and Hmac */
function collect(finish) {
  const parts = [];
  return {
    update(part) {
      parts.push(Buffer.from(part));
      return this;
    },
    digest(encoding) {
      const result = finish(Buffer.concat(parts));
      return encoding === undefined ? result : result.toString(encoding);
    }
  };
}

const createHash = name => collect(bytes => digest(name, bytes));

/** RFC 2104. */
function createHmac(name, key) {
  const block = Buffer.alloc(64);
  block.set(key.length > 64 ? digest(name, key) : key);
  const inner = block.map(byte => byte ^ 0x36);
  const outer = block.map(byte => byte ^ 0x5c);
  return collect(bytes => digest(name, Buffer.concat([outer, digest(name, Buffer.concat([inner, bytes]))])));
}

/** @returns {Promise<Buffer>} PBKDF2 with HMAC-SHA-256 */
async function pbkdf2(password, salt, iterations, length) {
  const { subtle } = globalThis.crypto;
  if (subtle === undefined) {
    const { UsageError } = require('../../protocol'); // which needs this platform itself
    throw new UsageError('SCRAM needs crypto.subtle, which browsers have only on https: pages and on localhost',
      '0A000');
  }
  const key = await subtle.importKey('raw', Buffer.from(password), 'PBKDF2', false, ['deriveBits']);
  const bits = await subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-256', salt, iterations }, key, 8 * length);
  return Buffer.from(bits);
}

const randomBytes = length => globalThis.crypto.getRandomValues(Buffer.alloc(length));
const randomInt = limit => Math.floor(randomBytes(4).readUInt32BE() / 2 ** 32 * limit);

function timingSafeEqual(a, b) {
  let different = 0;
  for (let i = 0; i < a.length; i++) different |= a[i] ^ b[i];
  return different === 0;
}

module.exports = { createHash, createHmac, pbkdf2, randomBytes, randomInt, timingSafeEqual };
