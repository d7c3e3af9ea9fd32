'use strict';

const { setImmediate } = require('#platform');
const { runInside } = require('./deadlock');
const { ConnectionError, UsageError } = require('../protocol/errors');

const LEVELS = ['serializable', 'repeatable read', 'read committed', 'read uncommitted'];

/** The BEGIN of these options. */
function beginText({ isolation, readOnly, deferrable } = {}) {
  let text = 'BEGIN';
  if (isolation !== undefined) {
    const level = String(isolation).toLowerCase();
    if (!LEVELS.includes(level)) throw new TypeError(`isolation must be one of ${LEVELS.join(', ')}, not ${isolation}`);
    text += ` ISOLATION LEVEL ${level.toUpperCase()}`;
  }
  if (readOnly !== undefined) text += readOnly ? ' READ ONLY' : ' READ WRITE';
  if (deferrable !== undefined) text += deferrable ? ' DEFERRABLE' : ' NOT DEFERRABLE';
  return text;
}

/**
 * Rejects when the connection is lost, whatever the function waits for. What it throws for that reason tells more:
 * it comes first, if it comes at once.
 * @param {Promise} lost
 */
async function giveUp(lost) {
  try {
    await lost;
  } catch (error) {
    await new Promise(setImmediate);
    if (!(error instanceof ConnectionError)) throw error;
    const { code, cause } = error;
    throw new ConnectionError('the connection was lost while the function given to transaction() was at work: ' +
      'nothing of the transaction stays', { code, cause, sent: false });
  }
}

/**
 * Runs a function inside a transaction block, or inside a savepoint of one: commits when it returns, rolls back
 * when it throws. Meanwhile the connection is the function's.
 * @param {Session} tx what the function is given; its scope waits to be entered
 * @param {Scope} scope
 * @param {number} depth 0 for a transaction block, above for savepoints
 * @param {function(Session): *} work
 * @param {object} [options]
 * @param {string} [options.isolation] 'serializable', 'repeatable read', 'read committed', 'read uncommitted'
 * @param {boolean} [options.readOnly]
 * @param {boolean} [options.deferrable]
 * @returns {Promise} of what the function returned
 */
async function transaction(pipeline, tx, scope, depth, work, options) {
  const name = `quickgres_${depth}`;
  const [begin, commit, ...rollback] = depth === 0
    ? [beginText(options), 'COMMIT', 'ROLLBACK']
    : [`SAVEPOINT ${name}`, `RELEASE SAVEPOINT ${name}`, `ROLLBACK TO SAVEPOINT ${name}`, `RELEASE SAVEPOINT ${name}`];
  scope.alone = scope.idle = depth === 0;
  const control = text => pipeline.submit(tx.control(text), scope);
  // Where that fails too, the first error tells more.
  const undo = () => pipeline.status === 'I' ? undefined : Promise.allSettled(rollback.map(control));
  const lost = new Promise((resolve, reject) => { scope.onlost = reject; });
  try {
    await Promise.race([lost, new Promise(resolve => {
      scope.onenter = resolve;
      pipeline.enter(scope);
    })]);
    await control(begin);
    let result;
    try {
      result = await Promise.race([giveUp(lost), runInside(scope, () => work(tx))]);
    } catch (error) {
      tx.finish();
      await undo();
      throw error;
    }
    tx.finish();
    let cmd;
    try {
      ({ cmd } = await control(commit));
    } catch (error) {
      await undo();
      throw error;
    }
    if (cmd === 'ROLLBACK') {
      throw new UsageError('the transaction was rolled back, because a query in it had failed; ' +
        'the function given to transaction() did not throw', '25P02');
    }
    return result;
  } finally {
    pipeline.leave(scope);
  }
}

module.exports = { transaction };
