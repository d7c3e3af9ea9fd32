'use strict';

const assert = require('node:assert/strict');
const { Waiting } = require('../../lib/pool/waiting');

const use = (kind, since) => ({ kind, since });

describe('The requests that wait for a connection of a pool', () => {
  it('are counted, and leave when they are rejected', async () => {
    const waiting = new Waiting();
    assert.equal(waiting.since, Infinity);
    const one = use('owner', 5);
    const [waits] = [waiting.add(one), waiting.add(use('owner', 7)), waiting.add(use('query', 6))];
    assert.deepEqual([waiting.size, waiting.since], [3, 5]);
    one.reject(new Error('too late'));
    await assert.rejects(waits, /too late/);
    assert.equal(waiting.since, 6);
  });

  it('are served in order, the queue first whose head has waited longest, until there is nothing for one', async () => {
    for (const [first, second] of [
      ['query', 'owner'],
      ['owner', 'query']
    ]) {
      const waiting = new Waiting();
      const all = [use(second, 3), use(first, 1), use(first, 4), use(second, 2), use(first, 5)];
      const promises = all.map(each => waiting.add(each));
      const asked = [];
      waiting.serve(each => {
        asked.push(each.since);
        return each.since < 4 ? { of: each } : undefined;
      });
      assert.deepEqual(asked, [1, 4, 3, 2]);
      assert.deepEqual(
        await Promise.all([0, 1, 3].map(i => promises[i])),
        [0, 1, 3].map(i => ({ of: all[i] }))
      );
      assert.equal(waiting.size, 2, 'who is served waits no longer');
    }
  });

  it('wait no longer when there is an error for them', async () => {
    const waiting = new Waiting();
    const [old] = [waiting.add(use('query', 1)), waiting.add(use('query', 9)), waiting.add(use('owner', 9))];
    waiting.reject(({ since }) => (since < 5 ? new Error('too late') : undefined));
    await assert.rejects(old, /too late/);
    assert.equal(waiting.size, 2);
  });
});
