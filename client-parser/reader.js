import { int32 } from './datarow.js';
import { PostgresError, ProtocolError } from './errors.js';

/** Types of the messages that a server sends; by what else comes first one knows HTML, JSON and garbage. */
const TYPES = new Set(Array.from('123ACDEGHIKNRSTVWZcdnstv', type => type.charCodeAt(0)));

/**
 * Cuts a byte stream into messages, whatever the chunks it arrives in. A message is one byte of type and four
 * of length, which counts itself but not the type.
 * https://www.postgresql.org/docs/current/protocol-overview.html#PROTOCOL-MESSAGE-CONCEPTS
 *
 * Messages are not copied: they are given as places in the chunk, which the receiver may keep. Only one that
 * lies across chunks is put together in memory of its own.
 */
export class FrameReader {
  #held = new Uint8Array(0); // the beginning of a message whose end has not arrived
  #length = 0; // of it
  #chunks = []; // to be read: more than one only after an ErrorResponse
  #broken; // the error that ended it

  /** @param {{message: function(number, Uint8Array, number, number), complete: boolean}} receiver */
  constructor(receiver) {
    this.receiver = receiver;
    /** Longest message accepted, as its length word counts; 1 GiB, PostgreSQL's own limit. */
    this.maxLength = 0x40000000;
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
    while (this.#chunks.length > 0) this.#read(this.#chunks.shift());
  }

  #read(bytes) {
    let pos = 0;
    try {
      if (this.#length > 0) {
        pos = this.#gather(bytes);
        const length = this.#length;
        if (length >= 5 && length === this.#end(this.#held, 0)) {
          this.#length = 0;
          this.receiver.message(this.#held[0], this.#held, 0, length);
        }
      }
      while (bytes.length - pos >= 5) {
        const start = pos;
        const end = this.#end(bytes, start);
        if (end > bytes.length) break;
        pos = end;
        this.receiver.message(bytes[start], bytes, start, end);
      }
      if (pos < bytes.length) this.#hold(bytes, pos);
    } catch (error) {
      if (error instanceof PostgresError) this.#chunks.unshift(bytes.subarray(pos));
      else this.#broken = error;
      throw error;
    }
  }

  /**
   * Says that no more bytes come.
   * @throws {ProtocolError} 08006 in the middle of a message, or if the receiver is not `complete`
   */
  end() {
    this.push(new Uint8Array(0));
    if (this.#length > 0 || !this.receiver.complete) {
      throw new ProtocolError('the stream ended before the result did', '08006');
    }
  }

  /** Offset after the message at `pos`, whose beginning is checked. */
  #end(bytes, pos) {
    const length = int32(bytes, pos + 1);
    if (length < 4 || length > this.maxLength || !TYPES.has(bytes[pos])) {
      throw new ProtocolError(`no PostgreSQL message: type ${bytes[pos]}, length ${length >>> 0}`);
    }
    return pos + 1 + length;
  }

  /** Keeps what is left of a chunk. */
  #hold(bytes, pos) {
    const length = bytes.length - pos;
    const total = length < 5 ? 64 : this.#end(bytes, pos);
    this.#held = new Uint8Array(Math.min(total, Math.max(1024, 2 * length)));
    this.#held.set(bytes.subarray(pos));
    this.#length = length;
  }

  /**
   * Goes on with the held message.
   * @returns {number} how many bytes it took
   */
  #gather(bytes) {
    let pos = 0;
    while (this.#length < 5 && pos < bytes.length) this.#held[this.#length++] = bytes[pos++];
    if (this.#length < 5) return pos;
    const total = this.#end(this.#held, 0);
    const part = bytes.subarray(pos, pos + total - this.#length);
    const needed = this.#length + part.length;
    if (needed > this.#held.length) {
      // Doubling keeps the copying linear, and memory within twice what has been received.
      const larger = new Uint8Array(Math.min(total, Math.max(needed, 2 * this.#held.length)));
      larger.set(this.#held.subarray(0, this.#length));
      this.#held = larger;
    }
    this.#held.set(part, this.#length);
    this.#length = needed;
    return pos + part.length;
  }
}
