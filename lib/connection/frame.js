'use strict';

const { Buffer } = require('#platform');

/**
 * Makes one of the few messages that are sent while connecting.
 * @param {number|null} type its first byte; null for the client's first message, which has none
 * @param {...(string|Buffer|number)} parts of what follows the length; a number takes four bytes
 * @returns {Buffer}
 */
function frame(type, ...parts) {
  const body = Buffer.concat(parts.map(part => typeof part === 'number' ? int32(part) : Buffer.from(part)));
  return Buffer.concat([Buffer.from(type === null ? [] : [type]), int32(body.length + 4), body]);
}

function int32(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

module.exports = { frame };
