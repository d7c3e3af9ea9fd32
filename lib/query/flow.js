'use strict';

const { process } = require('#platform');
const { MessageWriter } = require('../protocol/writer');

/** From this many bytes on, what has been written leaves at once instead of at the end of the tick. */
const FLUSH_BYTES = 65536;

/** The bytes of one connection: when they leave, and whether any are taken. */
class Flow {
  constructor() {
    this.writer = new MessageWriter();
    /** @type {Transport|null} */
    this.transport = null;
    this._flushing = false;
    this._flush = () => this.flush();
    this._draining = [];
  }

  /** Bytes written that the system has not taken. */
  get bufferedBytes() {
    return this.writer.length + (this.transport === null ? 0 : this.transport.bufferedBytes);
  }

  /** Everything written in this tick leaves in one write at its end. */
  scheduleFlush() {
    if (this._flushing) return;
    this._flushing = true;
    process.nextTick(this._flush);
  }

  /** Writes out what is buffered. */
  flush() {
    this._flushing = false;
    if (this.transport === null || this.writer.length === 0) return;
    if (this.transport.write(this.writer.take())) this.writer.reuse();
  }

  /** Whether the transport asks to wait. */
  get needsDrain() { return this.transport !== null && this.transport.needsDrain; }

  /** Calls back when all that was written has been taken by the system; not at all if the connection is lost. */
  whenDrained(callback) { this._draining.push(callback); }

  /** The transport has taken all that was written. */
  drained() {
    for (const callback of this._draining.splice(0)) callback();
  }

  /**
   * Nothing is read from the server until everybody who paused has resumed.
   * @param {object} who cannot take more
   */
  pause(who) {
    if (this.transport !== null) this.transport.pause(who);
  }

  /** @param {object} who can go on; nothing happens where it had not paused */
  resume(who) {
    if (this.transport !== null) this.transport.resume(who);
  }

  /** The connection is gone. */
  stop() {
    this.transport = null;
    this.writer.length = 0;
    this._draining = [];
  }
}

module.exports = { Flow, FLUSH_BYTES };
