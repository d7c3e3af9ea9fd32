'use strict';

// What `npm test` runs: all tests but those in *.slow.test.js, with a worker more than there are cores, since many tests wait for a time.

const { availableParallelism } = require('node:os');

module.exports = {
  jobs: availableParallelism() + 1,
  spec: ['test/*/*.test.js', 'test/core/*/*.test.js'],
  ignore: ['test/**/*.slow.test.js']
};
