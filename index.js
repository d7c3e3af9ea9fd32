'use strict';

const { Client } = require('./lib/client');
const { AbortError, ConnectionError, PostgresError, UsageError } = require('./lib/errors');
const { RowParser } = require('./lib/row-parser');
const { RowReader } = require('./lib/row-reader');

module.exports = {
  Client, RowReader, RowParser, PostgresError, ConnectionError, AbortError, UsageError,
  // What not every program uses is loaded when it is.
  get CopyWriter() { return require('./lib/copy-writer').CopyWriter; },
  get PgOutput() { return require('./lib/pgoutput').PgOutput; },
  get ResponseCache() { return require('./lib/response-cache').ResponseCache; },
  get formatLsn() { return require('./lib/wal').formatLsn; },
  get parseLsn() { return require('./lib/wal').parseLsn; }
};
