'use strict';

const { setImmediate } = require('#platform');
const { ConnectionError, UsageError, kindOf } = require('../protocol');
const { RowReader } = require('../rows');
const { runInside } = require('./inside');
const { QueryRequest, outcome } = require('./request');
const { Scope } = require('./scope');

const LEVELS = ['serializable', 'repeatable read', 'read committed', 'read uncommitted'];

/** The BEGIN of these options; throws a TypeError. */
function beginText({ isolation, readOnly, deferrable } = {}) {
  let text = 'BEGIN';
  if (isolation !== undefined) {
    const level = typeof isolation === 'string' ? isolation.toLowerCase() : kindOf(isolation);
    if (!LEVELS.includes(level)) throw new TypeError(`isolation must be one of ${LEVELS.join(', ')}, not ${level}`);
    text += ` ISOLATION LEVEL ${level.toUpperCase()}`;
  }
  for (const [name, value] of Object.entries({ readOnly, deferrable })) {
    if (value !== undefined && typeof value !== 'boolean') throw new TypeError(`${name} must be a boolean, not ${kindOf(value)}`);
  }
  if (readOnly !== undefined) text += readOnly ? ' READ ONLY' : ' READ WRITE';
  if (deferrable !== undefined) text += deferrable ? ' DEFERRABLE' : ' NOT DEFERRABLE';
  return text;
}

/** What a transaction sends at its beginning, at its end, and to undo. */
function controlsOf(depth, options) {
  if (depth === 0) return { begin: beginText(options), commit: 'COMMIT', undo: ['ROLLBACK'] };
  beginText(options);
  const name = `quickgres_${depth}`;
  const release = `RELEASE SAVEPOINT ${name}`;
  return { begin: `SAVEPOINT ${name}`, commit: release, undo: [`ROLLBACK TO SAVEPOINT ${name}`, release] };
}

/**
 * Rejects when the connection is lost, whatever the function waits for. What it throws for that reason tells more:
 * it comes first, if it comes at once.
 * @param {Promise} lost
 */
async function whenLost(lost) {
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

/** Runs the function once the scope has been entered. */
async function run(scope, { begin, commit, undo }, session, work, entered, lost) {
  const { pipeline } = scope;
  const control = async text => {
    const request = new QueryRequest(text, [], 0, false, undefined, new RowReader());
    request.controls = true;
    return pipeline.submit(request, scope);
  };
  try {
    await Promise.race([lost, entered]).catch(error => outcome({ error }));
    await control(begin);
    const result = await Promise.race([whenLost(lost), runInside(scope, async () => work(session))]).finally(() => {
      scope.refused ??= new UsageError('the transaction is over', '25P01');
      session.abandonSteps(scope.refused);
    });
    if ((await control(commit)).cmd !== 'ROLLBACK') return result;
    throw new UsageError('the transaction was rolled back, because a query in it had failed; ' +
      'the function given to transaction() did not throw', '25P02');
  } catch (error) {
    // Where that fails too, the first error tells more.
    if (pipeline.status !== 'I') await Promise.allSettled(undo.map(control));
    throw error;
  } finally {
    pipeline.leave(scope);
  }
}

/**
 * Runs a function inside a transaction block, or inside a savepoint of one: commits when it returns, rolls back
 * when it throws. Meanwhile the connection is the function's.
 * @param {Scope} parent
 * @param {number} depth 0 for a transaction block, above for savepoints
 * @param {function(Scope): Session} make what the function is given
 * @param {function(object): *} work
 * @param {object} [options]
 * @param {string} [options.isolation] 'serializable', 'repeatable read', 'read committed', 'read uncommitted'
 * @param {boolean} [options.readOnly]
 * @param {boolean} [options.deferrable]
 * @returns {Promise} of what the function returned
 * @throws {TypeError|Error} for options that there are not; where the parent is over
 */
function transaction(parent, depth, make, work, options) {
  const controls = controlsOf(depth, options);
  const kind = { alone: depth === 0, block: true };
  const entered = new Promise(resolve => { kind.entered = resolve; });
  const lost = new Promise((resolve, reject) => { kind.lost = reject; });
  lost.catch(() => {}); // it may be that nobody waits any more
  const scope = new Scope(parent.pipeline, parent, depth === 0 ? 'the transaction' : 'the savepoint', kind);
  parent.pipeline.enter(scope);
  return run(scope, controls, make(scope), work, entered, lost);
}

module.exports = { transaction };
