'use strict';

// quickgres/workers: connections by cloudflare:sockets. See README.md.

const { ConnectionError } = require('../core/protocol');
const { socketBy } = require('./socket');

/** Bundlers leave this import to the runtime. */
const load = () => import('cloudflare:sockets').catch(cause => {
  throw new ConnectionError('quickgres/workers is for Cloudflare Workers, which have cloudflare:sockets', { code: '08001', cause });
});

module.exports = { socket: socketBy(load) };
