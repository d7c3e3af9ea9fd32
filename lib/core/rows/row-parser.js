'use strict';

const { isAscii } = require('node:buffer');
const { inspect } = require('node:util');
const { kindOf, protocolError, textAt } = require('../protocol');
const { Members, int32 } = require('../../../client-parser/datarow.js');
const { RowDescription } = require('../../../client-parser/messages.js');

const WHOLE = { breakLength: Infinity, depth: Infinity, maxArrayLength: Infinity, maxStringLength: Infinity };

/** node:assert prints and compares own properties and the tag only, so the tag contains the columns. */
Object.defineProperties(Members.prototype, {
  // Another copy of the library has the same class.
  [inspect.custom]: {
    configurable: true,
    value(depth, options) {
      return inspect(this.toObject(), options);
    }
  },
  [Symbol.toStringTag]: {
    configurable: true,
    get() {
      try {
        return inspect(this.toObject(), WHOLE);
      } catch (error) {
        return `unreadable: ${error}`;
      }
    }
  }
});

const { latin1Slice } = Buffer.prototype;

/** The least OID that initdb gives: those below are PostgreSQL's own for ever. */
const OWN = 10000;

/**
 * Leaves each underscore that is not between a character and a small letter, so that `sql.values` can give the name
 * back.
 */
const toCamel = name => name.replace(/(?!^)_([a-z])/g, (_, letter) => letter.toUpperCase());

/**
 * A RowDescription and the classes of its rows: `new parser[Client.STRING](dataRow)`, `new
 * parser[Client.BINARY](dataRow)`.
 */
class RowParser extends RowDescription {
  static known = new Map();
  /** The type of the last rows in text format, and their decoders: a result of one row costs 0.9 × as much. */
  textType = undefined;
  decoders = undefined;
  static platform = {
    text: textAt,
    block(chunk) {
      const { bytes, from, to } = chunk;
      chunk.ascii = isAscii(bytes.subarray(from, to));
      return latin1Slice.call(bytes, from, to);
    },
    error: protocolError
  };

  #camel;
  #forBinary;
  #binary;

  constructor(buf, start = 0) {
    if (!ArrayBuffer.isView(buf)) throw new TypeError(`a RowParser takes a Buffer, not ${kindOf(buf)}`);
    super(buf, start);
    /** Whether a column has a type that is not built in. */
    this.isOwn = this.columns.some(({ typeOid }) => typeOid >= OWN);
    /** The message. The description of a prepared statement says text for all columns. */
    this.buffer = Buffer.from(buf.subarray(start, start + 1 + int32(buf, start + 1)));
  }

  /** @type {RowParser} the same description with names in camel case */
  get camel() {
    if (this.#camel !== undefined) return this.#camel;
    const parts = [this.buffer.subarray(0, 7)];
    let off = 7;
    for (const { name } of this.columns) {
      const end = this.buffer.indexOf(0, off);
      off = end + 19;
      parts.push(Buffer.from(toCamel(name)), this.buffer.subarray(end, off));
    }
    const message = Buffer.concat(parts);
    message.writeInt32BE(message.length - 1, 1);
    return (this.#camel = RowParser.of(message));
  }

  /** @returns {RowParser} the same description for columns in this format */
  forFormat(format) {
    if (format === 0 || this.columns.every(column => column.binary === format)) return this;
    return (this.#forBinary ??= new RowParser(this.description(1)));
  }

  /** @returns {Buffer} the message with this format, for a reader that knows nothing else */
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

module.exports = { OWN, RowParser, toCamel };
