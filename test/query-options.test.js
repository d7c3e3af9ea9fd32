'use strict';

const assert = require('node:assert/strict');
const { checkOptions, NO_OPTIONS, NO_VALUES } = require('../lib/query-options');

describe('Options of a query', () => {
  it('may be absent, or what they are meant to be', () => {
    for (const options of [
      NO_OPTIONS, { format: 0 }, { format: 1 }, { paramTypes: [] }, { paramTypes: [0, 23, 4294967295] },
      { decode: true }, { decode: false }, { decode: {} }, { decode: new Map([[23, Number]]) }, { decode: { 23: [undefined, Number] } }
    ]) assert.doesNotThrow(() => checkOptions(options), JSON.stringify(options));
  });

  it('are refused by their name where they are anything else', () => {
    for (const [name, values] of Object.entries({
      format: [2, -1, '0', null, true, NaN],
      paramTypes: [23, null, '23', [-1], [1.5], ['23'], [4294967296], [null], new Array(65536).fill(0)],
      decode: [null, 1, 'true', { 23: 'number' }, { 23: [1] }, new Map([[23, null]])]
    })) {
      for (const value of values) {
        assert.throws(() => checkOptions({ [name]: value }), error => error instanceof TypeError && error.message.startsWith(name));
      }
    }
  });

  it('have defaults that nobody can change', () => {
    assert.ok(Object.isFrozen(NO_OPTIONS) && Object.isFrozen(NO_VALUES));
  });
});
