'use strict';

module.exports = require('../query').Result;
