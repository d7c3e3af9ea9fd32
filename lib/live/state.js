'use strict';

const zlib = require('node:zlib');
const { backend, protocolError } = require('../protocol');

const GZIP = { level: 3, finishFlush: zlib.constants.Z_SYNC_FLUSH };

/** Messages for a reader. Each piece is compressed on its own and once: it refers to no other, so any reader can take it. */
class Piece {
  #compressed;

  /** @param {Buffer} bytes whole messages */
  constructor(bytes) { this.bytes = bytes; }

  /** @returns {Buffer} blocks of deflate that are not the last ones */
  get compressed() { return (this.#compressed ??= zlib.deflateRawSync(this.bytes, GZIP)); }
}

const emptyMessage = type => Buffer.from([type, 0, 0, 0, 4]);
const SUSPENDED = emptyMessage(backend.PortalSuspended);

/** Keeps the connection of a reader alive. */
const NO_DATA = new Piece(emptyMessage(backend.NoData));

/** @returns {Buffer} a NotificationResponse: so many rows from this position of the state before */
function copy(position, count) {
  const message = Buffer.from(`A\0\0\0\0\0\0\0\0copy\0${position} ${count}\0`);
  message.writeInt32BE(message.length - 1, 1);
  return message;
}

/**
 * A result at one moment. Each row has a number: rows with equal bytes have the same one in a state and the next, so that a
 * reader of any earlier state can be told which rows it has.
 */
class State {
  #pieces = new Map(); // by the state before
  #known = new Map(); // numbers by the bytes of the row
  #next; // the next number
  #offsets = []; // of the rows in the body, and of the end of the last one

  /**
   * @param {Buffer} body of the answer: RowDescription, DataRow messages, CommandComplete
   * @param {State} [before] of the same result, which forgets its rows
   */
  constructor(body, before) {
    let off = 1 + body.readUInt32BE(1);
    const description = body.subarray(0, off);
    const isSame = before !== undefined && description.equals(before.description);
    this.body = body;
    this.description = isSame ? before.description : Buffer.from(description);
    this.#next = isSame ? before.#next : 0;
    const numbers = [];
    for (; body[off] === backend.DataRow; off += 1 + body.readUInt32BE(off + 1)) {
      this.#offsets.push(off);
      const key = body.latin1Slice(off, off + 1 + body.readUInt32BE(off + 1));
      const number = this.#known.get(key) ?? (isSame ? before.#known.get(key) : undefined) ?? this.#next++;
      this.#known.set(key, number);
      numbers.push(number);
    }
    if (body[off] !== backend.CommandComplete) throw protocolError('a result that does not end');
    this.#offsets.push(off);
    this.numbers = Float64Array.from(numbers);
    if (before !== undefined) before.#forget();
  }

  /** Numbers are enough for the readers that still have this state. */
  #forget() {
    this.body = undefined;
    for (const each of [this.#pieces, this.#known]) each.clear();
    this.#offsets = undefined;
  }

  /** @returns {Piece} what makes this state of the one that a reader has */
  from(before) {
    if (!this.#pieces.has(before)) this.#pieces.set(before, new Piece(this.#messages(before)));
    return this.#pieces.get(before);
  }

  /** The whole state begins with a RowDescription. A difference that is longer is not worth it. */
  #messages(before) {
    const end = this.#offsets.at(-1);
    if (before?.description === this.description) {
      const list = this.#difference(before);
      if (list.reduce((length, { length: more }) => length + more, 0) < end) return Buffer.concat([...list, SUSPENDED]);
    }
    return Buffer.concat([this.body.subarray(0, end), SUSPENDED]);
  }

  #difference({ numbers: old }) {
    const { body, numbers } = this;
    const list = [];
    const positions = new Map();
    old.forEach((number, position) => positions.set(number, position));
    for (let i = 0; i < numbers.length;) {
      const first = i;
      const position = positions.get(numbers[i]);
      if (position === undefined) {
        do i++; while (i < numbers.length && !positions.has(numbers[i]));
        list.push(body.subarray(this.#offsets[first], this.#offsets[i]));
      } else {
        do i++; while (i < numbers.length && numbers[i] === old[position + i - first]);
        list.push(copy(position, i - first));
      }
    }
    return list;
  }
}

module.exports = { NO_DATA, State };
