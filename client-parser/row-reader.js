import { text, uint16 } from './bytes.js';
import { decodeError, ProtocolError, stringEnd } from './errors.js';
import { makeRowClass, plainDecoders } from './row.js';
import { RowParser } from './row-parser.js';
import { defaults } from './type-parser.js';

/**
 * The decoder that a map has for a column.
 * @param {Map|Object<number, function|[Decoder, Decoder]>} map by type OID: a function of the column's string, or
 *   Uint8Array where it is binary, and of its description; or a pair as in `decoders`
 * @param {object} column its description
 * @param {number} format 0 text, 1 binary
 * @returns {Decoder|undefined}
 */
function decoderFor(map, column, format) {
  const entry = map instanceof Map ? map.get(column.typeOid) : map[column.typeOid];
  if (typeof entry !== 'function') return entry && entry[format];
  const plain = plainDecoders[format];
  return (bytes, start, end) => entry(plain(bytes, start, end), column);
}

/** Takes the messages of one or more results and makes rows of them. */
export class RowReader {
  #map;
  #Row; // of the rows to come
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
    /** Rows so far; of a COPY, the data of each CopyData message. */
    this.rows = [];
    /** The command tag without its numbers: SELECT, INSERT, …; EMPTY, SUSPENDED, COPY. */
    this.cmd = undefined;
    /** The OID in an INSERT's tag. */
    this.oid = undefined;
    /** Rows that the command says to have returned or changed. */
    this.rowCount = 0;
    this.binary = binary;
    /** @type {RowParser|undefined} */
    this.rowParser = undefined;
    /** Whether the stream may end here. */
    this.complete = false;
    this.#map = decode === true ? defaults.decoders : decode;
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
        if (this.#Row === undefined) throw new ProtocolError('a DataRow without a RowDescription');
        this.rows.push(new this.#Row(bytes, start));
        this.complete = false;
        break;
      case 100: // d CopyData
        if (!this.#copying) throw new ProtocolError('a CopyData without a CopyResponse');
        this.rows.push(bytes.subarray(start + 5, end));
        break;
      case 84: // T RowDescription
        this.#begin();
        this.rowParser = new RowParser(bytes, start);
        this.#Row = this.#rowClass();
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
    this.#Row = undefined;
    this.#copying = false;
  }

  #finish() {
    this.#begin();
    this.complete = true;
  }

  #rowClass() {
    const { rowParser } = this;
    const map = this.#map;
    const binary = this.binary ? 1 : 0;
    if (map === undefined) return rowParser[binary];
    return makeRowClass(rowParser, binary, (column, format) => map && decoderFor(map, column, format));
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
