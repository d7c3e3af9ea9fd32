'use strict';

const { backend: { CopyData, DataRow } } = require('./codes');
const { protocolError } = require('./errors');

/** PostgreSQL's own limit, as the length word counts. */
const MAX_LENGTH = 0x40000000;

/**
 * @param {Buffer} buf has a message at pos, or at least its first five bytes
 * @param {number} pos
 * @param {number} [max] longest message that is accepted; 1 GiB unless given
 * @returns {number} its length in bytes, without the one of the type
 * @throws {ConnectionError} 08P01 for a length below 4 or above max
 */
function lengthAt(buf, pos, max = MAX_LENGTH) {
  const length = ((buf[pos + 1] << 24) | (buf[pos + 2] << 16) | (buf[pos + 3] << 8) | buf[pos + 4]) >>> 0;
  if (length < 4 || length > max) {
    throw protocolError(`a message of type 0x${buf[pos].toString(16).padStart(2, '0')} announces ${length} bytes`);
  }
  return length;
}

/**
 * Cuts the server's byte stream into messages, whatever the chunks it arrives in. Every message starts with one
 * byte of type and four of length, which counts itself but not the type.
 * https://www.postgresql.org/docs/current/protocol-overview.html#PROTOCOL-MESSAGE-CONCEPTS
 *
 * A handler has `message(type, buf, start, end, count)`: one whole message in buf[start … end), or, for DataRow
 * and CopyData, `count` of them one after another. The memory is used again after the call,
 * unless `reader.owned` is true: then it holds nothing else and the handler may keep it.
 */
class FrameReader {
  #held = null; // the beginning of a message whose end has not arrived
  #heldLength = 0;

  /** @param {{message: function}} [handler] may be replaced at any time, also inside a call */
  constructor(handler) {
    this.handler = handler;
    /** Whether the handler may keep the memory that it is given. */
    this.owned = false;
    this.stopped = false;
  }

  /** No message is delivered any more, also not from the chunk that is being read. */
  stop() {
    this.stopped = true;
    this.#held = null;
  }

  /**
   * Takes the next bytes of the stream.
   * @param {Uint8Array} chunk a Buffer
   * @param {number} [length=chunk.length] how many bytes of it count
   * @throws {ConnectionError} 08P01 for a length below 4 or above 1 GiB
   */
  push(chunk, length = chunk.length) {
    let pos = this.#held === null ? 0 : this.#complete(chunk, length);
    while (length - pos >= 5 && !this.stopped) {
      // What `lengthAt` does, for every message.
      const size = (chunk[pos + 1] << 24) | (chunk[pos + 2] << 16) | (chunk[pos + 3] << 8) | chunk[pos + 4];
      let end = pos + 1 + (size >= 4 && size <= MAX_LENGTH ? size : lengthAt(chunk, pos));
      if (end > length) break;
      const type = chunk[pos];
      let count = 1;
      if (type === DataRow || type === CopyData) {
        // The run is what makes a large result cheap: one call for all the rows of a chunk.
        while (length - end >= 5 && chunk[end] === type) {
          const next = end + 1 + lengthAt(chunk, end);
          if (next > length) break;
          end = next;
          count++;
        }
      }
      const start = pos;
      pos = end;
      this.handler.message(type, chunk, start, end, count);
    }
    if (pos >= length || this.stopped) return;
    this.#held = Buffer.allocUnsafeSlow(length - pos);
    this.#heldLength = chunk.copy(this.#held, 0, pos, length);
  }

  /**
   * Goes on with the held message; when its last byte is there, delivers it.
   * @returns {number} how many bytes of the chunk it took
   */
  #complete(chunk, length) {
    const held = this.#held;
    const had = this.#heldLength;
    if (had < 5) { // its length is not known yet
      this.#held = null;
      this.push(Buffer.concat([held.subarray(0, had), chunk.subarray(0, length)]));
      return length;
    }
    const total = 1 + lengthAt(held, 0);
    const taken = Math.min(total - had, length);
    this.#heldLength += taken;
    if (this.#heldLength > held.length) {
      // Doubling keeps the copying linear, and memory within twice what has been received.
      this.#held = Buffer.allocUnsafeSlow(Math.min(total, Math.max(this.#heldLength, 2 * held.length)));
      held.copy(this.#held, 0, 0, had);
    }
    chunk.copy(this.#held, had, 0, taken);
    if (this.#heldLength < total) return taken;
    const message = this.#held;
    this.#held = null;
    this.owned = message.length === total;
    this.handler.message(message[0], message, 0, total, 1);
    this.owned = false;
    return taken;
  }
}

module.exports = { FrameReader, lengthAt };
