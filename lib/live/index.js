'use strict';

// quickgres/live: results that stay up to date in a page. See README.md.

const { Live } = require('./live');

module.exports = { Live };
