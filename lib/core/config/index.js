'use strict';

// Resolves what to connect to and how. Nothing here opens a connection.

const { homeFile, lookupPassword } = require('./files');

module.exports = { ...require('./config'), homeFile, lookupPassword, ...require('./hosts') };
