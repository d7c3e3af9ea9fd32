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

room('abort', () => require('./abort'));
room('batch', () => require('./batch'));
room('cachedQuery', () => require('./cached-query'));
room('config', () => require('./config'));
room('connect', () => require('./connect'));
room('copyIn', () => require('./copy-in'));
room('copyStream', () => require('./copy-stream'));
room('cursor', () => require('./cursor'));
room('http', () => require('./http'));
room('listen', () => require('./listen'));
room('passThrough', () => require('./pass-through'));
room('portal', () => require('./portal'));
room('queryTo', () => require('./query-to'));
room('replication', () => require('./replication'));
room('simpleQuery', () => require('./simple-query'));
room('sink', () => require('./sink'));
room('streamedQuery', () => require('./streamed-query'));
room('transaction', () => require('./transaction'));
