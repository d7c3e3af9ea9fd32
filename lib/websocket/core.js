'use strict';

// What of lib/config's door is used here.

const { isLoopback } = require('../config/hosts');

module.exports = { isLoopback };
