'use strict';

const assert = require('node:assert/strict');
const { setImmediate: later } = require('node:timers/promises');
const { turns } = require('../../lib/live/turns');

describe('Turns', () => {
  it('let so many results be asked for at once, the others in their order, and none that waits twice', async () => {
    const turn = turns(2);
    const asked = [];
    const resultOf = name => ({
      ask: () =>
        new Promise(end => {
          asked.push({ name, end });
        })
    });
    const names = () => asked.map(({ name }) => name).join('');
    const results = ['a', 'b', 'c', 'd'].map(resultOf);
    for (const each of [...results, results[3], results[2]]) turn(each);
    assert.equal(names(), 'ab');
    asked[1].end();
    await later();
    assert.equal(names(), 'abc');
    asked[0].end();
    await later();
    assert.equal(names(), 'abcd');
    turn(resultOf('e'));
    assert.equal(names(), 'abcd');
    for (const { end } of asked) end();
    await later();
    turn(resultOf('f'));
    turn(resultOf('g'));
    assert.equal(names(), 'abcdef');
  });
});
