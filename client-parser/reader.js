import { int32 } from './datarow.js';
import { check, PostgresError, ProtocolError } from './errors.js';

/** Types of the messages that a server sends; by what else comes first one knows HTML, JSON and garbage. */
const TYPES = '123ACDEGHIKNRSTVWZcdnstv';

const NOTHING = new Uint8Array(0);

/**
 * Cuts a byte stream into messages, whatever the chunks it arrives in. A message is one byte of type and four
 * of length, which counts itself but not the type.
 * https://www.postgresql.org/docs/current/protocol-overview.html#PROTOCOL-MESSAGE-CONCEPTS
 *
 * Messages are not copied: they are given as places in the chunk, which the receiver may keep. Only one that
 * lies across chunks is put together in memory of its own.
 */
export class FrameReader {
  #held = NOTHING; // the beginning of a message whose end has not arrived
  #length = 0; // of it
  #chunks = []; // to be read: more than one only after an ErrorResponse
  #pos = 0; // in the first of them
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
    try {
      for (; this.#chunks.length > 0; this.#chunks.shift(), this.#pos = 0) this.#read(this.#chunks[0]);
    } catch (error) {
      if (!(error instanceof PostgresError)) this.#broken = error;
      throw error;
    }
  }

  #read(bytes) {
    while (this.#pos < bytes.length) {
      const start = this.#pos;
      const end = this.#length > 0 || bytes.length - start < 5 ? Infinity : this.#end(bytes, start);
      if (end > bytes.length) this.#gather(bytes);
      else {
        this.#pos = end;
        this.receiver.message(bytes[start], bytes, start, end);
      }
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
    check(length >= 4 && length <= this.maxLength && TYPES.includes(String.fromCharCode(bytes[pos])),
      'no PostgreSQL message');
    return pos + 1 + length;
  }

  /** Adds what belongs to it to the message that is put together, and gives that when it is whole. */
  #gather(bytes) {
    const known = this.#length >= 5;
    const total = known ? this.#end(this.#held, 0) : 5;
    const part = bytes.subarray(this.#pos, this.#pos + total - this.#length);
    const length = this.#length + part.length;
    if (length > this.#held.length) {
      // Doubling keeps the copying linear, and memory within twice what has been received.
      const larger = new Uint8Array(Math.min(total, Math.max(1024, length, 2 * this.#held.length)));
      larger.set(this.#held);
      this.#held = larger;
    }
    this.#held.set(part, this.#length);
    this.#pos += part.length;
    this.#length = length;
    if (length < 5 || length < this.#end(this.#held, 0)) return;
    const message = this.#held;
    this.#held = NOTHING;
    this.#length = 0;
    this.receiver.message(message[0], message, 0, length);
  }
}
