import { ProtocolError } from './errors.js';
import * as row from './row.js';
import { characters, text, textAt } from './text.js';
import { TypeParser } from './type-parser.js';

const slice = (bytes, start, end) => bytes.subarray(start, end);

/** What a browser does for rows, see RowDescription there. */
const platform = {
  text,
  textAt,
  characters,
  slice,
  error: message => new ProtocolError(message),
  // What Quickgres does: strings stay strings, binary values go through TypeParser, as it is when they are read.
  binary: ({ typeOid }) => (...value) => (TypeParser[typeOid] || slice)(...value)
};

/** A RowDescription, and the classes of the rows that it describes. */
export class RowParser extends row.RowDescription {
  /**
   * @param {Uint8Array} bytes which hold a RowDescription message
   * @param {number} [start=0] offset of its first byte
   * @throws {ProtocolError} if it is malformed
   */
  constructor(bytes, start = 0) {
    super(bytes, start, platform);
  }
}

const parsers = new Map();

/** @returns {RowParser} of the RowDescription message at `start` */
export const parserOf = (bytes, start) => row.parserOf(parsers, RowParser, bytes, start, platform);
