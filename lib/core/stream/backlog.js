'use strict';

const { List } = require('../list');
const { isFollowed, tookNothing } = require('../pipeline');
const { RowReader } = require('../rows');
const { after } = require('../timer');

/** Milliseconds for which a target may take nothing while other requests wait for the connection. */
const TAKING_LIMIT = 5000;

/**
 * What the results of a connection that go to targets share. It counts the bytes that the targets have not taken. The
 * connection is not read while these are more than `max_buffer_bytes`, or while the target of a long result asks to
 * wait; if the answer to another request is behind that, targets that take nothing for TAKING_LIMIT are cut off.
 */
class Backlog {
  bytes = 0;
  /** @type {Block|undefined} memory that serves one result after another */
  block = undefined;
  /** Reads command tags: it remembers the last one, see Memory. */
  command = new RowReader();
  /** @type {Sink|undefined} has rows of the bytes that are being read */
  unflushed = undefined;
  #pipeline;
  #targets = new List();
  #stop; // ends the next look; set while the connection is not read
  #waiting; // the target of the long result

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
    target.waiting ??= this.#targets.add(target);
    this.#pace();
  }

  /** Subtracts bytes that were taken or never will be. @param {boolean} all whether the target has no others */
  remove(target, length, all) {
    this.bytes -= length;
    if (all && target.waiting !== undefined) {
      this.#targets.delete(target.waiting);
      target.waiting = undefined;
    }
    this.#pace();
  }

  /** The target of a long result asks to wait, until `resumeFor`. */
  pauseFor(target) {
    this.#waiting = target;
    this.#pace();
  }

  resumeFor(target) {
    if (this.#waiting === target) this.pauseFor(undefined);
  }

  #pace() {
    const { socket, maxBuffered } = this.#pipeline;
    const isPaused = this.#stop !== undefined;
    if (isPaused === (socket !== null && (this.#waiting !== undefined || this.bytes > maxBuffered))) return;
    if (!isPaused) {
      socket.pause(this);
      return this.#look(new Map());
    }
    this.#stop();
    this.#stop = undefined;
    socket?.resume(this);
  }

  /**
   * Cuts the targets off that have taken nothing since the last look. The first one may end the pause, but one timer
   * for each would then leave some of the others.
   */
  #look(before) {
    const { head, socket } = this.#pipeline;
    if (socket === null) return this.#pace();
    const delaysOthers = each => head !== null && (isFollowed(head) || head.receiver?.target !== each);
    const targets = this.#targets.values().concat(this.#waiting ?? []);
    const now = new Map(targets.map(each => [each, delaysOthers(each) ? each.unsent : NaN]));
    this.#stop = after(TAKING_LIMIT, () => this.#look(now));
    for (const [target, left] of now)
      if (left >= before.get(target)) target.giveUp(tookNothing(TAKING_LIMIT, 'other requests waited for it'));
  }
}

module.exports = { Backlog, TAKING_LIMIT };
