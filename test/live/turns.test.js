'use strict';

const assert = require('node:assert/strict');
const { setImmediate: turn } = require('node:timers/promises');
const { Turns } = require('../../lib/live/turns');

describe('Turns', () => {
  it('let so many results be asked for at once, the others in their order, and none that waits twice', async () => {
    const turns = new Turns(2);
    const asked = [];
    const resultOf = name => ({ ask: () => new Promise(end => { asked.push({ name, end }); }) });
    const names = () => asked.map(({ name }) => name).join('');
    const results = ['a', 'b', 'c', 'd'].map(resultOf);
    for (const each of [...results, results[3], results[2]]) turns.add(each);
    assert.equal(names(), 'ab');
    asked[1].end();
    await turn();
    assert.equal(names(), 'abc');
    asked[0].end();
    await turn();
    assert.equal(names(), 'abcd');
    turns.add(resultOf('e'));
    assert.equal(names(), 'abcd');
    for (const { end } of asked) end();
    await turn();
    turns.add(resultOf('f'));
    turns.add(resultOf('g'));
    assert.equal(names(), 'abcdef');
  });
});
