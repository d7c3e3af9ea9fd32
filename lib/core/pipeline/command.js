'use strict';

const { PostgresError, State, backend, decodeFields, nextState, unexpected } = require('../protocol');
const { addHint, noteCancelled } = require('./errors');

const { ErrorResponse } = backend;

/**
 * What the server answers before it goes on to what lies behind it: a query, BEGIN, Close, a COPY. It writes its
 * messages, and takes those of its answer.
 *
 * A flight is a list of commands, and each kind of command is a kind of flight, so that a plain query is one object.
 * BEGIN, SAVEPOINT, settings, the queries of a batch and those for types are nothing but commands, in the flight of
 * another: they are queries that are never opened.
 */
class Command {
  /** What the promise resolves to. */
  get result() {
    return this.receiver?.given ?? this.receiver;
  }

  /** Whether the first word of its text is that of a read. */
  get isRead() {
    return false;
  }

  /** It has failed with this, unless with an earlier error. */
  rejectWith(error) {
    this.error ??= error;
  }

  /** Copies the input, which the caller may change while the flight waits. */
  snapshot() {}

  /** Writes its messages, and sets `state`. @param {Flight} flight that it is a command of */
  write(writer, statements, flight) {
    this.state = State.Done;
  }

  /**
   * Takes one message of its answer, or several DataRow or CopyData messages, in buf[start … end).
   * @throws {ConnectionError} 08P01 for an unexpected or malformed message
   */
  message(pipeline, type, buf, start, end) {
    if (type === ErrorResponse) this.takeError(pipeline, buf, start, end);
    else this.state = nextState(this.state, type, start, end);
  }

  takeError(pipeline, buf, start, end) {
    const error = new PostgresError(decodeFields(buf, start, end));
    if (pipeline.cancelling !== undefined || pipeline.lastCancelled !== undefined) noteCancelled(error);
    addHint(error, this.text);
    if (error.severity === 'FATAL' || error.severity === 'PANIC') return pipeline.events.lost(error);
    if (this.state === State.Failed) throw unexpected(this.state, ErrorResponse);
    this.fail(error, pipeline);
  }

  /**
   * The server has reported an error, and ignores messages up to the next Sync.
   * @param {Command} [failed] a command in front of this one: the server has skipped this one
   */
  fail(error, pipeline, failed = this) {
    this.rejectWith(error);
    this.state = State.Failed;
  }

  /** Its own Parse was not sent, or the server has skipped it. */
  forgetParse(statements) {}

  /** Drops the input of what was given up. */
  drop() {}

  /** It is sent again. */
  reset() {
    this.state = State.Waiting;
    this.error = undefined;
  }
}

Object.assign(Command.prototype, {
  state: State.Waiting, // that of its answer, see lib/core/protocol/answer.js; its kind alone writes it
  error: undefined, // what the server has reported, or what the flight rejects with
  call: undefined, // that publishes it, see tracing.js
  internal: false, // the library's own, so not counted as pending
  receiver: undefined, // takes the result, and is what the promise resolves to
  simple: false, // it is a Query message, which includes a Sync
  text: undefined // the caller's SQL
});

module.exports = { Command };
