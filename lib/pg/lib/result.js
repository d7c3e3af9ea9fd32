'use strict';

module.exports = require('../result').Result;
