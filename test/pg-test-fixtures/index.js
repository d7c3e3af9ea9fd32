'use strict';

const { findBinaries, SERVER_VERSION } = require('./binaries.js');
const { findBrowser, launchBrowser } = require('./browser.js');
const { makeCertificates } = require('./certificates.js');
const { have, skipUnless, skipBefore } = require('./have.js');
const { startHole } = require('./hole.js');
const { startNginx } = require('./nginx.js');
const { startPgBouncer } = require('./pgbouncer.js');
const { freePort } = require('./ports.js');
const { startProxy } = require('./proxy.js');
const { SAMPLE_ID } = require('./sample.js');
const { startServer } = require('./server.js');
const { startStandby } = require('./standby.js');
const { byToken } = require('./validator.js');
const { startWebsockify } = require('./websockify.js');

module.exports = {
  startServer,
  startStandby,
  startProxy,
  startHole,
  startPgBouncer,
  startWebsockify,
  startNginx,
  makeCertificates,
  byToken,
  findBinaries,
  findBrowser,
  launchBrowser,
  have,
  skipUnless,
  skipBefore,
  SERVER_VERSION,
  freePort,
  SAMPLE_ID
};
