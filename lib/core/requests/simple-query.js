'use strict';

const { State, backend, nextState } = require('../protocol');
const { RowReader, readingOf, wantsOf } = require('../rows');
const { Request, waitsForTypes } = require('../pipeline');

const { CommandComplete, CopyData, CopyInResponse, DataRow, EmptyQueryResponse, ErrorResponse, RowDescription } =
  backend;

/** Messages that begin the answer to a statement. */
const FIRST = new Set([RowDescription, backend.CopyOutResponse, CommandComplete, EmptyQueryResponse]);

/**
 * A simple Query: several statements in one text, in one implicit transaction.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-SIMPLE-QUERY
 */
class SimpleQueryRequest extends Request {
  /** @param {object} options of the readers */
  constructor(text, options) {
    super();
    this.text = text;
    this.options = options;
    this.result = [];
    this.reader = null; // of the current statement
    // During COPY FROM STDIN the server ignores everything but data.
    this.barrier = /\bcopy\b/i.test(text);
  }

  get controlsBlock() {
    return /\b(?:begin|start|commit|end|rollback|abort)\b/i.test(this.text);
  }

  encode(writer) {
    this.checkStatement(this.text);
    writer.query(this.text);
    this.state = State.Simple;
  }

  message(pipeline, type, buf, start, end, count) {
    if (type === ErrorResponse) return this.takeError(pipeline, buf, start, end);
    this.state = nextState(this.state, type, start, end);
    if (type === CopyInResponse) {
      pipeline.writer.copyFail('simpleQuery cannot send data: use copyFrom, or query');
      return pipeline.flush();
    }
    if (!this.pending) return; // it was given up
    if (this.reader === null && FIRST.has(type))
      this.result.push((this.reader = new RowReader(readingOf(this.options))));
    const { reader } = this;
    if (type === RowDescription) reader.start(pipeline.rowParserOf(buf, start, end), 0, pipeline);
    else if (type === DataRow || type === CopyData) reader.receiveData(buf, start, end, count, pipeline.reader.owned);
    else reader.receive(type, buf, start, end);
    if (type !== CommandComplete) return;
    pipeline.statements.afterCommand(reader.cmd, this.text);
    this.reader = null;
  }

  get wants() {
    return wantsOf(this.options.decode);
  }

  ready() {
    this.error ??= this.result.find(({ error }) => error !== undefined)?.error;
    if (!waitsForTypes(this, this.result)) super.ready();
  }
}

SimpleQueryRequest.prototype.simple = SimpleQueryRequest.prototype.disturbs = true;

module.exports = { SimpleQueryRequest };
