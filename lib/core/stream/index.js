'use strict';

// Results into Writables: protocol bytes, values, or JSON.

const { receiverFor, untilTaken } = require('./packets');
const { queryTo } = require('./query-to');
const { StreamReceiver } = require('./receiver');
const { Target } = require('./target');
const { Values } = require('./values');

module.exports = {
  StreamReceiver,
  Target,
  Values,
  queryTo,
  receiverFor,
  untilTaken,
  get CopyFrom() {
    return require('./copy-from').CopyFrom;
  },
  get CopyTo() {
    return require('./copy-to').CopyTo;
  }
};
