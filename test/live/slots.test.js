'use strict';

const assert = require('node:assert/strict');
const { setImmediate: turn } = require('node:timers/promises');
const { slots } = require('../../lib/live/slots');

describe('Slots', () => {
  it('run so many functions at once, and the others in their order', async () => {
    const run = slots(2);
    const begun = [];
    const work = name => run(() => new Promise((resolve, reject) => begun.push({ name, resolve, reject })));
    const names = () => begun.map(({ name }) => name).join('');
    const all = ['a', 'b', 'c', 'd'].map(work);
    assert.equal(names(), 'ab');
    begun[1].resolve('done');
    await turn();
    assert.deepEqual([names(), await all[1]], ['abc', 'done']);
    begun[0].reject(new Error('no'));
    await assert.rejects(all[0], { message: 'no' });
    assert.equal(names(), 'abcd');
    const late = work('e');
    await turn();
    assert.equal(names(), 'abcd');
    for (const each of begun) each.resolve();
    await turn();
    for (const each of begun) each.resolve();
    await Promise.all([all[2], all[3], late]);
    assert.equal(names(), 'abcde');
    await run(async () => {});
  });
});
