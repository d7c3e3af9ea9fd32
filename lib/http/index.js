'use strict';

// quickgres/http: the result of a query as an HTTP answer. See README.md.

const { respond } = require('./respond');

module.exports = { respond };
