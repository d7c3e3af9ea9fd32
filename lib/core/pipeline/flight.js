'use strict';

const { State, UsageError, isOurs, nextState } = require('../protocol');
const { Command } = require('./command');
const { isCancelled, showAwaiting, withQuery } = require('./errors');
const { firstWord, withoutHidden } = require('./sql');

/** How a text begins that would end a transaction and leave it to COMMIT PREPARED. */
const PREPARES = /^[\s;(]*prepare\s+transaction\b/i;
const PREPARED = 'PREPARE TRANSACTION would end what transaction() began: send BEGIN and it by client.query';

/**
 * Runs in a `.then`, where V8 can still add the awaiting caller to the stack, which was not there while the answer was
 * read.
 */
function outcome({ error, result, promise }) {
  if (error === undefined) return result;
  if (isOurs(error)) showAwaiting(error, outcome);
  if (isCancelled(error)) promise?.catch(() => {}); // not earlier: V8 shows no caller of a promise with two handlers
  throw error;
}

/**
 * What lies between two Syncs: a list of commands, one promise, one place in the line. An error makes the server skip
 * the commands behind it, up to the Sync.
 *
 * The last command is the flight itself, so that a plain query is one object. BEGIN, SAVEPOINT and settings may lie in
 * front of it, see Scope.commandsBefore. A batch has its queries in front, and is itself nothing but the Sync. A
 * command in front has no scope, promise, hold or settings; its `write` gets the flight.
 *
 *     state         on                      does                                                   then
 *     Waiting       may start               writes the commands, then Sync: Pipeline.send           sent
 *                   given up, or lost       rejects                                                Waiting
 *     sent          a message               commands[at] takes it: Pipeline.message, `take`         sent
 *                   a command is done       at++; at `hold`, others may be sent behind it           sent
 *                   ErrorResponse           commands[at].fail, and the others' behind it            Failed
 *                   given up                rejects; nothing is sent behind it; giveUp              sent
 *                   ReadyForQuery           settles: `ready`                                        Over
 *     Failed        ReadyForQuery           rejects, or is sent again: mayResend                    Over, or sent
 *     any but Over  the connection is lost  rejects
 *
 * Between Waiting and Failed, `state` is that of the answer to its own command, see lib/core/protocol/answer.js.
 */
class Flight extends Command {
  constructor() {
    super();
    // Rare fields are not set in each flight, of which there may be a million.
    this.next = null; // what is behind it in the queue of its scope, then in the line
    this.scope = null;
    this.state = State.Waiting;
    this.error = undefined;
    this.resolve = null; // settles the promise; null before submission and after settling
    this.promise = undefined; // set by its submission
  }

  open(scope) {
    this.scope = scope;
    return (this.promise = new Promise(resolve => {
      this.resolve = resolve;
    }));
  }

  get pending() {
    return this.resolve !== null;
  }

  /** Submission has failed: giving it up later would reject a promise that no caller has. */
  unsubmit() {
    this.resolve = null;
  }

  /** Whether it ends the block of its scope, or the savepoint. */
  get endsScope() {
    return this.effect === 'block' || this.effect === 'savepoint';
  }

  /** Whether it may begin or end a block. */
  get controlsBlock() {
    return this.effect === 'block' || this.effect === 'any';
  }

  /** One of its texts may begin or end a block. */
  mayControlBlock() {
    this.effect ??= 'any';
  }

  /**
   * Lets nothing more be sent behind it before it is over.
   * @param {Pipeline} [pipeline] that has sent it
   */
  holdUntilOver(pipeline) {
    if (this.hold === 0) pipeline?.hold();
    this.hold = Infinity;
  }

  /** A command has written a part of its messages: the rest, and Sync, come later. */
  waitFor(command) {
    this.holdUntilOver();
    this.partial = command;
  }

  /**
   * Of what is not over: whether it was given up after it was sent. The server is asked to cancel it when its answer is
   * the next one.
   */
  get givenUp() {
    return this.resolve === null && this.state !== State.Waiting && !this.internal;
  }

  /** The text that its error is about. */
  textOf() {
    return this.text;
  }

  settle(error = this.error, result = this.result) {
    const { resolve } = this;
    if (resolve === null) return;
    this.error = error;
    this.resolve = null;
    this.unwatch?.();
    if (error !== undefined) withQuery(error, this.textOf(error));
    const { pipeline } = this.scope;
    if (error === undefined && pipeline.rejecting === 0) resolve(result);
    else {
      pipeline.rejecting++;
      // What cancel() makes reject comes when its caller knows that it was sent; results behind that keep the order.
      const first = error === undefined || isCancelled(error) ? pipeline.cancelling : undefined;
      const settled = { error, result, promise: this.promise };
      resolve(
        Promise.resolve(first?.then(() => settled) ?? settled)
          .finally(() => {
            pipeline.rejecting--;
          })
          .then(outcome)
      );
    }
  }

  /**
   * Puts commands in front of its own.
   * @param {boolean} [begins] whether BEGIN of its scope is among them: others may be sent when these are answered
   */
  putInFront(before, begins = false) {
    this.commands = [...before, ...(this.commands ?? [this])];
    if (begins) this.hold ||= before.length;
  }

  /**
   * Writes the commands from an index on, up to one that asks for types.
   * @param {QueryRequest} [asked] one that has asked
   */
  writeFrom(index, writer, statements, asked) {
    const { commands } = this;
    for (let i = index; i < commands.length && this.partial === undefined; i++) {
      const command = commands[i];
      try {
        if (command === asked) command.execute(writer, statements);
        else command.write(writer, statements, this);
      } catch (error) {
        throw this.placed(error, command);
      }
      if (i + 1 === this.hold) writer.flush(); // makes the server answer BEGIN, although the rest may take long
    }
  }

  /** @returns {Error} that of a command, with its place */
  placed(error) {
    return error;
  }

  /**
   * The types of the parameters of one of its queries are known: writes the rest.
   * @param {boolean} [hasAsked] whether the database has told what those of its own are
   */
  proceed(pipeline, hasAsked = false) {
    const { statements, writer } = pipeline;
    const { partial } = this;
    const { length } = writer;
    statements.learn(partial.statement);
    const lacking = this.pending && !hasAsked ? partial.lackingIn(statements) : [];
    if (lacking.length > 0) return this.#ask(lacking, pipeline);
    this.partial = undefined;
    try {
      if (!this.pending) this.#abandon(writer);
      else if (this.commands === undefined) partial.execute(writer, statements);
      else this.writeFrom(this.at, writer, statements, partial);
    } catch (error) {
      writer.length = length;
      this.partial = undefined;
      this.rejectWith(error);
      this.#abandon(writer);
    }
    if (this.partial === undefined) writer.sync();
    pipeline.flush();
  }

  /** Asks what types are, in front of the query that lacks them. */
  #ask(oids, pipeline) {
    if (this.commands === undefined) Object.assign(this, { commands: [this], at: 0 });
    this.commands = this.commands.toSpliced(this.at, 0, pipeline.askInside(oids));
  }

  /**
   * Does without the rest. Of a batch, the queries before are undone: the server refuses to execute a portal that it
   * does not have.
   */
  #abandon(writer) {
    if (this.#hasBegun) return writer.execute('none', 0);
    this.commands &&= [this];
    this.at = 0;
    this.state = State.Done;
  }

  /** Whether queries of the caller in front of the one that is being answered have been executed. */
  get #hasBegun() {
    return this.commands?.slice(0, this.at).some(({ internal }) => !internal);
  }

  /** Takes a message of the answer to one of several commands. */
  take(pipeline, type, buf, start, end, count) {
    const command = this.commands[this.at];
    if (command === this || !command.internal) this.call?.answered();
    else command.call?.answered();
    command.message(pipeline, type, buf, start, end, count);
    if (command === this) return;
    if (command === this.partial && command.state === State.Binding) this.proceed(pipeline);
    else if (command.state === State.Failed) this.#skip(command, pipeline);
    else if (command.state === State.Done) {
      command.call?.over();
      if (++this.at === this.hold) {
        this.hold = 0; // BEGIN is answered
        pipeline.unhold();
      }
      // Nothing but its own command is left, whose messages need no look at the list.
      if (this.commands[this.at] === this && this.call === undefined) this.commands = undefined;
      if (this.partial?.state === State.Binding) this.proceed(pipeline, true);
    }
  }

  /** The server skips what lies behind a command that has failed. */
  #skip(failed, pipeline) {
    const { error } = failed;
    for (; this.commands[this.at] !== this; this.at++) {
      const command = this.commands[this.at];
      if (command !== failed) command.fail(error, pipeline, failed);
      command.call?.over(error);
    }
    this.fail(error, pipeline, failed);
  }

  fail(error, pipeline, failed = this) {
    super.fail(error, pipeline, failed);
    // The server has ignored a Query message, which has no Sync of its own.
    if (this.partial === undefined && !(this.simple && failed !== this)) return;
    this.sendSync(pipeline);
  }

  /** Sends the Sync that is not sent yet: nothing of what it would have waited for comes. */
  sendSync(pipeline) {
    this.partial = undefined;
    pipeline.writer.sync();
    pipeline.flush();
  }

  /** @returns {Array<'all'|Map|object>} what has to be asked for in front of it, once */
  takeWants() {
    const { wants } = this;
    this.wants = undefined;
    return wants;
  }

  /** @throws {UsageError} if a statement would end or outlive the settings that it runs with, or outlive its scope */
  checkStatement(text) {
    const { scope } = this;
    (this.settings ?? scope?.settings)?.refuseEscaping(this.simple ? undefined : text, scope.block);
    if (scope?.block && firstWord(text) === 'prepare' && PREPARES.test(withoutHidden(text)))
      throw new UsageError(PREPARED, '0A000');
    scope?.refuseLasting?.(text);
  }

  /**
   * Gives the flight up: its promise rejects.
   * @returns {boolean} whether the server is working on it, so that it can be cancelled
   */
  giveUp(error, pipeline) {
    if (!this.pending) return false;
    if (this.state === State.Over) {
      this.settle(); // it has succeeded: it only waits for what the types of its result are
      return false;
    }
    this.settle(error);
    this.drop();
    return this.state !== State.Waiting;
  }

  /** Whether it can be sent again: its statement was stale, and nothing was done. */
  canResend() {
    return false;
  }

  reset() {
    super.reset();
    this.commands &&= [this];
    this.at = 0;
  }

  /**
   * ReadyForQuery ends the answer.
   * @throws {ConnectionError} 08P01 if something is missing
   */
  complete(code, start, end) {
    if (this.commands === undefined && this.state === State.Done) this.state = State.Over;
    else this.state = nextState((this.commands?.[this.at] ?? this).state, code, start, end);
  }

  /** What takes its results. @returns {Array<Receiver|undefined>} */
  get receivers() {
    return [this.receiver];
  }

  /** Its answer is complete. It settles, or waits until it is known what the types of its results are. */
  ready() {
    const { receivers } = this;
    let hasTypes = false;
    for (const receiver of receivers) {
      this.rejectWith(receiver?.error);
      if (receiver?.types !== undefined) hasTypes = true;
    }
    if (!hasTypes || !this.scope.pipeline.learn(this, receivers)) this.settle();
  }
}

Object.assign(Flight.prototype, {
  // A scope may be a block, and wait until nothing is under way. It stands in the same queues.
  block: false,
  whenIdle: false,
  at: 0, // the index of the command that is being answered
  commands: undefined, // if there are others than itself
  // On the transaction block: 'block' and 'savepoint' end that of its scope; 'any' may begin or end one by its text.
  effect: undefined,
  // How many commands are to be answered before anything is sent behind it: those up to BEGIN of its block; Infinity if
  // it has to be over, for example since it is to be cancelled.
  hold: 0,
  partial: undefined, // the command whose messages were not all sent, and so neither was Sync
  settings: undefined, // sent in front of it, see lib/core/settings.js
  unwatch: undefined, // ends the watch of its limits, see submit.js
  wants: undefined // what has to be known of types in front of it, until it was asked for, see learn.js
});

/**
 * Whether a flight with a stale statement is repeated at once, outside a transaction block: no flight that it could
 * affect, or be affected by, may come before it.
 * @param {Flight} flight whose answer is complete
 * @param {Scope} sending the sending scope
 */
function mayResend(flight, sending) {
  if (!flight.pending || flight.scope !== sending || !flight.canResend()) return false;
  const mayMove = ({ hold, isRead }) => isRead && hold === 0;
  for (let { next } = flight; next !== null; next = next.next) {
    if (!next.internal && !(mayMove(flight) && mayMove(next))) return false;
  }
  return true;
}

module.exports = { Flight, mayResend, outcome };
