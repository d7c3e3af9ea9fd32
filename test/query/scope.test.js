'use strict';

const assert = require('node:assert/strict');
const { Scope } = require('../../lib/query/scope');

const entries = scope => {
  const list = [];
  while (scope.first !== null) list.push(scope.shift().name);
  return list;
};

describe('A scope', () => {
  it('gives what waits in it in its order', () => {
    const scope = new Scope(null, 'outer');
    for (const name of ['a', 'b', 'c']) scope.push({ name, next: null });
    assert.equal(scope.shift().name, 'a');
    scope.push(new Scope(scope, 'd'));
    assert.deepEqual(entries(scope), ['b', 'c', 'd']);
    assert.deepEqual([scope.first, scope.last], [null, null]);
    scope.push({ name: 'e', next: null });
    assert.deepEqual(entries(scope), ['e']);
  });

  it('lets one go before all others, also where nothing waits', () => {
    const scope = new Scope(null, 'outer');
    scope.unshift({ name: 'b', next: null });
    scope.push({ name: 'c', next: null });
    scope.unshift({ name: 'a', next: null });
    assert.deepEqual(entries(scope), ['a', 'b', 'c']);
  });

  it('does not lead from an entry that it gave to those behind it', () => {
    const scope = new Scope(null, 'outer');
    for (const name of ['a', 'b']) scope.push({ name, next: null });
    assert.equal(scope.shift().next, null);
  });

  it('has a place in the order in which scopes came', () => {
    const [first, second] = [new Scope(null, 'first'), new Scope(null, 'second')];
    assert.ok(first.order < second.order);
  });

  it('tells once that it is left', () => {
    const scope = new Scope(null, 'outer');
    let calls = 0;
    scope.onleave = () => { calls++; };
    assert.equal(scope.left, false);
    scope.end();
    assert.deepEqual([scope.left, calls], [true, 1]);
  });
});
