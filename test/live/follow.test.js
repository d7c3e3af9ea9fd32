'use strict';

const assert = require('node:assert/strict');
const { follower } = require('../../lib/live/follow');
const { until } = require('./serving');

const begin = xid => ({ type: 'begin', xid });
const table = name => ({ name, oid: [...name].reduce((sum, letter) => 31 * sum + letter.charCodeAt(), 0) });
const insert = name => ({ type: 'insert', relation: table(name) });
const commit = { type: 'commit' };

/** A follower of a session whose snapshots are these, one after the other, or that fails. */
function following(...snapshots) {
  const tags = [];
  const doubts = [];
  const session = {
    asked: 0,
    async query() {
      session.asked++;
      const seen = snapshots.length > 1 ? snapshots.shift() : snapshots[0];
      if (seen instanceof Error) throw seen;
      return { rows: [{ seen, changed: null, name: null }] };
    }
  };
  return {
    tags,
    doubts,
    session,
    take: follower(session, tag => tags.push(tag), { doubt: () => doubts.push(tags.length) })
  };
}

describe('A follower', () => {
  it('takes payloads of notifications, strings, and what was missed', () => {
    const { tags, doubts, take } = following();
    for (const each of [
      'a',
      { channel: 'c', payload: 'b' },
      { channel: 'c', payload: '' },
      { payload: 'x', missed: true },
      { type: 'missed' }
    ])
      take(each);
    assert.deepEqual(tags, ['a', 'b', undefined, undefined, undefined]);
    assert.deepEqual(doubts, [4], 'the connection of changes was lost: that of the pool may be as well');
  });

  it('tells names of tables when their transaction is visible, once each', async () => {
    const { tags, session, take } = following('90:100:95', '90:101:95,100', '90:102:95', '101:102:');
    for (const each of [
      begin(100),
      insert('todos'),
      insert('todos'),
      { type: 'truncate', relations: [table('lists'), table('users')] },
      commit
    ])
      take(each);
    for (const each of [begin(95), insert('late'), commit]) take(each);
    assert.deepEqual(tags, []);
    await until(() => tags.length === 4);
    assert.deepEqual(tags, ['todos', 'lists', 'users', 'late']);
    assert.equal(session.asked, 4);
    for (const each of [begin(101), insert('next'), commit]) take(each);
    await until(() => tags.length === 5);
  });

  it('compares transaction ids beyond their wraparound', async () => {
    const wrapped = 2n ** 33n;
    const before = `8589934590:${wrapped + 7n}:${wrapped + 4n}`;
    const { tags, take } = following(before, before, `8589934590:${wrapped + 7n}:`);
    for (const xid of [4294967295, 3, 4, 6]) for (const each of [begin(xid), insert(`${xid}`), commit]) take(each);
    await until(() => tags.length === 4);
    assert.deepEqual(tags, ['4294967295', '3', '6', '4']);
  });

  it('tells that anything may have changed if it cannot ask', async () => {
    for (const [error, expected] of [
      [new Error('lost'), []],
      [Object.assign(new Error('late'), { name: 'TimeoutError' }), [0]] // the network may have gone dark
    ]) {
      const { tags, doubts, take } = following(error);
      for (const each of [begin(1), insert('a'), commit]) take(each);
      await until(() => tags.length > 0);
      assert.deepEqual([tags, doubts], [[undefined], expected]);
    }
  });
});
