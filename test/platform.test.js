'use strict';

const assert = require('node:assert/strict');
const { imports } = require('../package.json');
const platform = require('../lib/platform');

describe('The platform', () => {
  it('is what the package says of this runtime, and of others', () => {
    assert.equal(platform, require('../lib/node'));
    const node = './lib/node.js';
    assert.deepEqual(imports, {
      '#platform': { node, workerd: node, browser: './lib/websocket/browser/platform.js', default: node },
      '#node/*': { node: './lib/*.js', workerd: './lib/*.js', browser: './lib/websocket/browser/lacking.js', default: './lib/*.js' }
    });
  });
});
