'use strict';

module.exports = require('../client').Connection;
