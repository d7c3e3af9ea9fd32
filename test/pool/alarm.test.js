'use strict';

const assert = require('node:assert/strict');
const { Alarm } = require('../../lib/pool/alarm');
const { heldTimers } = require('./pools');

describe('The alarm of a pool', () => {
  it('is one timer to the earliest deadline, which does not keep the program alive', () => {
    const set = heldTimers();
    const alarm = new Alarm(() => {});
    alarm.setTo(Infinity, 0);
    assert.equal(set.length, 0);
    for (const due of [500, 700, 200, 300]) alarm.setTo(due, 100);
    assert.deepEqual(set.map(({ delay, isUnreferenced }) => [delay, isUnreferenced]), [[100, true]]);
    alarm.stop();
    assert.equal(set.length, 0);
  });

  it('tells of its deadline as the time if the clock does not show it, as with mocked timers', () => {
    const set = heldTimers();
    const rung = [];
    const alarm = new Alarm(now => rung.push(now));
    alarm.setTo(1e9, 1e9 - 5);
    set.pop().callback();
    alarm.setTo(0, 0);
    set.pop().callback();
    assert.equal(rung[0], 1e9);
    assert.ok(rung[1] > 0);
  });

  it('is set to 0 ms for a deadline in the past, since Node warns of a negative time', () => {
    const set = heldTimers();
    new Alarm(() => {}).setTo(1, 2);
    assert.equal(set[0].delay, 0);
  });

  it('takes a deadline that is farther away than a timer can be set', () => {
    const set = heldTimers();
    new Alarm(() => {}).setTo(1e12, 0);
    assert.equal(set[0].delay, 2 ** 31 - 1);
  });
});
