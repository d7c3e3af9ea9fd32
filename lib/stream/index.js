'use strict';

// Results straight into Writables: protocol bytes, or the values alone. What needs Node's streams is not in a browser.

const { receiverFor, untilTaken } = require('./packets');

module.exports = {
  receiverFor, untilTaken,
  get StreamReceiver() { return require('#node/stream/receiver').StreamReceiver; },
  get Target() { return require('#node/stream/target').Target; },
  get Values() { return require('#node/stream/values').Values; },
  get queryTo() { return require('#node/stream/query-to').queryTo; },
  get turnOf() { return require('#node/stream/query-to').turnOf; }
};
