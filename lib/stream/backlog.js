'use strict';

const { stalled } = require('../query');

/** Milliseconds for which a target may take nothing while other requests wait for the connection. */
const PATIENCE = 5000;

/**
 * Counts the bytes that a connection's targets have not taken. Above `max_buffer_bytes` the connection is not read; if other
 * requests wait, targets that take nothing for PATIENCE are cut off.
 */
class Backlog {
  #paused = false;
  #pipeline;
  #targets = new Set();
  #timer;

  constructor(pipeline) {
    this.#pipeline = pipeline;
    this.bytes = 0;
  }

  static of(pipeline) { return (pipeline.backlog ??= new Backlog(pipeline)); }

  add(target, length) {
    this.bytes += length;
    this.#targets.add(target);
  }

  /** Subtracts bytes that were taken or never will be. @param {boolean} all whether the target has no others */
  remove(target, length, all) {
    this.bytes -= length;
    if (all) this.#targets.delete(target);
    if (this.#paused && this.bytes <= this.#pipeline.maxBuffered) this.#resume();
  }

  check() {
    const { socket, maxBuffered } = this.#pipeline;
    if (this.#paused || this.bytes <= maxBuffered || !socket) return;
    this.#paused = true;
    socket.pause(this);
    this.#watch();
  }

  #resume() {
    this.#paused = false;
    clearTimeout(this.#timer);
    this.#pipeline.socket?.resume(this);
  }

  /** Looks twice in PATIENCE how much each target has left. */
  #watch(before = new Map()) {
    this.#timer = setTimeout(() => {
      const { socket, waited } = this.#pipeline;
      if (!socket) return this.#resume();
      const untaken = new Map([...this.#targets].map(target => [target, target.untaken]));
      for (const [target, bytes] of untaken) if (waited && bytes >= before.get(target)) target.giveUp(Backlog.stalled());
      if (this.#paused) this.#watch(untaken);
    }, PATIENCE / 2);
  }

  static stalled() { return stalled('target', PATIENCE, 'other requests waited for it'); }
}

module.exports = { Backlog, PATIENCE };
