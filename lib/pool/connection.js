'use strict';

const { Client } = require('../..');

/** The estimated service time of a request, in milliseconds. */
const SERVICE = 0.1;

/** Milliseconds that a request rather waits than that one keeps the other from being cancelled. */
const MIXING = 100;

/** The uses of a connection: it is being opened, shared by plain queries, taking no more of them since an owner waits, or owned. */
const Use = Object.freeze({ OPENING: 'opening', SHARED: 'shared', DRAINING: 'draining', OWNED: 'owned' });

class Connection {
  state = Use.OPENING;
  /** Requests that use it; at first, its opening. */
  users = 1;
  /** Those with a signal or a time limit. */
  limited = 0;
  /** When its first current user began, or the last one ended. */
  since = performance.now();
  /** Requests that ended while it was open. */
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

  /**
   * Estimated wait: age of the oldest request + users × service time. Requests with and without a limit stay apart, since the
   * one behind would keep the one before from being cancelled.
   * @param {boolean} mayFollow whether it may go behind a request with a limit
   * @returns {number} Infinity if it must not wait here, -1 if it need not wait
   */
  waitAt(now, isLimited, mayFollow) {
    if (this.state !== Use.SHARED || !this.isOpen || this.isHeld || (this.limited > 0 && !mayFollow) ||
        this.users >= this.pipeline.maxPipeline) return Infinity;
    if (this.isUnused) return -1;
    return now - this.since + this.users * SERVICE + (isLimited && this.limited < this.users ? MIXING : 0);
  }

  begin(isLimited) {
    if (this.users++ === 0) this.since = performance.now();
    if (isLimited) this.limited++;
  }

  end(isLimited) {
    this.users--;
    if (isLimited) this.limited--;
    if (this.isOpen) this.answered++;
    this.since = performance.now();
  }

  /**
   * Waits until nothing is under way. After an owner, rolls back an open transaction block and resets settings.
   * @param {boolean} wasAlone whether one request owned it
   * @param {boolean} [reset] whether settings of the session may have changed
   * @returns {Promise<void>} resolves when the connection can be used or is closed
   */
  async restore(wasAlone, reset) {
    const { client } = this;
    try {
      if (!this.isUnused) await client.sync();
      if (wasAlone && client.transactionStatus !== 'I') await client.query('ROLLBACK');
    } catch {
      client.destroy();
    }
    // Under load the sweep may never see it free. A new connection serves a request first.
    if (this.answered > 0 && performance.now() >= this.expires) return void client.end();
    if (!reset || client.state === 'closed') return;
    this.resetting = true;
    client.query('DISCARD ALL', [], { cache: false }).then(() => { this.resetting = false; }, () => client.destroy());
  }
}

module.exports = { Connection, Use };
