'use strict';

// The other checkout of this library that `--against` names.

const { adapter } = require('./quickgres');

const folder = process.env.BENCH_AGAINST;

module.exports = folder ? adapter('against', folder) : {};
