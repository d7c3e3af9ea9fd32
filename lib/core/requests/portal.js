'use strict';

const { AbortError, State, UsageError } = require('../protocol');
const { CloseRequest, QueryRequest, again, copyDirection, executionOf, giveUp, submitIn } = require('../pipeline');
const { inputOf } = require('../options');

/** One Execute of a portal, with Bind the first time. */
class PortalStep extends QueryRequest {
  /**
   * @param {number} maxRows 0 for all
   */
  constructor(portal, maxRows, receiver) {
    super(...portal.query, receiver);
    this.portal = portal;
    this.maxRows = maxRows;
  }

  snapshot() {} // the portal has done it

  write(writer, statements, flight) {
    const { portal } = this;
    if (portal.statement === undefined) return super.write(writer, statements, flight);
    this.statement = portal.statement;
    this.start(this.scope.pipeline);
    writer.execute(portal.name, this.maxRows);
  }

  execute(writer, statements) {
    const { name } = this.portal;
    this.portal.statement = this.statement;
    super.execute(writer, statements, Buffer.from(`${name}\0${this.statement.name}\0`, 'latin1'), name, this.maxRows);
  }

  start(pipeline) {
    super.start(pipeline);
    if (this.state === State.Rows) this.state = State.PortalRows;
  }

  message(pipeline, type, buf, start, end, count) {
    super.message(pipeline, type, buf, start, end, count);
    if (this.state === State.Done) this.portal.open = false;
  }

  fail(...given) {
    this.portal.open = false;
    super.fail(...given);
  }

  canResend() {
    return false;
  }

  drop() {
    super.drop();
    this.portal.query[1] = null;
  }

  ready() {
    super.ready();
    if (this.state === State.Over && !this.portal.open) this.portal.end(this.error).catch(() => {});
  }
}

/**
 * A query whose rows are fetched in batches. It lives in a transaction block: that of its caller, where other requests
 * may come between its steps, or one of its own, which ends with it.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-EXT-QUERY
 */
class Portal {
  #chained = 0; // fetches behind the step under way
  #endBlock;
  #underWay = null; // the promise of the step under way
  #step; // the last one

  /** @returns {Array|object} a copy of the values */
  static inputOf(text, values) {
    const copied = inputOf(text, values);
    if (copyDirection(text) === 'in')
      throw new TypeError('COPY FROM STDIN has no rows to fetch: use query, or copyFrom');
    return copied;
  }

  /** @param {function(Error|undefined)} [endBlock] ends the transaction that is its own */
  constructor(scope, text, values, { format, cache = true, paramTypes }, name, endBlock) {
    this.query = [text, values, executionOf({ format, cache: cache && endBlock === undefined, paramTypes })];
    this.name = name;
    /** @type {Statement|undefined} from Bind to Close */
    this.statement = undefined;
    this.open = true;
    this.scope = scope;
    this.#endBlock = endBlock;
    /** @type {Promise|undefined} of the COMMIT of its own transaction */
    this.committed = undefined;
    if (endBlock === undefined) scope.pipeline.scopes.check(scope);
  }

  /**
   * Fetches the next rows, after the earlier ones.
   * @param {number} maxRows 0 for all
   * @returns {Promise} of the receiver, whose `cmd` is SUSPENDED while there may be more rows
   */
  fetch(maxRows, receiver, options) {
    if (this.#underWay !== null) {
      this.#chained++;
      return this.#underWay.then(() => {
        this.#chained--;
        return this.fetch(maxRows, receiver, options);
      });
    }
    if (!this.open) return Promise.reject(this.#exhausted());
    const answered = () => {
      this.#underWay = null;
    };
    const failed = error => {
      answered();
      this.end(error).catch(() => {});
    };
    try {
      const promise = submitIn((this.#step = new PortalStep(this, maxRows, receiver)), this.scope, options);
      this.#underWay = promise.then(answered, failed);
      // The last rows count only when COMMIT is answered.
      return promise.then(result =>
        this.open || this.committed === undefined ? result : this.committed.then(() => result)
      );
    } catch (error) {
      failed(error);
      throw error;
    }
  }

  #exhausted() {
    const { refused } = this.scope;
    const isExhausted = refused === null || (this.#endBlock !== undefined && this.scope.pipeline.socket !== null);
    return isExhausted ? new UsageError('the query is over: there are no more rows', '34000') : again(refused());
  }

  /** @throws {Error} if its transaction is over, which invalidates rows that were fetched ahead */
  check() {
    if (this.committed === undefined && this.scope.isOver) throw again(this.scope.refused());
  }

  /**
   * Closes the portal right behind the fetches.
   * @returns {Promise} rejects if its own transaction could not be committed
   */
  async close() {
    while (this.#chained > 0) await this.#underWay;
    if (this.open) await this.end();
    await this.committed?.catch(error => {
      if (this.#step?.error === undefined) throw error;
    }); // else its fetch has rejected
  }

  /**
   * Closes the portal for a reader that drops the rows: a step that was not sent is given up.
   * @returns {Promise} see `close`; it resolves at once if nothing was sent, or if the connection is silent after a
   *   request was given up
   */
  async drop() {
    if (this.#underWay !== null && this.#step.state === State.Waiting)
      giveUp(this.#step, new AbortError('the cursor was closed'));
    const closed = this.close();
    if (this.statement !== undefined && this.scope.pipeline.givenUpAt === 0) await closed;
    else closed.catch(() => {});
  }

  /**
   * Ends what it lives in after the last row or an error: its own transaction, or else the portal, which would hold its
   * query's resources to the end of the block.
   */
  async end(error) {
    this.open = false;
    if (this.#endBlock !== undefined) return this.#endBlock(error);
    if (error !== undefined || this.statement === undefined) return;
    this.statement = undefined; // it is closed once
    await submitIn(new CloseRequest('P', this.name), this.scope);
  }
}

module.exports = { Portal };
