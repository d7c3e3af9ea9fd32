'use strict';

const { Buffer } = require('#platform');
const { decodeCommandComplete } = require('../protocol/messages');
const { RowParser, int32, platform } = require('../rows');

/** About how many bytes are given to a target at a time. */
const PIECE = 65536;

/** So many descriptions of results are remembered with the classes of their rows; then all are forgotten. */
const MAX_PARSERS = 1000;
const parsers = new Map();

const copy = (buf, start, end) => Buffer.from(buf.subarray(start, end));
const copying = { ...platform, slice: copy };

/** Describes rows whose bytes nobody may change. */
class SharedRowParser extends RowParser {
  constructor(description) {
    super(description, 0, copying);
    for (const column of this.columns) Object.freeze(column);
    Object.freeze(this.columns);
    Object.freeze(this.columnNames);
    const { buffer } = this;
    Object.defineProperty(this, 'buffer', { get: () => Buffer.from(buffer) });
  }

  description(format) { return Buffer.from(super.description(format)); }

  decoderOf(...column) {
    const decoder = super.decoderOf(...column);
    return decoder && ((buf, start, end) => decoder(copy(buf, start, end), 0, end - start));
  }
}

/** The parser of a RowDescription; those of one description share it. */
function parserOf(description) {
  const key = description.latin1Slice(0, description.length);
  let parser = parsers.get(key);
  if (parser !== undefined) return parser;
  if (parsers.size >= MAX_PARSERS) parsers.clear();
  parsers.set(key, parser = new SharedRowParser(description));
  return parser;
}

/** A result's bytes as a reader without earlier state needs them: RowDescription, rows, CommandComplete. */
class Answer {
  /**
   * @param {Buffer} body
   * @param {object} place
   * @param {number} place.start offset of the rows in it; 0 where there is no RowDescription
   * @param {number} place.end offset after the rows
   * @param {number} place.count of rows
   * @param {number} place.format 0 text, 1 binary
   * @param {function(): boolean} place.storable
   */
  constructor(body, { start, end, count, format, storable }) {
    this.body = body;
    this.start = start;
    this.end = end;
    this.count = count;
    this.format = format;
    /** @type {(function(): boolean)|null} whether it may be kept; null once that has been asked */
    this.storable = storable;
    const { cmd, rowCount } = decodeCommandComplete(body, end, body.length);
    this.cmd = cmd;
    this.rowCount = rowCount;
    this.large = false;
    this.etag = undefined;
    this.cache = null;
    this.time = 0;
    this.settings = null;
  }

  get size() { return this.body.length; }

  /** It is as old as the flight that has brought it. */
  cached(cache, { time, settings }) {
    this.cache = cache;
    this.time = time;
    this.settings = settings;
    this.storable = null; // it holds on to the connection
  }

  /**
   * Gives a receiver all that the server would.
   * @param {object} receiver see pass-through.js; a RowReader
   * @param {boolean} owned whether it only reads the bytes, and may keep them; else it gets copies
   */
  replay(receiver, owned) {
    const { body, start, end } = this;
    receiver.start(start === 0 ? null : parserOf(body.subarray(0, start)), this.format);
    if (this.count > 0) receiver.receiveData(body, start, end, this.count, owned);
    receiver.receive(67, body, end, body.length);
    return receiver;
  }

  /**
   * The bytes for a target, in pieces of whole rows.
   * @param {Payload} [payload] takes the values out
   * @returns {Iterable<Buffer>}
   */
  * pieces(payload) {
    const { body, start, end } = this;
    if (payload === undefined) {
      if (body.length <= 2 * PIECE) return void (yield body);
    } else payload.start({ columns: { length: start === 0 ? 0 : body.readUInt16BE(5) } });
    for (let from = payload === undefined ? 0 : start, to = start; from < end;) {
      let count = 0;
      for (; to < end && to - from < PIECE; count++) to += 1 + int32(body, to + 1);
      if (payload === undefined) yield body.subarray(from, to);
      else {
        const values = payload.messages(body, from, to, count);
        yield values.buf.subarray(values.start, values.end);
      }
      from = to;
    }
    if (payload === undefined) yield body.subarray(end);
  }
}

/** Takes the result of a query as an Answer. */
class Recorder {
  /**
   * @param {number} limit in bytes
   * @param {function()} onlarge called once when the result is longer
   */
  constructor(limit, onlarge) {
    this.limit = limit;
    this.onlarge = onlarge;
    this.large = false;
    this.inParts = true;
    this.start(null, 0);
  }

  start(rowParser, format) {
    const description = rowParser === null ? [] : [rowParser.description(format)];
    this.pieces = description;
    this.format = format;
    this.length = this.head = rowParser === null ? 0 : description[0].length;
    this.end = 0;
    this.count = 0;
    this.cmd = undefined;
    this.rowCount = 0;
  }

  receiveData(buf, start, end, count, owned) {
    this.count += count;
    this._add(buf, start, end, owned);
  }

  receivePart(type, buf, start, end, left) {
    if (left === 0) this.count++;
    this._add(buf, start, end, false);
  }

  receive(type, buf, start, end) {
    if (type === 67) {
      this.end = this.length;
      Object.assign(this, decodeCommandComplete(buf, start, end));
    }
    this._add(buf, start, end, false);
  }

  _add(buf, start, end, owned) {
    this.length += end - start;
    if (this.length <= this.limit) {
      const piece = buf.subarray(start, end);
      this.pieces.push(owned ? piece : Buffer.from(piece));
    } else if (!this.large) {
      this.large = true;
      this.pieces = [];
      this.onlarge();
    }
  }

  /**
   * @param {function(): boolean} allowed whether it may be kept
   * @returns {Answer}
   */
  answer(allowed) {
    const body = Buffer.allocUnsafeSlow(this.length); // memory of its own: a pool would be kept with it
    let off = 0;
    for (const piece of this.pieces) off += piece.copy(body, off);
    const { head: start, end, count, format, cmd } = this;
    const storable = () => cmd === 'SELECT' && start > 0 && allowed();
    return new Answer(body, { start, end, count, format, storable });
  }
}

/** What is remembered of an answer that is not kept because of its length. */
const TOO_LARGE = { large: true, size: 0, cached() {}, storable: () => true };

module.exports = { Answer, Recorder, TOO_LARGE };
