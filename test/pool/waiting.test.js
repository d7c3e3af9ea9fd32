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

  it('may be asked, rejected and served by what gives one of them its connection', async () => {
    const waiting = new Waiting();
    const [first, second, third] = [use('query', 1), use('query', 2), use('query', 3)];
    const promises = [first, second].map(each => waiting.add(each));
    const asked = [];
    const find = each => {
      asked.push(each.since);
      if (each === first) {
        promises.push(waiting.add(third));
        first.reject(new Error('it has a connection'));
        second.reject(new Error('it has none'));
        waiting.serve(find);
      }
      return { of: each };
    };
    waiting.serve(find);
    assert.deepEqual(asked, [1, 3]);
    await assert.rejects(promises[1], /it has none/);
    assert.deepEqual(await Promise.all([promises[0], promises[2]]), [{ of: first }, { of: third }]);
    assert.equal(waiting.size, 0);
  });

  it('keep their place if there is no connection, and leave it later', async () => {
    const waiting = new Waiting();
    const all = [use('query', 1), use('query', 2)];
    const promises = all.map(each => waiting.add(each));
    waiting.serve(() => undefined);
    assert.deepEqual([waiting.size, waiting.since], [2, 1]);
    all[0].reject(new Error('too late'));
    await assert.rejects(promises[0], /too late/);
    waiting.serve(each => ({ of: each }));
    assert.deepEqual(await promises[1], { of: all[1] });
  });

  it('wait no longer when there is an error for them', async () => {
    const waiting = new Waiting();
    const [old] = [waiting.add(use('query', 1)), waiting.add(use('query', 9)), waiting.add(use('owner', 9))];
    waiting.reject(({ since }) => (since < 5 ? new Error('too late') : undefined));
    await assert.rejects(old, /too late/);
    assert.equal(waiting.size, 2);
  });
});
