'use strict';

const { adapter, noBatch } = require('./pg');

const NO_PORTALS = 'not in pipeline mode';

module.exports = {
  ...adapter('pg, pipeline: true', true),
  cannot: {
    ...noBatch,
    transactions: 'the same as pg',
    cursor: NO_PORTALS,
    'early-exit': NO_PORTALS,
    cancel: 'the same as pg',
    'pass-null': NO_PORTALS,
    'pass-file': NO_PORTALS,
    'pass-binary': NO_PORTALS,
    'copy-out': NO_PORTALS,
    'copy-out-csv': NO_PORTALS,
    'copy-out-binary': NO_PORTALS,
    'copy-out-iterated': NO_PORTALS,
    'copy-in': NO_PORTALS,
    'copy-in-rows': NO_PORTALS,
    require: 'the same as pg'
  }
};
