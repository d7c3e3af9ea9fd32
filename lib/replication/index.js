'use strict';

// quickgres/replication: a database's changes as a stream. See README.md.

const { PgOutput } = require('./pgoutput');
const { replicate } = require('./replicate');
const { formatLsn, parseLsn } = require('./wal');

module.exports = { PgOutput, formatLsn, parseLsn, replicate };
