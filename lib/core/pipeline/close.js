'use strict';

const { State } = require('../protocol');
const { Flight } = require('./flight');

/** Close of a named statement or portal; without a name only Sync, which tells when everything before it is over. */
class CloseRequest extends Flight {
  /** @param {string} [type] 'S' for a statement, 'P' for a portal */
  constructor(type, name) {
    super();
    this.type = type;
    this.name = name;
  }

  write(writer) {
    this.state = State.Done;
    if (this.type === undefined) return;
    writer.close(this.type, this.name);
    this.state = State.Closing;
  }

  get isRead() {
    return true;
  }
}

/** Sends a Sync that is not the caller's, at once. @returns {Promise} resolves when it is answered */
function ping(pipeline) {
  const request = new CloseRequest();
  request.internal = true;
  const promise = request.open(pipeline.scopes.root);
  pipeline.send(request);
  pipeline.socket.flush(pipeline.writer);
  return promise;
}

module.exports = { CloseRequest, ping };
