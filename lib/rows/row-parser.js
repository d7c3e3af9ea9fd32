'use strict';

const { inspect } = require('node:util');
const { protocolError } = require('../protocol');
const { BLOCK, Members, int32 } = require('../../client-parser/datarow.js');
const { RowDescription } = require('../../client-parser/messages.js');

const WHOLE = { breakLength: Infinity, depth: Infinity, maxArrayLength: Infinity, maxStringLength: Infinity };

/** How rows are printed. Beside own properties, node:assert prints and compares the tag alone: it has the columns. */
Object.defineProperties(Members.prototype, {
  [inspect.custom]: { value(depth, options) { return inspect(this.toObject(), options); } },
  [Symbol.toStringTag]: {
    get() {
      try {
        return inspect(this.toObject(), WHOLE);
      } catch (error) {
        return `unreadable: ${error}`;
      }
    }
  }
});

/**
 * A RowDescription, and the classes of the rows that it describes: `new parser[Client.STRING](dataRow)`,
 * `new parser[Client.BINARY](dataRow)`.
 */
class RowParser extends RowDescription {
  static known = new Map();
  /** What rows in text format without decoders have in common, once there were some. */
  textType = undefined;
  static platform = {
    text: Function.prototype.call.bind(Buffer.prototype.utf8Slice),
    scratch: Buffer.alloc(BLOCK),
    error: protocolError
  };

  #forBinary;
  #binary;

  /**
   * @param {Buffer} buf holding a RowDescription message; it is copied
   * @param {number} [start=0] offset of the message's type byte
   * @throws {ConnectionError} 08P01 if it is malformed
   */
  constructor(buf, start = 0) {
    super(buf, start);
    /** The message; of a described statement, the formats are all text. */
    this.buffer = Buffer.from(buf.subarray(start, start + 1 + int32(buf, start + 1)));
  }

  /**
   * The same description, its columns in the format of a result.
   * @param {number} format 0 text, 1 binary
   * @returns {RowParser}
   */
  forFormat(format) {
    if (format === 0 || this.columns.every(column => column.binary === format)) return this;
    return (this.#forBinary ??= new RowParser(this.description(1)));
  }

  /**
   * The RowDescription message as a reader without earlier state needs it: with the format of the rows.
   * @param {number} format 0 text, 1 binary
   * @returns {Buffer}
   */
  description(format) {
    if (format === 0 || this.#binary !== undefined) return format === 0 ? this.buffer : this.#binary;
    this.#binary = Buffer.from(this.buffer);
    for (let off = 7, i = 0; i < this.columns.length; i++) {
      off = this.#binary.indexOf(0, off) + 19;
      this.#binary.writeInt16BE(1, off - 2);
    }
    return this.#binary;
  }
}

module.exports = { RowParser };
