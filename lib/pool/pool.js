'use strict';

const { CHANNELS, LEASE } = require('../core/internal');
const { ConnectionError, PostgresError, Session, UsageError } = require('../..');
const { NO_OPTIONS, checkNoMore, checkOptions } = require('../core/options');
const { callerOf, handOut, promised, unhindered } = require('../core/pipeline');
const { PoolLease } = require('./pool-lease');
const { Listening } = require('./listening');
const { Loan } = require('./loan');
const { OF_CONNECTION, optionsOf } = require('./options');

/** The error of new requests. */
const refusal = (state, cause) =>
  new ConnectionError(`the pool was ${state}: it takes no more requests`, { code: '08003', cause, sent: false });

/**
 * Pipelined connections side by side: a session whose requests use any of them. Its events are PoolEvents in
 * index.d.ts.
 */
class Pool extends Session {
  #config;
  #listening;
  #options;

  constructor(config = {}, options = NO_OPTIONS) {
    super();
    checkNoMore(arguments, 2, 'new Pool({ connectionString: url }, { size: 10 })');
    this.#config = config;
    this.#options = optionsOf(options);
    this[LEASE] = new PoolLease(config, this.#options, (...event) => this.#emit(...event));
  }

  /** An 'error' without a listener must not end the program. */
  #emit(event, ...what) {
    if (this.listenerCount(event) > 0) unhindered(() => this.emit(event, ...what));
  }

  get stats() {
    return this[LEASE].stats;
  }

  /** @private quickgres/pg's `max`, which a program may change. */
  set size(size) {
    this.#options.size = size;
  }

  /** @private node-postgres' way to a client. */
  connect() {
    throw new UsageError(
      'a pool connects by itself: query it at once, and for one client use transaction(work) or connection(work)',
      '0A000'
    );
  }

  /** Gives a function a client of its own. Afterwards an open transaction is rolled back and the session is reset. */
  connection(work, options = NO_OPTIONS) {
    return promised(() => {
      if (typeof work !== 'function') throw new TypeError('connection takes a function, which gets the client');
      checkOptions(options, OF_CONNECTION);
      const { reset = true, idempotent = false } = options;
      const lend = async (scope, client) => {
        const loan = new Loan(client);
        try {
          return await work(loan);
        } finally {
          loan.revoke();
        }
      };
      return handOut(
        this[LEASE].run(reset ? 'connection' : 'owned', options, lend, () => idempotent),
        callerOf(this.connection),
        true
      );
    });
  }

  /** See Session.listen. One connection beyond `size` listens on all channels. */
  get [CHANNELS]() {
    this[LEASE].checkOpen();
    if (!this.#listening || this.#listening.isOver) {
      const options = { ...this.#options, reached: this[LEASE].reached };
      this.#listening = new Listening(this.#config, options, error => {
        if (!(error instanceof PostgresError)) this[LEASE].doubt();
        this.#emit('error', error);
      });
    }
    return this.#listening.channels;
  }

  /**
   * Replaces each connection after its current requests: new ones have new settings, for example of ALTER ROLE.
   */
  renew() {
    this[LEASE].renew();
  }

  /** Waits for all requests, then closes the connections. Later requests reject. */
  async end() {
    if (this[LEASE].isInside)
      throw new UsageError('end() inside transaction() would wait for its function: call end() after it', '25001');
    this.#listening?.close();
    await this[LEASE].end(refusal('ended'));
  }

  /** For `await using`; not every engine has the symbol. */
  [Symbol.asyncDispose ?? Symbol()]() {
    return this.end();
  }

  toJSON() {
    return this.stats;
  }

  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    return `Pool ${inspect(this.toJSON(), options)}`;
  }

  /** Closes the connections now, and rejects all requests. @param {Error} [error] the cause */
  destroy(error) {
    this.#listening?.close(error && new ConnectionError('the pool was destroyed', { cause: error }));
    this[LEASE].destroy(error, refusal('destroyed', error));
  }
}

module.exports = { Pool };
