'use strict';

const rows = require('./lib/core/rows'); // first: it takes ES modules one by one, which loads them faster
const { Client } = require('./lib/core/client');
const { Session } = require('./lib/core/session');
const { AbortError, ConnectionError, PostgresError, TimeoutError, UsageError, array } = require('./lib/core/protocol');

const { RowParser, RowReader } = rows;

module.exports = {
  Client,
  Session,
  RowReader,
  RowParser,
  PostgresError,
  ConnectionError,
  AbortError,
  TimeoutError,
  UsageError,
  array,
  // Loaded late, since not every program uses it.
  get decoders() {
    return rows.decoders;
  },
  get exact() {
    return rows.exact;
  },
  get oid() {
    return rows.oid;
  }
};
