'use strict';

const { ConnectionError, UsageError, kindOf } = require('../protocol');
const { runInside } = require('./inside');
const { outcome } = require('./request');
const { Scope } = require('./scope');
const { SimpleQueryRequest } = require('./simple-query');

/** What is asked once the function has returned rejects with one like it. */
const OVER = new UsageError('the transaction is over: await in its function what you ask of it', '25P01');

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
 * Rejects for a function that is at work as the connection is lost. What it throws for that reason tells more: it
 * comes first, if it comes at once.
 */
async function whenLost(error) {
  await new Promise(setImmediate);
  if (!(error instanceof ConnectionError)) throw error;
  const { code, cause } = error;
  throw new ConnectionError('the connection was lost while the function given to transaction() was at work: ' +
    'nothing of the transaction stays', { code, cause, sent: false });
}

/** Runs the function once the scope has been entered. */
async function run(scope, { begin, commit, undo }, session, entered, work) {
  const { pipeline } = scope;
  const control = text => {
    const request = new SimpleQueryRequest(text);
    request.controls = true;
    return pipeline.submit(request, scope);
  };
  try {
    await entered;
    await control(begin);
    const result = await work().finally(() => session.abandonStreams(scope.refused ??= () => OVER));
    if ((await control(commit))[0].cmd !== 'ROLLBACK') return result;
    throw new UsageError('the transaction was rolled back, because a query in it had failed; ' +
      'the function given to transaction() did not throw', '25P02', scope.failure);
  } catch (error) {
    // Where that fails too, the first error tells more.
    if (pipeline.status !== 'I') await Promise.allSettled(undo.map(async text => control(text)));
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
  let lose; // rejects what is waited for, as the connection is lost
  const kind = { alone: depth === 0, block: true, lost: next => lose(next()) };
  const entered = new Promise((resolve, reject) => {
    kind.entered = resolve;
    lose = reject;
  });
  const scope = new Scope(parent.pipeline, parent, depth === 0 ? 'the transaction' : 'the savepoint', kind);
  parent.pipeline.enter(scope);
  const session = make(scope);
  return run(scope, controls, session, entered.catch(error => outcome({ error })), () => new Promise((resolve, reject) => {
    lose = error => whenLost(error).then(resolve, reject); // by catch(), its stack would not show who awaits
    Promise.resolve(runInside(scope, () => work(session))).then(resolve, reject);
  }));
}

module.exports = { beginText, transaction };
