'use strict';

const { isFollowed } = require('../pipeline');
const { stalled } = require('../options');

/** Milliseconds for which a target may take nothing while other requests wait for the connection. */
const PATIENCE = 5000;

/**
 * What the results of a connection that go to targets share. It counts the bytes that the targets have not taken. Above `max_buffer_bytes` the connection is not read; if other
 * requests wait, targets that take nothing for PATIENCE are cut off.
 */
class Backlog {
  bytes = 0;
  /** @type {Block|undefined} memory that serves one small result after another */
  block = undefined;
  /** @type {StreamReceiver|undefined} has rows of the bytes that are being read */
  unflushed = undefined;
  #paused = false;
  #pipeline;
  #targets = new Set();
  #timer;

  constructor(pipeline) { this.#pipeline = pipeline; }

  static of(pipeline) { return (pipeline.backlog ??= new Backlog(pipeline)); }

  /** The bytes of a read were taken. */
  flushLater() {
    this.unflushed?.flushLater();
    this.unflushed = undefined;
  }

  add(target, length) {
    this.bytes += length;
    this.#targets.add(target);
    const { socket, maxBuffered } = this.#pipeline;
    if (this.#paused || this.bytes <= maxBuffered || !socket) return;
    this.#paused = true;
    socket.pause(this);
    this.#watch();
  }

  /** Subtracts bytes that were taken or never will be. @param {boolean} all whether the target has no others */
  remove(target, length, all) {
    this.bytes -= length;
    if (all) this.#targets.delete(target);
    if (this.#paused && this.bytes <= this.#pipeline.maxBuffered) this.#resume();
  }

  #resume() {
    this.#paused = false;
    clearTimeout(this.#timer);
    this.#pipeline.socket?.resume(this);
  }

  /** Looks twice in PATIENCE how much each target has left. */
  #watch(before = new Map()) {
    this.#timer = setTimeout(() => {
      const { head, scopes: { root }, socket, waited } = this.#pipeline;
      if (!socket) return this.#resume();
      const untaken = new Map([...this.#targets].map(target => [target, target.untaken]));
      const alone = waited && root.first === null && !isFollowed(head) ? head.receiver?.sink : undefined;
      for (const [target, bytes] of untaken) {
        if (waited && target !== alone && bytes >= before.get(target)) target.giveUp(Backlog.stalled());
      }
      if (this.#paused) this.#watch(untaken);
    }, PATIENCE / 2);
  }

  static stalled() { return stalled('target', PATIENCE, 'other requests waited for it'); }
}

module.exports = { Backlog, PATIENCE };
