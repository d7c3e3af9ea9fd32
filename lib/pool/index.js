'use strict';

// quickgres/pool: pipelined connections side by side. See README.md.

const { Pool } = require('./pool');

module.exports = { Pool };
