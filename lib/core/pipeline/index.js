'use strict';

// When a request is sent, and who takes its answer.

const { Pipeline } = require('./pipeline');
const {
  again,
  callerOf,
  isFollowed,
  isStale,
  miscounted,
  promised,
  reasonOf,
  rejectAgain,
  showCaller,
  unhindered
} = require('./errors');
const { Request, outcome } = require('./request');
const { DROPPED, QueryRequest } = require('./query');
const { leftInside, runInside, waitsForItself } = require('./inside');
const { EndRequest } = require('./block');
const { CloseRequest, ping } = require('./close');
const { Phase, Scope } = require('./scope');
const { channel, debug, trace, traceAbove } = require('./tracing');
const { needOf, own, send } = require('./lease');
const cancel = require('./cancel');
const limits = require('./limits');
const sql = require('./sql');

module.exports = {
  Pipeline,
  Request,
  CloseRequest,
  EndRequest,
  DROPPED,
  Phase,
  QueryRequest,
  Scope,
  again,
  callerOf,
  isFollowed,
  isStale,
  miscounted,
  needOf,
  outcome,
  own,
  ping,
  promised,
  reasonOf,
  leftInside,
  rejectAgain,
  runInside,
  send,
  showCaller,
  unhindered,
  waitsForItself,
  channel,
  debug,
  trace,
  traceAbove,
  ...sql,
  ...cancel,
  ...limits
};
