'use strict';

const { Client } = require('../..');

/** How many of the last answers the mean interval between two is about. */
const INTERVALS = 32;

/** So much longer a request rather waits than that one keeps the other from being cancelled, in milliseconds. */
const MIXING = 100;

/** A connection of a pool, and how it is used. */
class Connection {
  /**
   * 'opening'; 'shared' by plain queries; 'draining': it gets no more of them, as somebody waits to own it; or 'owned'.
   */
  state = 'opening';
  /** Requests that it was given to, and at first who opens it. */
  users = 1;
  /** Those of them that have a signal or a time limit. */
  limited = 0;
  /** When the first of its users began, or the last was over. */
  since = performance.now();
  /** Requests that were over while it was open. */
  answered = -1;
  /** Milliseconds from one answer to the next, as a mean of the last ones, each of which counts as one at most. */
  interval = 1;
  /** Whether its session is being reset; others may be sent behind that. */
  resetting = false;

  /**
   * @param {object|string} config of its client
   * @param {number} lifetime milliseconds after which it is to be replaced
   */
  constructor(config, lifetime) {
    this.client = new Client(config);
    this.pipeline = this.client.lease.pipeline;
    // Not all at once, where all were opened at once.
    this.expires = this.since + lifetime * (0.9 + Math.random() / 10);
  }

  get isOpen() { return this.client.state === 'open'; }
  get isOpening() { return this.state === 'opening'; }
  get isOwned() { return this.state === 'owned'; }

  /** Whether nothing is under way on it, and no cursor was left open. */
  get isUnused() {
    if (this.users > 0) return false;
    const { pending, scopes } = this.pipeline;
    return pending === (this.resetting ? 1 : 0) && scopes.active === scopes.root;
  }

  get isIdle() { return this.isUnused && this.isOpen && this.state === 'shared'; }

  /** Whether a long result or a cancel holds it up, or it has not answered since a request was given up. */
  get isHeld() { return this.pipeline.held || this.pipeline.givenUpAt !== 0; }

  /** Whether a request may be given to it. */
  get isReady() { return this.state === 'shared' && this.isOpen && !this.isHeld; }

  /**
   * How long a request is likely to wait: as long again as the oldest one here has, and for the others. Requests with a
   * limit and such without stay apart: the one behind would keep the one before from being cancelled.
   */
  waitAt(now, isLimited) {
    if (this.isUnused) return -1;
    const apart = isLimited ? this.limited === this.users : this.limited === 0;
    return now - this.since + this.users * this.interval + (apart ? 0 : MIXING);
  }

  begin(isLimited) {
    if (this.users++ === 0) this.since = performance.now();
    if (isLimited) this.limited++;
  }

  end(isLimited) {
    const now = performance.now();
    this.users--;
    if (isLimited) this.limited--;
    if (this.isOpen) this.answered++;
    if (!this.isOwned && !this.isOpening) this.interval += (Math.min(1, now - this.since) - this.interval) / INTERVALS;
    this.since = now;
  }

  /**
   * Waits until nothing is under way any more. Where one request owned it, no transaction block is left open, and settings
   * are reset.
   * @param {boolean} wasAlone whether one owned it
   * @param {boolean} [reset] whether settings of the session may have been changed
   * @returns {Promise<void>} resolves when others may have it, or it is closed
   */
  async restore(wasAlone, reset) {
    const { client } = this;
    try {
      if (!this.isUnused) await client.sync();
      if (wasAlone && client.transactionStatus !== 'I') await client.query('ROLLBACK');
    } catch {
      client.destroy();
    }
    if (!reset || client.state === 'closed') return;
    this.resetting = true;
    const over = () => { this.resetting = false; };
    client.query('DISCARD ALL', [], { cache: false }).then(over, () => client.destroy());
  }
}

module.exports = { Connection };
