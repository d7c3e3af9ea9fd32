'use strict';

// quickgres/pg: what node-postgres offers, over this library. See README.md.

const { Client } = require('./client');
const { Pool } = require('./pool');
const { DatabaseError, Query, Result } = require('./query');
const { TypeOverrides, types } = require('./types');
const utils = require('./values');

const { defaults, escapeIdentifier, escapeLiteral } = utils;

module.exports = {
  Client, Pool, Query, Result, DatabaseError, TypeOverrides, types, defaults, escapeIdentifier, escapeLiteral, utils
};
