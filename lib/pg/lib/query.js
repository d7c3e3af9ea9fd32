'use strict';

module.exports = require('../query').Query;
