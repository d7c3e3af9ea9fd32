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
room('config', () => require('./config/config'));
room('connect', () => require('./connection/connect'));
room('copyIn', () => require('./copy/copy-in'));
room('copyStream', () => require('./copy/copy-stream'));
room('cursor', () => require('./query/cursor'));
room('listen', () => require('./query/listen'));
room('passThrough', () => require('./stream/pass-through'));
room('portal', () => require('./query/portal'));
room('queryTo', () => require('./stream/query-to'));
room('simpleQuery', () => require('./query/simple-query'));
room('sink', () => require('./stream/target'));
room('streamedQuery', () => require('./query/streamed-query'));
room('transaction', () => require('./query/transaction'));
