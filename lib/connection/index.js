'use strict';

// From a config to a session that is ready for queries.

const { connect } = require('./connect');
const { failed } = require('./attempt');

module.exports = { connect, failed };
