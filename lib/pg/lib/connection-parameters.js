'use strict';

module.exports = require('../config').ConnectionParameters;
