'use strict';

const assert = require('node:assert/strict');
const { List } = require('../../lib/core/list');

describe('A list', () => {
  it('has its values in order, of which any is taken out once', () => {
    const list = new List();
    const [a, b, c] = ['a', 'b', 'c'].map(value => list.add(value));
    assert.equal(list.delete(b), true);
    assert.equal(list.delete(b), false);
    assert.deepEqual([list.values(), list.size, list.next.value], [['a', 'c'], 2, 'a']);
    list.add('d');
    assert.equal(list.shift(), 'a');
    assert.equal(list.delete(a), false);
    assert.deepEqual([list.values(), list.size], [['c', 'd'], 2]);
    assert.equal(list.delete(c), true);
    assert.equal(list.shift(), 'd');
    assert.deepEqual([list.values(), list.size, list.next.value], [[], 0, undefined]);
  });

  it('takes a value in front of another one, and as the first of none', () => {
    const list = new List();
    list.add('b', list.next);
    const c = list.add('c');
    list.add('a', list.next);
    list.add('b2', c);
    assert.deepEqual([list.values(), list.size], [['a', 'b', 'b2', 'c'], 4]);
  });
});
