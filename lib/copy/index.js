'use strict';

// COPY FROM STDIN and COPY TO STDOUT, as requests and as streams.

module.exports = {
  CopyInRequest: require('./copy-in').CopyInRequest,
  get CopyFrom() { return require('./copy-from').CopyFrom; },
  get CopyTo() { return require('./copy-to').CopyTo; }
};
