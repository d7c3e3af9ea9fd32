'use strict';

const assert = require('node:assert/strict');
const { negotiate } = require('../../lib/http/negotiate');

describe('negotiate', () => {
  for (const [header, expected] of [
    [undefined, undefined], ['', undefined], ['identity', undefined], ['gzip', 'gzip'], ['x-gzip', 'gzip'],
    ['gzip, deflate, br', 'br'], ['gzip, deflate, br, zstd', 'br'], ['GZIP;Q=0.5, deflate', 'deflate'],
    ['br;q=0, gzip;q=0.1', 'gzip'], ['br;q=x', undefined], ['*', 'br'], ['*;q=0.5, br;q=0', 'gzip'],
    ['gzip;q=0.5, identity;q=1', undefined], ['identity;q=0.5, gzip;q=0.8', 'gzip'], ['zstd', undefined]
  ]) {
    it(`answers ${expected} to ${header}`, () => assert.equal(negotiate(header), expected));
  }
});
