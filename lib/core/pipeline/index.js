'use strict';

// When a request is sent, and who takes its answer.

module.exports = {
  // Pipeline: which request is sent and answered next
  ...require('./pipeline'),
  // Flight, outcome
  ...require('./flight'),
  // QueryRequest, InternalQuery
  ...require('./query'),
  // SimpleRequest, SyncRequest, CloseRequest, ping
  ...require('./close'),
  /** See learn.js. */
  askFor: (...what) => require('./learn').askFor(...what),
  // EndRequest; what an answer says of blocks
  ...require('./block'),
  // Scope, Phase: who owns the connection
  ...require('./scope'),
  // send, sendSeveral, submitIn: how sessions use these
  ...require('./submit'),
  // throwIfAborted, watchLimits, watchSignal, watchStall, tooLong
  ...require('./limits'),
  // giveUp, giveUpAll, isFollowed, expectAnswer
  ...require('./give-up'),
  // runInside, waitsForItself
  ...require('./inside'),
  // again, callerOf, promised, unhindered, withQuery; hints
  ...require('./errors'),
  // channel, debug, trace…
  ...require('./tracing'),
  // copyDirection, firstWord, statementsOf, beginningOf
  ...require('./sql')
};
