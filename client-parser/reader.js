import { int32 } from './datarow.js';
import { check } from './errors.js';

/** Types of the server's messages. Any other first byte is that of HTML, JSON or garbage. */
const TYPES = new Set('123ACDEGHIKNRSTVWZcdnstv');

/**
 * Cuts a byte stream into messages, whatever the chunks. A message is one byte of type and four of length, which counts
 * itself but not the type. Messages are positions in the chunk, which the stream may keep; only one that spans chunks
 * is copied.
 * https://www.postgresql.org/docs/current/protocol-overview.html#PROTOCOL-MESSAGE-CONCEPTS
 */
export class FrameReader {
  #chunks = []; // unread
  #pos = 0; // in the first one
  #unread = 0; // bytes in all of them

  /** @param {{message: function(string, Uint8Array, number, number), complete: boolean}} stream takes the messages */
  constructor(stream) {
    /** May be replaced between two results. */
    this.stream = stream;
  }

  /**
   * Takes the next bytes. After an error that the stream throws, the next call continues with the next message; after
   * malformed bytes, nothing more is read.
   * @throws {ProtocolError} for an unknown type, or a length below 4 or above 1 GiB, PostgreSQL's limit
   */
  push(bytes) {
    const chunks = this.#chunks;
    chunks.push(bytes);
    this.#unread += bytes.length;
    while (this.#unread >= 5) {
      this.#join(5);
      const type = String.fromCharCode(chunks[0][this.#pos]);
      const length = int32(chunks[0], this.#pos + 1) + 1;
      check(length > 4 && length < 2 ** 30 + 2 && TYPES.has(type), 'malformed message');
      if (this.#unread < length) break;
      this.#join(length);
      this.#pos += length;
      this.#unread -= length;
      this.stream.message(type, chunks[0], this.#pos - length, this.#pos);
    }
  }

  /**
   * Ends the input.
   * @throws {ProtocolError} 08006 in the middle of a message, or if the stream is not `complete`
   */
  end() {
    this.push(new Uint8Array(0));
    check(!this.#unread && this.stream.complete, 'the result is incomplete', '08006');
  }

  /** Makes the first chunk contain the next `length` bytes, and copies them if they span chunks. */
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
      chunks[i] = chunks[i].subarray(this.#pos + part.length);
      this.#pos = 0;
    }
    chunks.splice(0, i - 1, joined);
  }
}
