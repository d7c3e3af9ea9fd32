'use strict';

// What libpq.c is called and does; it is a program of its own.

const NO_OBJECTS = 'C has no objects';
const NO_STREAM = 'gives parsed rows only';

module.exports = {
  label: 'libpq (C)',
  cannot: {
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
