'use strict';

// What `npm test` runs: all tests but those in *.slow.test.js, with a worker for each core.

const { availableParallelism } = require('node:os');

module.exports = {
  jobs: availableParallelism(),
  spec: ['test/*/*.test.js', 'test/core/*/*.test.js'],
  ignore: ['test/**/*.slow.test.js']
};
