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
  promised,
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

/** The error of requests behind commit(). */
const COMMITTED = new UsageError('the transaction is over: commit() was its last query', '25P01');

/** The error of requests after the function has returned. */
const OVER = new UsageError('the transaction is over: await its queries inside its function', '25P01');

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

/** @throws {UsageError} unless the transaction is what its savepoint asks for */
function checkMode(options, mode) {
  const wrong = ['isolation', 'readOnly', 'deferrable'].find(
    name =>
      options[name] !== undefined &&
      (options[name] || '').toString().toLowerCase() !== (mode[name] || '').toString().toLowerCase()
  );
  if (wrong === undefined) return;
  const begun = mode[wrong] === undefined ? `without ${wrong}` : `with ${wrong}: ${mode[wrong]}`;
  throw new UsageError(`${wrong} is the whole transaction's, which was begun ${begun}: pass it there`, '25001');
}

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
  #committed; // the promise of #commitRequest
  #commitRequest; // the CommitRequest of commit()
  #texts;
  #depth;
  #entered;
  #interrupted; // rejects with the #interruption
  #interruption; // the error of the limit or of a lost connection
  #reject; // of #interrupted
  #scope;
  #session; // none of a cursor
  #undone; // settles when its ROLLBACK is answered

  constructor(
    parent,
    depth,
    make,
    options,
    name = depth === 0 ? 'the transaction' : 'the savepoint',
    loop = undefined
  ) {
    this.#texts = textsOf(depth, options);
    this.#depth = depth;
    let entered;
    this.#entered = new Promise(resolve => {
      entered = resolve;
    });
    this.#scope = new Scope(parent.pipeline, parent, name, {
      block: true,
      begin: this.#texts.begin,
      settings: options.settings,
      refuseLasting: options.refuseLasting,
      loop,
      entered,
      lost: (makeError, phase) => this.#lose(makeError(), phase)
    });
    this.#interrupted = new Promise((resolve, reject) => {
      this.#reject = reject;
    });
    this.#interrupted.catch(() => {}); // nothing may be waiting
    parent.pipeline.enter(this.#scope);
    this.#session = make(this.#scope, (...given) => this.end(...given));
  }

  /** Waits for a promise, unless the limit or a lost connection comes first. */
  #until(promise) {
    return Promise.race([promise, this.#interrupted]);
  }

  #interrupt(error) {
    this.#interruption ??= error;
    this.#reject(error);
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
   * @param {function(Session, Scope): *} work
   * @param {function(Scope)} [onLeft] called when it is over, or no longer waited for
   */
  async run(work, options, onLeft) {
    const scope = this.#scope;
    const { pipeline } = scope;
    const unwatch = watchLimits(
      options,
      error => this.#giveUp(error),
      tooLong('transaction'),
      () => scope.phase >= Phase.COMMITTING && this.#commitRequest?.state !== State.Waiting
    );
    try {
      await this.#until(this.#entered);
      if (scope.refused !== null) throw scope.refused();
      const result = await this.#until(promised(() => work(this.#session, scope))).finally(() => {
        onLeft?.(scope);
        this.#refuse(OVER);
      });
      await this.#commit();
      return result;
    } catch (error) {
      await this.#undo();
      throw error;
    } finally {
      unwatch();
      if (!this.#isEnding) pipeline.end(scope);
    }
  }

  /**
   * Sends the last query, and what ends the block behind it.
   * @param {function(string, boolean, function(Error|undefined)): CommitRequest} make
   * @param {object} limits of the query
   */
  end(make, limits) {
    const scope = this.#scope;
    if (scope.refused !== null) throw again(scope.refused());
    const request = make(this.#texts.commit, this.#depth === 0, error => this.#answered(error));
    this.#committed = submitIn(request, scope, limits);
    this.#commitRequest = request;
    scope.advance(Phase.COMMITTING);
    this.#refuse(COMMITTED);
    return this.#committed; // without a handler of ours, with which its error would not show the awaiting caller
  }

  /** Whether commit() was sent and is not answered. */
  get #isEnding() {
    const { state = State.Waiting } = this.#commitRequest ?? {};
    return state !== State.Waiting && state !== State.Over && this.#scope.pipeline.socket !== null;
  }

  /** The answer to commit() is complete. A block that is open still is undone by its pipeline, see block.js. */
  #answered(error) {
    const scope = this.#scope;
    if (scope.isOver) return;
    if (error !== undefined && this.#depth === 0) scope.fail(error);
    else if (error !== undefined) this.#sendUndo();
    scope.pipeline.end(scope);
  }

  /** Refuses later requests, and ends what is open in the session. */
  #refuse(error) {
    const refused = this.#scope.refuse(() => error); // the first error, if it refuses already
    this.#session?.[GIVE_UP_STREAMS](refused);
  }

  async #control(text) {
    return this.#scope.pipeline.submit(new EndRequest(text, this.#depth === 0), this.#scope);
  }

  async #commit() {
    const { pipeline } = this.#scope;
    if (this.#commitRequest !== undefined) return void (await this.#until(this.#committed));
    if (this.#interruption !== undefined) throw this.#interruption; // in the tick in which the function has returned
    if (this.#isEmpty && this.#scope.settings !== undefined) return; // wrong settings would make the server skip COMMIT
    const { outermost } = this.#scope;
    const committed = this.#control(this.#texts.commit);
    if (this.#depth === 0) {
      committed.catch(error => outermost.fail(error));
      pipeline.end(outermost); // whatever COMMIT answers, the block is over
    } else this.#scope.advance(Phase.COMMITTING);
    const { cmd } = await this.#until(committed);
    if (outermost.endedBy !== undefined) throw again(outermost.endedBy);
    if (cmd === 'ROLLBACK') throw rolledBack(outermost.failure);
  }

  /** Whether not even BEGIN was sent. */
  get #isEmpty() {
    return (
      this.#scope.begin !== undefined &&
      this.#scope.first === null &&
      this.#scope.pipeline.scopes.active === this.#scope
    );
  }

  #sendUndo() {
    this.#undone = Promise.allSettled(this.#texts.undo.map(text => this.#control(text)));
  }

  /** If this fails as well, the first error says more. */
  async #undo() {
    const { phase, pipeline } = this.#scope;
    const hasEnded =
      this.#commitRequest === undefined
        ? phase >= Phase.ENDING || (phase === Phase.COMMITTING && this.#interruption !== undefined)
        : this.#commitRequest.state !== State.Waiting;
    if (!hasEnded && !this.#isEmpty) {
      this.#sendUndo();
      pipeline.end(this.#scope);
    }
    const undone = this.#undone ?? this.#scope.undone;
    if (undone === undefined) return;
    // A silent connection does not answer.
    if (this.#interruption !== undefined || pipeline.givenUpAt !== 0) return;
    let stop;
    const timeout = new Promise(resolve => {
      stop = after(UNDO_TIMEOUT, resolve);
    });
    await this.#until(Promise.race([undone, timeout])).catch(() => {});
    stop();
  }

  #giveUp(error) {
    const scope = this.#scope;
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

/** Waits for the end of a transaction's function, at most for the limits of the transaction. */
const untilOver = (called, limits) =>
  new Promise((resolve, reject) => {
    throwIfAborted(limits, true);
    const unwatch = watchLimits(limits, reject, tooLong('transaction'), () => true);
    called.then(resolve, resolve).finally(unwatch);
  });

/**
 * Session.transaction: runs a function inside a transaction block, or behind a savepoint. BEGIN travels with the first
 * request.
 * @param {number} depth how many blocks are around: inside one, it is a savepoint
 * @param {function(Scope, function): Session} make the function's session, see Transaction.end
 * @param {object} options see TransactionOptions in index.d.ts
 */
function transaction(lease, depth, make, work, options) {
  const since = performance.now();
  let called; // resolves when the called function is over
  let attempted; // the scope of the last attempt
  const inside = (session, scope) =>
    runInside(
      scope,
      () =>
        (called = new Promise(resolve => {
          resolve(work(session));
        }))
    );
  const begin = (parent, client, limits) => {
    throwIfAborted(limits);
    return new Transaction(parent, depth, (scope, end) => make((attempted = scope), end), limits).run(
      inside,
      limits,
      leftInside
    );
  };
  const mayRepeat = async () => {
    if (called !== undefined && options.idempotent)
      await untilOver(called, { ...options, waited: performance.now() - since });
    return called === undefined || options.idempotent;
  };
  const once = limits => {
    called = undefined;
    return sendSeveral(lease, limits, 'BEGIN', begin, mayRepeat);
  };
  // A savepoint fails with its transaction, so only that can be repeated.
  return options.retries && depth === 0 ? repeat(once, () => attempted?.failure, options) : once(options);
}

/**
 * Opens a portal on a lease, for a cursor or for startQuery.
 * @returns {Portal|Promise<Portal>} a promise if a connection has to be found first
 */
function openPortal(lease, text, values, options, name) {
  const openIn = (scope, client, limits) => openPortalIn(scope, text, values, options, name, limits);
  if (lease.sendsIn !== null) return openIn(lease.sendsIn);
  const { signal } = options;
  return new Promise((resolve, reject) => {
    sendSeveral(lease, { signal }, text, (...given) => {
      const portal = openIn(...given);
      resolve(portal);
      return portal.committed.catch(() => {});
    }).catch(reject);
  });
}

/**
 * Opens a portal in the block of its scope, or else in a transaction of its own, which ends with it.
 * @param {object} [limits] with `settings` or `refuseLasting`, which only a block of its own has
 */
function openPortalIn(parent, text, values, options, name, { settings, refuseLasting } = NO_OPTIONS) {
  const { active, inBlock } = parent.pipeline.scopes;
  const isIn = parent.block || (active === parent && inBlock === true);
  if (isIn && settings === undefined && refuseLasting === undefined)
    return new requests.Portal(parent, text, values, options, name);
  let end, portal;
  const ended = new Promise((resolve, reject) => {
    end = error => (error === undefined ? resolve() : reject(error));
  });
  ended.catch(() => {}); // the transaction may not begin
  const around = new Transaction(
    parent,
    0,
    scope => {
      portal = new requests.Portal(scope, text, values, options, name, end);
    },
    { settings, refuseLasting },
    'the transaction of a cursor',
    text
  );
  portal.committed = around.run(() => ended, NO_OPTIONS);
  portal.committed.catch(error => portal.end(error));
  return portal;
}

/** SQLSTATEs of transactions that others have made fail: serialization_failure, deadlock_detected. */
const TRANSIENT = new Set(['40001', '40P01']);

/**
 * Repeats a transaction that others have made fail, after pauses that grow and differ.
 * @param {function(object): Promise} once makes a transaction, within the limits that are left
 * @param {function(): Error|undefined} failure why its block has failed: other errors of the function, whatever their
 *   code, are no reason
 */
async function repeat(once, failure, options) {
  const since = performance.now();
  for (let attempt = 0; ; attempt++) {
    try {
      return await once({ ...options, waited: performance.now() - since });
    } catch (error) {
      const reason = failure();
      if (attempt >= options.retries || !TRANSIENT.has(reason?.code) || (error !== reason && error?.cause !== reason))
        throw error;
    }
    await new Promise((resolve, reject) => {
      const pause = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** attempt) * (0.5 + Math.random() / 2);
      const end = settle => error => {
        unwatch();
        clearTimeout(timer);
        settle(error);
      };
      const unwatch = watchLimits(
        { ...options, waited: performance.now() - since },
        end(reject),
        tooLong('transaction'),
        () => false
      );
      const timer = setTimeout(end(resolve), pause);
    });
  }
}

module.exports = { checkMode, openPortal, transaction };
