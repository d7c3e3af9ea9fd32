'use strict';

// Publishes queries on the channels `tracing:quickgres:query:…` of node:diagnostics_channel.
// https://nodejs.org/api/diagnostics_channel.html#class-tracingchannel

const channel = require('node:diagnostics_channel').tracingChannel('quickgres:query');
const { DROPPED } = require('./query');

const { start, end, asyncStart, asyncEnd, error } = channel;

/** The connection of a request, as far as it is known. */
function endpointOf({ session = {} }) {
  const { host, port, processId, config } = session;
  return { host, port, processId, database: config?.database, user: config?.user };
}

function resultOf({ receiver, result, queries, maxRows }) {
  const results = queries ? queries.map(query => query.receiver) : receiver ? [receiver] : [result].flat();
  return {
    cmd: results.length === 1 ? results[0].cmd : undefined,
    rowCount: results.reduce((sum, { cmd, rowCount = 0 }) => sum + (cmd === 'SUSPENDED' ? maxRows : rowCount), 0)
  };
}

/**
 * Submits a request and publishes it: `start` and `end` around the submission; when it is over, `error` after a failure, then
 * `asyncStart` and `asyncEnd`.
 */
function trace(request, pipeline, scope, submit = () => pipeline.submit(request, scope)) {
  request.traced = true;
  // One object for all events of a query, without parameter values and rows.
  const operation = {
    text: String(request.text), // the texts of a batch are joined by `; `
    batchSize: request.queries?.length,
    result: undefined, // set after success; `cmd` of a single command
    error: undefined, // set after a failure
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
      promise.then(() => settled(), settled);
      return promise;
    } catch (failure) {
      Promise.resolve(failure).then(settled);
      throw failure;
    } finally {
      end.publish(operation);
    }
  });
}

/** Publishes each BEGIN and SAVEPOINT in front of a request. */
function traceFronts({ fronts, scope }, pipeline) {
  for (const front of fronts) {
    if (front.receiver === DROPPED) continue; // settings
    const answered = new Promise((resolve, reject) => {
      front.publish = error => (error === undefined ? resolve() : reject(error));
    });
    trace(front, pipeline, scope, () => answered);
  }
}

module.exports = { channel, trace, traceFronts };
