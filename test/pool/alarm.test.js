'use strict';

const assert = require('node:assert/strict');
const { setImmediate: turn } = require('node:timers/promises');
const { Alarm } = require('../../lib/pool/alarm');
const { heldTimers } = require('./pools');

describe('The alarm of a pool', () => {
  it('is one timer to the earliest deadline, which does not keep the program alive', () => {
    const set = heldTimers();
    const alarm = new Alarm(() => {});
    alarm.setTo(Infinity);
    assert.equal(set.length, 0);
    const now = performance.now();
    for (const time of [50000, 70000, 20000, 30000]) alarm.setTo(now + time);
    assert.deepEqual(
      set.map(({ delay, isUnreferenced }) => [Math.ceil(delay / 10000), isUnreferenced]),
      [[2, true]]
    );
    alarm.stop();
    assert.equal(set.length, 0);
    alarm.setTo(now + 30000);
    assert.equal(set.length, 1, 'it may be set again, to a later one too');
  });

  it('tells of its deadline as the time if the clock does not show it, as with mocked timers', async () => {
    const set = heldTimers();
    const rung = [];
    const alarm = new Alarm(now => rung.push(now));
    for (const due of [1e9, 0]) {
      alarm.setTo(due);
      set.pop().callback();
      await turn();
    }
    assert.equal(rung[0], 1e9);
    assert.ok(rung[1] > 0);
  });

  it('is set by the clock, not by the time of a timer that fired early, so that it does not fire ever more often', async () => {
    const set = heldTimers();
    const alarm = new Alarm(now => alarm.setTo(now + 10000));
    alarm.setTo(performance.now() + 10000);
    set.pop().callback(); // 10 seconds early
    await turn();
    assert.ok(set[0].delay > 15000);
  });

  it('is set to 0 ms for a deadline in the past, since Node warns of a negative time', () => {
    const set = heldTimers();
    new Alarm(() => {}).setTo(0);
    assert.equal(set[0].delay, 0);
  });
});
