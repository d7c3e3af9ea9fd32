'use strict';

// quickgres/pg: node-postgres' interface. See README.md.

const { EventEmitter } = require('node:events');
const { loadAll } = require('../core/late');
const { Client, Connection } = require('./client');
const { Pool } = require('./pool');
const { DatabaseError, Query } = require('./query');
const { Result } = require('./result');
const { TypeOverrides, types } = require('./types');
const utils = require('./values');

loadAll(); // a test runner may take `require` away

const { defaults, escapeIdentifier, escapeLiteral } = utils;

module.exports = {
  Client,
  ClientBase: Client,
  Pool,
  Connection,
  Query,
  Result,
  DatabaseError,
  TypeOverrides,
  types,
  defaults,
  utils,
  escapeIdentifier,
  escapeLiteral,
  Events: EventEmitter
};
