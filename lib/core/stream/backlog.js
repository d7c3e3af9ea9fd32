'use strict';

const { isFollowed, tookNothing, watchStall } = require('../pipeline');

/** Milliseconds for which a target may take nothing while other requests wait for the connection. */
const PATIENCE = 5000;

const WHY = 'other requests waited for it';

/**
 * What the results of a connection that go to targets share. It counts the bytes that the targets have not taken. Above
 * `max_buffer_bytes` the connection is not read; if other requests wait, targets that take nothing for PATIENCE are cut
 * off.
 */
class Backlog {
  bytes = 0;
  /** @type {Block|undefined} memory that serves one small result after another */
  block = undefined;
  /** @type {StreamReceiver|undefined} has rows of the bytes that are being read */
  unflushed = undefined;
  #pipeline;
  #targets = new Set();
  #timer; // while the connection is not read

  constructor(pipeline) {
    this.#pipeline = pipeline;
  }

  static of(pipeline) {
    return pipeline.results(() => new Backlog(pipeline));
  }

  /** The bytes of a read were taken. */
  flushLater() {
    this.unflushed?.flushLater();
    this.unflushed = undefined;
  }

  add(target, length) {
    this.bytes += length;
    this.#targets.add(target);
    const { socket, maxBuffered } = this.#pipeline;
    if (this.#timer !== undefined || this.bytes <= maxBuffered || !socket) return;
    socket.pause(this);
    this.#look();
  }

  /** Subtracts bytes that were taken or never will be. @param {boolean} all whether the target has no others */
  remove(target, length, all) {
    this.bytes -= length;
    if (all) this.#targets.delete(target);
    if (this.#timer !== undefined && this.bytes <= this.#pipeline.maxBuffered) this.#resume();
  }

  #resume() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#pipeline.socket?.resume(this);
  }

  /**
   * Cuts the targets off that have taken nothing since the last look. The first one may end the pause, but one timer
   * for each would then leave some of the others.
   */
  #look(before = new Map()) {
    if (!this.#pipeline.socket) return this.#resume();
    const now = new Map(Array.from(this.#targets, each => [each, this.#left(each)]));
    this.#timer = setTimeout(() => this.#look(now), PATIENCE);
    for (const [target, left] of now)
      if (left >= before.get(target)) target.giveUp(tookNothing('target', PATIENCE, WHY));
  }

  /** What keeps other requests waiting: none if there is no other request. */
  #left(target) {
    const {
      head,
      scopes: { root },
      waited
    } = this.#pipeline;
    const isOnly = root.first === null && !isFollowed(head) && head?.receiver?.target === target;
    return waited && !isOnly ? target.untaken : NaN;
  }
}

/** Cuts a target off that takes nothing for PATIENCE. @param {function(): number} left see watchStall */
const urge = (target, left) => watchStall('target', PATIENCE, left, error => target.giveUp(error), WHY);

module.exports = { Backlog, PATIENCE, urge };
