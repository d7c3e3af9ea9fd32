'use strict';

// Results into Writables: protocol bytes, values, or JSON.

const { receiverFor, untilTaken } = require('./packets');
const { queryTo, turnOf } = require('./query-to');
const { StreamReceiver } = require('./receiver');
const { Target } = require('./target');
const { Values } = require('./values');

module.exports = {
  StreamReceiver, Target, Values, queryTo, receiverFor, turnOf, untilTaken,
  get CopyFrom() { return require('./copy-from').CopyFrom; },
  get CopyTo() { return require('./copy-to').CopyTo; }
};
