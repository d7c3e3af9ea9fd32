'use strict';

const { Buffer } = require('#platform');
const { protocolError } = require('../protocol');
const datarow = require('../../client-parser/datarow.js');
const row = require('../../client-parser/row.js');
const { textAt } = require('./text');

/** What Node does for the rows of client-parser, see RowDescription there. */
const platform = {
  text: (buf, start, end) => buf.utf8Slice(start, end),
  textAt,
  characters: (buf, start, end) => buf.latin1Slice(start, end),
  slice: (buf, start, end) => buf.subarray(start, end),
  error: protocolError
};

/**
 * A RowDescription, and the classes of the rows that it describes: `new parser[Client.STRING](dataRow)`,
 * `new parser[Client.BINARY](dataRow)`.
 */
class RowParser extends row.RowDescription {
  #forBinary;
  #binary;

  /**
   * @param {Buffer} buf holding a RowDescription message; it is copied
   * @param {number} [start=0] offset of the message's type byte
   * @throws {ConnectionError} 08P01 if it is malformed
   */
  constructor(buf, start = 0, own = platform) {
    super(buf, start, own);
    /** The message; of a described statement, the formats are all text. */
    this.buffer = Buffer.from(buf.subarray(start, row.descriptionEnd(buf, start, own)));
  }

  /**
   * The same description, its columns in the format of a result.
   * @param {number} format 0 text, 1 binary
   * @returns {RowParser}
   */
  forFormat(format) {
    if (format === 0 || this.columns.every(column => column.binary === format)) return this;
    return (this.#forBinary ??= new this.constructor(this.description(1)));
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

  /** @returns {RowParser} of a RowDescription message: of the same bytes the same one, as long as it is remembered */
  static of(buf, start = 0) { return row.parserOf(parsers, RowParser, buf, start, platform); }
}

const parsers = new Map();

/** The length of the column whose length word is at `off`; never past the end of its message. */
const columnLength = (buf, off, end) => datarow.columnLength(buf, off, end, platform);

module.exports = { RowParser, columnLength, platform, int32: datarow.int32 };
