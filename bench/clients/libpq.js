'use strict';

// What libpq.c is called and does; it is a program of its own.

const NO_OBJECTS = 'C has no objects';
const NO_STREAM = 'gives parsed rows only';

module.exports = {
  label: 'libpq (C)',
  cannot: {
    ...Object.fromEntries(
      ['select-hundred', 'insert-pipelined', 'session-reads', 'early-exit', 'cancel'].map(name => [name, 'not written'])
    ),
    ...Object.fromEntries(['csv', 'binary', 'iterated'].map(how => [`copy-out-${how}`, 'not written'])),
    'rows-arrays': NO_OBJECTS,
    'rows-binary': NO_OBJECTS,
    'pass-file': NO_STREAM,
    'pass-binary': NO_STREAM,
    ...Object.fromEntries(
      ['pass-one', 'pass-hundred', 'query-to-one'].flatMap(name => [
        [name, NO_STREAM],
        [`${name}-pipelined`, NO_STREAM]
      ])
    ),
    sessions: 'not written',
    transactions: 'not written',
    'rows-objects': NO_OBJECTS,
    'rows-objects-typed': NO_OBJECTS,
    'rows-objects-unicode': NO_OBJECTS,
    'rows-objects-typed-unicode': NO_OBJECTS,
    'rows-kept': NO_OBJECTS,
    'pass-null': NO_STREAM,
    cursor: 'no portals',
    require: NO_OBJECTS
  }
};
