'use strict';

const { LEASE } = require('../core/internal');
const { ConnectionError, PostgresError, UsageError } = require('../..');
const {
  again,
  firstWord,
  isLocalSet,
  rejectAgain,
  showOnce,
  statementsOf,
  throwIfAborted
} = require('../core/pipeline');
const { checkConfig } = require('../core/config');
const { inputOf } = require('../core/options');
const { Common } = require('../core/requests');
const { checkDecode, decodingOf } = require('../core/rows');
const { isWorkerd, sameRequest } = require('../core/worker');
const { Connections } = require('./connections');
const { KnownTexts } = require('./known-texts');
const { Use } = require('./waiting');

/** In a Worker: the most requests whose connections are known. */
const MOST_REQUESTS = 100;

/** How many connections one request may lose. */
const ATTEMPTS = 5;

/** Texts that begin like this need no further look. */
const COMMON = /^(?:select|insert|update|delete|with)\b/i;

/** First words of statements that outlive a transaction, and reach the next user of the connection. */
const LASTING = /^(?:deallocate|discard|listen|prepare|reset|set|unlisten)$/;

/** First words of others that concern one session. */
const OF_SESSIONS = /^(?:begin|declare|start)$/;

/** @throws {UsageError} for a text of a transaction or cursor with a statement that outlives it */
function refuseLasting(text) {
  if (!text.includes(';') && !LASTING.test(firstWord(text))) return;
  for (const each of statementsOf(text)) {
    const word = firstWord(each);
    if (!LASTING.test(word) || (word === 'set' && isLocalSet(each))) continue;
    throw new UsageError(
      `${word.toUpperCase()} would outlive this transaction or cursor of a pool: ` +
        'write SET LOCAL, use with(), which ends with the request, or connection(), which resets the session',
      '0A000'
    );
  }
}

/** What is left of the options: `waited` is the part of the time limit that has passed. */
function leftOf(options, since) {
  const waited = since && performance.now() - since;
  return waited > 1 ? { ...options, waited } : options;
}

/** A server reports 08006 if it has lost a connection of its own, for example to a worker of Citus. */
const isLost = error => error instanceof ConnectionError || (error instanceof PostgresError && error.code === '08006');

/**
 * Whether a query was refused before it was executed, since its prepared statement has other columns now. A connection
 * keeps the order of requests, so it does not send such a query again behind a write; queries of a pool have no order.
 */
const isOutdated = error =>
  error instanceof PostgresError && error.routine === 'RevalidateCachedQuery' && !error.where && !error.index;

/**
 * A pool's lease: it is the set of the pool's connections, and gives the scope of one of them, which it has to find
 * first. See Scope.run.
 */
class PoolLease extends Connections {
  #ending = []; // the resolvers of end()
  #isMine; // in a Worker: whether its connections belong to the running request, which has used it first
  #made; // what it was made of
  #others = []; // in a Worker: those of other requests
  #pending = 0;

  constructor(config, options, emit) {
    checkConfig(config);
    checkDecode(config?.decode);
    super(config, options, emit);
    this.#made = [config, options, emit];
    this.sendsIn = null;
    /** How long texts need; a request of a pool of one has no other connection. */
    this.knownTexts = options.size > 1 ? new KnownTexts() : undefined;
    /** See Pipeline. */
    this.common = new Common({ ...options.common, decoding: decodingOf(config, true) });
  }

  inputOf(text, values) {
    const copied = inputOf(text, values);
    const word = COMMON.test(text) ? '' : firstWord(text);
    if (LASTING.test(word) || OF_SESSIONS.test(word)) {
      throw new UsageError(
        `${word.toUpperCase()} concerns one session, and a pool has many: use transaction(), ` +
          'connection(), listen(), or settings in the config',
        '0A000'
      );
    }
    return copied;
  }

  /**
   * See Scope.run. Work also gets the connection's client, what is left of the options, and what a transaction or
   * cursor of a pool refuses.
   * @param {string} [text] of a query that may share a connection: the pool learns how long the server needs for it
   * @param {string} need also 'connection': like 'session', but a transaction block may be left open
   */
  async run(need, options, work, mayRepeat, text) {
    if (isWorkerd) {
      const lease = this.#ofRequest();
      if (lease !== this) return lease.run(need, options, work, mayRepeat, text);
    }
    const { statement_timeout: time, idempotent } = options;
    const known = text === undefined ? undefined : this.knownTexts?.of(text);
    const since = time === undefined ? 0 : performance.now() - (options.waited ?? 0);
    let isSent = false; // by an earlier attempt
    this.checkOpen();
    this.#pending++;
    try {
      for (let attempts = 1; ; attempts++) {
        throwIfAborted(options);
        const use = new Use(need === 'shared' ? 'query' : 'owner', known);
        const connection = this.take(use) ?? (await this.wait(use, options, since).catch(rejectAgain));
        const { client, pipeline } = connection;
        try {
          const refuse = need === 'owned' ? refuseLasting : undefined;
          const working = work(client[LEASE], client, leftOf(options, since), refuse);
          use.submitted?.();
          const result = await working;
          use.isAnswered = known !== undefined;
          if (need !== 'session' || pipeline.status === 'I') return result;
          throw new UsageError(
            'simpleQuery left a transaction block open, which is rolled back: use transaction()',
            '25001'
          );
        } catch (error) {
          const isUndone = need === 'shared' && isOutdated(error);
          const isRepeatable = isUndone || (isLost(error) && (idempotent || error.sent === false));
          if (!isRepeatable || attempts === ATTEMPTS || (await mayRepeat?.(error)) === false) throw error;
          isSent ||= !isUndone && error.sent !== false;
          // Others may have been lost with this one, which only the next turns of the loop tell.
          await new Promise(resolve => {
            setTimeout(resolve, 2 ** attempts);
          });
          if (use.error) rejectAgain(use.error);
        } finally {
          this.release(connection, use, need === 'session' || need === 'connection');
        }
      }
    } catch (error) {
      if (isSent && error?.sent === false) error.sent = true;
      await undefined; // behind which V8 shows the awaiting caller
      showOnce(error, this.run);
      throw error;
    } finally {
      if (--this.#pending === 0) for (const resolve of this.#ending) resolve();
    }
  }

  /**
   * In a Worker, connections, timers and waits of one request are of no use to another one, and it is not known whether
   * that is over: each request has a set of its own, which ends with it.
   */
  #ofRequest() {
    this.#isMine ??= sameRequest();
    this.checkOpen();
    const known = this.#known;
    if (known) return known;
    const lease = new PoolLease(...this.#made);
    lease.#isMine = sameRequest();
    if (this.#others.push(lease) > MOST_REQUESTS) this.#others.shift();
    return lease;
  }

  /** The set of the running request, if it has one; outside of a Worker this. */
  get #known() {
    return [this, ...this.#others].find(each => each.#isMine?.() === undefined);
  }

  /** @throws {ConnectionError} after end() or destroy() */
  checkOpen() {
    if (this.refusal) throw again(this.refusal);
  }

  /** Refuses later requests, and closes all connections when the earlier ones are over. */
  async end(refusal) {
    this.refusal ??= refusal;
    const known = this.#known; // those of other requests end with these
    if (known !== this) return known?.end(refusal);
    if (this.#pending > 0)
      await new Promise(resolve => {
        this.#ending.push(resolve);
      });
    await this.close();
  }

  /** See Connections. */
  destroy(error, refusal) {
    this.refusal ??= refusal;
    const known = this.#known;
    if (known === this) super.destroy(error);
    else known?.destroy(error, refusal);
  }
}

module.exports = { PoolLease };
