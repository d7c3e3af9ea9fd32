'use strict';

const { LEASE } = require('../core/internal');
const { setImmediate } = require('../core/timer');
const { Client } = require('../..');
const { beginningOf, ping } = require('../core/pipeline');
const { UNKNOWN } = require('./known-texts');
const { idleTime } = require('./turns');

/** Milliseconds for which a query waits behind others rather than for a connection, beside two round trips. */
const PATIENCE = 10;

// The states of a connection: it is being opened, queries share it, or it is owned: by a request, or by what a request
// or a listener of `connect` has left on it.
const OPENING = 'opening';
const SHARED = 'shared';
const OWNED = 'owned';

class Connection {
  state = OPENING;
  /** Requests that use it; at first, its opening. */
  users = 1;
  /** Milliseconds that the server is expected to need for its requests. */
  expected = 0;
  #average = 0;
  #variance = 0;
  /** How many of them may take longer, since they may wait for a lock. */
  writes = 0;
  /**
   * When a request on it was last over, or the first of its users began; how long the event loop had been idle then,
   * and how often something had been read: undefined until one of the users is over.
   */
  since = performance.now();
  #idle = 0;
  #reads;
  #isOnly; // no other one could answer sooner
  #isMeasured = false; // a Sync was sent to know the round trip
  #lifetime;
  #isRestoring = false;
  #before = null; // the last request before its owner's
  /** The shortest time of an answer, in milliseconds. */
  roundTrip = Infinity;
  /** Whether a request was answered on it. */
  hasAnswered = false;
  /** How many reads go together on it when it is new: undefined until it was restored, 0 when one was answered. */
  room = undefined;

  /**
   * @param {object} options of the pool
   * @param {Turns} turns
   */
  constructor(config, { max_lifetime, size }, turns) {
    this.client = new Client(config);
    this.pipeline = this.client[LEASE].pipeline;
    this.turns = turns;
    this.#isOnly = size === 1;
    /** When it is too old: from when it can be used, since the request that waits for it comes first. */
    this.expires = undefined;
    this.#lifetime = max_lifetime * (0.9 + Math.random() / 10); // what was opened together is not replaced together
  }

  get isOpen() {
    return this.client.state === 'open';
  }
  get isOpening() {
    return this.state === OPENING;
  }
  get isShared() {
    return this.state === SHARED && this.isOpen;
  }
  get isOwned() {
    return this.state === OWNED;
  }

  /** Whether nothing but its users' requests is under way on it, and no cursor or transaction is open. */
  get isClear() {
    const { pending, scopes } = this.pipeline;
    return pending <= this.users && scopes.active === scopes.root;
  }

  /** Whether it has no request, and none of an owner would meet what restores it. */
  get isIdle() {
    return this.isShared && this.users === 0 && this.isClear && !this.#isRestoring;
  }

  /** Whether a listener of `connect` has asked something on it later, and no request will be told when that is over. */
  get isUnattended() {
    return this.isOpen && this.users === 0 && !this.isClear && !this.#isRestoring;
  }

  /** Whether a long result or a cancel holds it up, or it is silent after a request was given up. */
  get isHeld() {
    return this.pipeline.holds > 0 || this.pipeline.givenUpAt !== 0;
  }

  /** @type {Sink|undefined} whose target has not taken what was sent of a long result, which therefore holds it */
  get reader() {
    const { head, holds } = this.pipeline;
    const holdsUp = holds > 0 && this.isShared && head?.pending && head.receiver?.target?.unsent > 0;
    return holdsUp ? head.receiver : undefined;
  }

  /** Milliseconds for which a query waits behind others rather than for a connection. */
  get patience() {
    return PATIENCE + 2 * this.roundTrip;
  }

  /** Whether one more query may be sent on it: behind a text that was never executed, none is. */
  mayTake(now) {
    if (!this.isShared || this.isHeld || this.room === undefined) return false;
    if (this.users >= this.pipeline.maxPipeline) {
      this.pipeline.prove();
      return false;
    }
    if (this.users === 0) return this.isClear;
    const { patience, since } = this;
    return (
      this.#isOnly ||
      (this.expected < UNKNOWN && (now - since < patience || this.turns.since(since, this.#idle, now) < patience))
    );
  }

  /**
   * Since when it is silent after a cancel, or after a request was given up or an owner is over; Infinity if it is not.
   */
  get silentSince() {
    const { silentSince, givenUpAt } = this.pipeline;
    if (silentSince > 0) return silentSince;
    return this.users === 0 && (this.isOwned || givenUpAt > 0) ? Math.max(this.since, givenUpAt) : Infinity;
  }

  /** What uses it, for stats and errors: the text of what is running or ran last, without literals. */
  holderAt(now) {
    const { last } = this.pipeline;
    const text = last === this.#before ? undefined : last?.text;
    return { owned: this.isOwned, time: now - this.since, text: text && beginningOf(text) };
  }

  /** It is open, and owned by the listeners of `connect`: measures the round trip. */
  opened() {
    const since = performance.now();
    this.#measured((since - this.since) / 2); // at most: the server had to start a process
    this.state = OWNED;
    this.users--;
    this.since = since;
    this.#idle = idleTime();
  }

  /** Measures the round trip with the first query: a console that takes no Sync is asked by simpleQuery alone. */
  #ping(now) {
    this.#isMeasured = true;
    const { holds, maxPipeline } = this.pipeline;
    // No rule needs it, a request would wait for it, or the server has closed the connection.
    if (this.#isOnly || holds > 0 || maxPipeline < Infinity || !this.isOpen) return;
    ping(this.pipeline).then(
      () => this.#measured(performance.now() - now),
      () => {}
    );
  }

  #measured(time) {
    this.roundTrip = Math.min(this.roundTrip, time);
  }

  addUser(use, now) {
    if (this.users++ === 0) {
      this.since = now;
      this.#idle = idleTime();
      this.#reads = undefined;
      this.#before = this.pipeline.last;
      this.client.ref();
    }
    if (this.isOpening) use.early = this;
    else use.since = now;
    const { known } = use;
    if (!known) return;
    if (!this.#isMeasured && !this.isOpening) this.#ping(now);
    use.average = known.average;
    use.variance = known.difference ** 2;
    this.#expect(use.average, use.variance);
    if (!known.isRead) this.writes++;
  }

  /** The differences of requests from their averages compensate each other in part, as variances do. */
  #expect(average, variance) {
    this.#average = this.users > 0 ? this.#average + average : 0;
    this.#variance = this.users > 0 ? Math.max(0, this.#variance + variance) : 0;
    this.expected = this.#average + 2 * Math.sqrt(this.#variance);
  }

  removeUser(use, now) {
    const { average, variance, known, isAnswered, since } = use;
    const { reads } = this.pipeline;
    this.users--;
    use.submitted?.(); // also if it could not be
    if (isAnswered) this.#measured(now - since);
    if (known) {
      if (!known.isRead) this.writes--;
      this.#expect(-average, -variance);
      const time = this.#timeOf(since, now);
      const isTelling = use.early === undefined && (isAnswered || known.average === UNKNOWN || time > known.average);
      if (isTelling) known.answered(time);
    }
    if (this.isOpen) this.hasAnswered = true;
    this.room &&= 0;
    if (this.#reads !== reads) this.#idle = idleTime();
    this.#reads = reads;
    this.since = now;
  }

  /** Milliseconds that the server has needed. Of answers that were read together, the first has needed all the time. */
  #timeOf(since, now) {
    if (this.#reads === this.pipeline.reads) return 0;
    const time = this.turns.since(this.since, this.#idle, now);
    const most = this.#reads === undefined ? time : now - since;
    return Math.max(0, Math.min(time, most - this.roundTrip));
  }

  /** Whether queries may share it at once when a user has left it. */
  get isRestored() {
    return this.isOwned ? this.isClear && this.pipeline.status === 'I' : this.users > 0 || this.isClear;
  }

  /**
   * Waits until nothing is under way, and after an owner rolls back an open transaction block. Then queries may share
   * it, unless it is closed.
   * @param {boolean} [reset] whether settings of the session may have changed
   */
  async restore(reset) {
    const { client } = this;
    this.#isRestoring = true;
    try {
      for (; !this.isClear; this.since = performance.now()) {
        await client.sync();
        await new Promise(setImmediate); // a listener of `connect` may ask again when it has its answer
      }
      if (this.isOwned && client.transactionStatus !== 'I') await client.query('ROLLBACK');
      if (reset) await client.query('DISCARD ALL', [], { cache: false });
    } catch {
      client.destroy();
    }
    this.#isRestoring = false;
    this.state = SHARED;
    this.since = performance.now();
    this.expires ??= this.since + this.#lifetime;
  }
}

module.exports = { Connection, OWNED, SHARED };
