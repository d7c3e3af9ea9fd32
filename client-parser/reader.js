import { int32 } from './datarow.js';
import { check, ProtocolError } from './errors.js';
import { PostgresError } from './messages.js';

/** Types of the messages that a server sends; by what else comes first one knows HTML, JSON and garbage. */
const TYPES = '123ACDEGHIKNRSTVWZcdnstv';

/**
 * Cuts a byte stream into messages, whatever the chunks it arrives in. A message is one byte of type and four
 * of length, which counts itself but not the type.
 * https://www.postgresql.org/docs/current/protocol-overview.html#PROTOCOL-MESSAGE-CONCEPTS
 *
 * Messages are not copied: they are given as places in the chunk, which the receiver may keep. Only one that
 * lies across chunks is put together in memory of its own.
 */
export class FrameReader {
  #chunks = []; // what has not been read
  #pos = 0; // in the first of them
  #left = 0; // bytes in all of them
  #broken; // the error that ended it

  /** @param {{message: function(number, Uint8Array, number, number), complete: boolean}} receiver */
  constructor(receiver) {
    this.receiver = receiver;
    /** Longest message accepted, as its length word counts; 1 GiB, PostgreSQL's own limit. */
    this.maxLength = 2 ** 30;
  }

  /**
   * Takes the next bytes. What the receiver throws comes out of here: after a PostgresError the next call
   * goes on with the message behind it, any other error is thrown by every later call too.
   * @param {Uint8Array} bytes
   * @throws {ProtocolError} for an unknown type, or a length below 4 or above maxLength
   */
  push(bytes) {
    if (this.#broken !== undefined) throw this.#broken;
    this.#chunks.push(bytes);
    this.#left += bytes.length;
    try {
      while (this.#left >= 5) {
        this.#join(5);
        const length = 1 + this.#lengthAt(this.#chunks[0], this.#pos);
        if (this.#left < length) break;
        this.#join(length);
        const start = this.#pos;
        this.#pos += length;
        this.#left -= length;
        this.receiver.message(this.#chunks[0][start], this.#chunks[0], start, this.#pos);
      }
    } catch (error) {
      if (!(error instanceof PostgresError)) this.#broken = error;
      throw error;
    }
  }

  /**
   * Says that no more bytes come.
   * @throws {ProtocolError} 08006 in the middle of a message, or if the receiver is not `complete`
   */
  end() {
    this.push(new Uint8Array(0));
    if (this.#left > 0 || !this.receiver.complete) {
      throw new ProtocolError('the stream ended before the result did', '08006');
    }
  }

  #lengthAt(bytes, pos) {
    const length = int32(bytes, pos + 1);
    check(length >= 4 && length <= this.maxLength && TYPES.includes(String.fromCharCode(bytes[pos])),
      'no PostgreSQL message');
    return length;
  }

  /** Makes the first chunk hold the next bytes, so many; what lies across chunks is copied. */
  #join(length) {
    const chunks = this.#chunks;
    for (; chunks[0].length === this.#pos; this.#pos = 0) chunks.shift();
    if (chunks[0].length - this.#pos >= length) return;
    const joined = new Uint8Array(length);
    let i = 0;
    for (let filled = 0; filled < length; i++) {
      const part = chunks[i].subarray(this.#pos, this.#pos + length - filled);
      joined.set(part, filled);
      filled += part.length;
      if (filled === length) chunks[i] = chunks[i].subarray(this.#pos + part.length);
      this.#pos = 0;
    }
    chunks.splice(0, i - 1, joined);
  }
}
