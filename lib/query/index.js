'use strict';

/* The pipeline of one connection and its requests. What a plain query does not need is loaded late. */

const { Pipeline } = require('./pipeline');
const { again, callerOf, isFollowed, promised, rejectAgain, showCaller, unhindered } = require('./failure');
const { QueryRequest, Request, outcome } = require('./request');
const { waitsForItself } = require('./inside');
const { CloseRequest } = require('./sync');
const { LongTexts } = require('./long-texts');
const { Scope } = require('./scope');
const { copyDirection, firstWord } = require('./sql');
const abort = require('./abort');
const options = require('./options');

let batch, transaction; // a repeated require costs a microsecond, as much as a query of a batch

module.exports = {
  Pipeline, QueryRequest, Request, CloseRequest, LongTexts, Scope, again, callerOf, isFollowed, outcome, promised, rejectAgain,
  showCaller, unhindered, waitsForItself, copyDirection, firstWord, ...abort, ...options,
  get BatchRequest() { return (batch ??= require('./batch')).BatchRequest; },
  get Cursor() { return require('./cursor').Cursor; },
  get Portal() { return require('./portal').Portal; },
  get SimpleQueryRequest() { return require('./simple-query').SimpleQueryRequest; },
  get Channels() { return require('./listen').Channels; },
  get Listener() { return require('./listen').Listener; },
  get channelsOf() { return require('./listen').channelsOf; },
  get checkChannel() { return require('./listen').checkChannel; },
  get transaction() { return (transaction ??= require('./transaction')).transaction; }
};
