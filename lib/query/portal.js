'use strict';

const { UsageError } = require('../protocol/errors');
const { QueryRequest, DONE, ROWS } = require('./query');
const { SyncRequest, CloseRequest } = require('./request');
const { RowReader } = require('../rows/result');
const { isCopyIn } = require('./statements');
const { Scope } = require('./scope');
const { checkText, checkValues, snapshot } = require('../protocol/writer');

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
   */
  constructor(portal, maxRows, receiver) {
    super(portal.text, portal.values, portal.format, portal.cache, portal.paramTypes, receiver);
    this.portal = portal;
    this.maxRows = maxRows;
    /** Whether this step carries the portal's Bind. */
    this.first = !portal.bound;
    this.started = false;
    /** Whether Sync has been written. */
    this.synced = portal.inBlock;
  }

  snapshot() {} // the portal has done it

  encode(writer, statements) {
    const { portal } = this;
    if (this.first) {
      this._bind(writer, statements, portal.name);
      portal.statement = this.statement;
      portal.bound = true;
    } else {
      this.statement = portal.statement;
      this.stage = ROWS;
    }
    writer.execute(portal.name, this.maxRows);
    if (portal.inBlock) writer.sync();
    else writer.flush();
  }

  message(pipeline, type, buf, start, end, count) {
    if (!this.first && !this.started) {
      this.started = true;
      this.receiver.start(this.statement.rowParser, this.format, pipeline);
    }
    if (type !== 115 || this.stage !== ROWS) return super.message(pipeline, type, buf, start, end, count);
    this.stage = DONE;
    this.done = true;
    this.receiver.receive(type, buf, start, end); // s PortalSuspended
    if (!this.portal.open) this._sync(pipeline); // it was given up
    else if (!this.portal.inBlock) pipeline.finishHead();
  }

  takesParts(type) { return (this.first || this.started) && super.takesParts(type); }

  complete(pipeline) {
    super.complete();
    this._sync(pipeline);
  }

  fail(error, pipeline) {
    this._sync(pipeline);
    super.fail(error, pipeline);
  }

  /** The portal is over. */
  _sync(pipeline) {
    this.portal.open = false;
    if (this.synced) return;
    this.synced = true;
    pipeline.writer.sync();
    pipeline.scheduleFlush();
  }

  retry(pipeline) { return this.first && !this.portal.inBlock && super.retry(pipeline); }

  again(pipeline) {
    super.again(pipeline);
    this.portal.open = true;
    this.portal.bound = this.synced = false;
    return this.portal.scope;
  }

  ready(pipeline) {
    super.ready(pipeline);
    const { portal } = this;
    if (portal.open) return;
    if (portal.inBlock && this.error === undefined) {
      // Exhausted it would keep what its query holds until the end of the block.
      pipeline.submit(new CloseRequest('P', portal.name), portal.scope).catch(() => {});
    }
    portal.release();
  }

  reject(error) {
    super.reject(error);
    if (this.sent) this.portal.open = false;
    else this.portal.giveUp().catch(() => {});
  }
}

/**
 * A query whose rows are fetched some at a time. Outside a transaction block it owns the connection.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-EXT-QUERY
 */
class Portal {
  /**
   * @param {Pipeline} pipeline
   * @param {Scope} scope of the caller
   * @param {object} query
   * @param {string} query.text
   * @param {Array|object} [query.values]
   * @param {number} [query.format]
   * @param {boolean} [query.cache]
   * @param {number[]} [query.paramTypes]
   * @param {string} [name] of a portal inside a transaction block; without it, the portal takes the connection
   */
  constructor(pipeline, scope, { text, values, format, cache, paramTypes }, name = '') {
    checkText(text, 'text');
    checkValues(values);
    if (isCopyIn(text)) throw new TypeError('COPY FROM STDIN has no rows to fetch: use query, or copyFrom');
    this.pipeline = pipeline;
    this.text = text;
    this.values = snapshot(values);
    this.format = format;
    this.cache = cache;
    this.paramTypes = paramTypes;
    this.name = name;
    this.inBlock = name !== '';
    this.bound = false;
    this.statement = null;
    this._last = null; // the step whose answer has not come: there is one at a time
    /** Whether there may be more rows. */
    this.open = true;
    this._closing = false; // when the step that is at work is over
    this.scope = this.inBlock ? scope : new Scope(scope, 'an open portal');
    if (!this.inBlock) {
      this.scope.onlost = () => { this.open = false; };
      this.scope.endsItself = () => this._closing || !this.open;
      pipeline.enter(this.scope);
    }
  }

  /**
   * Fetches the next rows.
   * @param {number} maxRows 0 for all
   * @param {object} [receiver]
   * @param {{stack: string}} [caller] see callerOf
   * @param {function(Request)} [prepare] makes the request abortable
   * @returns {Promise} of the receiver; `cmd` is SUSPENDED while there may be more rows
   */
  fetch(maxRows, receiver = new RowReader(), caller, prepare) {
    if (this._last !== null) {
      return this._last.then(() => this.fetch(maxRows, receiver, caller, prepare));
    }
    if (!this.open) return Promise.reject(this.pipeline.lost || new UsageError('the portal is closed', '34000'));
    const step = new PortalStep(this, maxRows, receiver);
    step.caller = caller;
    if (prepare !== undefined) prepare(step);
    const promise = this.pipeline.submit(step, this.scope);
    const over = () => { if (this._last === last) this._last = null; };
    const last = this._last = promise.then(over, over);
    return promise;
  }

  /**
   * Ends the portal before its rows are exhausted.
   * @param {*} value for the promise
   * @returns {Promise}
   */
  close(value) {
    this._closing = true;
    if (this._last !== null) return this._last.then(() => this.close(value));
    return this.giveUp().then(() => value);
  }

  /**
   * The same, for a portal that no step is at work for.
   * @returns {Promise}
   */
  async giveUp() {
    if (!this.open) return;
    this.open = false;
    if (!this.bound) return void this.release();
    const request = this.inBlock ? new CloseRequest('P', this.name) : new SyncRequest();
    request.onsettled = () => this.release();
    await this.pipeline.submit(request, this.scope);
  }

  /** The connection is free for others. */
  release() {
    if (!this.inBlock) this.pipeline.leave(this.scope);
  }
}

module.exports = { Portal };
