'use strict';

const { AbortError, ConnectionError, State, UsageError } = require('../protocol');
const { CloseRequest, Scope, giveUp, again, callerOf, copyDirection, outcome, submit } = require('../pipeline');
const { keep } = require('../options');
const { QueryRequest } = require('./query');

const HELD_BACK = 'the message Flush was not answered in time, since a pooler holds it back or the table was locked, so there are no rows ' +
  'after the first ones: use the cursor in a transaction';

/**
 * One Execute of a portal, with Bind the first time. In a transaction block each step has a Sync, and other requests may come
 * in between. Outside one, a Sync would end the portal: the step ends with Flush, and Sync follows the last row or an error.
 */
class PortalStep extends QueryRequest {
  #timer;

  /**
   * @param {number} maxRows 0 for all
   * @param {{stack: string}} caller see callerOf
   */
  constructor(portal, maxRows, receiver, caller) {
    super(...portal.query, receiver);
    this.portal = portal;
    this.maxRows = maxRows;
    this.caller = caller;
    if (portal.statement === undefined) this.settings = portal.settings; // they hold until the Sync behind the last step
  }

  snapshot() {} // the portal has done it

  encode(writer, statements) {
    const { portal } = this;
    this.owesSync = !portal.inBlock && portal.open;
    if (portal.statement === undefined) {
      this.bind(writer, statements, portal.name);
      portal.statement = this.statement;
      if (this.owesSync) this.#expectAnswer(writer);
    } else {
      this.statement = portal.statement;
      this.start(this.scope.pipeline);
    }
    writer.execute(portal.name, this.maxRows);
    if (this.owesSync) writer.flush();
    else writer.sync();
  }

  /**
   * Asks for the answer to Bind, which comes at once, however long Execute takes. If it does not come, something holds Flush back:
   * Sync lets the first rows pass, and ends the portal.
   */
  #expectAnswer(writer) {
    writer?.flush();
    const { pipeline } = this.scope;
    this.#timer = setTimeout(() => {
      if (pipeline.head === this) this.sync(pipeline);
      else if (pipeline.socket !== null) this.#expectAnswer(); // others are answered first
    }, Portal.flushTimeout);
    this.#timer.unref?.();
  }

  start(pipeline) {
    super.start(pipeline);
    if (this.state === State.Rows) this.state = State.PortalRows;
  }

  message(pipeline, type, buf, start, end, count) {
    super.message(pipeline, type, buf, start, end, count);
    if (this.state > State.Binding) clearTimeout(this.#timer);
    if (this.state === State.Done) this.portal.open = false;
    else if (this.state === State.Suspended && this.owesSync) pipeline.finishHead(); // it has its rows
    else if (this.state === State.Suspended && !this.portal.inBlock && this.portal.open) {
      this.portal.open = false;
      this.error = new UsageError(HELD_BACK, '0A000');
    }
  }

  fail(error, pipeline) {
    this.portal.open = false;
    this.committing = this.state === State.Suspended || this.state === State.Done;
    super.fail(error, pipeline);
  }

  reset() {
    super.reset();
    this.portal.open = true;
    this.portal.statement = undefined;
  }

  drop() {
    super.drop();
    this.portal.query[1] = null;
  }

  ready() {
    super.ready();
    if (this.state === State.Over && !this.portal.open) this.portal.finish(this.error);
  }
}

/**
 * A query whose rows are fetched in batches. Outside a transaction block it owns the connection.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-EXT-QUERY
 */
class Portal {
  /** Milliseconds in which the first Flush is answered. */
  static flushTimeout = 5000;

  #chained = 0; // fetches behind the step under way
  #last = null; // the promise of the step under way
  #resolveEnded;
  #step; // the last one

  /** @returns {Array|object} a copy of the values */
  static keep(text, values) {
    const copied = keep(text, values);
    if (copyDirection(text) === 'in') throw new TypeError('COPY FROM STDIN has no rows to fetch: use query, or copyFrom');
    return copied;
  }

  /** @param {string} [name=''] of a portal inside a transaction block; without it the portal owns the connection */
  constructor(scope, text, values, { format = 0, cache = true, paramTypes }, name = '') {
    this.query = [text, values, format, cache, paramTypes];
    this.name = name;
    this.inBlock = name !== '';
    /** @type {Statement|undefined} from Bind to Close */
    this.statement = undefined;
    this.open = true;
    this.scope = scope;
    /** @type {Settings|undefined} sent in front of its first step */
    this.settings = this.inBlock ? undefined : scope.settings;
    if (this.inBlock) return void scope.pipeline.scopes.check(scope);
    const lost = () => {
      this.open = false;
      this.#resolveEnded();
    };
    // PgBouncer 1.18 takes the server away at ReadyForQuery, even if messages without a Sync have followed.
    const whenIdle = scope.pipeline.statements.limit === 0;
    this.scope = new Scope(scope.pipeline, scope, 'an open portal', { whenIdle, lost });
    scope.pipeline.enter(this.scope);
    /** @type {Promise<void>} outside a block: resolves when the connection is free or lost */
    this.ended = new Promise(resolve => { this.#resolveEnded = resolve; });
  }

  /**
   * Fetches the next rows, after the earlier ones.
   * @param {number} maxRows 0 for all
   * @returns {Promise} of the receiver, whose `cmd` is SUSPENDED while there may be more rows
   */
  fetch(maxRows, receiver, limits, caller = callerOf(this.fetch)) {
    if (this.#last !== null) {
      this.#chained++;
      return this.#last.then(() => {
        this.#chained--;
        return this.fetch(maxRows, receiver, limits, caller);
      });
    }
    if (!this.open) return Promise.reject(again(this.scope.refused?.() ?? this.#exhausted()));
    const answered = () => { this.#last = null; };
    const failed = () => {
      answered();
      this.close().catch(() => {});
    };
    try {
      const promise = submit(this.#step = new PortalStep(this, maxRows, receiver, caller), this.scope, limits);
      this.#last = promise.then(answered, failed);
      return promise;
    } catch (error) {
      failed();
      throw error;
    }
  }

  /** @throws {Error} if its transaction is over, which invalidates rows that were fetched ahead */
  check() { if (this.inBlock && this.scope.ended) throw again(this.scope.refused()); }

  /**
   * Closes the portal right behind the fetches.
   * @returns {Promise} rejects if its implicit transaction could not be committed
   */
  async close() {
    while (this.#chained > 0) await this.#last;
    if (!this.open) return;
    this.open = false;
    const step = this.#step;
    if (this.inBlock || this.#last === null || !step.pending) return this.#close();
    if (step.state !== State.Waiting) step.sync(this.scope.pipeline); // else it will be sent with a Sync
    await this.#last;
    if (step.state === State.Waiting) return this.#close(); // it was given up
    if (step.committing || step.error instanceof ConnectionError) outcome(step);
  }

  /** Gives the step under way up, unless that would fail a transaction block. */
  cancel() {
    if (this.#last !== null && (!this.inBlock || this.#step.state === State.Waiting)) giveUp(this.#step, new AbortError('the cursor was closed'));
  }

  /**
   * Closes the portal for a reader that drops the rows: a step that was not sent is given up.
   * @returns {Promise} see `close`; it resolves at once if the connection is silent after a request was given up
   */
  async leave() {
    if (this.#step?.state === State.Waiting) this.cancel();
    const closed = this.close();
    if (this.scope.pipeline.givenUpAt === 0) await closed;
    else closed.catch(() => {});
  }

  async #close() {
    const { statement } = this;
    this.statement = undefined; // it is closed once
    try {
      if (statement !== undefined) await submit(new CloseRequest('P', this.inBlock ? [this.name] : []), this.scope);
    } finally {
      if (!this.inBlock) this.#release();
    }
  }

  /** Frees the connection after the last row or an error. */
  finish(error) {
    if (!this.inBlock) this.#release();
    // Until it is closed, the portal would hold its query's resources to the end of the block.
    else if (error === undefined) this.#close().catch(() => {});
  }

  #release() {
    this.scope.pipeline.leave(this.scope, this.#exhausted());
    this.#resolveEnded();
  }

  #exhausted() { return new UsageError('the query is over: there are no more rows', '34000'); }
}

module.exports = { Portal };
