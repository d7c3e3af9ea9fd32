'use strict';

// Results into Writables: protocol bytes, values, or JSON.

const { receiverFor } = require('./packets');
const { queryInto, queryTo, untilTaken } = require('./query-to');
const { Target } = require('./target');
const { Values } = require('./values');

module.exports = {
  Target,
  Values,
  queryInto,
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
