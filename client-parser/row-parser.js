import { BLOCK } from './datarow.js';
import { ProtocolError } from './errors.js';
import { RowDescription } from './messages.js';
import { text } from './text.js';
import { TypeParser } from './type-parser.js';

/** A RowDescription, and the classes of the rows that it describes. */
export class RowParser extends RowDescription {
  static known = new Map();
  static platform = {
    text,
    scratch: new Uint8Array(BLOCK),
    error: message => new ProtocolError(message),
    // As kig/quickgres 0.4: strings stay strings, binary values go through TypeParser, as it is when they are read.
    binary: ({ typeOid }) => (bytes, start, end) =>
      TypeParser[typeOid]?.(bytes, start, end) ?? bytes.subarray(start, end)
  };
}
