'use strict';

const { State } = require('../protocol');
const { Request } = require('./request');

/** Close of named statements or a portal; without names only Sync, which tells when everything before it is over. */
class CloseRequest extends Request {
  /** @param {string} target 'S' for statements, 'P' for portals */
  constructor(target, names) {
    super();
    this.target = target;
    this.names = names;
    this.unanswered = names.length;
  }

  encode(writer) {
    for (const name of this.names) writer.close(this.target, name);
    writer.sync();
    this.state = this.unanswered > 0 ? State.Closing : State.Done;
  }

  message(pipeline, type, buf, start, end) {
    super.message(pipeline, type, buf, start, end);
    if (this.state === State.Done && --this.unanswered > 0) this.state = State.Closing;
  }
}

/** Closes statements that the cache has dropped. */
class CloseStatements extends CloseRequest {
  constructor(names) {
    super('S', names);
  }
}

function closeStatements(pipeline) {
  const { scopes, statements } = pipeline;
  const names = statements.closing;
  const request = new CloseStatements(names);
  statements.closing = [];
  request.open(scopes.root).catch(() => statements.closing.push(...names)); // a CancelRequest may hit it
  pipeline.send(request);
}

/** Sends a Sync that is not the caller's, at once. @returns {Promise} resolves when it is answered */
function ping(pipeline) {
  const request = new CloseStatements([]);
  const promise = request.open(pipeline.scopes.root);
  pipeline.send(request);
  pipeline.socket.flush(pipeline.writer);
  return promise;
}

/** Ends a transaction block that should not be there. */
class RollbackRequest extends Request {
  encode(writer, statements) {
    writer.query('ROLLBACK');
    this.state = State.Simple;
    statements.mark({ turns: true }, this);
  }
}

CloseRequest.prototype.reads = CloseStatements.prototype.internal = true;
RollbackRequest.prototype.internal = RollbackRequest.prototype.controlsBlock = true;

/**
 * A server or pooler reports a block that no request has begun, as Pgpool-II does after a failed batch, or that COMMIT
 * has not ended, since it was cancelled or skipped behind an error. Every later request would be rejected, or be a part
 * of it.
 */
function rollBack(pipeline) {
  const request = new RollbackRequest();
  request.open(pipeline.scopes.root).catch(error => pipeline.events.lost(error));
  if (pipeline.held) pipeline.scopes.root.unshift(request);
  else pipeline.send(request);
}

module.exports = { CloseRequest, closeStatements, ping, rollBack };
