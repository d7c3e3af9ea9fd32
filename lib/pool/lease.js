'use strict';

const { ConnectionError, PostgresError, TimeoutError, UsageError } = require('../..');
const { again, firstWord, keep, throwIfAborted } = require('../query');

/** How many connections may be lost under one request. */
const ATTEMPTS = 5;

/** What most texts begin with, so that they need not be looked at. */
const COMMON = /^(?:select|insert|update|delete|with)\b/i;

/** First words of statements that concern a session: here it would be that of whichever connection is free. */
const OF_SESSIONS = /^(?:begin|start|set|reset|discard|listen|unlisten|prepare|deallocate|declare)$/;

/** An error that a timer or a socket has made shows, in a `.catch`, the function that awaits the request. */
function rejectAgain(error) {
  const own = again(error, rejectAgain);
  if (error instanceof PostgresError || error instanceof TimeoutError) Error.captureStackTrace?.(error, rejectAgain);
  throw own;
}

/** What a Pool sends its requests on: the scope of one of its connections, which it has to find first. See Scope.run. */
class PoolLease {
  #connections;
  #pending = 0;
  #whenIdle; // called when nothing is pending any more

  /**
   * @param {Connections} connections
   * @param {object} [decoding] `{ decode }` for readers of results, where a query says nothing
   * @param {LongTexts} longTexts
   */
  constructor(connections, decoding, longTexts) {
    this.scope = null;
    this.decoding = decoding;
    this.longTexts = longTexts;
    /** @type {ConnectionError|undefined} what new requests are rejected with, since the pool was ended or destroyed */
    this.refused = undefined;
    this.#connections = connections;
  }

  /** See Scope.check. */
  check(text, values) {
    const kept = keep(text, values);
    const word = COMMON.test(text) ? '' : firstWord(text);
    if (OF_SESSIONS.test(word)) {
      throw new UsageError(`${word.toUpperCase()} concerns one session, and a pool has many: use transaction(), ` +
        'connection(), listen(), or settings in the config', '0A000');
    }
    return kept;
  }

  /**
   * See Scope.run. Work is given the connection's client, too.
   * @param {string} need beside those of a session, 'connection': as 'session', but a transaction block may be left open
   */
  async run(need, options, work, mayRepeat = (error, retry) => retry || error.sent === false) {
    const { signal, statement_timeout: time, retry = false } = options;
    const kind = need === 'shared' ? 'shared' : 'owned';
    const isLimited = signal !== undefined || time !== undefined;
    const reset = need === 'session' || need === 'connection';
    this.checkOpen();
    this.#pending++;
    try {
      for (let attempts = 1; ; attempts++) {
        throwIfAborted(options);
        const connections = this.#connections;
        const connection = connections.take(kind, isLimited) ?? await connections.wait(kind, isLimited, signal).catch(rejectAgain);
        const { client, pipeline } = connection;
        try {
          const result = await work(client.lease, client);
          if (need !== 'session' || pipeline.status === 'I') return result;
          throw new UsageError('simpleQuery left a transaction block open, which is rolled back: use transaction()', '25001');
        } catch (error) {
          const isLost = error instanceof ConnectionError && attempts < ATTEMPTS;
          if (!(isLost && await mayRepeat(error, retry))) throw error;
        } finally {
          connections.release(connection, isLimited, reset);
        }
      }
    } finally {
      if (--this.#pending === 0) this.#whenIdle?.();
    }
  }

  /** @throws {ConnectionError} since the pool was ended or destroyed */
  checkOpen() { if (this.refused !== undefined) throw this.refused; }

  /** Refuses what comes later. @returns {Promise<void>} of when what came before is over */
  end(error) {
    this.refused ??= error;
    return this.#pending === 0 ? Promise.resolve() : new Promise(resolve => { this.#whenIdle = resolve; });
  }
}

module.exports = { PoolLease };
