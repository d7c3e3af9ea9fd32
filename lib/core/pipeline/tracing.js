'use strict';

// Publishes queries on the channels `tracing:quickgres:query:…` of node:diagnostics_channel.
// https://nodejs.org/api/diagnostics_channel.html#class-tracingchannel

const { tracingChannel } = require('node:diagnostics_channel');
const { handOut } = require('./errors');
const { DISCARD } = require('./query');

/** The channels of a name. Those of Bun do not tell together whether one of them has subscribers. */
function channelsOf(name) {
  const channels = tracingChannel(name);
  if (channels.hasSubscribers !== undefined) return channels;
  const get = () => Object.values(channels).some(each => each.hasSubscribers);
  return Object.defineProperty(channels, 'hasSubscribers', { get });
}

const channel = channelsOf('quickgres:query');

/** Whether NODE_DEBUG may name `quickgres`: debuglog has the rules, but in workerd every debuglog is enabled. */
const mayDebug = /quickgres|\*/i.test(globalThis.process?.env?.NODE_DEBUG);

/** Prints what it is called with if NODE_DEBUG has `quickgres`. */
const debug = mayDebug ? require('node:util').debuglog('quickgres') : () => {};

if (mayDebug)
  channel.asyncEnd.subscribe(({ text, duration, waited, firstByte, processId, error, result }) => {
    const [all, wait, first] = [duration, waited, firstByte].map(ms => ms?.toFixed(1) ?? '-');
    const outcome = error?.message ?? `${result.cmd ?? 'batch'} ${result.rowCount}`;
    debug('process %s: %s ms, waited %s, first byte %s: %s: %s', processId, all, wait, first, outcome, text);
  });

/** A connection, as far as it is known. @param {Pipeline} [pipeline] */
function endpointOf({ connection = {} } = {}) {
  const { host, port, processId, config } = connection;
  return { host, port, processId, database: config?.database, user: config?.user };
}

function resultOf({ receiver, queries, maxRows }) {
  const results = queries ? queries.map(query => query.receiver) : [receiver].flat();
  return {
    cmd: results.length === 1 ? results[0].cmd : undefined,
    rowCount: results.reduce((sum, { cmd, rowCount = 0 }) => sum + (cmd === 'SUSPENDED' ? maxRows : rowCount), 0)
  };
}

/** A call, from its `start` to its `asyncEnd`. */
class Call {
  #began;
  #pipeline;
  #request;
  #sent;

  constructor({ text, queries }, pipeline, began = performance.now()) {
    this.#began = began;
    this.#pipeline = pipeline;
    /** One object for all events of a query, without parameter values and rows: TracedQuery of index.d.ts. */
    this.operation = {
      text: String(text), // the texts of a batch are joined by `; `
      batchSize: queries?.length,
      waited: undefined, // set when it is sent
      firstByte: undefined, // set by the first message of the answer
      duration: undefined, // set when it is over
      result: undefined, // set after success; `cmd` of a single command
      error: undefined, // set after a failure
      ...endpointOf(pipeline)
    };
    /** @type {function(Error|undefined)|undefined} ends the call of a command in front, which has no promise */
    this.over = undefined;
  }

  /** Looks when a request of the call is sent and answered; a pool may make another one after a loss. */
  follow(request) {
    this.#request = request;
    request.call = this;
    request.putInFront([]); // so that `take` tells when it is answered
    return request;
  }

  sent() {
    this.#sent = performance.now();
    Object.assign(this.operation, { waited: this.#sent - this.#began, firstByte: undefined });
  }

  answered() {
    this.operation.firstByte ??= performance.now() - this.#sent;
  }

  /** The call is over, and its promise will settle. */
  #over(error) {
    const { operation } = this;
    const request = this.#request;
    Object.assign(operation, endpointOf(request?.scope?.pipeline ?? this.#pipeline), {
      duration: performance.now() - this.#began,
      error
    });
    if (error === undefined) operation.result = request && resultOf(request);
    else channel.error.publish(operation);
    channel.asyncStart.publish(operation);
    channel.asyncEnd.publish(operation);
  }

  /** V8 shows the caller that awaits an async function, but none of a promise on which `then` was called as well. */
  async #watch(promise) {
    try {
      const result = await promise;
      this.#over();
      return result;
    } catch (error) {
      this.#over(error);
      throw error;
    }
  }

  /** Publishes what `submit` does. */
  run(submit) {
    const { operation } = this;
    return channel.start.runStores(operation, () => {
      try {
        return handOut(this.#watch(submit()));
      } catch (failure) {
        this.#watch(Promise.reject(failure)).catch(() => {});
        throw failure;
      } finally {
        channel.end.publish(operation);
      }
    });
  }
}

/** @type {Call|undefined} the call that makes requests now, and is published by its caller */
let current;

/** Submits a request and publishes it. */
function trace(request, pipeline, scope) {
  const call = current ?? new Call(request, pipeline);
  call.follow(request);
  const submit = () => pipeline.submit(request, scope);
  return current === undefined ? call.run(submit) : submit();
}

/**
 * Publishes a call of a session above this one, which finds connections and makes requests itself.
 * @param {function(function(function(): Promise): Promise): Promise} run gets a function that calls what makes a
 *   request
 */
function traceAbove(text, run) {
  const call = new Call({ text });
  return call.run(() =>
    run(ask => {
      current = call;
      try {
        return ask();
      } finally {
        current = undefined;
      }
    })
  );
}

/** Publishes BEGIN, SAVEPOINT, COMMIT and RELEASE in the flight of a request, but not the settings. */
function traceControls({ commands }, pipeline) {
  for (const command of commands) {
    if (!command.internal || command.receiver === DISCARD) continue;
    const call = new Call(command, pipeline);
    call.follow(command);
    call.sent();
    const answered = new Promise((resolve, reject) => {
      call.over = error => (error === undefined ? resolve() : reject(error));
    });
    call.run(() => answered).catch(() => {});
  }
}

/**
 * Publishes a call whose connection has to be found first.
 * @param {function(): Flight} make see `send`
 * @param {function(function(): Flight): Promise} run
 */
function traceCall(make, run) {
  let first = make();
  if (first.text === undefined) return run(make);
  const call = new Call(first);
  return call.run(() =>
    run(() => {
      const request = first ?? make();
      first = undefined;
      return call.follow(request);
    })
  );
}

/**
 * Publishes that no connection was found for what sends several requests.
 * @param {string} text of the first one
 * @param {function(function()): Promise} run calls back when it has a connection
 */
async function traceWait(text, run) {
  const began = performance.now();
  let isFound = false;
  try {
    return await run(() => {
      isFound = true;
    });
  } catch (error) {
    if (!isFound) new Call({ text }, undefined, began).run(() => Promise.reject(error)).catch(() => {});
    throw error;
  }
}

module.exports = { channel, channelsOf, debug, trace, traceAbove, traceCall, traceControls, traceWait };
