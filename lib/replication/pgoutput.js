'use strict';

const { kindOf, protocolError } = require('../core/protocol');
const { checkOptions } = require('../core/options');
const rows = require('../core/rows');
const { readTime } = require('./wal');

/** Reads one message, and never past its end. */
class MessageReader {
  constructor(buf) {
    this.buf = buf;
    this.off = 0;
  }

  /** @returns {number} the offset of the next `bytes` bytes, which are then consumed */
  take(bytes) {
    const at = this.off;
    if (bytes < 0 || at + bytes > this.buf.length) throw protocolError('a message of pgoutput is cut short');
    this.off = at + bytes;
    return at;
  }

  byte() {
    return this.buf[this.take(1)];
  }
  char() {
    return String.fromCharCode(this.byte());
  }
  int16() {
    return this.buf.readInt16BE(this.take(2));
  }
  int32() {
    return this.buf.readInt32BE(this.take(4));
  }
  uint32() {
    return this.buf.readUInt32BE(this.take(4));
  }
  lsn() {
    return this.buf.readBigUInt64BE(this.take(8));
  }
  time() {
    return readTime(this.buf, this.take(8));
  }

  string() {
    const end = this.buf.indexOf(0, this.off);
    if (end < 0) throw protocolError('a message of pgoutput has an unterminated string');
    const text = this.buf.toString('utf8', this.off, end);
    this.off = end + 1;
    return text;
  }

  bytes() {
    const length = this.int32();
    const at = this.take(length);
    return this.buf.subarray(at, at + length);
  }

  list(count, read) {
    if (count < 0) throw protocolError('a message of pgoutput has a negative count');
    return Array.from({ length: count }, read);
  }
}

/** @returns {Buffer} the RowDescription of a query that selects all columns of a relation: with domains' base types */
function describe({ oid, columns }, types) {
  const fields = columns.map(({ name, typeOid, typeModifier }, i) => {
    const field = Buffer.alloc(Buffer.byteLength(name) + 19);
    let off = field.write(name) + 1;
    off = field.writeUInt32BE(oid, off);
    off = field.writeInt16BE(i + 1, off);
    off = field.writeUInt32BE(types?.baseOf(typeOid) ?? typeOid, off);
    field.writeInt32BE(typeModifier, off + 2);
    return field;
  });
  const description = Buffer.concat([Buffer.from('T\0\0\0\0\0\0'), ...fields]);
  description.writeInt32BE(description.length - 1, 1);
  description.writeUInt16BE(columns.length, 5);
  return description;
}

/** The values of a row by column name. A large value that did not change is not sent, and has no property. */
function readTuple(message, relation, decoder, keyOnly = false) {
  const count = message.int16();
  if (count !== relation.columns.length) throw protocolError('a row of pgoutput does not fit its relation');
  const row = {};
  for (const [i, { name, key }] of relation.columns.entries()) {
    const kind = message.char();
    let value = null;
    if (kind === 't' || kind === 'b') value = decoder.value(relation, i, kind, message.bytes());
    else if (kind === 'u') continue;
    else if (kind !== 'n') throw protocolError(`a row of pgoutput has a value of kind ${kind}`);
    if (keyOnly && !key) continue;
    if (name !== '__proto__') row[name] = value;
    else Object.defineProperty(row, name, { value, writable: true, enumerable: true, configurable: true });
  }
  return row;
}

/** Reads the old row, or its key alone, if the message has one. */
function readOld(message, relation, change, decoder) {
  const kind = message.char();
  if (kind === 'O') change.old = readTuple(message, relation, decoder);
  else if (kind === 'K') change.key = readTuple(message, relation, decoder, true);
  else return kind;
  return undefined;
}

function readNew(message, relation, kind, decoder) {
  if (kind !== 'N') throw protocolError(`a change of pgoutput has a row of kind ${kind}`);
  return readTuple(message, relation, decoder);
}

const OPTIONS = new Set(['decode']);

const IDENTITIES = { d: 'default', n: 'nothing', f: 'full', i: 'index' };

/** How each message is read: `(message, decoder)` returns its content. */
const MESSAGES = {
  B: m => ({ type: 'begin', commitLsn: m.lsn(), time: m.time(), xid: m.uint32() }),
  C: m => ({ type: 'commit', flags: m.byte(), commitLsn: m.lsn(), endLsn: m.lsn(), time: m.time() }),
  O: m => ({ type: 'origin', lsn: m.lsn(), name: m.string() }),
  Y: m => ({ type: 'type', oid: m.uint32(), schema: m.string() || 'pg_catalog', name: m.string() }),
  R(m, decoder) {
    const key = () => (m.byte() & 1) === 1;
    const column = () => ({ key: key(), name: m.string(), typeOid: m.uint32(), typeModifier: m.int32() });
    const relation = {
      type: 'relation',
      oid: m.uint32(),
      schema: m.string() || 'pg_catalog',
      name: m.string(),
      identity: IDENTITIES[m.char()],
      columns: m.list(m.int16(), column)
    };
    decoder.relations.set(relation.oid, relation);
    return relation;
  },
  I(m, decoder) {
    const change = { type: 'insert', relation: decoder.relation(m.uint32()) };
    change.new = readNew(m, change.relation, m.char(), decoder);
    return change;
  },
  U(m, decoder) {
    const change = { type: 'update', relation: decoder.relation(m.uint32()) };
    change.new = readNew(m, change.relation, readOld(m, change.relation, change, decoder) ?? m.char(), decoder);
    return change;
  },
  D(m, decoder) {
    const change = { type: 'delete', relation: decoder.relation(m.uint32()) };
    const kind = readOld(m, change.relation, change, decoder);
    if (kind !== undefined) throw protocolError(`a change of pgoutput has a row of kind ${kind}`);
    return change;
  },
  T(m, decoder) {
    const count = Math.min(m.int32(), m.buf.length);
    const options = m.byte();
    const relations = m.list(count, () => decoder.relation(m.uint32()));
    return { type: 'truncate', cascade: (options & 1) === 1, restartIdentity: (options & 2) === 2, relations };
  }
};

/**
 * Decodes the messages of the output plugin pgoutput, protocol version 1: the changes of a publication's tables, in the
 * order of the commits.
 * https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html
 */
class PgOutput {
  #decode; // true, a map of decoders, or undefined
  #parsers = new WeakMap(); // how values are decoded, by relation
  #types; // those that are not built in

  /**
   * @param {{decode: boolean|Map|object}} [options] what values are; true by default
   * @param {Types} [types] what is known of types that are not built in; without it, names of types are refused
   */
  constructor(options, types) {
    checkOptions(options, OPTIONS);
    const decode = rows.checkDecode(options?.decode) ?? true;
    if (types === undefined && rows.hasNames(decode))
      throw new TypeError('decode has names of types, which pgoutput does not tell: write OIDs');
    this.#decode = decode || undefined;
    this.#types = types;
    /** @type {Map<number, object>} the tables described so far, by OID */
    this.relations = new Map();
  }

  /** The decoders of all columns. */
  get #decoders() {
    const decode = this.#decode === true ? rows.decoders : this.#decode;
    return this.#types === undefined ? decode : this.#types.decodersOf(decode, false);
  }

  /** @private The value of column i, whose kind is 't' (text) or 'b' (binary). */
  value(relation, i, kind, bytes) {
    if (this.#decode === undefined) return kind === 't' ? bytes.toString() : Buffer.from(bytes);
    if (!this.#parsers.has(relation)) this.#parsers.set(relation, new rows.RowParser(describe(relation, this.#types)));
    const decoder = this.#parsers.get(relation).type(kind === 't' ? 0 : 1, this.#decoders).decoders[i];
    return decoder === undefined ? bytes.toString() : decoder(bytes, 0, bytes.length);
  }

  /**
   * @private
   * @param {object} change that was decoded
   * @returns {number[]} types of its table that have to be asked for before its values are right
   */
  lacking({ type, columns, relation = type === 'relation' ? { columns } : undefined }) {
    if (this.#decode === undefined || relation === undefined) return [];
    return this.#types.lackingIn(relation, undefined, 0, []);
  }

  relation(oid) {
    const relation = this.relations.get(oid);
    if (relation === undefined) throw protocolError(`pgoutput did not describe the relation ${oid}`);
    return relation;
  }

  /** @returns {object} see PgOutputMessage in index.d.ts */
  decode(data) {
    if (!ArrayBuffer.isView(data)) throw new TypeError(`decode takes a Buffer, not ${kindOf(data)}`);
    const message = new MessageReader(data);
    const type = message.char();
    if (!Object.hasOwn(MESSAGES, type)) {
      throw protocolError(
        `a message of pgoutput of type ${type}: START_REPLICATION takes proto_version '1', no messages, and ` +
          'a slot without two_phase'
      );
    }
    const change = MESSAGES[type](message, this);
    if (message.off !== data.length) throw protocolError(`a message of pgoutput of type ${type} is too long`);
    return change;
  }
}

module.exports = { PgOutput };
