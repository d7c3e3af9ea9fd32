'use strict';

const { UsageError } = require('../protocol');
const { readerOf } = require('../rows');
const { Flight, InternalQuery, QueryRequest, UNCACHED, copyDirection, executionOf, firstWord } = require('../pipeline');

/** First words of statements that begin or end a block, or a savepoint in it. */
const CONTROLLING = /^(?:abort|begin|commit|end|prepare|release|rollback|savepoint|start)$/;

/**
 * The last query of a transaction, and COMMIT, or of a savepoint, and RELEASE. If the query fails, the server skips
 * what is behind it. Nothing is sent behind the flight until it is over, since the block may still be open then.
 */
class CommitRequest extends Flight {
  #end;
  #onOver;
  #query;

  /**
   * @param {object} options of the query
   * @param {string} end COMMIT or RELEASE
   * @param {boolean} endsBlock rather than a savepoint in it
   * @param {function(Error|undefined)} onOver called when the answer is complete
   */
  constructor(text, values, options, end, endsBlock, onOver) {
    super();
    if (copyDirection(text) !== undefined)
      throw new TypeError('commit takes a query, not COPY: await that, then return from the function');
    if (CONTROLLING.test(firstWord(text)))
      throw new UsageError(
        `commit takes a query, and sends ${end} itself: leave out ${firstWord(text).toUpperCase()}`,
        '0A000'
      );
    this.#query = new QueryRequest(text, values, executionOf(options), readerOf(options));
    this.#end = new InternalQuery(end, [], UNCACHED);
    this.#onOver = onOver;
    this.text = text;
    this.putInFront([this.#query, this.#end]);
    this.effect = endsBlock ? 'block' : 'savepoint';
    this.holdUntilOver();
    this.wants = this.#query.wants;
  }

  get receiver() {
    return this.#query.receiver;
  }

  snapshot() {
    this.#query.snapshot();
  }

  drop() {
    this.#query.drop();
  }

  fail(error, pipeline, failed) {
    if (failed === this.#end) this.text = failed.text; // a deferred constraint
    super.fail(error, pipeline, failed);
  }

  ready() {
    this.rejectWith(this.scope.outermost.endedBy ?? this.receiver?.error);
    this.#onOver(this.error);
    super.ready();
  }
}

module.exports = { CommitRequest };
