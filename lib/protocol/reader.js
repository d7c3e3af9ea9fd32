'use strict';

const { Buffer } = require('#platform');
const { protocolError } = require('./errors');

const DATA_ROW = 68; // D
const COPY_DATA = 100; // d

/** A message that comes in two chunks is put together in memory that is used again, if it is not longer. */
const SCRATCH = 4096;

/** A longer DataRow or CopyData can be delivered in parts; a shorter one is put together at little cost. */
const PARTS = 131072;

/**
 * Cuts the server's byte stream into messages, whatever the chunks it arrives in. Every message starts with one
 * byte of type and four of length, which counts itself but not the type.
 * https://www.postgresql.org/docs/current/protocol-overview.html#PROTOCOL-MESSAGE-CONCEPTS
 *
 * A handler has `message(type, buf, start, end, count)`: one whole message in buf[start … end), or, for DataRow
 * and CopyData, `count` of them one after another. The memory is the reader's and only lent for the call,
 * unless `reader.owned` is true: then it holds nothing else and the handler may keep it.
 *
 * A handler may also have `takesParts(type)`: where it returns true for the DataRow or CopyData that comes next,
 * and that is a long one, its bytes are not gathered but given as they come, to
 * `part(type, buf, start, end, left)`; `left` bytes of it are to follow.
 */
class FrameReader {
  /** @param {{message: function}} handler may be replaced at any time, also inside a call */
  constructor(handler) {
    this.handler = handler;
    /** Longest message accepted, in bytes, as its length word counts them; PostgreSQL's own limit is 1 GiB. */
    this.maxLength = 0x40000000;
    this.owned = false;
    this.stopped = false;
    this._held = null; // the beginning of a message whose end has not arrived
    this._heldLength = 0;
    this._scratch = null;
    this._left = 0; // bytes to come of a message that is delivered in parts
    this._type = 0; // of that message
  }

  /** No message is delivered any more, also not from the chunk that is being read. */
  stop() {
    this.stopped = true;
    this._held = null;
  }

  /**
   * Takes the next bytes of the stream.
   * @param {Uint8Array} chunk a Buffer
   * @param {number} [length=chunk.length] how many bytes of it count
   * @throws {ConnectionError} 08P01 for a length below 4 or above maxLength
   */
  push(chunk, length = chunk.length) {
    let pos = 0;
    if (this._left > 0) pos = this._part(chunk, 0, length);
    else if (this._held !== null) pos = this._complete(chunk, length);
    while (length - pos >= 5 && !this.stopped) {
      // What `_length` does, for every message.
      const size = (chunk[pos + 1] << 24) | (chunk[pos + 2] << 16) | (chunk[pos + 3] << 8) | chunk[pos + 4];
      let end = pos + 1 + (size >= 4 && size <= this.maxLength ? size : this._length(chunk, pos));
      if (end > length) break;
      const type = chunk[pos];
      let count = 1;
      if (type === DATA_ROW || type === COPY_DATA) {
        // The run is what makes a large result cheap: one call for all the rows of a chunk.
        while (length - end >= 5 && chunk[end] === type) {
          const next = end + 1 + this._length(chunk, end);
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
    if (length - pos >= 5 && this._inParts(chunk, pos)) this._part(chunk, pos, length);
    else {
      if (length - pos > SCRATCH) this._held = Buffer.allocUnsafeSlow(length - pos);
      else this._held = this._scratch || (this._scratch = Buffer.allocUnsafeSlow(SCRATCH));
      this._heldLength = chunk.copy(this._held, 0, pos, length);
    }
  }

  /** The length word of the message at pos, checked. */
  _length(buf, pos) {
    const length = ((buf[pos + 1] << 24) | (buf[pos + 2] << 16) | (buf[pos + 3] << 8) | buf[pos + 4]) >>> 0;
    if (length < 4 || length > this.maxLength) {
      throw protocolError(`a message of type 0x${buf[pos].toString(16).padStart(2, '0')} announces ${length} bytes`);
    }
    return length;
  }

  /**
   * Goes on with the held message; when its last byte is there, delivers it.
   * @returns {number} how many bytes of the chunk it took
   */
  _complete(chunk, length) {
    let pos = 0;
    if (this._heldLength < 5) {
      pos = Math.min(5 - this._heldLength, length);
      this._heldLength += chunk.copy(this._held, this._heldLength, 0, pos);
      if (this._heldLength < 5) return pos;
      if (this._inParts(this._held, 0)) {
        const held = this._held;
        this._held = null;
        this._part(held, 0, 5);
        return this._part(chunk, pos, length);
      }
    }
    const total = 1 + this._length(this._held, 0);
    const take = Math.min(total - this._heldLength, length - pos);
    this._reserve(this._heldLength + take, total);
    this._heldLength += chunk.copy(this._held, this._heldLength, pos, pos + take);
    if (this._heldLength === total) {
      const held = this._held;
      this._held = null;
      this.owned = held.length === total && held !== this._scratch;
      this.handler.message(held[0], held, 0, total, 1);
      this.owned = false;
    }
    return pos + take;
  }

  /** Whether the message that begins at pos, and is not all there, is delivered in parts from now on. */
  _inParts(buf, pos) {
    const { handler } = this;
    const type = buf[pos];
    if ((type !== DATA_ROW && type !== COPY_DATA) || handler.takesParts === undefined) return false;
    const length = this._length(buf, pos);
    if (length < PARTS || !handler.takesParts(type)) return false;
    this._left = 1 + length;
    this._type = type;
    return true;
  }

  /**
   * Delivers what there is of the message.
   * @returns {number} offset after it
   */
  _part(buf, pos, length) {
    const end = Math.min(length, pos + this._left);
    this._left -= end - pos;
    if (end > pos && !this.stopped) this.handler.part(this._type, buf, pos, end, this._left);
    return end;
  }

  /** Doubling keeps the copying linear, and memory within twice what has been received. */
  _reserve(needed, total) {
    if (needed <= this._held.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.min(total, Math.max(needed, 2 * this._held.length)));
    this._held.copy(larger, 0, 0, this._heldLength);
    this._held = larger;
  }
}

module.exports = { FrameReader };
