'use strict';

// Tells tracers of every query, on the channels `tracing:quickgres:query:…` of node:diagnostics_channel.
// https://nodejs.org/api/diagnostics_channel.html#class-tracingchannel

const channel = require('node:diagnostics_channel').tracingChannel('quickgres:query');
const { start, end, asyncStart, asyncEnd, error } = channel;

/** Which connection a request goes to, as far as that is known yet. */
function endpointOf({ session = {} }) {
  const { host, port, processId, config } = session;
  return { host, port, processId, database: config?.database, user: config?.user };
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
function trace(request, pipeline, scope, submit = () => pipeline.submit(request, scope)) {
  request.traced = true;
  // One object for all messages of a query, with no parameter values and no rows.
  const operation = {
    text: request.text, // of a batch, the texts with `; ` between them
    batchSize: request.queries?.length,
    result: undefined, // once it has succeeded: `{ cmd, rowCount }`; `cmd` of one command
    error: undefined, // once it has failed
    ...endpointOf(pipeline)
  };
  const settled = failure => {
    Object.assign(operation, endpointOf(pipeline), { error: failure });
    if (failure === undefined) operation.result = resultOf(request);
    else error.publish(operation);
    asyncStart.publish(operation);
    asyncEnd.publish(operation);
  };
  return start.runStores(operation, () => {
    try {
      const promise = submit();
      if (request.finished === undefined) promise.then(() => settled(), settled);
      else request.finished.then(settled);
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
