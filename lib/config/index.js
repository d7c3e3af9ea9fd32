'use strict';

// What a client is to connect to and how. Nothing here opens a connection.

module.exports = { ...require('./config'), ...require('./files'), ...require('./hosts') };
