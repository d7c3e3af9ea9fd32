'use strict';

const { isFollowed, watchStall } = require('../pipeline');

/** Milliseconds for which a target may take nothing while other requests wait for the connection. */
const PATIENCE = 5000;

/**
 * What the results of a connection that go to targets share. It counts the bytes that the targets have not taken. Above
 * `max_buffer_bytes` the connection is not read; if other requests wait, targets that take nothing for PATIENCE are cut off.
 */
class Backlog {
  bytes = 0;
  /** @type {Block|undefined} memory that serves one small result after another */
  block = undefined;
  /** @type {StreamReceiver|undefined} has rows of the bytes that are being read */
  unflushed = undefined;
  #isPaused = false;
  #pipeline;
  #targets = new Map(); // functions that end the watch of each

  constructor(pipeline) { this.#pipeline = pipeline; }

  static of(pipeline) { return pipeline.results(() => new Backlog(pipeline)); }

  /** The bytes of a read were taken. */
  flushLater() {
    this.unflushed?.flushLater();
    this.unflushed = undefined;
  }

  add(target, length) {
    this.bytes += length;
    if (!this.#targets.has(target)) this.#targets.set(target, undefined);
    const { socket, maxBuffered } = this.#pipeline;
    if (this.#isPaused || this.bytes <= maxBuffered || !socket) return;
    this.#isPaused = true;
    socket.pause(this);
    for (const each of this.#targets.keys()) this.#targets.set(each, urge(each, () => this.#left(each)));
  }

  /** Subtracts bytes that were taken or never will be. @param {boolean} all whether the target has no others */
  remove(target, length, all) {
    this.bytes -= length;
    if (all) {
      this.#targets.get(target)?.();
      this.#targets.delete(target);
    }
    if (this.#isPaused && this.bytes <= this.#pipeline.maxBuffered) this.#resume();
  }

  #resume() {
    this.#isPaused = false;
    for (const [target, unwatch] of this.#targets) {
      unwatch?.();
      this.#targets.set(target, undefined);
    }
    this.#pipeline.socket?.resume(this);
  }

  /** What keeps other requests waiting: none if there is no other request. */
  #left(target) {
    const { head, scopes: { root }, socket, waited } = this.#pipeline;
    if (!socket) this.#resume();
    const isOnly = root.first === null && !isFollowed(head) && head?.receiver?.target === target;
    return waited && !isOnly ? target.untaken : NaN;
  }
}

/** Cuts a target off that takes nothing for PATIENCE. @param {function(): number} left see watchStall */
function urge(target, left) {
  // Later, so that targets whose time ends together are cut off together: the first one ends the watch of the others.
  return watchStall('target', PATIENCE, left, error => setImmediate(() => target.giveUp(error)), 'other requests waited for it');
}

module.exports = { Backlog, PATIENCE, urge };
