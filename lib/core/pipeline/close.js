'use strict';

// The shortest conversations: a Query message, Sync, Close.

const { State } = require('../protocol');
const { Flight } = require('./flight');

/** A Query message: statements without parameters, with a Sync of its own. */
class SimpleRequest extends Flight {
  constructor(text) {
    super();
    this.text = text;
  }

  write(writer) {
    writer.query(this.text);
    this.state = State.Simple;
  }
}

SimpleRequest.prototype.simple = true;

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

/** Close of a named statement ('S') or portal ('P'), and Sync. */
class CloseRequest extends SyncRequest {
  constructor(type, name) {
    super();
    this.type = type;
    this.name = name;
  }

  write(writer) {
    writer.close(this.type, this.name);
    this.state = State.Closing;
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

module.exports = { CloseRequest, SimpleRequest, SyncRequest, ping };
