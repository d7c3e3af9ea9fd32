'use strict';

// As recipes/rolled-back.mjs says: what Jest cannot `require()` is transformed.

const path = require('node:path');

const root = path.join(__dirname, '../..');

module.exports = {
  rootDir: root,
  testMatch: ['**/*.jest.js'],
  transform: {
    '/client-parser/': [
      require.resolve('babel-jest'),
      { plugins: [require.resolve('@babel/plugin-transform-modules-commonjs')] }
    ]
  }
};
