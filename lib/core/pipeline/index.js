'use strict';

// When a request is sent, and who takes its answer.

module.exports = {
  ...require('./pipeline'),
  ...require('./errors'),
  ...require('./request'),
  ...require('./query'),
  ...require('./inside'),
  ...require('./block'),
  ...require('./close'),
  ...require('./scope'),
  ...require('./tracing'),
  ...require('./lease'),
  ...require('./cancel'),
  ...require('./limits'),
  ...require('./sql')
};
