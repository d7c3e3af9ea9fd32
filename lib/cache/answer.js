'use strict';

const { Writable } = require('node:stream');
const { backend } = require('../core/protocol');
const { RowParser } = require('../core/rows');

/*
 * An answer is what `queryTo` wrote for a query: `{ body, cmd, rowCount, time, kept }`, where `time` is when it was
 * asked for. `tags`, `isPersonal` (it depends on values or settings, which may be those of one user), `maxAge`, `stale`
 * (milliseconds) and `form` (the options of queryTo) are those of the request. An answer that is too long to be kept is
 * `large` and has an empty body.
 */

/** The size of the pieces that a target gets. */
const PIECE = 65536;
const NOTHING = Buffer.alloc(0);

class Collector extends Writable {
  #chunks = [];
  #length = 0;
  #limit;

  /** @param {number} limit in bytes; above it, the stream is `large` and destroyed */
  constructor(limit) {
    super();
    this.#limit = limit;
  }

  get large() {
    return this.#length > this.#limit;
  }

  _write(chunk, encoding, callback) {
    this.#length += chunk.length;
    if (this.large) return void this.destroy();
    this.#chunks.push(chunk);
    callback();
  }

  /**
   * @returns {Buffer} all bytes, in memory of their own, so that the cache pins no slab; empty if the answer is large
   */
  take() {
    if (this.large) return NOTHING;
    const body = Buffer.allocUnsafeSlow(this.#length);
    this.#chunks.reduce((off, chunk) => off + chunk.copy(body, off), 0);
    return body;
  }
}

/** Whether the server's command tag is that of a read. */
function isRead({ cmd, body, form: { as = 'protocol' } }) {
  return cmd === 'SELECT' && (as !== 'protocol' || body[0] === backend.RowDescription);
}

/**
 * Gives an answer of protocol bytes to a reader. The rows are in a copy, so that no reader can change them for another.
 */
function read(answer, reader, lease) {
  const body = Buffer.from(answer.body);
  let off = body[0] === backend.RowDescription ? 1 + body.readUInt32BE(1) : 0;
  if (off > 0) answer.rowParser ??= RowParser.of(body.subarray(0, off));
  reader.start(answer.rowParser ?? null, answer.form.format ?? 0, lease);
  while (off < body.length) {
    const start = off;
    const type = body[off];
    const isData = type === backend.DataRow || type === backend.CopyData;
    let count = 0;
    do off += 1 + body.readUInt32BE(off + 1);
    while (++count > 0 && isData && body[off] === type);
    if (isData) reader.receiveData(body, start, off, count, true);
    else reader.receive(type, body, start, off);
  }
  return reader;
}

/**
 * Writes an answer to a target, at the target's pace. The target gets copies, since it may write into them.
 * @param {boolean} end whether to end it
 * @param {object} limit see limitOf
 */
async function write({ body, rowCount }, target, end, limit) {
  let off = 0;
  for (; body.length - off > 2 * PIECE; off += PIECE) {
    if (target.write(Buffer.from(body.subarray(off, off + PIECE)))) continue;
    await limit.race(new Promise(resolve => target.wait(resolve)));
  }
  const last = Buffer.from(body.subarray(off));
  if (end) return limit.race(target.end(last, rowCount));
  if (last.length > 0) target.write(last);
  return limit.race(target.flushed());
}

module.exports = { Collector, isRead, read, write };
