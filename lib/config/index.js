'use strict';

// What a client is to connect to and how. Nothing here opens a connection.

module.exports = {
  ...require('./config'),
  ...require('./home'),
  ...require('./hosts'),
  get lookupPassword() { return require('./passfile').lookupPassword; }
};
