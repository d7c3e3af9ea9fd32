'use strict';

const { Client } = require('./lib/client');
const { AbortError, ConnectionError, PostgresError, UsageError } = require('./lib/protocol/errors');
const { RowParser } = require('./lib/rows/row-parser');
const { RowReader } = require('./lib/rows/result');

module.exports = {
  Client, RowReader, RowParser, PostgresError, ConnectionError, AbortError, UsageError,
  // What not every program uses is loaded when it is.
  get CopyWriter() { return require('./lib/copy-writer').CopyWriter; },
  get PgOutput() { return require('./lib/replication/pgoutput').PgOutput; },
  get ResponseCache() { return require('./lib/cache/response-cache').ResponseCache; },
  get formatLsn() { return require('./lib/replication/wal').formatLsn; },
  get parseLsn() { return require('./lib/replication/wal').parseLsn; }
};
