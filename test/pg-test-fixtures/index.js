'use strict';

module.exports = {
  ...require('./server.js'),
  ...require('./have.js'),
  ...require('./binaries.js'),
};
