import { Chunk, checkRow, uint16 } from './datarow.js';
import { decodeError, ProtocolError, stringEnd } from './errors.js';
import { Result } from './result.js';
import { parserOf } from './row-parser.js';
import { text } from './text.js';
import { defaults } from './type-parser.js';

/** Takes the messages of one or more results; rows, objects and arrays are made of them when these are asked for. */
export class RowReader extends Result {
  #decode;
  #type; // of the rows to come
  #copying = false;

  /**
   * @param {object} [options]
   * @param {number} [options.binary=0] 1 for columns that are binary though their description does not say so
   * @param {boolean|object} [options.decode] true, or a map of decoders by type OID; false leaves strings and
   *   Uint8Arrays; when not given, binary values alone are decoded, by TypeParser
   */
  constructor({ binary = 0, decode } = {}) {
    if (decode === true && defaults.decoders === undefined) {
      throw new TypeError('decode: true needs index.js');
    }
    super(binary ? 1 : 0);
    this.#decode = decode === true ? defaults.decoders : decode;
    /** Whether the stream may end here. */
    this.complete = false;
  }

  /**
   * Takes one message.
   * @param {number} type its first byte
   * @param {Uint8Array} bytes which hold it; kept, not copied
   * @param {number} start offset of its first byte
   * @param {number} end offset behind it
   * @throws {PostgresError} for an ErrorResponse
   * @throws {ProtocolError} if it is malformed or not sent here
   */
  message(type, bytes, start, end) {
    switch (type) {
      case 68: // D DataRow
        if (!this.#type) throw new ProtocolError('a DataRow without a RowDescription');
        checkRow(bytes, start, this.#type);
        this.#take(bytes, start, end, this.#type);
        this.complete = false;
        break;
      case 100: // d CopyData
        if (!this.#copying) throw new ProtocolError('a CopyData without a CopyResponse');
        this.#take(bytes, start, end, null);
        break;
      case 84: // T RowDescription
        this.#begin();
        this.rowParser = parserOf(bytes, start);
        this.#type = this.rowParser.type(this.binary, this.#decode);
        break;
      case 71: case 72: case 87: // G H W CopyInResponse, CopyOutResponse, CopyBothResponse
        this.#begin();
        this.#copying = true;
        this.#copyResponse(bytes, start + 5, end);
        break;
      case 99: // c CopyDone
        this.#copying = false;
        this.cmd = 'COPY';
        break;
      case 67: // C CommandComplete
        this.#commandComplete(bytes, start + 5, end);
        this.#finish();
        break;
      case 73: // I EmptyQueryResponse
        this.cmd = 'EMPTY';
        this.#finish();
        break;
      case 115: // s PortalSuspended: more rows of the same description may follow
        this.cmd = 'SUSPENDED';
        this.complete = true;
        break;
      case 69: // E ErrorResponse
        this.#finish();
        throw decodeError(bytes, start + 5, end);
      // Others say nothing about rows: acknowledgements, notices, notifications, the start of a connection.
    }
  }

  /**
   * Takes one message in memory of its own, as Quickgres's reader does.
   * @param {Uint8Array} bytes
   */
  write(bytes) {
    this.message(bytes[0], bytes, 0, bytes.length);
  }

  #begin() {
    this.complete = false;
    this.#type = undefined;
    this.#copying = false;
  }

  #finish() {
    this.#begin();
    this.complete = true;
  }

  #take(bytes, start, end, type) {
    const last = this._last;
    if (last?.bytes === bytes && last.end === start && last.type === type) {
      last.end = end;
      last.text = null;
      this._changed();
    } else this._add(new Chunk(bytes, start, end, type));
    // Who has the array of rows sees those that come later in it.
    if (this._rows !== undefined) this._makeRows();
  }

  #copyResponse(bytes, start, end) {
    const count = uint16(bytes, start + 1);
    if (end - start !== 3 + 2 * count) throw new ProtocolError('a CopyResponse of a wrong length');
    this.format = bytes[start];
    this.columnCount = count;
    this.columnFormats = Array.from({ length: count }, (_, i) => uint16(bytes, start + 3 + 2 * i));
  }

  #commandComplete(bytes, start, end) {
    if (stringEnd(bytes, start, end) !== end - 1) {
      throw new ProtocolError('a CommandComplete of a wrong length');
    }
    const tag = text(bytes, start, end - 1);
    const [, cmd, oid, rowCount] = /^(.*?)(?: (\d+))??(?: (\d+))?$/s.exec(tag);
    this.cmd = cmd;
    this.oid = oid;
    this.rowCount = Number(rowCount || 0);
  }
}
