'use strict';

const { protocolError } = require('../protocol/errors');
const { Request, describeType } = require('./request');
const { RowParser } = require('../rows/row-parser');
const { RowReader } = require('../rows/result');
const { effectsOf } = require('./settings');
const { forgetsAll } = require('./statements');
const { checkText } = require('../protocol/writer');

/**
 * The simple query protocol: several statements in one text, one implicit transaction.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-SIMPLE-QUERY
 */
class SimpleQueryRequest extends Request {
  /** @param {string} text */
  constructor(text) {
    super();
    checkText(text, 'text');
    this.text = text;
    this.readers = [];
    this._reader = null;
    // A COPY FROM STDIN among the statements would swallow what is sent behind it.
    this.fenced = /\bcopy\b[^]*\bstd(?:in|out)\b/i.test(text);
  }

  encode(writer, statements) {
    writer.query(this.text);
    for (const effect of effectsOf(this.text)) statements.affected(effect);
    if (forgetsAll(this.text)) statements.clear();
  }

  /** The reader of the statement whose answer is coming. */
  get reader() {
    if (this._reader === null) {
      this.readers.push(this._reader = new RowReader());
      this.done = false;
    }
    return this._reader;
  }

  message(pipeline, type, buf, start, end, count) {
    if (type === 69) return super.message(pipeline, type, buf, start, end); // E ErrorResponse
    if (this.error !== undefined) throw protocolError('an answer goes on after its error');
    switch (type) {
      case 84: // T RowDescription
        if (this._reader !== null) break;
        return this.reader.start(new RowParser(buf.subarray(start, end)), 0);
      case 68: // D DataRow
      case 100: // d CopyData
        if (!this._has(type === 68)) break;
        return this.settled ? undefined : this.reader.receiveData(buf, start, end, count, pipeline.reader.owned);
      case 72: // H CopyOutResponse
        if (this._reader !== null) break;
        return this.reader.receive(type, buf, start, end);
      case 99: // c CopyDone
        if (!this._has(false)) break;
        return this.reader.receive(type, buf, start, end);
      case 67: case 73: // C CommandComplete, I EmptyQueryResponse
        this.reader.receive(type, buf, start, end);
        if (/^(?:DISCARD|DEALLOCATE) ALL$/.test(this.reader.cmd)) pipeline.statements.clearDescribed();
        this._reader = null;
        this.done = true;
        return;
      case 71: // G CopyInResponse
        pipeline.writer.copyFail('COPY FROM STDIN is not possible in simpleQuery; use copyFrom, or query');
        return pipeline.scheduleFlush();
    }
    throw protocolError(`unexpected message of type ${describeType(type)} in answer to a simple query`);
  }

  /** Whether the answer of a statement has begun, with the description of rows, or as a COPY. */
  _has(rows) { return this._reader !== null && (this._reader.rowParser !== undefined) === rows; }

  result() { return this.readers; }
}

module.exports = { SimpleQueryRequest };
