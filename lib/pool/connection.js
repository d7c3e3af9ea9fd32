'use strict';

const { Client } = require('../..');
const { beginningOf, ping } = require('../core/pipeline');
const { idleTime } = require('./turns');

/** Milliseconds for which a query waits behind others rather than for a connection, beside two round trips. */
const PATIENCE = 10;

/**
 * The states of a connection: it is being opened, shared by queries, shared by the last ones since an owner waits for
 * it, owned, for example by a transaction, or being restored after an owner.
 */
const State = Object.freeze({
  OPENING: 'opening',
  SHARED: 'shared',
  DRAINING: 'draining',
  OWNED: 'owned',
  RESTORING: 'restoring'
});

class Connection {
  state = State.OPENING;
  /** Requests that use it; at first, its opening. */
  users = 1;
  /**
   * Milliseconds that the server is expected to need for its requests, and how many of them may take longer, since they
   * may wait for a lock.
   */
  expected = 0;
  writes = 0;
  /** How many of its requests have a text that was never executed. */
  unproven = 0;
  /**
   * When a request on it was last over, or the first of its users began; how long the event loop had been idle then.
   */
  since = performance.now();
  #idle = 0;
  /** Whether no answer has come since the first of its users began. */
  #isFirst = true;
  #reads = 0;
  #before = null; // the last request before its owner's
  /** The shortest time of an answer, in milliseconds. */
  roundTrip = Infinity;
  /** Whether a request was answered on it. */
  hasAnswered = false;

  /**
   * @param {object} options of the pool
   * @param {Turns} turns
   */
  constructor(config, { max_lifetime, size }, turns) {
    this.client = new Client(config);
    this.pipeline = this.client.lease.pipeline;
    this.turns = turns;
    this.isOnly = size === 1; // no other one could answer sooner
    // Connections that were opened together are not replaced together.
    this.made = this.since;
    this.expires = this.since + max_lifetime * (0.9 + Math.random() / 10);
  }

  get isOpen() {
    return this.client.state === 'open';
  }
  get isOpening() {
    return this.state === State.OPENING;
  }
  get isOwned() {
    return this.state === State.OWNED || this.state === State.RESTORING;
  }
  get isShared() {
    return this.state === State.SHARED || this.state === State.DRAINING;
  }

  /** Whether it has no request and no open cursor. */
  get isUnused() {
    const { pending, scopes } = this.pipeline;
    return this.users === 0 && pending === 0 && scopes.active === scopes.root;
  }

  get isIdle() {
    return this.isShared && this.isOpen && this.isUnused;
  }

  /** Whether a long result or a cancel holds it up, or it is silent after a request was given up. */
  get isHeld() {
    return this.pipeline.held || this.pipeline.givenUpAt !== 0;
  }

  /** Milliseconds for which a query waits behind others rather than for a connection. */
  get patience() {
    return PATIENCE + 2 * this.roundTrip;
  }

  /** Whether one more query may be sent on it. */
  mayTake(now) {
    if (!this.isShared || !this.isOpen || this.isHeld || this.unproven > 0 || this.users >= this.pipeline.maxPipeline)
      return false;
    if (this.users === 0) return this.isUnused;
    return (
      this.isOnly || now - this.since < this.patience || this.turns.since(this.since, this.#idle, now) < this.patience
    );
  }

  /** Since when a connection without live requests is silent; Infinity if it is not. */
  get silentSince() {
    if (this.client.state === 'connecting') return Infinity; // each of its attempts has a limit
    const { askedAt, givenUpAt } = this.pipeline;
    if (this.isOpening || askedAt !== 0) return askedAt || this.since;
    return this.users === 0 && (this.isOwned || givenUpAt !== 0) ? Math.max(this.since, givenUpAt) : Infinity;
  }

  /** Whether an answer is dropped, which may become silent. */
  get isDropping() {
    return this.users === 0 && this.pipeline.pending > 0;
  }

  /** What uses it, for stats and errors: the text of what is running or ran last, without literals. */
  holderAt(now) {
    const { last } = this.pipeline;
    const text = last === this.#before ? undefined : last?.text;
    return {
      owned: this.isOwned,
      time: now - this.since,
      text: text && beginningOf(text)
    };
  }

  /** It is open: measures the round trip. */
  opened() {
    this.state = State.SHARED;
    this.users = 0;
    this.#measured((performance.now() - this.since) / 2); // at most: the server had to start a process
    const { held, maxPipeline } = this.pipeline;
    if (this.isOnly || held || maxPipeline < Infinity) return; // no rule needs it, or a request would wait for it
    const since = performance.now();
    ping(this.pipeline).then(
      () => this.#measured(performance.now() - since),
      () => {}
    );
  }

  #measured(time) {
    this.roundTrip = Math.min(this.roundTrip, time);
  }

  begin(use, now) {
    if (this.users++ === 0) {
      this.since = now;
      this.#idle = idleTime();
      this.#isFirst = true;
      this.#before = this.pipeline.last;
      this.client.ref();
    }
    use.since = now;
    const { known } = use;
    if (known === undefined) return;
    this.expected += use.expected = known.expected;
    if ((use.isUnproven = !known.isProven)) this.unproven++;
    if ((use.isWrite = !known.isRead)) this.writes++;
  }

  end({ expected, known, isAnswered, isUnproven, isWrite, since }, now) {
    this.users--;
    if (isAnswered) this.#measured(now - since);
    if (known !== undefined) {
      if (isUnproven) this.unproven--;
      if (isWrite) this.writes--;
      this.expected = this.users === 0 ? 0 : this.expected - expected;
      const time = this.#timeOf(since, now);
      if (isAnswered || time > known.expected) known.answered(time);
    }
    if (this.isOpen) this.hasAnswered = true;
    if (this.#reads !== this.pipeline.reads) this.#idle = idleTime();
    this.#reads = this.pipeline.reads;
    this.#isFirst = false;
    this.since = now;
  }

  /** Milliseconds that the server has needed. Of answers that were read together, the first has needed all the time. */
  #timeOf(since, now) {
    if (this.#reads === this.pipeline.reads && !this.#isFirst) return 0;
    const time = this.turns.since(this.since, this.#idle, now);
    const most = this.#isFirst ? time : now - since;
    return Math.max(0, Math.min(time, most - this.roundTrip));
  }

  /**
   * Waits until nothing is under way. After an owner, rolls back an open transaction block and resets settings.
   * @param {boolean} wasOwned whether one request owned it
   * @param {boolean} [reset] whether settings of the session may have changed
   * @returns {Promise<void>} resolves when the connection can be used or is closed
   */
  async restore(wasOwned, reset) {
    const { client } = this;
    try {
      if (!this.isUnused) await client.sync();
      if (wasOwned && client.transactionStatus !== 'I') await client.query('ROLLBACK');
      if (reset) await client.query('DISCARD ALL', [], { cache: false });
    } catch {
      client.destroy();
    }
    // Under load the sweep may never see it free. A new connection serves a request first.
    if ((wasOwned || this.users === 0) && this.hasAnswered && performance.now() >= this.expires) client.end();
  }
}

module.exports = { Connection, State };
