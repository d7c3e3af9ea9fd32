'use strict';

// quickgres/pg: what node-postgres offers, over this library. See README.md.

const { Client, Connection } = require('./client');
const { Pool } = require('./pool');
const { DatabaseError, Query, Result } = require('./query');
const { TypeOverrides, types } = require('./types');
const { defaults, escapeIdentifier, escapeLiteral } = require('./values');

module.exports = {
  Client, Pool, Connection, Query, Result, DatabaseError, TypeOverrides, types, defaults, escapeIdentifier, escapeLiteral
};
