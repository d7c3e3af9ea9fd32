'use strict';

const { backend } = require('../core/protocol');
const { Held } = require('./held');

/** The most pieces of a state that are kept; slow readers come from many states. */
const MOST = 16;

/** Keeps the connection of a reader alive. */
const NO_DATA = Buffer.from([backend.NoData, 0, 0, 0, 4]);

/** Bytes for the number and the place of a row. */
const ROW = 16;

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
 * The rows at one time. Each has a number, which an equal row of the state before has as well; so what readers have is
 * small.
 */
class State {
  #description;
  #held;
  #next; // number of the next new row
  #numbers;
  #offsets = []; // of the rows, and of their end
  #pieces = new Map(); // by the state before

  /**
   * @param {Buffer} bytes RowDescription, DataRow messages, PortalSuspended
   * @param {State} [before] of the same result, which forgets its rows
   * @param {Held} [held] counts what this keeps until it forgets it
   */
  constructor(bytes, before, held = new Held()) {
    this.bytes = bytes;
    this.#held = held;
    const start = 1 + bytes.readUInt32BE(1);
    for (let off = start; off < bytes.length; off += 1 + bytes.readUInt32BE(off + 1)) this.#offsets.push(off);
    const description = bytes.subarray(0, start);
    const isSame = before !== undefined && before.#description.equals(description);
    this.#description = isSame ? before.#description : Buffer.from(description);
    this.#next = isSame ? before.#next : 0;
    const positions = isSame ? positionsIn(before.#keys(), this.#keys()) : Array(this.size).fill();
    this.#numbers = Float64Array.from(positions, position =>
      position === undefined ? this.#next++ : before.#numbers[position]
    );
    held.hold(bytes);
    held.bytes += ROW * this.size;
    before?.forget();
  }

  /** Forgets the rows. */
  forget() {
    this.#clear();
    this.#held.release(this.bytes);
    this.#held.bytes -= ROW * this.size;
    this.bytes = this.#offsets = undefined;
  }

  #clear() {
    for (const piece of this.#pieces.values()) this.#held.release(piece);
    this.#pieces.clear();
  }

  /** Number of rows. */
  get size() {
    return this.#offsets.length - 1;
  }

  /** The rows as strings, a character for each byte. */
  #keys() {
    return this.#offsets.slice(1).map((end, i) => this.bytes.latin1Slice(this.#offsets[i], end));
  }

  /**
   * @returns {Buffer} what makes this state of the one that a reader has; a whole state begins with a RowDescription
   */
  from(before) {
    if (!this.#pieces.has(before)) {
      const isSame = before?.#description === this.#description;
      if (this.#pieces.size === MOST) this.#clear();
      const piece = isSame ? this.#difference(positionsIn(before.#numbers, this.#numbers)) : this.bytes;
      this.#held.hold(piece);
      this.#pieces.set(before, piece);
    }
    return this.#pieces.get(before);
  }

  #difference(positions) {
    const list = [];
    for (let i = 0, first; i < positions.length;) {
      const position = positions[(first = i)];
      do i++;
      while (i < positions.length && positions[i] === (position === undefined ? undefined : position + i - first));
      list.push(
        position === undefined ? this.bytes.subarray(this.#offsets[first], this.#offsets[i]) : copy(position, i - first)
      );
    }
    return Buffer.concat([...list, this.bytes.subarray(this.#offsets.at(-1))]);
  }
}

module.exports = { NO_DATA, State };
