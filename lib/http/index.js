'use strict';

// quickgres/http: results as HTTP responses. See README.md.

const { respond } = require('./respond');

module.exports = { respond };
