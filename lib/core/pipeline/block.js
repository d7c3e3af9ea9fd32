'use strict';

// How transaction blocks end, and what an answer says of them.

const {
  PostgresError,
  UsageError,
  backend: { CommandComplete },
  decodeCommandComplete
} = require('../protocol');
const { SimpleRequest } = require('./close');
const { rollbacksTo } = require('./sql');

/** Ends a block or a savepoint, by COMMIT, ROLLBACK or RELEASE. It resolves to the command tag. */
class EndRequest extends SimpleRequest {
  /**
   * @param {boolean} endsBlock rather than a savepoint in it
   * @param {boolean} [internal] it is the pipeline's
   */
  constructor(text, endsBlock, internal = false) {
    super(text);
    this.internal = internal;
    this.effect = endsBlock ? 'block' : 'savepoint';
  }

  message(pipeline, type, buf, start, end) {
    super.message(pipeline, type, buf, start, end);
    if (type === CommandComplete) this.receiver = decodeCommandComplete(buf, start, end);
  }
}

/**
 * Ends a block that should not be there. Every later request would be rejected, or be a part of it.
 * @returns {Promise} of the answer
 */
function rollBack(pipeline) {
  const request = new EndRequest('ROLLBACK', true, true);
  const answered = request.open(pipeline.scopes.root).catch(error => pipeline.events.lost(error));
  if (pipeline.holds > 0) pipeline.scopes.root.unshift(request);
  else pipeline.send(request);
  return answered;
}

/** Notes a command tag that shows the end of a block; that of ROLLBACK TO SAVEPOINT is the same as that of ROLLBACK. */
function noteCommand(pipeline, buf, start, end) {
  const tag = buf.latin1Slice(start + 5, end - 1);
  if (tag === 'COMMIT' || tag === 'PREPARE TRANSACTION') pipeline.endings = Infinity;
  else if (tag === 'ROLLBACK') pipeline.endings++;
}

/**
 * Whether a request has ended the block of its transaction, or was sent behind one that has: after COMMIT AND CHAIN the
 * status is that of another block.
 */
function hasLeft({ status, endings }, { scope: { outermost }, text }) {
  return status === 'I' || outermost.endedBy !== undefined || (endings > 0 && endings > rollbacksTo(text));
}

/** The error of what is asked of a transaction that an error has undone. @param {Error} failure */
const rolledBack = failure =>
  new UsageError('the transaction was rolled back, because a query in it had failed', '25P02', failure);

/**
 * What the status in ReadyForQuery (I in no block, T in one, E in a failed one) says of a request:
 *
 *     the request                        before   behind   what has happened               what is done
 *     in the block of a transaction      I, T     E        the block has failed            its error is kept
 *     a query in that block              any      I, or §  it has ended the block          the transaction is over; a
 *                                                                                          block that is open is undone
 *     a query in that block, failing     any      I        its BEGIN has failed, maybe by  its error is kept, and the
 *                                                          a cancel of the query           transaction is over
 *     COMMIT or ROLLBACK of that block   any      T, E     it was cancelled or skipped     the block is undone
 *     outside, may begin or end a block  any      any      the block is the caller's       nothing
 *     outside, anything else             I        T, E     Pgpool-II has begun a block     the block is undone
 *
 *     § a command tag has shown the end of the block
 */
function checkBlock(pipeline, request, before) {
  const { scopes, status } = pipeline;
  const { scope, controlsBlock } = request;
  const { outermost } = scope;
  if (status === 'E' && before !== 'E') outermost.fail(request.error);
  let mustUndo = status !== 'I'; // a block is open that should not be
  if (!scope.block) mustUndo &&= before === 'I' && !controlsBlock;
  else if (request.endsScope) mustUndo &&= controlsBlock;
  else if (hasLeft(pipeline, request)) {
    const { error } = request;
    // Its cancel has reached BEGIN: the other requests fail as they do in a block that it has reached later.
    const isGivenUp = error !== undefined && !(error instanceof PostgresError);
    if (isGivenUp) outermost.fail(error);
    request.rejectWith(
      new UsageError(
        'this ended the transaction block: in transaction(), return from the function to commit, throw to roll back',
        '25P01'
      )
    );
    mustUndo &&= !outermost.isOver; // else the transaction has ended the other one as well
    request.settle(); // before those that wait, so that Promise.all rejects with the first error
    scopes.leaveBlock(scope, isGivenUp ? rolledBack(error) : request.error);
  } else mustUndo = false;
  if (mustUndo) outermost.rollback = rollBack(pipeline);
}

module.exports = { EndRequest, checkBlock, noteCommand, rolledBack };
