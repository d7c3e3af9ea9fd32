'use strict';

const { UsageError } = require('../protocol');
const { again, withQuery } = require('./errors');
const { waitsForItself } = require('./inside');
const { DISCARD, InternalQuery, PLAIN, UNCACHED } = require('./query');

const IN_BLOCK = 'settings of with() would last to the end of the block that a query has begun: use transaction()';

const IN_ANOTHER = 'cannot begin in the block that a query has begun: end that first by COMMIT or ROLLBACK';

const nothing = () => {};

/** The life of a scope, in this order. */
const Phase = {
  WAITING: 0, // in the queue of its parent
  OPEN: 1, // it owns the connection, or a scope inside it does
  COMMITTING: 2, // commit() or RELEASE was submitted, whose answer decides whether a savepoint is rolled back
  ENDING: 3, // its end was submitted: it is left as soon as everything in it was sent
  OVER: 4
};

/**
 * A queue of requests that wait in the client because something else owns the connection. An entered scope owns it: a
 * transaction, end(), a replication. Scopes form a stack, and only the innermost one sends. A COPY FROM STDIN has none:
 * it holds what is behind it, see Flight.
 *
 * A session works on a lease. A scope is its own lease, which is there at once and never given back.
 */
class Scope {
  /**
   * @param {Scope|null} parent
   * @param {string} name of the owner, for errors
   * @param {boolean} [options.whenIdle=false] it is entered only when everything sent has been answered
   * @param {boolean} [options.block=false] it is a transaction block: it is entered when no block is open, and only
   *   requests with `endsScope` may end it
   * @param {string} [options.begin] the SQL that begins the block, in front of the first request
   * @param {Settings} [options.settings] by default the parent's
   * @param {function(string)} [options.refuseLasting] throws for a text that would outlive it; by default the parent's
   * @param {string} [options.loop] the query of a cursor, whose loop may wait for what waits behind it
   * @param {function()} [options.onenter] called when the scope owns the connection
   * @param {function(function(): Error, number)} [options.onlose] called with a maker of errors and the phase if the
   *   scope ends without being left
   */
  constructor(
    pipeline,
    parent,
    name,
    { whenIdle = false, block = false, begin, settings, refuseLasting, loop, onenter = nothing, onlose = nothing } = {}
  ) {
    /** @type {Scope|null} of a lease: where a session sends at once; null if the lease has to find a scope first */
    this.sendsIn = this;
    this.pipeline = pipeline;
    this.parent = parent;
    /** @type {Settings|undefined} that hold in it */
    this.settings = settings ?? parent?.settings;
    /** @type {(function(string))|undefined} throws for a text that would outlive it */
    this.refuseLasting = refuseLasting ?? parent?.refuseLasting;
    this.name = name;
    this.whenIdle = whenIdle;
    this.block = block;
    /** @type {string|undefined} until it was sent */
    this.begin = begin;
    this.onenter = onenter;
    this.onlose = onlose;
    /**
     * @type {(function(): Error)|null} makes the errors of new requests; waiting ones continue unless the scope was
     * left
     */
    this.refused = null;
    this.phase = parent === null ? Phase.OPEN : Phase.WAITING;
    this.loop = loop;
    /** @type {Error|undefined} why the block of the transaction has failed */
    this.failure = undefined;
    /** @type {Promise|undefined} of the ROLLBACK that the pipeline has sent for a block that was left open */
    this.rollback = undefined;
    /**
     * @type {UsageError|undefined} of a query that has ended the block of the transaction: what was sent behind it is
     * in another one, or in none
     */
    this.endedBy = undefined;
    /** The first and the last waiting request or scope. */
    this.first = null;
    this.last = null;
    this.next = null;
  }

  get isOver() {
    return this.phase === Phase.OVER;
  }

  advance(phase) {
    this.phase = Math.max(this.phase, phase);
  }

  /** @param {Error} error why the block has failed, now: a savepoint may have undone an earlier failure */
  fail(error) {
    this.failure = error;
  }

  /** That of the transaction: of its savepoints, this may be one. */
  get outermost() {
    return this.parent?.block ? this.parent.outermost : this;
  }

  /** See Pipeline. */
  get common() {
    return this.pipeline.common;
  }

  /**
   * Keeps a query that may have to wait for a connection; here it does not.
   * @returns {Array|Row} the values; a pool checks and copies them
   * @throws {TypeError|RangeError|UsageError} in a pool
   */
  inputOf(text, values) {
    return values;
  }

  /**
   * Does work in a scope, and takes the scope back when the work's promise settles.
   * @param {string} need 'shared': other requests may be sent before and behind; 'owned': no other request is sent;
   *   'session': it may also change settings, which a pool resets
   * @param {object} options the caller's; a pool reads `signal`, `statement_timeout`, `idempotent`, and calls
   *   `onwait` with a function that ends the wait for a connection with an error
   * @param {function(Scope, Client, object): Promise} work also gets what is left of the options; a pool may call it
   *   again after a loss
   * @param {function(Error): boolean|Promise<boolean>} [mayRepeat] whether that is possible. A pool repeats what was
   *   not sent and, with `idempotent`, what was
   */
  run(need, options, work) {
    return work(this, undefined, options);
  }

  /** Rejects new requests; waiting ones continue. @param {function(): Error} refused makes the errors */
  refuse(refused) {
    return (this.refused ??= refused);
  }

  push(entry) {
    if (this.last === null) this.first = entry;
    else this.last.next = entry;
    this.last = entry;
  }

  unshift(entry) {
    entry.next = this.first;
    this.first = entry;
    this.last ??= entry;
  }

  shift() {
    const entry = this.first;
    this.first = entry.next;
    if (this.first === null) this.last = null;
    entry.next = null;
    return entry;
  }

  /**
   * @returns {InternalQuery[]} the commands in front of a flight: the unsent BEGIN of its block and of the blocks
   *   around it, each with its settings, or the flight's own settings
   */
  commandsBefore({ settings, execution }) {
    if (settings !== undefined && settings.depth === 0 && this.pipeline.scopes.rootInBlock)
      throw new UsageError(IN_BLOCK, '25001');
    const commands = [];
    const add = (text, values, cache, receiver) =>
      commands.unshift(new InternalQuery(text, values, cache ? PLAIN : UNCACHED, receiver));
    // The settings have a prepared statement if the flight may be repeated when one is stale.
    const set = ({ query: [text, values] }) => add(text, values, execution?.cache, DISCARD);
    if (settings !== undefined) set(settings);
    for (let each = this; each !== null; each = each.parent) {
      if (each.begin === undefined) continue;
      // A block has the settings around it, unless it has others.
      if (each.settings !== each.parent.settings) set(each.settings);
      add(each.begin, [], false);
    }
    return commands;
  }

  isInside(scope) {
    return this.parent === scope || this.parent?.isInside(scope) === true;
  }
}

/** The scopes of a connection: which one owns it, and which entry is next. */
class Scopes {
  constructor(pipeline) {
    this.root = new Scope(pipeline, null, 'the connection');
    this.active = this.root;
  }

  /** @param {Flight} [request] one that ends the scope's block is accepted until the scope was left */
  check(scope, request) {
    if (scope.refused !== null && (scope.isOver || !request?.endsScope))
      throw withQuery(again(scope.refused(), this.check), request?.text);
    if (scope === this.active || !waitsForItself(scope)) return;
    throw new UsageError(
      'inside the function of transaction(), use its argument ("tx"): ' +
        'the client would wait for the transaction, and the transaction for the client',
      '25001'
    );
  }

  /**
   * @returns {boolean|undefined} whether a request of the root would now be in a block, which the caller has begun by
   *   a query; undefined if answers decide that
   */
  get rootInBlock() {
    const {
      statements: { control },
      status
    } = this.root.pipeline;
    return control === undefined ? status !== 'I' : control.endsScope ? false : undefined;
  }

  /** Whether the server is in a block when it gets what is sent now, as far as that is known. */
  get isInBlock() {
    for (let each = this.active; each !== null; each = each.parent)
      if (each.block && each.begin === undefined) return true;
    return this.rootInBlock === true;
  }

  /** Takes the next entry out of its queue, if it may start, and enters it if it is a scope. */
  next() {
    const { root } = this;
    for (;;) {
      const { active } = this;
      if (active.phase === Phase.ENDING && active.first === null) {
        this.leave(active);
        continue;
      }
      const entry = active.first;
      if (entry === null) return null;
      if (entry.isOver) {
        active.shift();
        continue;
      }
      if (!root.pipeline.mayStart(entry, active)) return null;
      active.shift();
      if (!(entry instanceof Scope)) return entry;
      if (entry.block && active === root && this.rootInBlock)
        this.#lose(entry, () => new UsageError(`${entry.name} ${IN_ANOTHER}`, '25001'));
      else {
        entry.phase = Phase.OPEN;
        return (this.active = entry);
      }
    }
  }

  /**
   * Ends a scope for its owner, whether it was entered or not.
   * @param {Error} [error] of later requests
   * @returns {boolean} whether it was the active one, so that others may continue
   */
  leave(scope, error) {
    if (scope.isOver) return false;
    this.#setOver(scope, () => (error === undefined ? new UsageError(`${scope.name} is over`, '25P01') : again(error)));
    if (this.active !== scope) return false;
    while (this.active.isOver) this.active = this.active.parent;
    return true;
  }

  /** Takes the root from those who have it. @param {function(): Error} refused makes the errors of later requests */
  replaceRoot(refused) {
    const { root } = this;
    this.root = new Scope(root.pipeline, null, root.name);
    root.parent = this.root;
    if (this.active === root) this.active = this.root;
    this.#setOver(root, refused);
  }

  /** A query has ended the block of a transaction: the transaction and its savepoints are over. */
  leaveBlock({ outermost }, error) {
    outermost.endedBy ??= error;
    while (this.active.outermost === outermost) this.leave(this.active, error);
  }

  /** @param {function(): Error} makeError for what waits in it, and for later requests */
  #setOver(scope, makeError) {
    scope.phase = Phase.OVER;
    scope.onenter = scope.onlose = nothing; // code that was started inside a transaction keeps its scope, see inside.js
    scope.refuse(makeError);
    this.rejectWaiting(scope, makeError);
  }

  rejectWaiting(scope, makeError) {
    while (scope.first !== null) {
      const entry = scope.shift();
      if (entry instanceof Scope) this.#lose(entry, makeError);
      else scope.pipeline.reject(entry, makeError());
    }
  }

  /** Ends a scope that did not ask for it, and tells its owner. */
  #lose(scope, makeError) {
    const { onlose, phase } = scope;
    if (!scope.isOver) this.#setOver(scope, makeError);
    onlose(makeError, phase);
  }

  /**
   * The connection is lost.
   * @param {function(): Error} makeError for each request
   */
  lose(makeError) {
    for (let scope = this.active; scope !== null; scope = scope.parent) this.#lose(scope, makeError);
  }
}

module.exports = { Phase, Scope, Scopes };
