'use strict';

const { CursorReadable, webStream } = require('./cursor-streams');
const { goInside, watch } = require('./deadlock');
const { loadDecoders } = require('../rows/decode');
const { callerOf } = require('./request');
const { RowReader } = require('../rows/result');

/**
 * The rows of a query, some at a time: an async iterable that holds one batch in memory.
 */
class Cursor {
  /**
   * @param {function(): Portal} open makes the portal; called at the first row
   * @param {object} options
   * @param {number} options.batchSize rows a round trip
   * @param {function(Request)} options.prepare makes a request abortable
   * @param {boolean|object} [options.decode]
   */
  constructor(open, { batchSize, prepare, decode }) {
    this._open = open;
    this._batchSize = batchSize;
    this._prepare = prepare;
    this._decode = decode;
    this._portal = null;
    this._rows = [];
    this._index = 0;
    this._over = false;
    this._begun = false; // whether a row has been given
    this._turns = 0; // calls that wait
    this._turn = Promise.resolve();
  }

  [Symbol.asyncIterator]() { return this; }

  /**
   * @returns {Promise<{done: boolean, value: object}>} the next row; rejects once with the error of the query, of the connection or of
   *   the signal, after the rows that came before it
   */
  next() {
    if (this._index < this._rows.length && this._turns === 0) {
      return Promise.resolve({ done: false, value: this._rows[this._index++] });
    }
    try {
      if (this._portal === null && !this._over) {
        this._portal = this._open();
        if (!this._portal.inBlock) watch(this._portal.scope);
      }
    } catch (error) {
      this._over = true;
      return Promise.reject(error);
    }
    const caller = callerOf(this.next);
    return this._inTurn(() => this._next(caller));
  }

  /** @returns {object|undefined} the next row, if it has been fetched and nobody waits for it */
  take() {
    return this._index < this._rows.length && this._turns === 0 ? this._rows[this._index++] : undefined;
  }

  /**
   * The rows as a Node stream in object mode. To destroy it closes the cursor, once the batch that is being
   * fetched has come.
   * @param {object} [options]
   * @param {number} [options.highWaterMark=16] rows to be read ahead
   * @param {AbortSignal} [options.signal] destroys the stream
   * @returns {Readable}
   */
  readable(options) { return new CursorReadable(this, options); }

  /**
   * The rows as a WHATWG stream. To cancel it closes the cursor.
   * @returns {ReadableStream}
   */
  readableStream() { return webStream(this); }

  /** Calls that do not wait for each other are answered in their order. */
  _inTurn(work) {
    this._turns++;
    const turn = this._turn.then(work).finally(() => { this._turns--; });
    this._turn = turn.catch(() => {});
    return turn;
  }

  async _next(caller) {
    while (this._index >= this._rows.length) {
      if (this._over) return { done: true, value: undefined };
      try {
        await this._fetch(caller);
      } catch (error) {
        this._over = true;
        this._portal.close().catch(() => {});
        throw error;
      }
    }
    const value = this._rows[this._index++];
    if (this._begun || this._portal.inBlock) return { done: false, value };
    this._begun = true;
    return firstRow(this._portal.scope, value);
  }

  async _fetch(caller) {
    const reader = new RowReader();
    const promise = this._portal.fetch(this._batchSize, reader, caller, this._prepare);
    await (this._decode ? loadDecoders(reader, this._decode, promise) : promise);
    this._rows = reader.rows;
    this._index = 0;
    if (reader.cmd !== 'SUSPENDED') this._over = true;
  }

  /**
   * Closes the portal; what `break` in a loop calls.
   * @param {*} [value] to be given back
   * @returns {Promise<{done: true}>} rejects with a ConnectionError where the connection is lost meanwhile
   */
  return(value) {
    return this._inTurn(async () => {
      this._over = true;
      this._rows = [];
      if (this._portal !== null) await this._portal.close();
      return { done: true, value };
    });
  }
}

/**
 * What the first `next()` of a cursor gives. The loop that gets it is inside the cursor. Not so who calls: a loop
 * that is started beside other code makes its first call while that code runs.
 */
function firstRow(scope, value) {
  return {
    get done() {
      goInside(scope);
      return false;
    },
    value
  };
}

module.exports = { Cursor };
