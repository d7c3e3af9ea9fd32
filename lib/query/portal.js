'use strict';

const { AbortError, ConnectionError, State, UsageError } = require('../protocol');
const { abort, submit } = require('./abort');
const { again, callerOf } = require('./failure');
const { keep } = require('./options');
const { QueryRequest, outcome } = require('./request');
const { CloseRequest } = require('./sync');
const { Scope } = require('./scope');
const { copyDirection } = require('./sql');

/**
 * One Execute of a portal, with its Bind the first time. In a transaction block every step has its Sync, and others
 * may come in between. Outside one, Sync would end the portal: the step ends with Flush, and Sync follows when the
 * rows are exhausted or the server has reported an error.
 */
class PortalStep extends QueryRequest {
  /**
   * @param {Portal} portal
   * @param {number} maxRows 0 for all
   * @param {object} receiver
   * @param {{stack: string}} caller see callerOf
   */
  constructor(portal, maxRows, receiver, caller) {
    super(...portal.query, receiver);
    this.portal = portal;
    this.maxRows = maxRows;
    this.caller = caller;
    this.endsWithSync = portal.inBlock;
  }

  snapshot() {} // the portal has done it

  encode(writer, statements) {
    const { portal } = this;
    if (portal.statement === undefined) {
      this.bind(writer, statements, portal.name);
      portal.statement = this.statement;
    } else {
      this.statement = portal.statement;
      this.start(this.scope.pipeline);
    }
    writer.execute(portal.name, this.maxRows);
    if (portal.inBlock) writer.sync();
    else writer.flush();
  }

  start(pipeline) {
    super.start(pipeline);
    if (this.state === State.Rows) this.state = State.PortalRows;
  }

  message(pipeline, type, buf, start, end, count) {
    super.message(pipeline, type, buf, start, end, count);
    if (this.state === State.Done) this.portal.open = false;
    else if (this.state === State.Suspended && !this.endsWithSync) pipeline.finishHead(); // it has all that it asked for
  }

  fail(error, pipeline) {
    this.portal.open = false;
    this.committing = this.state === State.Suspended || this.state === State.Done;
    super.fail(error, pipeline);
  }

  reset() {
    super.reset();
    this.endsWithSync = false;
    this.portal.open = true;
    this.portal.statement = undefined;
  }

  discard() {
    super.discard();
    this.portal.query[1] = null;
  }

  ready() {
    super.ready();
    if (this.state === State.Over && !this.portal.open) this.portal.over(this.error);
  }
}

/**
 * A query whose rows are fetched some at a time. Outside a transaction block it owns the connection.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-EXT-QUERY
 */
class Portal {
  #closing = false; // Close was sent
  #last = null; // the promise of the step whose answer has not come: there is one at a time
  #resolveEnded;
  #step; // the last one

  /**
   * @returns {Array|object} the values as they are now
   * @throws {TypeError|RangeError} for a query that a portal cannot be made of
   */
  static check(text, values) {
    const kept = keep(text, values);
    if (copyDirection(text) === 'in') throw new TypeError('COPY FROM STDIN has no rows to fetch: use query, or copyFrom');
    return kept;
  }

  /**
   * @param {Scope} scope of the caller
   * @param {string} text
   * @param {Array|Row} values as `check` gave them
   * @param {object} options `{ format, cache, paramTypes }`
   * @param {string} [name=''] of a portal inside a transaction block; without it, the portal takes the connection
   * @throws {TypeError|UsageError}
   */
  constructor(scope, text, values, { format = 0, cache = true, paramTypes }, name = '') {
    this.query = [text, values, format, cache, paramTypes];
    this.name = name;
    this.inBlock = name !== '';
    /** @type {Statement|undefined} once Bind has been written */
    this.statement = undefined;
    /** Whether there may be more rows. */
    this.open = true;
    this.scope = scope;
    if (this.inBlock) return void scope.pipeline.scopes.check(scope);
    const lost = () => {
      this.open = false;
      this.#resolveEnded();
    };
    this.scope = new Scope(scope.pipeline, scope, 'an open portal', { lost });
    scope.pipeline.enter(this.scope);
    /** @type {Promise<void>} outside a block: resolves when others have the connection again, or it is lost */
    this.ended = new Promise(resolve => { this.#resolveEnded = resolve; });
  }

  /**
   * Fetches the next rows, when those before have come.
   * @param {number} maxRows 0 for all
   * @param {object} receiver
   * @param {object} [limits] `{ signal }`
   * @returns {Promise} of the receiver; `cmd` is SUSPENDED while there may be more rows
   * @throws {Error} where that cannot be sent
   */
  fetch(maxRows, receiver, limits, caller = callerOf(this.fetch)) {
    if (this.#last !== null) return this.#last.then(() => this.fetch(maxRows, receiver, limits, caller));
    if (!this.open) return Promise.reject(again(this.scope.refused?.() ?? this.#exhausted()));
    const over = () => { this.#last = null; };
    const failed = () => {
      over();
      this.#end().catch(() => {});
    };
    try {
      const promise = submit(this.#step = new PortalStep(this, maxRows, receiver, caller), this.scope, limits);
      this.#last = promise.then(over, failed);
      return promise;
    } catch (error) {
      failed();
      throw error;
    }
  }

  /** @throws {Error} when the transaction that it belongs to is over: what was fetched ahead is, too */
  check() { if (this.inBlock && this.scope.left) throw again(this.scope.refused()); }

  /**
   * Ends the portal before its rows are exhausted, when the step that is at work is over.
   * @returns {Promise}
   */
  close() { return this.#last === null ? this.#end() : this.#last.then(() => this.close()); }

  /**
   * Its reader has left: what is being fetched is dropped, and its end is sent right behind.
   * @returns {Promise} resolves when it has ended, or at once on a connection where a request was given up and nothing
   *   has come since; rejects where what it has done could not be committed
   */
  async leave() {
    const { pipeline } = this.scope;
    const left = this.#leave();
    if (pipeline.givenUpAt === 0) await left;
    else left.catch(() => {});
  }

  async #leave() {
    const step = this.#step;
    if (this.#last === null || !this.open || this.inBlock || step.state === State.Waiting) {
      if (this.#last !== null && step.state === State.Waiting) this.#abort();
      return this.#end();
    }
    this.open = false;
    step.sync(this.scope.pipeline);
    await this.#last;
    if (step.committing || step.error instanceof ConnectionError) outcome(step);
  }

  #abort() { abort(this.#step, new AbortError('the cursor was closed')); }

  /** Nobody wants the rows that are being fetched: the server is asked to stop, but where that would fail a block. */
  cancel() { if (this.#last !== null && !this.inBlock) this.#abort(); }

  async #end() {
    if (!this.open) return;
    this.open = false;
    await this.#close();
  }

  async #close() {
    this.#closing = true;
    try {
      if (this.statement !== undefined) await submit(new CloseRequest('P', this.inBlock ? [this.name] : []), this.scope);
    } finally {
      if (!this.inBlock) this.#release();
    }
  }

  /** The rows are exhausted, or the query has failed: the connection is free for others. */
  over(error) {
    if (!this.inBlock) this.#release();
    // Exhausted, it would keep what its query holds until the end of the block.
    else if (error === undefined && !this.#closing) this.#close().catch(() => {});
  }

  #release() {
    this.scope.pipeline.leave(this.scope, this.#exhausted());
    this.#resolveEnded();
  }

  #exhausted() { return new UsageError('the query is over: there are no more rows', '34000'); }
}

module.exports = { Portal };
