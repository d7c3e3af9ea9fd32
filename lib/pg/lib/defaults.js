'use strict';

module.exports = require('../values').defaults;
