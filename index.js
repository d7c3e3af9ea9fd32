'use strict';

const { Client } = require('./lib/client');
const { CopyWriter } = require('./lib/copy-writer');
const { AbortError, ConnectionError, PostgresError, UsageError } = require('./lib/errors');
const { ResponseCache } = require('./lib/response-cache');
const { RowParser } = require('./lib/row-parser');
const { RowReader } = require('./lib/row-reader');

module.exports = {
  Client, RowReader, RowParser, ResponseCache, CopyWriter,
  PostgresError, ConnectionError, AbortError, UsageError
};
