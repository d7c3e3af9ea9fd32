'use strict';

const { Client } = require('./lib/client');
const { CopyWriter } = require('./lib/copy-writer');
const { AbortError, ConnectionError, PostgresError, UsageError } = require('./lib/errors');
const { PgOutput } = require('./lib/pgoutput');
const { ResponseCache } = require('./lib/response-cache');
const { RowParser } = require('./lib/row-parser');
const { RowReader } = require('./lib/row-reader');
const { formatLsn, parseLsn } = require('./lib/wal');

module.exports = {
  Client, RowReader, RowParser, ResponseCache, CopyWriter, PgOutput, formatLsn, parseLsn,
  PostgresError, ConnectionError, AbortError, UsageError
};
