'use strict';

/*
 * The pipeline of one connection and the requests that go through it. What a plain query does not need is loaded
 * when it is needed.
 */

const { Pipeline } = require('./pipeline');
const { again, callerOf, rethrow, showCaller } = require('./failure');
const { QueryRequest, Request } = require('./request');
const { CloseRequest, SyncRequest } = require('./sync');
const { Scope } = require('./scope');
const { copyDirection } = require('./sql');
const options = require('./options');

/** The property of a session that holds its scope, for the capabilities that make requests of their own. */
const SCOPE = Symbol('scope');

module.exports = {
  Pipeline, QueryRequest, Request, CloseRequest, SyncRequest, Scope, SCOPE, again, callerOf, rethrow, showCaller, copyDirection,
  ...options,
  get BatchRequest() { return require('./batch').BatchRequest; },
  get batched() { return require('./batch').batched; },
  get Cursor() { return require('./cursor').Cursor; },
  get Portal() { return require('./portal').Portal; },
  get SimpleQueryRequest() { return require('./simple-query').SimpleQueryRequest; },
  get abort() { return require('./abort').abort; },
  get checkLimits() { return require('./abort').checkLimits; },
  get Listener() { return require('./listen').Listener; },
  get submit() { return require('./abort').submit; },
  get transaction() { return require('./transaction').transaction; },
  get watchLimits() { return require('./abort').watchLimits; },
  get watchSignal() { return require('./abort').watchSignal; }
};
