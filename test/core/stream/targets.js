'use strict';

// Targets of results, and what reads what they got.

const { once } = require('node:events');
const { Writable } = require('node:stream');

/** A target that gathers what it is given. */
class Collector extends Writable {
  constructor(options) {
    super(options);
    this.chunks = [];
  }

  get bytes() {
    return Buffer.concat(this.chunks);
  }
  get text() {
    return this.bytes.toString();
  }

  _write(chunk, encoding, callback) {
    this.chunks.push(Buffer.from(chunk));
    callback();
  }
}

/** A target that takes nothing until it is told to. */
class Slow extends Collector {
  _write(chunk, encoding, callback) {
    this.chunks.push(Buffer.from(chunk));
    this.callback = callback;
    if (this.fast) this.go();
    else this.emit('asked');
  }

  /** Waits until it has been given something. */
  async asked() {
    if (this.callback === undefined) await once(this, 'asked');
  }

  /** Takes it. */
  go() {
    const { callback } = this;
    this.callback = undefined;
    callback();
  }

  /** Takes everything from now on. */
  hurry() {
    this.fast = true;
    if (this.callback !== undefined) this.go();
  }
}

/** What a reader without earlier state makes of the bytes. */
async function read(bytes, options) {
  const { rows } = await import('../../../client-parser/index.js');
  const source = rows([bytes], options);
  const result = { rows: [], error: undefined };
  try {
    for await (const row of source) result.rows.push(Object.values(row));
    result.columns = source.columns && source.columns.map(column => column.name);
    result.cmd = source.cmd;
    result.rowCount = source.rowCount;
  } catch (error) {
    result.error = error;
  }
  return result;
}

module.exports = { Collector, Slow, read };
