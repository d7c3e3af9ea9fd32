'use strict';

const {
  backend: { CommandComplete },
  decodeCommandComplete,
  kindOf
} = require('../protocol');
const { RowReader, int32 } = require('../rows');
const { Sink, protocol } = require('./sink');
const { Target } = require('./target');

/** Gives a target with nothing but `write` each message as a Buffer of its own. */
class PacketReceiver {
  cmd;
  /** @type {Error|undefined} thrown by the target, after which nothing is written to it */
  error;

  constructor(given) {
    this.given = given;
  }

  start(rowParser, format) {
    this.given.rowParser = rowParser && rowParser.forFormat(format);
    this.given.binary = format;
    if (rowParser !== null) this.#write(rowParser.description(format));
  }

  #write(message) {
    if (this.error !== undefined) return;
    try {
      this.given.write(Buffer.from(message));
    } catch (error) {
      this.error = error;
    }
  }

  receiveData(buf, start, end) {
    for (let off = start; off < end;) {
      const next = off + 1 + int32(buf, off + 1);
      this.#write(buf.subarray(off, next));
      off = next;
    }
  }

  receive(type, buf, start, end) {
    if (type === CommandComplete) this.cmd = decodeCommandComplete(buf, start, end).cmd;
    this.#write(buf.subarray(start, end));
  }
}

/**
 * @param {object} given a RowReader, a Node stream, or an object with `write(packet)`
 * @param {number} [buffer] see Sink
 */
function receiverFor(given, buffer) {
  if (given instanceof RowReader && given.write === RowReader.prototype.write) return given;
  if (given === null || typeof given !== 'object' || typeof given.write !== 'function') {
    throw new TypeError(
      `stream must be a RowReader, a writable stream or an object with write(packet), not ${kindOf(given)}`
    );
  }
  if (!given.pipe) return new PacketReceiver(given);
  return new Sink(new Target(given), protocol, buffer);
}

module.exports = { PacketReceiver, receiverFor };
