'use strict';

// For those who still ask for this file: the door has it.
module.exports = { RowReader: require('./row-reader').RowReader };
