'use strict';

const { FrontRequest } = require('./block');

/** Takes the values that set_config returns. */
const NOWHERE = { start() {}, receiveData() {}, receive() {} };

/**
 * The settings of a request, in front of it and without a Sync, so that both are one implicit transaction, with which the
 * settings end. The server sends the answer together with that of the request.
 */
class SettingsRequest extends FrontRequest {
  /** @param {Request} next the request; the settings have a prepared statement if that may be repeated when one is stale */
  constructor(text, values, next) {
    super(text, values, 0, next.cache === true, undefined, NOWHERE);
    this.scope = next.scope;
    this.next = next;
  }

  encode(writer, statements) {
    const { lastParsed } = statements;
    super.encode(writer, statements);
    statements.lastParsed = lastParsed;
  }

  /** While the server works on the request, this answer is still the next one. */
  get givenUp() { return this.next.givenUp; }
}

module.exports = { SettingsRequest };
