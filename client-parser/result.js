import { addAll, arrayAt, objectAt } from './datarow.js';

const rowAt = (chunk, offset) => new chunk.type.Row(chunk.bytes, offset, chunk);

/** A result: its messages as they came, of which rows, objects or arrays are made when they are asked for. */
export class Result {
  constructor(binary) {
    /** @type {string|undefined} the command tag without its numbers: SELECT, INSERT, …; EMPTY, SUSPENDED, COPY */
    this.cmd = undefined;
    /** @type {string|undefined} the OID in an INSERT's tag */
    this.oid = undefined;
    /** Rows that the command says to have returned or changed. */
    this.rowCount = 0;
    /** 1 where columns are binary whatever their description says. */
    this.binary = binary;
    /** @type {RowParser|undefined} */
    this.rowParser = undefined;
    // The chunks of which no rows have been made yet.
    this._first = null;
    this._last = null;
  }

  /** @type {Array} the rows so far; of a COPY, the data of each CopyData message */
  get rows() {
    if (this._rows === undefined) this._rows = [];
    if (this._first !== null) this._makeRows();
    return this._rows;
  }

  /** What came before is forgotten. */
  set rows(rows) {
    this._first = this._last = null;
    this._rows = rows;
    this._objects = this._arrays = undefined;
  }

  /**
   * @type {object[]} the rows so far as plain objects, made at once from the bytes: own properties in the order of
   *   the columns; of several columns with one name the last counts
   */
  get objects() { return (this._objects ??= this._list(objectAt, row => row.toObject())); }

  /** @type {Array[]} the rows so far as arrays of their values, made at once from the bytes */
  get arrays() { return (this._arrays ??= this._list(arrayAt, row => row.toArray())); }

  _list(make, turn) {
    if (this._rows === undefined) return this._makeAll([], make);
    return this.rows.map(row => row instanceof Uint8Array ? row : turn(row));
  }

  /** Takes the next messages. */
  _add(chunk) {
    if (this._last === null) this._first = chunk;
    else this._last.next = chunk;
    this._last = chunk;
    this._changed();
  }

  _changed() {
    if (this._objects !== undefined || this._arrays !== undefined) this._objects = this._arrays = undefined;
  }

  _makeRows() {
    this._makeAll(this._rows, rowAt);
    this._first = this._last = null;
  }

  _makeAll(list, make) {
    for (let chunk = this._first; chunk !== null; chunk = chunk.next) addAll(chunk, list, make);
    return list;
  }
}

// What few results have is not set in each of them.
Object.assign(Result.prototype, { _rows: undefined, _objects: undefined, _arrays: undefined });
