import { Chunk, checkRow, objectAt, rowClass } from './datarow.js';
import { check } from './errors.js';
import { PostgresError, decodeCommandComplete, decodeCopyResponse, decodeFields } from './messages.js';
import { RowParser } from './row-parser.js';
import { defaults } from './type-parser.js';

const { platform } = RowParser;

const plain = row => row.toObject?.() ?? row;

/** Takes the messages of one or more results, and makes rows. */
export class RowReader {
  #decode; // a map of decoders
  #type; // of the next rows; null for a COPY
  #chunk; // the Chunk of the last row

  constructor({ binary, decode } = {}) {
    const map = (this.#decode = decode === true ? defaults.decoders : decode === false ? {} : decode);
    if (decode && !(typeof map === 'object' && [...(map.keys?.() ?? Object.keys(map))].every(key => key > 0))) {
      throw new TypeError('decode needs OIDs, or index.js');
    }
    this.binary = binary ? 1 : 0;
    this.rows = [];
    /** The number of rows in the command tag. */
    this.rowCount = 0;
    /** Whether the stream may end here. */
    this.complete = false;
  }

  /** @type {Array} the rows so far as structs, which decode a column when it is read; the data of a COPY */
  get structs() {
    return this.rows;
  }

  /** @type {object[]} plain objects, made at each reading */
  get objects() {
    return this.rows.map(plain);
  }

  /** @type {Array[]} arrays of values, made at each reading */
  get arrays() {
    return this.rows.map(row => row.toArray?.() ?? row);
  }

  /** Takes one message in bytes[start, end), which are kept. */
  message(type, bytes, start, end) {
    // Messages of other types say nothing about rows.
    switch (type) {
      case 'D': // DataRow
        this.complete = false;
        return this.#dataRow(bytes, start);
      case 'd': // CopyData
        check(this.#type === null, 'unexpected message');
        return this.rows.push(bytes.subarray(start + 5, end));
      case 'T': // RowDescription
        this.rowParser = RowParser.of(bytes, start);
        return this.#finish(this.cmd, false, this.rowParser.type(this.binary, this.#decode));
      case 'G':
      case 'H':
      case 'W': // CopyInResponse, CopyOutResponse, CopyBothResponse
        this.#finish(this.cmd, false, null);
        return Object.assign(this, decodeCopyResponse(bytes, start, end, platform));
      case 'c':
        return this.#finish('COPY', false); // CopyDone
      case 'C': // CommandComplete
        this.#finish(undefined, true);
        return Object.assign(this, decodeCommandComplete(bytes, start, end, platform));
      case 'I':
        return this.#finish('EMPTY', true); // EmptyQueryResponse
      case 's':
        return this.#finish('SUSPENDED', true, this.#type); // PortalSuspended: more rows may follow
      case 'E': // ErrorResponse
        this.#finish(this.cmd, true);
        throw new PostgresError(decodeFields(bytes, start, end, platform));
    }
  }

  /** Takes one message in memory of its own, as the reader of kig/quickgres 0.4 does. */
  write(bytes) {
    this.message(String.fromCharCode(bytes[0]), bytes, 0, bytes.length);
  }

  #finish(...state) {
    [this.cmd, this.complete, this.#type, this.#chunk] = state;
  }

  #dataRow(bytes, start) {
    const type = this.#type;
    check(type, 'unexpected message');
    if (this.#chunk?.bytes !== bytes) this.#chunk = new Chunk(bytes, bytes.length, type);
    // rows() sets `plain` where it wants no structs: making objects at once costs less.
    if (!this.plain) checkRow(this.#chunk, start);
    this.rows.push(this.plain ? objectAt(this.#chunk, start) : new (rowClass(type))(bytes, start, this.#chunk));
  }
}
