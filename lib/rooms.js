'use strict';

/** A room that a plain query does not come through: it is loaded when it is first entered. */
function room(name, load) {
  Object.defineProperty(exports, name, {
    get() {
      const value = load();
      Object.defineProperty(exports, name, { value });
      return value;
    },
    configurable: true,
    enumerable: true
  });
}

room('abort', () => require('./query/abort'));
room('batch', () => require('./query/batch'));
room('cachedQuery', () => require('./cache/cached-query'));
room('config', () => require('./config'));
room('connect', () => require('./connection'));
room('copyIn', () => require('./copy/copy-in'));
room('copyStream', () => require('./copy/copy-stream'));
room('cursor', () => require('./query/cursor'));
room('http', () => require('./http/http'));
room('listen', () => require('./query/listen'));
room('passThrough', () => require('./stream/pass-through'));
room('portal', () => require('./query/portal'));
room('queryTo', () => require('./stream/query-to'));
room('replication', () => require('./replication/replication'));
room('simpleQuery', () => require('./query/simple-query'));
room('sink', () => require('./stream/target'));
room('streamedQuery', () => require('./query/streamed-query'));
room('transaction', () => require('./query/transaction'));
