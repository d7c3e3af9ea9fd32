'use strict';

const { findBinaries } = require('./binaries.js');
const { makeCertificates } = require('./certificates.js');
const { have, skipUnless } = require('./have.js');
const { freePort } = require('./ports.js');
const { startProxy } = require('./proxy.js');
const { SAMPLE_ID } = require('./sample.js');
const { startServer } = require('./server.js');

module.exports = {
  startServer, startProxy, makeCertificates, findBinaries, freePort, have, skipUnless, SAMPLE_ID,
};
