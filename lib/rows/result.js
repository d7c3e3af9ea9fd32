'use strict';

const { protocolError } = require('../protocol/errors');
const { decodeCommandComplete, decodeCopyResponse } = require('../protocol/messages');
const { decodingClass } = require('./decode');
const { RowParser, int32 } = require('./row-parser');
const { keep, Runs } = require('./memory');

const inspect = Symbol.for('nodejs.util.inspect.custom');

/**
 * The default receiver of a result: keeps the rows' bytes as they came, and makes row objects of them when
 * `rows` is read first.
 */
class RowReader {
  constructor() {
    /** @type {string|undefined} SELECT, INSERT, … the command tag without its numbers; EMPTY; SUSPENDED; COPY */
    this.cmd = undefined;
    /** @type {string|undefined} the oid of an INSERT's tag */
    this.oid = undefined;
    /** Rows that the command reported as returned or changed. */
    this.rowCount = 0;
    /** Format of the rows: 0 text, 1 binary. */
    this.binary = 0;
    /** @type {RowParser|undefined} */
    this.rowParser = undefined;
    // Runs of DataRow or CopyData messages not yet made rows: the first, here, and all others.
    this._buffer = null;
    this._offset = 0;
    this._count = 0;
  }

  /** @type {Array} the rows; Buffers for COPY */
  get rows() {
    if (this._rows === undefined) this._rows = [];
    if (this._buffer !== null) this._makeRows();
    return this._rows;
  }

  set rows(rows) { this._rows = rows; }

  _makeRows() {
    this._makeRun(this._buffer, this._offset, this._count);
    const more = this._more;
    this._buffer = null;
    this._more = undefined;
    if (more !== undefined) {
      const { list } = more;
      for (let i = 0; i < list.length; i += 3) this._makeRun(list[i], list[i + 1], list[i + 2]);
    }
  }

  _makeRun(buf, off, count) {
    const rows = this._rows;
    if (buf[off] === 100) { // CopyData
      for (let i = 0; i < count; i++) {
        const end = off + 1 + int32(buf, off + 1);
        rows.push(buf.subarray(off + 5, end));
        off = end;
      }
      return;
    }
    const { rowParser, binary } = this;
    const Row = this.decode ? decodingClass(rowParser, binary, this.decode) : rowParser._classOf(binary);
    const columns = this.rowParser.columns.length;
    for (let i = 0; i < count; i++) {
      if (((buf[off + 5] << 8) | buf[off + 6]) !== columns) {
        throw protocolError('DataRow whose column count is not that of its RowDescription');
      }
      rows.push(new Row(buf, off));
      off += 1 + int32(buf, off + 1);
    }
  }

  /** The result begins; rowParser is null for a command without rows. */
  start(rowParser, format) {
    this.rowParser = rowParser === null ? undefined : rowParser.forFormat(format);
    this.binary = format;
  }

  /**
   * Takes `count` whole DataRow or CopyData messages in buf[start … end).
   * @param {boolean} owned whether the memory may be kept; else it is copied
   */
  receiveData(buf, start, end, count, owned) {
    if (this._buffer !== null) {
      if (this._more === undefined) this._more = new Runs();
      this._more.add(buf, start, end, count, owned);
      return;
    }
    if (!owned) {
      const kept = keep(buf, start, end);
      buf = kept.buf;
      start = kept.start;
    }
    this._buffer = buf;
    this._offset = start;
    this._count = count;
  }

  /** Takes any other message of a result; buf is only lent. */
  receive(type, buf, start, end) {
    switch (type) {
      case 67: { // C CommandComplete
        const { cmd, oid, rowCount } = decodeCommandComplete(buf, start, end);
        this.cmd = cmd;
        this.oid = oid;
        this.rowCount = rowCount;
        break;
      }
      case 73: this.cmd = 'EMPTY'; break; // I EmptyQueryResponse
      case 115: this.cmd = 'SUSPENDED'; break; // s PortalSuspended
      case 71: case 72: case 87: // G H W CopyInResponse, CopyOutResponse, CopyBothResponse
        Object.assign(this, decodeCopyResponse(buf, start, end));
        break;
      case 99: this.cmd = 'COPY'; // c CopyDone
    }
  }

  /**
   * Takes one message as a Buffer of its own: what receivers with nothing but `write` get.
   * @param {Buffer} packet
   */
  write(packet) {
    if (packet[0] === 84) this.rowParser = new RowParser(packet); // T RowDescription
    else if (packet[0] === 68 || packet[0] === 100) this.receiveData(packet, 0, packet.length, 1, true);
    else this.receive(packet[0], packet, 0, packet.length);
  }

  toJSON() { return { cmd: this.cmd, oid: this.oid, rowCount: this.rowCount, rows: this.rows }; }

  [inspect](depth, options, inspector) {
    const { cmd, oid, rowCount, rows } = this;
    return `RowReader ${inspector({ cmd, oid, rowCount, rows }, options)}`;
  }
}

Object.assign(RowReader.prototype, {
  /** How columns are decoded, see `query`. */
  decode: undefined,
  _rows: undefined,
  _more: undefined
});

module.exports = { RowReader };
