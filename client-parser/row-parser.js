import { int16, int32, text, uint16 } from './bytes.js';
import { ProtocolError, stringEnd } from './errors.js';
import { makeRowClass } from './row.js';
import { TypeParser } from './type-parser.js';

// What Quickgres does: strings stay strings, binary values go through TypeParser.
const decoderOf = (column, format) => format ? TypeParser[column.typeOid] : undefined;

/**
 * A RowDescription, and the classes of the rows that it describes: `new parser[0](dataRow)` where the columns
 * have the format that it says, `new parser[1](dataRow)` where all are binary.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
export class RowParser {
  #classes = [];

  /**
   * @param {Uint8Array} bytes which hold a RowDescription message
   * @param {number} [start=0] offset of its first byte
   * @throws {ProtocolError} if it is malformed
   */
  constructor(bytes, start = 0) {
    const end = start + 1 + int32(bytes, start + 1);
    if (end < start + 7 || end > bytes.length) throw new ProtocolError('a RowDescription of a wrong length');
    /** @type {Array<{name: string, tableOid: number, tableColumnIndex: number, typeOid: number,
     *    typeLen: number, typeModifier: number, binary: number}>} */
    this.columns = [];
    let off = start + 7;
    for (let count = uint16(bytes, start + 5); count > 0; count--) {
      const nameEnd = stringEnd(bytes, off, end - 18);
      this.columns.push({
        name: text(bytes, off, nameEnd),
        tableOid: int32(bytes, nameEnd + 1) >>> 0,
        tableColumnIndex: int16(bytes, nameEnd + 5),
        typeOid: int32(bytes, nameEnd + 7) >>> 0,
        typeLen: int16(bytes, nameEnd + 11),
        typeModifier: int32(bytes, nameEnd + 13),
        binary: int16(bytes, nameEnd + 17)
      });
      off = nameEnd + 19;
    }
    if (off !== end) throw new ProtocolError('a RowDescription of a wrong length');
    this.columnNames = this.columns.map(column => column.name);
  }

  /** Class of the rows in the format of the description. */
  get 0() {
    return this.#classes[0] ??= makeRowClass(this, 0, decoderOf);
  }

  /** Class of the rows in binary format. */
  get 1() {
    return this.#classes[1] ??= makeRowClass(this, 1, decoderOf);
  }
}
