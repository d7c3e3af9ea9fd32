'use strict';

const { Readable, addAbortSignal } = require('#platform').stream;
const { checkSignal } = require('./abort');

/** The rows of a cursor as a Node stream. */
class CursorReadable extends Readable {
  /**
   * @param {Cursor} cursor
   * @param {object} [options] `{ highWaterMark, signal }`
   */
  constructor(cursor, { highWaterMark, signal } = {}) {
    checkSignal(signal);
    super({ objectMode: true, highWaterMark });
    this._cursor = cursor;
    // As an option of super() it would be too early: an aborted one destroys what has nothing to give up yet.
    if (signal !== undefined) addAbortSignal(signal, this);
  }

  _read() {
    this._cursor.next().then(({ done, value }) => {
      if (done) return this.push(null);
      // What has been fetched is there already: a promise for each row would cost more than the row.
      while (value !== undefined && this.push(value)) value = this._cursor.take();
    }).catch(error => this.destroy(error));
  }

  _destroy(error, callback) {
    this._cursor.return().then(() => callback(error), () => callback(error));
  }
}

/**
 * The rows of a cursor as a WHATWG stream.
 * @param {Cursor} cursor
 * @returns {ReadableStream}
 */
function webStream(cursor) {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await cursor.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: () => cursor.return()
  }, { highWaterMark: 0 });
}

module.exports = { CursorReadable, webStream };
