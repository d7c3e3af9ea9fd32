'use strict';

const { backend, decodeCommandComplete, decodeCopyResponse, protocolError } = require('../protocol');
const { Chunk, int32 } = require('../../client-parser/datarow.js');
const { Result } = require('../../client-parser/result.js');
const { checkDecode, types } = require('./decode');
const { Memory } = require('./memory');
const { RowParser } = require('./row-parser');

const inspect = Symbol.for('nodejs.util.inspect.custom');

/**
 * The default receiver of a result: keeps the rows' bytes as they came, and makes rows, objects or arrays of them
 * when these are read first.
 */
class RowReader extends Result {
  /**
   * @param {object} [options]
   * @param {boolean|Map|Object<number, function|[Decoder, Decoder]>} [options.decode] true: `decoders`; a map: its
   *   functions get the column's string (text format) or Buffer (binary format), and its description; its pairs are
   *   as in `decoders`
   * @throws {TypeError} where `decode` is something else
   */
  constructor(options) {
    super(0);
    this._decode = options === undefined ? undefined : checkDecode(options.decode);
    this._type = null; // of the rows
    this._memory = undefined;
    this._bytes = 0;
  }

  /**
   * The result begins.
   * @param {RowParser|null} rowParser null for a command without rows
   * @param {number} format of the rows: 0 as described, 1 binary
   * @param {{memory: Memory}} [connection] whose memory takes what may not be kept where it is
   */
  start(rowParser, format, connection) {
    this.binary = format;
    this._memory = connection?.memory;
    if (rowParser === null) {
      this.rowParser = undefined;
      this._type = null;
    } else {
      this.rowParser = rowParser.forFormat(format);
      this._type = this.rowParser.type(format, this._decode === true ? types().decoders : this._decode || undefined);
    }
  }

  /**
   * Takes `count` whole DataRow or CopyData messages in buf[start … end).
   * @param {boolean} owned whether the memory may be kept; else it is copied
   */
  receiveData(buf, start, end, count, owned) {
    const chunk = owned ? new Chunk(buf, start, end, this._type)
    : (this._memory ??= new Memory()).keep(buf, start, end, this._type, this._last, this._bytes);
    this._bytes += end - start;
    if (chunk !== null) this._add(chunk);
    else this._changed();
  }

  /** Takes any other message of a result; its bytes are not kept. */
  receive(type, buf, start, end) {
    switch (type) {
      case backend.CommandComplete: {
        const { cmd, oid, rowCount } = decodeCommandComplete(buf, start, end);
        this.cmd = cmd;
        this.oid = oid;
        this.rowCount = rowCount;
        break;
      }
      case backend.EmptyQueryResponse: this.cmd = 'EMPTY'; break;
      case backend.PortalSuspended: this.cmd = 'SUSPENDED'; break;
      case backend.CopyInResponse: case backend.CopyOutResponse: case backend.CopyBothResponse:
        Object.assign(this, decodeCopyResponse(buf, start, end));
        break;
      case backend.CopyDone: this.cmd = 'COPY';
    }
  }

  /**
   * Takes one message as a Buffer of its own: what receivers with nothing but `write` get.
   * @param {Buffer} packet
   */
  write(packet) {
    const type = packet[0];
    if (type === backend.RowDescription) this.start(RowParser.of(packet), 0, undefined);
    else if (type === backend.DataRow || type === backend.CopyData) {
      if (type === backend.DataRow && this._type === null) throw protocolError('DataRow without a RowDescription');
      if (packet.length !== 1 + int32(packet, 1)) throw protocolError('a message of a wrong length');
      // The packet is the caller's, who may change it.
      this._add(new Chunk(packet, 0, packet.length, type === backend.DataRow ? this._type : null, false));
    } else this.receive(type, packet, 0, packet.length);
  }

  toJSON() { return { cmd: this.cmd, oid: this.oid, rowCount: this.rowCount, rows: this.rows }; }

  [inspect](depth, options, inspector) {
    const { cmd, oid, rowCount, rows } = this;
    return `RowReader ${inspector({ cmd, oid, rowCount, rows }, options)}`;
  }
}

module.exports = { RowReader };
