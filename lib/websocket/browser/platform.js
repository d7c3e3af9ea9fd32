'use strict';

const { Buffer } = require('./buffer');
const crypto = require('./crypto');
const events = require('./events');
const { isIP } = require('./address');

/*
 * What lib/ uses of Node.js, as far as a browser has the means for it. What it cannot do says so when it is
 * asked for: TCP and TLS of our own, files, Node's streams.
 */

/** @returns {Function} a function, or a class, that says that there is no such thing here */
const lacking = what => function () {
  const { UsageError } = require('../../protocol'); // which needs this platform itself
  throw new UsageError(`there ${what} on this platform`, '0A000');
};
const noTcp = lacking('is no TCP, but WebSockets (quickgres/websocket),');
const noTls = lacking('is no TLS but that of the WebSocket (wss:, with sslmode=disable)');
const noFile = lacking('are no files');
const noStream = lacking("are no streams of Node.js, which this needs,");
noStream.from = noStream;

/** The asynchronous context cannot be followed: a deadlock of the caller's own is not noticed. */
class AsyncLocalStorage {
  getStore() {}
  run(store, work) { return work(); }
}

module.exports = {
  isWorkerd: false,
  isDeno: false,
  Buffer,
  crypto,
  events,
  process: {
    env: {},
    platform: 'browser',
    nextTick: (work, ...args) => queueMicrotask(() => work(...args)),
    emitWarning: message => console.warn(message)
  },
  setImmediate: work => setTimeout(work),
  clearImmediate: timer => clearTimeout(timer),
  async_hooks: { AsyncLocalStorage },
  diagnostics_channel: {}, // nobody to tell of queries
  util: { promisify: asynchronous => asynchronous }, // of crypto.pbkdf2, which gives a promise here
  net: { connect: noTcp, isIP, isIPv4: text => isIP(text) === 4, isIPv6: text => isIP(text) === 6 },
  dns: { lookup: noTcp },
  tls: { connect: noTls, createSecureContext: noTls },
  fs: { existsSync: () => false, statSync: noFile, readFileSync: noFile },
  os: { homedir: () => '', userInfo: lacking('are no users') },
  path: { join: (...parts) => parts.join('/'), resolve: file => file },
  stream: {
    Duplex: noStream, Readable: noStream, Transform: noStream, Writable: noStream,
    finished: noStream, pipeline: noStream
  },
  http: { ServerResponse: noStream },
  zlib: { constants: {} }
};
