'use strict';

const { Client } = require('./lib/client');
const { AbortError, ConnectionError, PostgresError, UsageError, array } = require('./lib/protocol');
const { RowParser, RowReader } = require('./lib/rows');

module.exports = { Client, RowReader, RowParser, PostgresError, ConnectionError, AbortError, UsageError, array };
