'use strict';

const assert = require('node:assert/strict');
const { late, loadAll } = require('../../lib/core/late');

describe('What is loaded late', () => {
  it('is loaded by the first use, and no more by later ones', () => {
    let count = 0;
    const later = late({ thing: () => ({ count: ++count }) });
    assert.equal(count, 0);
    assert.deepEqual([later.thing, later.thing], [{ count: 1 }, { count: 1 }]);
  });

  it('is all loaded at once by loadAll, with what that loads late in its turn', () => {
    const loaded = [];
    late({ a: () => late({ b: () => loaded.push('b') }), c: () => loaded.push('c') });
    loadAll();
    assert.deepEqual(loaded, ['c', 'b']);
  });
});
