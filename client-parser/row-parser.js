import { BLOCK } from './datarow.js';
import { ProtocolError } from './errors.js';
import { RowDescription } from './messages.js';
import { text } from './text.js';
import { TypeParser } from './type-parser.js';

const scratch = new Uint8Array(BLOCK);

/** A RowDescription and the classes of its rows. */
export class RowParser extends RowDescription {
  static known = new Map();
  static platform = {
    text,
    block(chunk) {
      const { bytes, from, to } = chunk;
      let bits = 0;
      scratch.set(bytes.subarray(from, to));
      for (let i = to - from; i--;) {
        bits |= scratch[i];
        scratch[i] &= 127;
      }
      chunk.ascii = bits < 128;
      return this.text(scratch, 0, to - from);
    },
    error: message => new ProtocolError(message),
    // As in kig/quickgres 0.4, binary values go through TypeParser when they are read.
    binary:
      ({ typeOid }) =>
      (bytes, start, end) =>
        TypeParser[typeOid]?.(bytes, start, end) ?? bytes.subarray(start, end)
  };
}
