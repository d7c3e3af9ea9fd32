'use strict';

const { Client } = require('../..');
const { Kind } = require('./waiting');

/** The estimated service time of a request, in milliseconds. */
const SERVICE = 0.1;

/** Milliseconds that a request rather waits than that one keeps the other from being cancelled. */
const MIXING = 100;

/** Milliseconds after which an answer is late, beside two round trips. */
const LATE = 10;

/** Milliseconds after which a late answer shows a slow query rather than a busy machine, beside two round trips. */
const SLOW = 40;

/** The uses of a connection: it is being opened, shared by plain queries, taking no more of them since an owner waits, or owned. */
const Use = Object.freeze({ OPENING: 'opening', SHARED: 'shared', DRAINING: 'draining', OWNED: 'owned' });

class Connection {
  state = Use.OPENING;
  /** Requests that use it; at first, its opening. */
  users = 1;
  /** The oldest and the youngest use of a request, see PoolLease.run. */
  first = null;
  last = null;
  /** How many of them have a signal or a time limit. */
  limited = 0;
  /** When its first current user began, or the last one ended. */
  since = performance.now();
  /** The shortest time of an answer, at first of the opening, in milliseconds. */
  roundTrip = Infinity;
  /** How many requests have ended while it was open; -1 while it is being opened. */
  answered = -1;
  /** Whether its session is being reset; requests may be sent behind that. */
  resetting = false;

  /** @param {number} lifetime milliseconds until it is replaced */
  constructor(config, lifetime) {
    this.client = new Client(config);
    this.pipeline = this.client.lease.pipeline;
    // Connections that were opened together are not replaced together.
    this.expires = this.since + lifetime * (0.9 + Math.random() / 10);
  }

  get isOpen() { return this.client.state === 'open'; }
  get isOpening() { return this.state === Use.OPENING; }
  get isOwned() { return this.state === Use.OWNED; }

  /** Whether the answer of its first request is late. */
  get isLate() { return this.first !== null && this.first.isLate; }

  /** Whether no plain query may be sent on it. */
  get isTaken() { return this.isOwned || this.isLate || this.isHeld || this.users >= this.pipeline.maxPipeline; }

  /** Whether a transaction or another owner has it, and not a query that is or may be slow. */
  get hasOwner() { return this.isOwned && this.first?.kind !== Kind.UNPROVEN; }

  /** Milliseconds after which its first request is late. */
  get patience() { return LATE + 2 * this.roundTrip; }

  /** When the answer of its first request will be late, Infinity if that does not matter. */
  get lateAt() { return this.first?.known === undefined || this.first.isSuspected ? Infinity : this.since + this.patience; }

  /** Whether it has no request and no open cursor. */
  get isUnused() {
    if (this.users > 0) return false;
    const { pending, scopes } = this.pipeline;
    return pending === (this.resetting ? 1 : 0) && scopes.active === scopes.root;
  }

  get isIdle() { return this.isUnused && this.isOpen && this.state === Use.SHARED; }

  /** Whether a long result or a cancel holds it up, or it is silent after a request was given up. */
  get isHeld() { return this.pipeline.held || this.pipeline.givenUpAt !== 0; }

  /** Since when a connection without live requests is silent; Infinity if it is not. */
  get silentSince() {
    if (this.client.state === 'connecting') return Infinity; // each of its attempts has a limit
    const { askedAt, givenUpAt } = this.pipeline;
    if (this.isOpening || askedAt !== 0) return askedAt || this.since;
    return this.users === 0 && (this.isOwned || givenUpAt !== 0) ? Math.max(this.since, givenUpAt) : Infinity;
  }

  /** Whether an answer is dropped, which may become silent. */
  get isDropping() { return this.users === 0 && this.pipeline.head !== null; }

  /**
   * Estimated wait: age of the oldest request + requests × service time. Requests with and without a limit stay apart, since the
   * one behind would keep the one before from being cancelled.
   * @param {boolean} mayFollow whether it may go behind a request with a limit
   * @returns {number} Infinity if it must not wait here, -1 if it need not wait
   */
  waitAt(now, isLimited, mayFollow) {
    if (this.state !== Use.SHARED || !this.isOpen || this.isTaken || (this.limited > 0 && !mayFollow)) return Infinity;
    if (this.isUnused) return -1;
    return now - this.since + this.users * SERVICE + (isLimited && this.limited < this.users ? MIXING : 0);
  }

  begin(use, now) {
    if (this.users++ === 0) {
      this.since = now;
      this.client.ref();
    }
    use.since = now;
    if (this.first === null) this.first = use;
    else (use.previous = this.last).next = use;
    this.last = use;
    if (use.isLimited) this.limited++;
  }

  end(use, now) {
    if (--this.users === 0 && this.state === Use.DRAINING) this.state = Use.SHARED; // the owner may have given up waiting
    const { next, previous } = use;
    if (this.first === use) this.first = next;
    if (this.last === use) this.last = previous;
    if (previous) previous.next = next;
    if (next) next.previous = previous;
    use.next = use.previous = null; // a chain of old ones would keep all younger ones in memory
    if (use.isLimited) this.limited--;
    if (this.isOpen) this.answered++;
    const isSlow = use.isLate && now > this.since + this.patience + SLOW - LATE;
    if (use.isAnswered || isSlow) use.known?.answered(isSlow, now);
    if (use.isAnswered) this.roundTrip = Math.min(this.roundTrip, now - use.since);
    this.since = now;
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
    } catch {
      client.destroy();
    }
    // Under load the sweep may never see it free. A new connection serves a request first.
    if ((wasOwned || this.users === 0) && this.answered > 0 && performance.now() >= this.expires) return void client.end();
    if (!reset || client.state === 'closed') return;
    this.resetting = true;
    client.query('DISCARD ALL', [], { cache: false }).then(() => { this.resetting = false; }, () => client.destroy());
  }
}

module.exports = { Connection, Use };
