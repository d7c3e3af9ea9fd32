'use strict';

const { UsageError, backend, decodeCommandComplete, decodeCopyResponse, protocolError } = require('../protocol');
const { Chunk, arrayAt, int32, objectAt, rowClass } = require('../../../client-parser/datarow.js');
const decoding = require('./decode');
const { RowParser } = require('./row-parser');

const NOTHING = Buffer.alloc(0);

const NO_TYPES = Object.freeze([]);

/** The size of slabs that small results share: small, so that a result that is kept for long holds little else. */
const SLAB = 4096;

/** The largest slab. */
const LARGE = 65536;

/**
 * A connection's memory for results, since the read buffer is used again. Memory of its own would cost a small result
 * more than all the rest of a query.
 */
class Memory {
  #slab = NOTHING;
  #used = 0;
  /**
   * The last command tag with its terminator, and its meaning: the next tag is mostly the same. To decode each would
   * cost 22 % more instructions for each of 200 queries at once, and 10 % for one after the other.
   */
  tag = NOTHING;
  command = undefined;

  /** Copies messages to memory that may be kept. */
  keep(buf, start, end, type, before, last) {
    const length = end - start;
    const size = before === 0 ? SLAB : Math.max(SLAB, Math.min(LARGE, before >> 1));
    if (length > size >> 2) {
      const bytes = Buffer.allocUnsafeSlow(length);
      buf.copy(bytes, 0, start, end);
      return new Chunk(bytes, length, type, 0);
    }
    // A small result never shares the slab of a large one.
    if (this.#used + length > this.#slab.length || this.#slab.length > size) {
      this.#slab = Buffer.allocUnsafeSlow(size);
      this.#used = 0;
    }
    const at = this.#used;
    this.#used += buf.copy(this.#slab, at, start, end);
    if (last?.bytes === this.#slab && last.end === at && last.type === type) {
      last.end = this.#used;
      return last;
    }
    return new Chunk(this.#slab, this.#used, type, at);
  }
}

const structAt = (chunk, off) => new (rowClass(chunk.type))(chunk.bytes, off, chunk);

/** The row at `off` as `make` makes it, or the data of a CopyData message. */
function rowAt(chunk, off, make) {
  const { bytes, type } = chunk;
  if (type === null) return bytes.subarray(off + 5, off + 1 + int32(bytes, off + 1));
  if (((bytes[off + 5] << 8) | bytes[off + 6]) !== type.count) {
    throw protocolError('DataRow whose column count is not as described');
  }
  return make(chunk, off);
}

let usualTexts; // set when the first values are to be decoded

/** What a reader without a connection gives. */
const ALONE = { common: { decoding: { decode: true, asObjects: false } } };

/** The default receiver of a result: keeps the bytes, and makes structs, objects or arrays when they are first read. */
class RowReader {
  /** @param {{decode?: boolean|Map|object, names?: 'camel'}} [options] by default that of the connection */
  constructor(options) {
    /** @type {string|undefined} the command tag without numbers: SELECT, INSERT, …; EMPTY, SUSPENDED, COPY */
    this.cmd = undefined;
    /** @type {string|undefined} the OID in an INSERT's tag */
    this.oid = undefined;
    /** The number of rows in the command tag. */
    this.rowCount = 0;
    /** 1 if the columns are binary, whatever their description says. */
    this.binary = 0;
    this.rowParser = undefined;
    if (options !== undefined) {
      decoding.checkReading(options);
      this._decode = options.decode;
      this._isCamel = options.names === 'camel';
    }
    this._type = null;
    this._text = undefined;
    this._memory = undefined;
    this._bytes = 0;
    this._first = this._last = null; // chunks
    this._next = null; // the first chunk without structs
    this._structs = undefined;
  }

  /**
   * @type {Array} the rows so far: `objects` in a pool, else `structs`; the data of COPY. Setting it forgets earlier
   * rows
   */
  get rows() {
    if (this._asObjects) return this.objects;
    const structs = (this._structs ??= []);
    for (let chunk = this._next; chunk !== null; this._next = chunk = chunk.next) {
      const { bytes, end, type } = chunk;
      const Row = type && (type.Row ?? rowClass(type));
      for (let at = chunk.start; at < end; at += 1 + int32(bytes, at + 1)) {
        const isRow = type !== null && ((bytes[at + 5] << 8) | bytes[at + 6]) === type.count;
        structs.push(isRow ? new Row(bytes, at, chunk) : rowAt(chunk, at, structAt)); // or throws
      }
    }
    return structs;
  }

  set rows(rows) {
    this._first = this._last = this._next = null;
    this._structs = this._objects = this._arrays = undefined;
    if (this._asObjects) this._objects = rows;
    else this._structs = rows;
  }

  /** @type {Row[]} the rows so far as structs */
  get structs() {
    return this._asObjects ? (this._structs ??= this._make(structAt)) : this.rows;
  }

  /** @returns {object} the only row; throws a UsageError unless there is one */
  one() {
    const [row] = this.#atMostOne('one');
    if (row === undefined)
      throw this.#unexpected('one() of a result without rows: maybeOne() gives undefined', '02000');
    return row;
  }

  /** @returns {object|undefined} the only row, if any; throws a UsageError for more */
  maybeOne() {
    return this.#atMostOne('maybeOne')[0];
  }

  #atMostOne(name) {
    const { rows } = this;
    if (rows.length > 1) throw this.#unexpected(`${name}() of a result of ${rows.length} rows`, '21000');
    return rows;
  }

  #unexpected(message, code) {
    return Object.defineProperty(new UsageError(message, code), 'query', { value: this._text, configurable: true });
  }

  /** Gives what `rows` gives, without an array. */
  *[Symbol.iterator]() {
    const asObjects = this._asObjects;
    if (asObjects && this._objects !== undefined) return yield* this._objects;
    if (!asObjects && this._structs !== undefined) yield* this._structs;
    for (let chunk = asObjects ? this._first : this._next; chunk !== null; chunk = chunk.next) {
      for (let at = chunk.start; at < chunk.end; at += 1 + int32(chunk.bytes, at + 1)) {
        yield rowAt(chunk, at, asObjects ? objectAt : structAt);
      }
    }
  }

  /** @type {object[]} the rows so far as plain objects */
  get objects() {
    return (this._objects ??= this._make(objectAt));
  }

  /** @type {Array[]} the rows so far as arrays of values */
  get arrays() {
    return (this._arrays ??= this._make(arrayAt));
  }

  _make(make) {
    const list = [];
    for (let chunk = this._first; chunk !== null; chunk = chunk.next) {
      const { bytes, end, type } = chunk;
      const isWritten =
        type !== null &&
        make !== structAt &&
        (make === arrayAt || type.Shape !== undefined) &&
        decoding.isWritten(type) &&
        require('./binary').makeRows(chunk, list, make === objectAt);
      if (!isWritten)
        for (let at = chunk.start; at < end; at += 1 + int32(bytes, at + 1)) list.push(rowAt(chunk, at, make));
      chunk.text = ''; // frees the string
    }
    return list;
  }

  /**
   * @param {{memory: Memory, common: object}} [connection] see Pipeline
   * @param {string} [text] of the query
   */
  start(rowParser, format, connection = ALONE, text = undefined) {
    const { common, memory } = connection;
    const { decoding: usual } = common;
    const decode = this._decode ?? usual.decode;
    this.binary = format;
    this._text = text;
    this._memory = memory;
    this._asObjects = usual.asObjects;
    if (this._isCamel && rowParser !== null) rowParser = rowParser.camel;
    this.rowParser = format === 0 || rowParser === null ? (rowParser ?? undefined) : rowParser.forFormat(format);
    if (rowParser === null) this._type = null;
    else if (decode !== false && (rowParser.isOwn || (decode !== true && decoding.hasNames(decode))))
      this._findDecoders(decode, common);
    else {
      if (format !== 0)
        this._type = this.rowParser.type(format, decode === true ? decoding.decoders : decode || undefined);
      else {
        const decoders = decode === true ? (usualTexts ??= decoding.texts) : decode || undefined;
        if (rowParser.textType === undefined || rowParser.decoders !== decoders) {
          rowParser.textType = rowParser.type(0, decoders);
          rowParser.decoders = decoders;
        }
        this._type = rowParser.textType;
      }
    }
  }

  /** Decodes columns by what is known of types that are not built in. */
  _findDecoders(decode, common) {
    this._decoders = this._decodersOf(decode, common);
    this._type = this.rowParser.type(this.binary, this._decoders);
  }

  /**
   * @returns {Map|object|undefined} the decoders, with those of types that are not built in; none, with an error, if a
   *   name is not that of a type
   */
  _decodersOf(decode, common) {
    const { types } = common;
    const isNamed = decode !== true && decoding.hasNames(decode);
    if (!isNamed && decode !== true && !decoding.hasTexts(decode)) return decode;
    if (types === undefined) {
      if (isNamed) this.error = new UsageError('decode has names of types, which only a connection knows', '42704');
      return decode === true ? decoding.decoders : isNamed ? undefined : decode;
    }
    this.types = types;
    this._asked = [decode, common];
    try {
      const map = decode === true && this.binary !== 0 ? decoding.decoders : decode;
      return types.decodersOf(map, common.decoding.isCamel || this._isCamel);
    } catch (error) {
      this.error = error; // a name is that of no type
    }
  }

  /** See Receiver. */
  get wants() {
    return this._decode === undefined ? undefined : decoding.wantsOf(this._decode);
  }

  /** @returns {number[]} the types of columns that the database is to be asked for before rows are read */
  get lacking() {
    const { types, rowParser } = this;
    if (types === undefined || this._first === null || !rowParser?.isOwn || this.error !== undefined) return NO_TYPES;
    return types.lackingIn(rowParser, this._decoders, this.binary, this._places());
  }

  /** The places of the rows that were received with the present types. */
  *_places() {
    for (let chunk = this._first; chunk !== null; chunk = chunk.next) {
      if (chunk.type !== this._type) continue;
      for (let at = chunk.start; at < chunk.end; at += 1 + int32(chunk.bytes, at + 1)) yield [chunk.bytes, at];
    }
  }

  /** Reads the rows with what the types know by now. */
  retype() {
    const before = this._type;
    this._findDecoders(...this._asked);
    for (let chunk = this._first; chunk !== null; chunk = chunk.next)
      if (chunk.type === before) chunk.type = this._type;
    this._structs = this._objects = this._arrays = undefined;
    this._next = this._first;
  }

  /** Takes `count` whole DataRow or CopyData messages in buf[start … end). They are copied unless `owned` is true. */
  receiveData(buf, start, end, count, owned) {
    const chunk = owned
      ? new Chunk(buf, end, this._type, start)
      : (this._memory ??= new Memory()).keep(buf, start, end, this._type, this._bytes, this._next && this._last);
    this._bytes += end - start;
    if (chunk !== this._last) {
      chunk.next = null;
      if (this._last === null) this._first = chunk;
      else this._last.next = chunk;
      this._last = chunk;
      this._next ??= chunk;
    }
    if (this._objects !== undefined || this._arrays !== undefined) this._objects = this._arrays = undefined;
    if (this._asObjects) this._structs = undefined;
  }

  /** Takes any other message of a result, and keeps no byte of it. */
  receive(type, buf, start, end) {
    switch (type) {
      case backend.CommandComplete: {
        const memory = (this._memory ??= new Memory());
        const { length } = memory.tag;
        let same = end - start === length + 5 && length > 0;
        for (let i = 0; same && i < length; i++) same = buf[start + 5 + i] === memory.tag[i];
        if (!same) {
          memory.command = decodeCommandComplete(buf, start, end);
          memory.tag = Buffer.from(buf.subarray(start + 5, end));
        }
        ({ cmd: this.cmd, oid: this.oid, rowCount: this.rowCount } = memory.command);
        break;
      }
      case backend.EmptyQueryResponse:
        this.cmd = 'EMPTY';
        break;
      case backend.PortalSuspended:
        this.cmd = 'SUSPENDED';
        break;
      case backend.CopyInResponse:
      case backend.CopyOutResponse:
      case backend.CopyBothResponse:
        Object.assign(this, decodeCopyResponse(buf, start, end));
        this._type = null;
        break;
      case backend.CopyDone:
        this.cmd = 'COPY';
    }
  }

  /** Takes one message as a Buffer of its own, which is what a receiver with only `write` gets. */
  write(packet) {
    const type = packet[0];
    if (type === backend.RowDescription) this.start(RowParser.of(packet), 0, undefined);
    else if (type === backend.DataRow || type === backend.CopyData) {
      if (type === backend.DataRow && this._type === null) throw protocolError('DataRow without a RowDescription');
      if (packet.length !== 1 + int32(packet, 1)) throw protocolError('a message of a wrong length');
      this.receiveData(packet, 0, packet.length, 1, true);
      this._last.from = 0;
      this._last.to = Infinity; // the caller may change the packet
    } else this.receive(type, packet, 0, packet.length);
  }

  toJSON() {
    return { cmd: this.cmd, oid: this.oid, rowCount: this.rowCount, rows: this.rows };
  }

  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    return `RowReader ${inspect(this.toJSON(), options)}`;
  }
}

// Fields that few results have are not set in each result.
Object.assign(RowReader.prototype, {
  error: undefined,
  types: undefined,
  _decode: undefined,
  _decoders: undefined,
  _asked: undefined,
  _isCamel: false,
  _asObjects: false,
  _objects: undefined,
  _arrays: undefined
});

// The bytes around a row may be another query's, so no log shows them.
Chunk.prototype[Symbol.for('nodejs.util.inspect.custom')] = () => 'Chunk';

module.exports = { Memory, RowReader };
