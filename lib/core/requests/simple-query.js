'use strict';

const { backend, nextState } = require('../protocol');
const { RowReader, readingOf, wantsOf } = require('../rows');
const { SimpleRequest } = require('../pipeline');

const { CommandComplete, CopyData, CopyInResponse, DataRow, EmptyQueryResponse, ErrorResponse, RowDescription } =
  backend;

/**
 * An option for quickgres/pg: what has the data of COPY. `takes(pipeline)` is asked at CopyInResponse whether it sends
 * data, and `give(pipeline, buf, start, end)` gets CopyData messages.
 */
const COPY = Symbol('copy');

/** Messages that begin the answer to a statement. */
const FIRST = new Set([RowDescription, backend.CopyOutResponse, CommandComplete, EmptyQueryResponse]);

/**
 * A simple Query: several statements in one text, in one implicit transaction.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-SIMPLE-QUERY
 */
class SimpleQueryRequest extends SimpleRequest {
  /** @param {object} options of the readers */
  constructor(text, options) {
    super(text);
    this.options = options;
    this.receiver = [];
    this.reader = null; // of the current statement
    this.wants = wantsOf(options.decode);
    // During COPY FROM STDIN the server ignores everything but data.
    if (/\bcopy\b/i.test(text)) this.holdUntilOver();
    if (/\b(?:abort|begin|commit|end|prepare|rollback|start)\b/i.test(text)) this.mayControlBlock();
  }

  write(writer, statements, flight) {
    flight.checkStatement(this.text);
    statements.disturbedBy(flight);
    super.write(writer);
  }

  message(pipeline, type, buf, start, end, count) {
    if (type === ErrorResponse) return this.takeError(pipeline, buf, start, end);
    this.state = nextState(this.state, type, start, end);
    const copy = this.options[COPY];
    if (type === CopyInResponse) {
      if (copy?.takes(pipeline)) return;
      pipeline.writer.copyFail('simpleQuery cannot send data: use copyFrom, or query');
      return pipeline.flush();
    }
    if (!this.pending) return; // it was given up
    if (type === CopyData && copy !== undefined) return copy.give(pipeline, buf, start, end);
    if (this.reader === null && FIRST.has(type))
      this.receiver.push((this.reader = new RowReader(readingOf(this.options))));
    const { reader } = this;
    if (type === RowDescription) reader.start(pipeline.rowParserOf(buf, start, end), 0, pipeline);
    else if (type === DataRow || type === CopyData) reader.receiveData(buf, start, end, count, pipeline.reader.owned);
    else reader.receive(type, buf, start, end);
    if (type !== CommandComplete) return;
    pipeline.statements.afterCommand(reader.cmd, this.text);
    this.reader = null;
  }

  get receivers() {
    return this.receiver;
  }
}

module.exports = { COPY, SimpleQueryRequest };
