'use strict';

const { State } = require('../protocol');
const { NO_VALUES } = require('../options');
const { channel, trace } = require('../pipeline');
const { QueryRequest } = require('./query');
const { SimpleQueryRequest } = require('./simple-query');

/** A request without a Sync in front of another: if it fails, the server skips that one, which fails with it. */
class FrontRequest extends QueryRequest {
  encode(writer, statements) {
    this.bind(writer, statements);
    writer.execute('', 0);
  }

  message(pipeline, type, buf, start, end, count) {
    super.message(pipeline, type, buf, start, end, count);
    if (this.state === State.Done) pipeline.finishHead();
  }

  /** The server ignores messages up to the next Sync, and a Query message then has none of its own. */
  fail(error, pipeline) {
    const { next } = this;
    super.fail(error, pipeline);
    if (this.barrier) pipeline.holdBehind(next); // waiting requests would be sent outside the block
    pipeline.finishHead();
    next.skip(error, pipeline);
    if (!next.simple) return;
    pipeline.writer.sync();
    pipeline.flush();
  }
}

FrontRequest.prototype.internal = true;

/**
 * BEGIN or SAVEPOINT. Requests other than the first one of the block wait for its answer. Flush makes the server answer
 * although the request behind takes long.
 */
class BeginRequest extends FrontRequest {
  constructor(text) {
    super(text, NO_VALUES, 0, false);
  }

  encode(writer, statements) {
    if (channel.hasSubscribers && !this.traced)
      trace(this, this.scope.pipeline, this.scope, () => this.open(this.scope));
    super.encode(writer, statements);
    writer.flush();
  }
}

class EndRequest extends SimpleQueryRequest {
  get endsBlock() {
    return this.scope.parent.parent === null;
  }

  encode(writer, statements) {
    writer.query(this.text);
    this.state = State.Simple;
    statements.mark({ turns: this.endsBlock }, this);
  }
}

BeginRequest.prototype.barrier = BeginRequest.prototype.controlsBlock = EndRequest.prototype.controlsBlock = true;

module.exports = { BeginRequest, EndRequest, FrontRequest };
