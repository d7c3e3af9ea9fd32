'use strict';

// What lib/stream's door will give: its Target, and a queryTo that takes one.

const { Buffer } = require('#platform');
const { queryToSink } = require('../stream/query-to');
const { Sink } = require('../stream/target');

class Target extends Sink {
  #bodiless = false;

  constructor(target) {
    super(target);
    const flush = this._begin;
    this._begin = (whole, rowCount) => {
      this.#bodiless = this.begin(whole, rowCount) === false;
      if (flush !== undefined) flush();
    };
  }

  begin() {}

  end(piece = Buffer.alloc(0), rowCount) {
    if (!this.gone) this._start(piece, rowCount);
    return super.end(this.#bodiless ? undefined : piece);
  }
}

function queryTo(session, target, text, values, options) {
  if (session._try === undefined) return session.queryTo(target, text, values, options);
  return session._try(() => queryToSink(session, target, text, values, options));
}

module.exports = { Target, queryTo };
