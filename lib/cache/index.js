'use strict';

// quickgres/cache: results of queries from memory. See README.md.

const { ResponseCache } = require('./response-cache');

module.exports = { ResponseCache };
