'use strict';

module.exports = require('./pg').adapter('pg, pipeline', true);
