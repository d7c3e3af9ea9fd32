'use strict';

// Tells tracers of every query, on the channels `tracing:quickgres:query:…` of node:diagnostics_channel.
// https://nodejs.org/api/diagnostics_channel.html#class-tracingchannel

/** Where the runtime has no such module, as in a browser, there is nobody to tell. */
const channel = require('#platform').diagnostics_channel.tracingChannel?.('quickgres:query') ?? { hasSubscribers: false };
const { start, end, asyncStart, asyncEnd, error } = channel;

/**
 * What subscribers are given: one object for all messages of a query. It has no parameter values and no rows.
 * Where the connection is not there yet when the query is asked, what is known of it comes later.
 */
class Operation {
  #pipeline;

  /**
   * @param {Request} request
   * @param {Pipeline} pipeline
   */
  constructor(request, pipeline) {
    this.#pipeline = pipeline;
    /** SQL; of a batch, the texts with `; ` between them. */
    this.text = request.text;
    /** @type {number|undefined} queries in a batch; undefined for anything else */
    this.batchSize = request.queries && request.queries.length;
    /** @type {{cmd: string|undefined, rowCount: number}|undefined} once it has succeeded; `cmd` of one command */
    this.result = undefined;
    /** @type {Error|undefined} once it has failed */
    this.error = undefined;
  }

  /** @type {string|undefined} host name, address or path of the socket */
  get host() { return this.#session.host; }
  /** @type {number|undefined} none for the path of a socket */
  get port() { return this.#session.port; }
  /** @type {string|undefined} */
  get database() { return this.#session.config?.database; }
  /** @type {string|undefined} */
  get user() { return this.#session.config?.user; }
  /** @type {number|undefined} of the server process */
  get processId() { return this.#session.processId; }

  get #session() { return this.#pipeline.session || {}; }
}

/** What a request has brought, as counts. */
function resultOf({ receiver, result, queries }) {
  const results = queries ? queries.map(query => query.receiver) : receiver ? [receiver] : result;
  return {
    cmd: results.length === 1 ? results[0].cmd : undefined,
    rowCount: results.reduce((sum, { rowCount = 0 }) => sum + rowCount, 0)
  };
}

/**
 * Submits a request of which subscribers are told: `start` and `end` around the submission, and when the request is
 * over for its caller, `error` if it has failed, `asyncStart` and `asyncEnd`.
 * @param {Request} request
 * @param {Pipeline} pipeline
 * @param {Scope} scope
 * @returns {Promise} of the request
 */
function trace(request, pipeline, scope) {
  request.traced = true;
  const operation = new Operation(request, pipeline);
  const settled = failure => {
    operation.error = failure;
    if (failure === undefined) operation.result = resultOf(request);
    else error.publish(operation);
    asyncStart.publish(operation);
    asyncEnd.publish(operation);
  };
  return start.runStores(operation, () => {
    try {
      const promise = pipeline.submit(request, scope);
      if (request.over === undefined) promise.then(() => settled(), settled);
      else request.over.then(settled);
      return promise;
    } catch (failure) {
      Promise.resolve(failure).then(settled);
      throw failure;
    } finally {
      end.publish(operation);
    }
  });
}

module.exports = { channel, trace };
