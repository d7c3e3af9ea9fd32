'use strict';

// What a client is to connect to and how. Nothing here opens a connection.

const { homeFile } = require('./home');
const { isLoopback, socketPath } = require('./hosts');
const { kindOf } = require('./options');
const { resolve } = require('./config');

module.exports = {
  resolve,
  homeFile,
  isLoopback,
  kindOf,
  socketPath,
  get lookupPassword() { return require('./passfile').lookupPassword; }
};
