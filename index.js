'use strict';

const rows = require('./lib/rows'); // first: it takes ES modules one by one, which loads them faster
const { Client } = require('./lib/client');
const { Session } = require('./lib/session');
const { AbortError, ConnectionError, PostgresError, TimeoutError, UsageError, array } = require('./lib/protocol');

const { RowParser, RowReader } = rows;

module.exports = {
  Client, Session, RowReader, RowParser, PostgresError, ConnectionError, AbortError, TimeoutError, UsageError, array,
  // Loaded late, since not every program uses it.
  get decoders() { return rows.decoders; },
  get exact() { return rows.exact; },
  get oid() { return rows.oid; }
};
