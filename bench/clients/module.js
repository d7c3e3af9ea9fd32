'use strict';

// The module that `--module` names.

const path = require('node:path');
const { adapter } = require('./quickgres');

const file = process.env.BENCH_MODULE;

module.exports = file ? { ...adapter(path.relative('..', file) || file, file, true), openPool: undefined } : {};
