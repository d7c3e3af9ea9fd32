'use strict';

module.exports = require('../client').Client;
