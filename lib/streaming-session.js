'use strict';

const { EventEmitter } = require('#platform').events;
const { checkNames, checkOptions, NAMES, NO_OPTIONS, NO_VALUES } = require('./query/options');
const rooms = require('./rooms');

/** What a session can do by streams: the base of Session. */
class StreamingSession extends EventEmitter {
  /** @throws {Error} when nothing can be asked any more */
  _check() {}

  /** Runs what may throw because of its input; then it rejects. */
  _try(work) {
    try {
      this._check();
      return work();
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Lets a signal or a time limit among the options cancel a request. */
  _limit(request, options) {
    if (options === undefined || (options.signal === undefined && options.statement_timeout === undefined)) return;
    rooms.abort.makeAbortable(request, this._pipeline, options, () => this._cancel());
  }

  _submit(request, options) {
    this._limit(request, options);
    return this._pipeline.submit(request, this._scope);
  }

  /**
   * Runs a query and writes its result straight to a target, without looking at the rows: an HTTP response, a
   * file, a zlib stream, any Node Writable, or a WHATWG WritableStream. Nothing is written before the first rows
   * or the end of the result have come, so that a query which fails before leaves the target as it was. While
   * the target asks to wait, the connection is not read, for nobody: slow readers need connections of their own.
   * A target that goes away cancels the query; where other requests were already sent behind it, its result is
   * read and dropped instead.
   * @param {Writable|WritableStream} target
   * @param {string} text
   * @param {Array|Row} [values=[]]
   * @param {object} [options]
   * @param {string} [options.as='protocol'] 'protocol': the messages of the protocol, which a reader can parse
   *   without earlier state (`rows` of client-parser does); 'values': the bytes of the columns' values alone, or
   *   of COPY … TO STDOUT its data
   * @param {string|Buffer} [options.separator] with 'values', written between two rows
   * @param {boolean} [options.end=true] whether to end the target
   * @param {number} [options.format=Client.STRING]
   * @param {boolean} [options.cache=true]
   * @param {number[]} [options.paramTypes]
   * @param {AbortSignal} [options.signal]
   * @param {number} [options.statement_timeout] milliseconds
   * @returns {Promise<{cmd: string, rowCount: number, bytes: number}>} resolves when the target has taken
   *   everything; rejects with the error of the query, with that of the target, or with an AbortError when the
   *   target was closed. If something had been written by then, the reader can tell: with 'protocol' an
   *   ErrorResponse of severity, code and message ends the stream, with 'values' the target is destroyed
   */
  queryTo(target, text, values = NO_VALUES, options = NO_OPTIONS) {
    return this._try(() => {
      checkOptions(options, NAMES.queryTo);
      return rooms.queryTo.queryTo(this, target, text, values, options);
    });
  }

  /**
   * Copies a table, or the result of a query, out of the database: a stream of the bytes that COPY gives, text,
   * CSV or binary. Nothing is sent behind it until it is over. To destroy it cancels the COPY.
   * @param {string} text COPY … TO STDOUT
   * @param {object} [options]
   * @param {AbortSignal} [options.signal] destroys the stream
   * @param {number} [options.highWaterMark=65536] bytes to be read ahead
   * @returns {Readable} with `rowCount` (when it has ended), `bytes` and `format`; an error of the query is its
   *   error
   * @throws {TypeError} for any other text
   * @see https://www.postgresql.org/docs/current/sql-copy.html
   */
  copyTo(text, options) {
    this._check();
    checkNames(options, NAMES.copy);
    return new rooms.copyStream.CopyTo(this, text, options);
  }

  /**
   * Copies into a table: a stream that takes text, CSV or binary as COPY does; rows may be split anywhere. The
   * connection is its own until it is over. 'finish' says that the server has stored the rows (or will, with the
   * transaction). To destroy it, with or without an error, makes the COPY fail: nothing is stored.
   * @param {string} text COPY … FROM STDIN
   * @param {object} [options]
   * @param {AbortSignal} [options.signal] destroys the stream
   * @param {number} [options.highWaterMark=262144]
   * @returns {Writable} with `rowCount` (when it has finished) and `bytes`; an error of the server is its error
   * @throws {TypeError} for any other text
   * @see https://www.postgresql.org/docs/current/sql-copy.html
   */
  copyFrom(text, options) {
    this._check();
    checkNames(options, NAMES.copy);
    return new rooms.copyStream.CopyFrom(this, text, options);
  }

  /**
   * Listens to a channel, until the loop over it is left. What comes while nobody takes it is kept.
   * @param {string} channel
   * @param {object} [options]
   * @param {AbortSignal} [options.signal] makes the loop throw its reason
   * @returns {Listener} an async iterable of `{ processId, channel, payload }`; `ready` is a promise that resolves
   *   when the server has begun to notify. It ends with `end()`, and throws when the connection is lost
   * @throws {TypeError|RangeError|UsageError} for a name that is none; inside a transaction (25001), where it would begin
   *   with the commit
   * @see https://www.postgresql.org/docs/current/sql-listen.html
   */
  listen(channel, options) {
    this._check();
    checkNames(options, NAMES.listen);
    return rooms.listen.listen(this, channel, options);
  }
}

module.exports = { StreamingSession };
