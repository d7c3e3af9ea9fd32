'use strict';

const assert = require('node:assert/strict');
const { Held } = require('../../lib/live/held');
const { State } = require('../../lib/live/state');
const { dataRow, message, rowDescription } = require('../support');
const { messagesIn } = require('./serving');

const bodyOf = (rows, ...names) =>
  Buffer.concat([
    rowDescription(...(names.length > 0 ? names : ['a'])),
    ...rows.map(row => dataRow(...[row].flat())),
    message('s')
  ]);
const messages = piece => messagesIn(piece).list;

/** What a reader makes of the messages, beside the rows that it has. */
function applied(list, rows) {
  const result = [];
  for (const message of list) {
    const [type, , position, count] = message.split(' ');
    if (type === 'D') result.push(message.slice(2));
    if (type === 'A') result.push(...rows.slice(+position, +position + +count));
  }
  return result;
}

describe('A state', () => {
  it('is whole for a reader without one, and for one with other columns', () => {
    const first = new State(bodyOf(['x', null, '']));
    assert.deepEqual(messages(first.from()), ['T', 'D x', 'D ', 'D ', 's']);
    const next = new State(bodyOf(['x'], 'b'), first);
    assert.deepEqual(messages(next.from(first)), ['T', 'D x', 's']);
  });

  it('tells runs of rows by their positions in the state before', () => {
    const rows = Array.from({ length: 1000 }, (_, i) => `the row ${i}`);
    const first = new State(bodyOf(rows));
    const second = new State(bodyOf(rows.map((row, i) => (i === 500 ? 'new' : row))), first);
    assert.deepEqual(messages(second.from(first)), ['A copy 0 500', 'D new', 'A copy 501 499', 's']);
    assert.ok(second.from(first).length <= 150, `${second.from(first).length}`);
    const third = new State(bodyOf([...rows.slice(900), ...rows.slice(0, 100)]), second);
    assert.deepEqual(messages(third.from(second)), ['A copy 900 100', 'A copy 0 100', 's']);
    assert.deepEqual(messages(third.from(first)), ['A copy 900 100', 'A copy 0 100', 's']);
    const none = new State(bodyOf([]), third);
    assert.deepEqual(messages(none.from(third)), ['s']);
  });

  it('keeps runs of equal rows together', () => {
    const row = 'x'.repeat(200);
    const first = new State(bodyOf([row, row, row, 'y', row, row]));
    const second = new State(bodyOf([row, row, row, 'z', row, row]), first);
    assert.deepEqual(messages(second.from(first)), ['A copy 0 3', 'D z', 'A copy 4 2', 's']);
  });

  it('is made of any earlier state, with equal rows, rows that went and came, and all orders', () => {
    let seed = 7;
    const random = most => (seed = (seed * 1103515245 + 12345) % 2 ** 31) % most;
    const states = [];
    for (let i = 0; i < 300; i++) {
      const rows = Array.from({ length: random(30) }, () => `value ${random(20)}`.repeat(1 + random(9)));
      const state = new State(bodyOf(rows), states.at(-1)?.state);
      for (const before of states.slice(-20))
        assert.deepEqual(applied(messages(state.from(before.state)), before.rows), rows);
      assert.deepEqual(applied(messages(state.from()), []), rows);
      states.push({ state, rows });
    }
  });

  it('keeps the pieces for readers that have one of a few states, not for all that have different ones', () => {
    const states = [];
    for (let i = 0; i < 40; i++) states.push(new State(bodyOf([`${i}`]), states.at(-1)));
    const newest = states.pop();
    const first = newest.from(states[0]);
    for (const each of states.slice(0, 16)) assert.equal(newest.from(each), newest.from(each));
    assert.equal(newest.from(states[0]), first);
    for (const each of states) assert.deepEqual(messages(newest.from(each)), ['D 39', 's']);
    assert.notEqual(newest.from(states[0]), first);
  });

  it('keeps no row of a state that is no longer the newest', () => {
    const first = new State(bodyOf(['x']));
    assert.ok(first.bytes);
    const second = new State(bodyOf(['y']), first);
    assert.equal(first.bytes, undefined);
    assert.ok(second.bytes);
  });

  it('holds its bytes, 16 for each row, and the pieces for readers until it is forgotten', () => {
    const held = new Held();
    const [before, now] = [bodyOf(['x', 'y']), bodyOf(['x', 'z', 'y'])];
    const first = new State(before, undefined, held);
    assert.equal(held.bytes, before.length + 2 * 16);
    const second = new State(now, first, held);
    assert.equal(held.bytes, now.length + 3 * 16);
    second.from();
    const { length } = second.from(first);
    assert.equal(held.bytes, now.length + 3 * 16 + length);
    second.forget();
    assert.equal(held.bytes, 0);
  });
});
