'use strict';

const zlib = require('node:zlib');
const { backend, protocolError } = require('../protocol');

const GZIP = { level: 3, finishFlush: zlib.constants.Z_SYNC_FLUSH };

/** Messages for a reader. Each piece is compressed on its own and once: it refers to no other, so any reader can take it. */
class Piece {
  #compressed;
  #parts;

  /** @param {...Buffer} parts whole messages; several are joined for each reader, so that a state is in memory once */
  constructor(...parts) { this.#parts = parts; }

  get bytes() { return this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts); }

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
 * Finds items in an earlier list: preferably behind the one found before.
 * @returns {Array<number|undefined>} their positions
 */
function positionsIn(before, items) {
  const known = new Map(Array.from(before, (item, position) => [item, position]));
  let next = 0;
  return Array.from(items, item => {
    const position = before[next] === item ? next : known.get(item);
    next = (position ?? next) + 1;
    return position;
  });
}

/**
 * A result at one moment. Each row has a number, which it keeps in the states that follow, so that a reader of any earlier state
 * can be told which rows it has.
 */
class State {
  #next; // the next number
  #offsets = []; // of the rows in the body, and of the end of the last one
  #pieces = new Map(); // by the state before

  /**
   * @param {Buffer} body of the answer: RowDescription, DataRow messages, CommandComplete
   * @param {State} [before] of the same result, which forgets its rows
   */
  constructor(body, before) {
    let off = 1 + body.readUInt32BE(1);
    const description = body.subarray(0, off);
    const isSame = before !== undefined && description.equals(before.description);
    this.description = isSame ? before.description : Buffer.from(description);
    this.body = body;
    for (; body[off] === backend.DataRow; off += 1 + body.readUInt32BE(off + 1)) this.#offsets.push(off);
    if (body[off] !== backend.CommandComplete) throw protocolError('a result that does not end');
    this.#offsets.push(off);
    this.#next = isSame ? before.#next : 0;
    const positions = isSame ? positionsIn(before.#keys(), this.#keys()) : Array(this.#offsets.length - 1).fill();
    this.numbers = Float64Array.from(positions, position => position === undefined ? this.#next++ : before.numbers[position]);
    if (before !== undefined) [before.body, before.#offsets, before.#pieces] = [undefined, undefined, undefined];
  }

  /** The rows as strings, a character for each byte. */
  #keys() { return this.#offsets.slice(1).map((end, i) => this.body.latin1Slice(this.#offsets[i], end)); }

  /** @returns {Piece} what makes this state of the one that a reader has */
  from(before) {
    if (!this.#pieces.has(before)) this.#pieces.set(before, this.#piece(before));
    return this.#pieces.get(before);
  }

  /** The whole state begins with a RowDescription. A difference that is longer is not worth it. */
  #piece(before) {
    const rows = this.body.subarray(0, this.#offsets.at(-1));
    if (before?.description === this.description) {
      const difference = Buffer.concat([...this.#difference(positionsIn(before.numbers, this.numbers)), SUSPENDED]);
      if (difference.length < rows.length) return new Piece(difference);
    }
    return new Piece(rows, SUSPENDED);
  }

  #difference(positions) {
    const list = [];
    for (let i = 0, first; i < positions.length;) {
      const position = positions[first = i];
      do i++; while (i < positions.length && positions[i] === (position === undefined ? undefined : position + i - first));
      list.push(position === undefined ? this.body.subarray(this.#offsets[first], this.#offsets[i]) : copy(position, i - first));
    }
    return list;
  }
}

module.exports = { NO_DATA, State };
