'use strict';

// quickgres/replication: a database's changes as a stream. See README.md.

const { changes } = require('./changes');
const { PgOutput } = require('./pgoutput');
const { replicate } = require('./replicate');
const { formatLsn, parseLsn } = require('./wal');

module.exports = { PgOutput, changes, formatLsn, parseLsn, replicate };
