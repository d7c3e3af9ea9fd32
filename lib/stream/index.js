'use strict';

// Results straight into Writables: protocol bytes, or the values alone.

const { receiverFor, untilTaken, StreamReceiver } = require('./receiver');
const { Target } = require('./target');
const { Values } = require('./values');

module.exports = {
  receiverFor, untilTaken, StreamReceiver, Target, Values,
  get queryTo() { return require('./query-to').queryTo; },
  get turnOf() { return require('./query-to').turnOf; }
};
