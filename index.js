'use strict';

const { Client } = require('./lib/client');
const { AbortError, ConnectionError, PostgresError, UsageError, array } = require('./lib/protocol');
const rows = require('./lib/rows');

const { RowParser, RowReader } = rows;

module.exports = {
  Client, RowReader, RowParser, PostgresError, ConnectionError, AbortError, UsageError, array,
  // What not every program uses is loaded when it is.
  get decoders() { return rows.decoders; },
  get jsonDecoders() { return rows.jsonDecoders; },
  get dates() { return rows.dates; }
};
