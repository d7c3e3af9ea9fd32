'use strict';

const { State } = require('../protocol');
const { Flight } = require('./flight');

/** Close of a named statement ('S') or portal ('P'). */
class CloseRequest extends Flight {
  constructor(type, name) {
    super();
    this.type = type;
    this.name = name;
  }

  write(writer) {
    writer.close(this.type, this.name);
    this.state = State.Closing;
  }

  get isRead() {
    return true;
  }
}

/** Sync alone, which tells when everything before it is over. */
class SyncRequest extends Flight {
  /** @param {RowReader} [receiver] what it resolves to */
  constructor(receiver) {
    super();
    this.receiver = receiver;
  }

  get isRead() {
    return true;
  }
}

/** A Sync that is not the caller's. */
class Ping extends SyncRequest {}
Ping.prototype.internal = true;

/** Sends a Sync at once. @returns {Promise} resolves when it is answered */
function ping(pipeline) {
  const request = new Ping();
  const promise = request.open(pipeline.scopes.root);
  pipeline.send(request);
  pipeline.socket.flush(pipeline.writer);
  return promise;
}

module.exports = { CloseRequest, SyncRequest, ping };
