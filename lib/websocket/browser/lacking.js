'use strict';

const { stream: { Writable: noStream }, tls: { connect: noTls }, fs: { readFileSync: noFile } } = require('./platform');

/** In the place of each file that lib/ requires by `#node/`: it needs what no browser has, and says so when it is used. */
module.exports = {
  CopyFrom: noStream, CopyTo: noStream, StreamReceiver: noStream, Target: noStream, Values: noStream,
  messages: noStream, queryTo: noStream, turnOf: noStream,
  endPoint: noTls, tlsOptions: noTls,
  homeFile: () => '', lookupPassword() {}, readService: noFile
};
