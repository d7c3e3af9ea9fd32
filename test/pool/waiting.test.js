'use strict';

const assert = require('node:assert/strict');
const { Waiting } = require('../../lib/pool/waiting');

const use = (kind, since, known) => ({ kind, since, known });

describe('The requests that wait for a connection of a pool', () => {
  it('are counted by kind, and leave when they are rejected', async () => {
    const waiting = new Waiting();
    assert.equal(waiting.since('owner'), Infinity);
    const [one] = [waiting.add(use('owner', 5)), waiting.add(use('owner', 7)), waiting.add(use('quick', 6))];
    assert.deepEqual([waiting.size, waiting.since('owner'), waiting.why], [3, 5, { owner: 2, unproven: 0, quick: 1 }]);
    one.reject(new Error('too late'));
    await assert.rejects(one.promise, /too late/);
    assert.equal(waiting.since('owner'), 7);
  });

  it('are served in order, the queue first whose head has waited longest, until there is nothing for one', async () => {
    const waiting = new Waiting();
    const all = [use('quick', 3, 'quick'), use('unproven', 1), use('unproven', 4), use('owner', 2), use('owner', 5)];
    const promises = all.map(each => waiting.add(each).promise);
    const asked = [];
    waiting.serve(each => {
      asked.push(each.since);
      return each.since < 4 ? { of: each } : undefined;
    }, known => known ?? 'unproven');
    assert.deepEqual(asked, [1, 4, 2, 5, 3]);
    assert.deepEqual(await Promise.all([0, 1, 3].map(i => promises[i])), [0, 1, 3].map(i => ({ of: all[i] })));
  });

  it('change their queue if their text is known by now, and there is no connection', async () => {
    const waiting = new Waiting();
    const [first, second] = [use('unproven', 1, 'a'), use('unproven', 2, 'b')];
    const { promise } = waiting.add(first);
    waiting.add(second);
    waiting.serve(() => undefined, () => 'quick');
    assert.deepEqual(waiting.why, { owner: 0, unproven: 0, quick: 2 });
    waiting.serve(each => ({ of: each.known }), () => 'quick');
    assert.deepEqual([await promise, waiting.size], [{ of: 'a' }, 0]);
  });
});
