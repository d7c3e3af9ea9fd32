'use strict';

// quickgres/replication: the changes of a database as a stream. See README.md.

const { PgOutput } = require('./pgoutput');
const { replicate } = require('./replicate');
const { formatLsn, parseLsn } = require('./wal');

module.exports = { PgOutput, formatLsn, parseLsn, replicate };
