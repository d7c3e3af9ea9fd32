'use strict';

const { GIVE_UP_STREAMS } = require('./internal');
const { ConnectionError, State, UsageError, originOf } = require('./protocol');
const { after, setImmediate } = require('./timer');
const {
  EndRequest,
  Phase,
  Scope,
  giveUp,
  giveUpAll,
  again,
  expectAnswer,
  leftInside,
  sendSeveral,
  rolledBack,
  runInside,
  submitIn,
  throwIfAborted,
  tooLong,
  watchLimits
} = require('./pipeline');
const { NO_OPTIONS } = require('./options');
const requests = require('./requests');

/** Milliseconds for which the error of the function waits for the answer to ROLLBACK. */
const UNDO_TIMEOUT = 3000;

/** The first and the longest pause before a transaction is repeated, in milliseconds. */
const FIRST_PAUSE = 10;
const LONGEST_PAUSE = 1000;

const over = why => new UsageError(`the transaction is over: ${why}`, '25P01');

/** The error of requests behind commit(). */
const COMMITTED = over('commit() was its last query');

/** The error of requests after the function has returned. */
const OVER = over('await its queries inside its function');

function beginText({ isolation, readOnly, deferrable }) {
  let text = 'BEGIN';
  if (isolation !== undefined) text += ` ISOLATION LEVEL ${isolation.toUpperCase()}`;
  if (readOnly !== undefined) text += readOnly ? ' READ ONLY' : ' READ WRITE';
  if (deferrable !== undefined) text += deferrable ? ' DEFERRABLE' : ' NOT DEFERRABLE';
  return text;
}

/** The statements that begin, end and undo a transaction or savepoint. */
function textsOf(depth, options) {
  if (depth === 0) return { begin: beginText(options), commit: 'COMMIT', undo: ['ROLLBACK'] };
  const name = `quickgres_${depth}`;
  const release = `RELEASE SAVEPOINT ${name}`;
  return { begin: `SAVEPOINT ${name}`, commit: release, undo: [`ROLLBACK TO SAVEPOINT ${name}`, release] };
}

/** An option as it is compared: readOnly: false is like none. */
const lower = value => String(value || '').toLowerCase();

/** @throws {UsageError} unless the transaction is what its savepoint asks for */
function checkMode(options, mode) {
  const wrong = ['isolation', 'readOnly', 'deferrable'].find(
    name => options[name] !== undefined && lower(options[name]) !== lower(mode[name])
  );
  if (wrong === undefined) return;
  const begun = mode[wrong] === undefined ? `without ${wrong}` : `with ${wrong}: ${mode[wrong]}`;
  throw new UsageError(`${wrong} is the whole transaction's, which was begun ${begun}: pass it there`, '25001');
}

const tooLate = tooLong('transaction');

/** The error for a function that is running when the connection is lost. */
function lostInside(error) {
  if (!(error instanceof ConnectionError)) return error;
  return new ConnectionError(
    'the connection was lost while the function of transaction() was running: nothing of the transaction stays',
    { code: error.code, cause: originOf(error), sent: false }
  );
}

/** A transaction or a savepoint, from the call to the answer to its end. Its phase is that of its scope. */
class Transaction {
  /** @type {Promise|undefined} of the function that was called in it */
  called;
  /** @type {Promise} of `perform` */
  performed;
  #commitRequest; // the CommitRequest of commit()
  #committed; // its promise
  #depth;
  #enter; // resolves #entered
  #entered = new Promise(resolve => {
    this.#enter = resolve;
  });
  #interruption; // the error of the limit or of a lost connection
  #reject; // rejects the promise that #until has given last
  #session; // none of a cursor
  #texts;
  #undone; // settles when its ROLLBACK is answered

  /** @param {string} [loop] see Scope, as of `refuseLasting` */
  constructor(parent, depth, options, refuseLasting, loop, name = depth === 0 ? 'the transaction' : 'the savepoint') {
    this.#texts = textsOf(depth, options);
    this.#depth = depth;
    this.scope = new Scope(parent.pipeline, parent, name, {
      block: true,
      begin: this.#texts.begin,
      settings: options.settings,
      refuseLasting,
      loop,
      onenter: this.#enter,
      onlose: (makeError, phase) => this.#lose(makeError(), phase)
    });
    parent.pipeline.enter(this.scope);
  }

  /** Waits for a promise, unless the limit or a lost connection comes first. */
  #until(promise) {
    if (this.#interruption !== undefined) return Promise.race([promise, Promise.reject(this.#interruption)]);
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      promise.then(resolve, reject);
    });
  }

  #interrupt(error) {
    this.#interruption ??= error;
    this.#reject?.(error);
  }

  /**
   * An error that the function throws at once is more specific, so it comes first; only COMMIT's own one tells whether
   * it was sent.
   */
  #lose(error, phase) {
    if (phase === Phase.ENDING && this.#depth === 0) return;
    if (this.#commitRequest !== undefined) return void this.#committed.catch(reason => this.#interrupt(reason));
    if (phase === Phase.OPEN) setImmediate(() => this.#interrupt(lostInside(error)));
    else this.#interrupt(error);
  }

  /**
   * Waits for BEGIN's turn, calls a function, and commits when its promise resolves.
   * @param {function(): *} work
   * @param {Session} [session] of the function
   */
  async perform(work, options, session) {
    const { scope } = this;
    const { pipeline } = scope;
    this.#session = session;
    const unwatch = watchLimits(
      options,
      error => this.#giveUp(error),
      tooLate,
      () => scope.phase >= Phase.COMMITTING && this.#commitRequest?.state !== State.Waiting
    );
    try {
      await this.#until(this.#entered);
      if (scope.refused !== null) throw scope.refused();
      this.called = new Promise(resolve => {
        resolve(work());
      });
      let result;
      try {
        result = await this.#until(this.called);
      } finally {
        if (session !== undefined) leftInside();
        this.#refuse(OVER);
      }
      await this.#commit();
      return result;
    } catch (error) {
      await this.#undo();
      throw error;
    } finally {
      unwatch();
      if (!this.#awaitsCommit) pipeline.end(scope);
    }
  }

  /** Sends the last query, and what ends the block behind it. */
  commit(text, values, options) {
    const { scope } = this;
    if (scope.refused !== null) throw again(scope.refused());
    const request = new requests.CommitRequest(text, values, options, this.#texts.commit, this.#depth === 0, error =>
      this.#answered(error)
    );
    this.#committed = submitIn(request, scope, options);
    this.#commitRequest = request;
    scope.advance(Phase.COMMITTING);
    this.#refuse(COMMITTED);
    return this.#committed; // without a handler of ours, with which its error would not show the awaiting caller
  }

  /** Whether commit() was sent and is not answered. */
  get #awaitsCommit() {
    const state = this.#commitRequest?.state ?? State.Waiting;
    return state !== State.Waiting && state !== State.Over && this.scope.pipeline.socket !== null;
  }

  /** The answer to commit() is complete. A block that is open still is undone by its pipeline, see block.js. */
  #answered(error) {
    const { scope } = this;
    if (scope.isOver) return;
    if (error !== undefined && this.#depth === 0) scope.fail(error);
    else if (error !== undefined) this.#sendUndo();
    scope.pipeline.end(scope);
  }

  /** Refuses later requests, and ends what is open in the session. */
  #refuse(error) {
    const refused = this.scope.refuse(() => error); // the first error, if it refuses already
    this.#session?.[GIVE_UP_STREAMS](refused);
  }

  async #control(text) {
    return this.scope.pipeline.submit(new EndRequest(text, this.#depth === 0), this.scope);
  }

  async #commit() {
    const { pipeline } = this.scope;
    if (this.#commitRequest !== undefined) return void (await this.#until(this.#committed));
    if (this.#interruption !== undefined) throw this.#interruption; // in the tick in which the function has returned
    if (this.#isEmpty && this.scope.settings !== undefined) return; // wrong settings would make the server skip COMMIT
    const { outermost } = this.scope;
    const committed = this.#control(this.#texts.commit);
    if (this.#depth === 0) {
      committed.catch(error => outermost.fail(error));
      pipeline.end(outermost); // whatever COMMIT answers, the block is over
    } else this.scope.advance(Phase.COMMITTING);
    const { cmd } = await this.#until(committed);
    if (outermost.endedBy !== undefined) throw again(outermost.endedBy);
    if (cmd === 'ROLLBACK') throw rolledBack(outermost.failure);
  }

  /** Whether not even BEGIN was sent. */
  get #isEmpty() {
    return (
      this.scope.begin !== undefined && this.scope.first === null && this.scope.pipeline.scopes.active === this.scope
    );
  }

  #sendUndo() {
    this.#undone = Promise.allSettled(this.#texts.undo.map(text => this.#control(text)));
  }

  /** If this fails as well, the first error says more. */
  async #undo() {
    const { phase, pipeline } = this.scope;
    const hasEnded =
      this.#commitRequest === undefined
        ? phase >= Phase.ENDING || (phase === Phase.COMMITTING && this.#interruption !== undefined)
        : this.#commitRequest.state !== State.Waiting;
    if (!hasEnded && !this.#isEmpty) {
      this.#sendUndo();
      pipeline.end(this.scope);
    }
    const undone = this.#undone ?? this.scope.rollback;
    if (undone === undefined) return;
    // A silent connection does not answer.
    if (this.#interruption !== undefined || pipeline.givenUpAt !== 0) return;
    await new Promise(resolve => {
      const stop = after(UNDO_TIMEOUT, resolve);
      this.#until(undone).then(resolve, resolve).finally(stop);
    });
  }

  #giveUp(error) {
    const { scope } = this;
    const { phase, pipeline } = scope;
    if (phase === Phase.WAITING) pipeline.leave(scope, error);
    else if (phase === Phase.OPEN) {
      this.#refuse(error);
      giveUpAll(scope, error);
    } else if (this.#commitRequest !== undefined) giveUp(this.#commitRequest, error);
    expectAnswer(pipeline);
    this.#interrupt(error);
  }
}

/**
 * SQLSTATEs and routines of transactions that others have made fail: serialization_failure, deadlock_detected, and that
 * of a prepared statement whose columns have changed.
 */
const TRANSIENT = /^40(?:001|P01)|RevalidateCachedQuery/;

/** The attempts of one call of transaction(): more than one if a connection is lost, or others make its block fail. */
class Attempts {
  #begin;
  #last; // the Transaction of the last attempt
  #lease;
  #options;
  #since = performance.now();

  /** @param {function(Scope, object, function): Transaction} begin with the options that are left for an attempt */
  constructor(lease, options, begin) {
    this.#lease = lease;
    this.#options = options;
    this.#begin = begin;
  }

  /** The options, with the limits that are left. */
  get #left() {
    if (this.#options.statement_timeout === undefined) return this.#options;
    return { ...this.#options, waited: performance.now() - this.#since };
  }

  /** Makes one attempt within the limits that are left; more if its connection is lost. */
  once() {
    this.#last = undefined;
    const attempt = (parent, client, left, refuseLasting) => {
      throwIfAborted(left);
      this.#last = this.#begin(parent, left, refuseLasting);
      return this.#last.performed;
    };
    return sendSeveral(this.#lease, this.#left, 'BEGIN', attempt, () => this.#mayRepeat());
  }

  /** The function is not called again before its last call is over. */
  async #mayRepeat() {
    const called = this.#last?.called;
    if (called === undefined || !this.#options.idempotent) return called === undefined;
    await this.#wait(true, done => void called.then(done, done));
    return true;
  }

  /** Repeats a transaction that others have made fail, after pauses that grow and differ. */
  async repeat() {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.once();
      } catch (error) {
        const reason = this.#last?.scope.failure; // other errors of the function, whatever their code, are none
        const isTransient =
          TRANSIENT.test(reason?.code + reason?.routine) && (error === reason || error?.cause === reason);
        if (attempt >= this.#options.retries || !isTransient) throw error;
      }
      const pause = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** attempt) * (0.5 + Math.random() / 2);
      await this.#wait(false, done => after(pause, done));
    }
  }

  /**
   * Waits within the limits.
   * @param {function(function): function|undefined} begin gets what ends the wait, and returns what stops calling it
   */
  #wait(isSent, begin) {
    return new Promise((resolve, reject) => {
      throwIfAborted(this.#options, isSent);
      const end = settle => error => {
        unwatch();
        stop?.();
        settle(error);
      };
      const unwatch = watchLimits(this.#left, end(reject), tooLate, () => isSent);
      const stop = begin(end(resolve));
    });
  }
}

/**
 * Session.transaction: runs a function inside a transaction block, or behind a savepoint. BEGIN travels with the first
 * request.
 * @param {number} depth how many blocks are around: inside one, it is a savepoint
 * @param {function(Transaction): Session} sessionOf makes the function's session
 * @param {object} options see TransactionOptions in index.d.ts
 */
function transaction(lease, depth, sessionOf, work, options) {
  const begin = (parent, left, refuseLasting) => {
    const begun = new Transaction(parent, depth, left, refuseLasting);
    const session = sessionOf(begun);
    begun.performed = begun.perform(() => runInside(begun.scope, () => work(session)), left, session);
    return begun;
  };
  const attempts = new Attempts(lease, options, begin);
  // A savepoint fails with its transaction, so only that can be repeated.
  return options.retries && depth === 0 ? attempts.repeat() : attempts.once();
}

/**
 * Opens a portal on a lease, for a cursor or for startQuery.
 * @returns {Portal|Promise<Portal>} a promise if a connection has to be found first
 */
function openPortal(lease, text, values, options, name) {
  const openIn = (scope, client, left, refuseLasting) =>
    openPortalIn(scope, text, values, options, name, left, refuseLasting);
  if (lease.sendsIn !== null) return openIn(lease.sendsIn);
  return new Promise((resolve, reject) => {
    sendSeveral(lease, { signal: options.signal }, text, (...given) => {
      const portal = openIn(...given);
      resolve(portal);
      return portal.committed.catch(() => {});
    }).catch(reject);
  });
}

/**
 * Opens a portal in the block of its scope, or else in a transaction of its own, which ends with it.
 * @param {object} [left] with `settings`, which only a block of its own has, as `refuseLasting`
 */
function openPortalIn(parent, text, values, options, name, { settings } = NO_OPTIONS, refuseLasting) {
  const { active, rootInBlock } = parent.pipeline.scopes;
  const isIn = parent.block || (active === parent && rootInBlock === true);
  if (isIn && settings === undefined && refuseLasting === undefined)
    return new requests.Portal(parent, text, values, options, name);
  let end;
  const ended = new Promise((resolve, reject) => {
    end = error => (error === undefined ? resolve() : reject(error));
  });
  ended.catch(() => {}); // the transaction may not begin
  const around = new Transaction(parent, 0, { settings }, refuseLasting, text, 'the transaction of a cursor');
  const portal = new requests.Portal(around.scope, text, values, options, name, end);
  portal.committed = around.perform(() => ended, NO_OPTIONS);
  portal.committed.catch(error => portal.end(error));
  return portal;
}

module.exports = { checkMode, openPortal, transaction };
