'use strict';

// quickgres/cache: answers to queries from memory. See README.md.

const { ResponseCache } = require('./response-cache');

module.exports = { ResponseCache };
