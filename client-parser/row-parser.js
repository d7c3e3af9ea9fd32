import { BLOCK } from './datarow.js';
import { ProtocolError } from './errors.js';
import { RowDescription } from './messages.js';
import { text } from './text.js';
import { TypeParser } from './type-parser.js';

/** A RowDescription and the classes of its rows. */
export class RowParser extends RowDescription {
  static known = new Map();
  static platform = {
    text,
    scratch: new Uint8Array(BLOCK + 8), // one read outside of it would slow down all reads
    error: message => new ProtocolError(message),
    // As in kig/quickgres 0.4, binary values go through TypeParser when they are read.
    binary: ({ typeOid }) => (bytes, start, end) =>
      TypeParser[typeOid]?.(bytes, start, end) ?? bytes.subarray(start, end)
  };
}
