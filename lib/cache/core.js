'use strict';

// What the cache uses of folders that have no door yet.

const { checkDecode, loadDecoders } = require('../rows/decode');
const { RowReader } = require('../rows/result');
const { RowParser } = require('../rows/row-parser');
const { checkNames } = require('../query/options');
const { queryToSink } = require('../stream/query-to');
const { Sink } = require('../stream/target');

/** @returns {Promise<RowReader>} `new RowReader({ decode })` */
function readerOf(decode) {
  checkDecode(decode);
  const reader = new RowReader();
  return decode ? loadDecoders(reader, decode, Promise.resolve(reader)) : Promise.resolve(reader);
}

/** `client.queryTo(target, …)` with a target that may be a Target. */
function queryTo(client, target, text, values, options) {
  if (!(target instanceof Sink)) return client.queryTo(target, text, values, options);
  return client._try(() => queryToSink(client, target, text, values, options));
}

module.exports = { RowParser, Target: Sink, checkNames, queryTo, readerOf };
