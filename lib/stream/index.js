'use strict';

// Results straight into Writables: protocol bytes, or the values alone. What needs Node's streams is not in a browser.

const { receiverFor, untilTaken } = require('./packets');

module.exports = {
  receiverFor, untilTaken,
  get StreamReceiver() { return require('./receiver').StreamReceiver; },
  get Target() { return require('./target').Target; },
  get Values() { return require('./values').Values; },
  get queryTo() { return require('./query-to').queryTo; },
  get turnOf() { return require('./query-to').turnOf; }
};
