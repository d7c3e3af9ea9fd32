'use strict';

const { State, UsageError, backend, checkText, checkValues, snapshot } = require('../protocol');
const { RowReader } = require('../rows');
const { submit } = require('./abort');
const { again } = require('./failure');
const { QueryRequest } = require('./request');
const { CloseRequest, SyncRequest } = require('./sync');
const { Scope } = require('./scope');
const { copyDirection } = require('./sql');

/**
 * One Execute of a portal, with what must come before it the first time. In a transaction block every step has
 * its Sync, and others may come in between; outside one, Sync would end the portal: the step ends with Flush,
 * and Sync follows when the rows are exhausted or the server has reported an error.
 */
class PortalStep extends QueryRequest {
  /**
   * @param {Portal} portal
   * @param {number} maxRows 0 for all
   * @param {object} receiver
   * @param {{stack: string}} [caller] see callerOf
   */
  constructor(portal, maxRows, receiver, caller) {
    super(...portal.query, receiver);
    this.portal = portal;
    this.maxRows = maxRows;
    this.caller = caller;
    /** Whether this step carries the portal's Bind. */
    this.first = portal.statement === undefined;
    this.endsWithSync = portal.inBlock;
    this.started = false;
    this.synced = portal.inBlock;
  }

  snapshot() {} // the portal has done it

  encode(writer, statements) {
    const { portal } = this;
    if (this.first) {
      this.bind(writer, statements, portal.name);
      portal.statement = this.statement;
    } else {
      this.statement = portal.statement;
      this.state = this.statement.rowParser === null ? State.PortalCommand : State.PortalRows;
    }
    writer.execute(portal.name, this.maxRows);
    if (portal.inBlock) writer.sync();
    else writer.flush();
  }

  start(pipeline) {
    super.start(pipeline);
    this.started = true;
    if (this.state === State.Rows) this.state = State.PortalRows;
  }

  message(pipeline, type, buf, start, end, count) {
    if (!this.first && !this.started && type !== backend.ErrorResponse) this.start(pipeline);
    super.message(pipeline, type, buf, start, end, count);
    const given = this.state === State.Suspended; // all rows that were asked for
    if (this.state === State.Done || (given && !this.portal.open)) this.#sync(pipeline);
    else if (given && !this.portal.inBlock) pipeline.finishHead();
  }

  takesParts() { return this.started && this.receiver.inParts === true && this.state === State.PortalRows; }

  fail(error, pipeline) {
    this.#sync(pipeline);
    super.fail(error, pipeline);
  }

  /** The portal is over. */
  #sync(pipeline) {
    this.portal.open = false;
    if (this.synced) return;
    this.synced = true;
    pipeline.writer.sync();
    pipeline.flush();
  }

  canRepeat() { return this.first && !this.portal.inBlock && super.canRepeat(); }

  reset() {
    super.reset();
    this.portal.open = true;
    this.portal.statement = undefined;
    this.synced = false;
  }

  ready() {
    super.ready();
    const { portal } = this;
    if (portal.open) return;
    // Exhausted, it would keep what its query holds until the end of the block.
    if (portal.inBlock && this.error === undefined) portal.submit(new CloseRequest('P', [portal.name])).catch(() => {});
    portal.release();
  }

  settle(error = this.error) {
    const { pending, portal } = this;
    super.settle(error);
    if (!pending || error === undefined) return;
    if (this.state === State.Waiting) portal.abandon().catch(() => {});
    else portal.open = false;
  }
}

/**
 * A query whose rows are fetched some at a time. Outside a transaction block it owns the connection.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-EXT-QUERY
 */
class Portal {
  #last = null; // the promise of the step whose answer has not come: there is one at a time

  /**
   * @returns {Array|object} the values as they are now
   * @throws {TypeError|RangeError} for a query that a portal cannot be made of
   */
  static check(text, values) {
    checkText(text, 'text');
    checkValues(values);
    if (copyDirection(text) === 'in') throw new TypeError('COPY FROM STDIN has no rows to fetch: use query, or copyFrom');
    return snapshot(values);
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
    this.scope = new Scope(scope.pipeline, scope, 'an open portal', { lost: () => { this.open = false; } });
    scope.pipeline.enter(this.scope);
  }

  /** @returns {Promise} of a request in the portal's scope */
  submit(request, limits) {
    try {
      return submit(request, this.scope, limits);
    } catch (error) {
      this.abandon().catch(() => {});
      return Promise.reject(error);
    }
  }

  /**
   * Fetches the next rows.
   * @param {number} maxRows 0 for all
   * @param {object} receiver
   * @param {{stack: string}} [caller] see callerOf
   * @param {object} [limits] `{ signal }`
   * @returns {Promise} of the receiver; `cmd` is SUSPENDED while there may be more rows
   */
  fetch(maxRows, receiver, caller, limits) {
    if (this.#last !== null) return this.#last.then(() => this.fetch(maxRows, receiver, caller, limits));
    if (!this.open) return Promise.reject(again(this.scope.refused || this.#closed()));
    const promise = this.submit(new PortalStep(this, maxRows, receiver, caller), limits);
    const over = () => { this.#last = null; };
    this.#last = promise.then(over, over);
    return promise;
  }

  /**
   * Ends the portal before its rows are exhausted, when the step that is at work is over.
   * @returns {Promise}
   */
  close() { return this.#last === null ? this.abandon() : this.#last.then(() => this.close()); }

  /**
   * The same, for a portal that no step is at work for.
   * @returns {Promise}
   */
  async abandon() {
    if (!this.open) return;
    this.open = false;
    if (this.statement === undefined) return void this.release();
    try {
      await this.submit(this.inBlock ? new CloseRequest('P', [this.name]) : new SyncRequest());
    } finally {
      this.release();
    }
  }

  /** The connection is free for others. */
  release() { if (!this.inBlock) this.scope.pipeline.leave(this.scope, this.#closed()); }

  #closed() { return new UsageError('the query is over: there are no more rows', '34000'); }
}

module.exports = { Portal };
