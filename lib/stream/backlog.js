'use strict';

const { stalled } = require('../query');

/** How long a target may take nothing while other requests wait for the connection, in milliseconds. */
const PATIENCE = 5000;

/**
 * What the targets of one connection have not taken. When that is more than `max_buffer_bytes`, the connection is not
 * read until it is less again; targets that take nothing meanwhile are cut off after PATIENCE, if other requests wait.
 */
class Backlog {
  #paused = false;
  #pipeline;
  #targets = new Set();
  #timer;

  /** @param {Pipeline} pipeline */
  constructor(pipeline) {
    this.#pipeline = pipeline;
    this.bytes = 0;
  }

  /** @returns {Backlog} that of a connection */
  static of(pipeline) { return (pipeline.backlog ??= new Backlog(pipeline)); }

  /** A target was given bytes. */
  add(target, length) {
    this.bytes += length;
    this.#targets.add(target);
  }

  /** A target has taken bytes, or never will. @param {boolean} all whether it has no others */
  remove(target, length, all) {
    this.bytes -= length;
    if (all) this.#targets.delete(target);
    if (this.#paused && this.bytes <= this.#pipeline.maxBuffered) this.#resume();
  }

  /** Stops reading, where there is too much. */
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
      const left = new Map([...this.#targets].map(target => [target, target.left]));
      for (const [target, bytes] of left) if (waited && bytes >= before.get(target)) target.giveUp(Backlog.stalled());
      if (this.#paused) this.#watch(left);
    }, PATIENCE / 2);
  }

  /** @returns {TimeoutError} for a target that other requests do not wait for any longer */
  static stalled() { return stalled('target', PATIENCE, 'other requests waited for it'); }
}

module.exports = { Backlog, PATIENCE };
