'use strict';

// From a config to a session that is ready for queries.

const { connect } = require('./connect');

module.exports = { connect };
