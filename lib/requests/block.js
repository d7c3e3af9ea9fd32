'use strict';

const { State } = require('../protocol');
const { NO_VALUES } = require('../options');
const { channel, trace } = require('../pipeline');
const { QueryRequest } = require('./query');
const { SimpleQueryRequest } = require('./simple-query');

/**
 * BEGIN or SAVEPOINT. It has no Sync, so that the first request of the block, right behind it, fails with it; other requests
 * wait for its answer. Flush makes the server answer although the request behind takes long.
 */
class BeginRequest extends QueryRequest {
  constructor(text) {
    super(text, NO_VALUES, 0, false);
    this.barrier = true;
    this.controlsBlock = true;
    this.internal = true;
  }

  encode(writer, statements) {
    if (channel.hasSubscribers && !this.traced) trace(this, this.scope.pipeline, this.scope, () => this.open(this.scope));
    this.bind(writer, statements);
    writer.execute('', 0);
    writer.flush();
  }

  message(pipeline, type, buf, start, end, count) {
    super.message(pipeline, type, buf, start, end, count);
    if (this.state === State.Done) pipeline.finishHead();
  }

  /** The server ignores messages up to the next Sync, and a Query message then has none of its own. */
  fail(error, pipeline) {
    const { next } = this;
    super.fail(error, pipeline);
    pipeline.holdBehind(next); // waiting requests would be sent outside the block
    pipeline.finishHead();
    next.fail(error, pipeline);
    if (!next.simple) return;
    pipeline.writer.sync();
    pipeline.flush();
  }
}

class EndRequest extends SimpleQueryRequest {
  constructor(text) {
    super(text);
    this.controlsBlock = true;
  }

  encode(writer, statements) {
    writer.query(this.text);
    this.state = State.Simple;
    statements.mark({ begins: this.scope.parent.parent === null }, this);
  }
}

module.exports = { BeginRequest, EndRequest };
