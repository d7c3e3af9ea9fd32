'use strict';

const { State } = require('../protocol');
const { Request } = require('./request');

/** Only Sync: ends a portal, or tells when everything before it is over. */
class SyncRequest extends Request {
  /** @param {*} [value] what to resolve to */
  constructor(value) {
    super();
    this.result = value;
    this.reads = true;
  }

  encode(writer) {
    writer.sync();
    this.state = State.Done;
  }
}

/** Close of named statements or of a portal. */
class CloseRequest extends Request {
  /**
   * @param {string} target 'S' for statements, 'P' for portals
   * @param {string[]} names
   */
  constructor(target, names) {
    super();
    this.target = target;
    this.names = names;
    this.left = names.length;
    this.reads = true;
  }

  encode(writer) {
    for (const name of this.names) writer.close(this.target, name);
    writer.sync();
    this.state = State.Closing;
  }

  message(pipeline, type, buf, start, end) {
    super.message(pipeline, type, buf, start, end);
    if (this.state === State.Done && --this.left > 0) this.state = State.Closing;
  }
}

module.exports = { SyncRequest, CloseRequest };
