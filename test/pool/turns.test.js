'use strict';

const assert = require('node:assert/strict');
const timers = require('node:timers');
const { freshly } = require('./pools');

const TIMER = require.resolve('../../lib/core/timer');
const FILE = require.resolve('../../lib/pool/turns');

/** The turns of an event loop that the test turns. */
function loop(clock = { now: 1000, idle: 500 }) {
  const next = [];
  const performance = { now: () => clock.now, nodeTiming: 'idle' in clock ? {} : undefined };
  if ('idle' in clock) Object.defineProperty(performance.nodeTiming, 'idleTime', { get: () => clock.idle });
  const { setImmediate } = timers;
  timers.setImmediate = callback => {
    next.push(callback);
    return {};
  };
  const { Turns, idleTime } = freshly([TIMER, FILE], { performance })[FILE];
  timers.setImmediate = setImmediate;
  const turns = new Turns();
  const from = clock.now;
  const idle = idleTime();
  return {
    turns,
    wait(time) {
      clock.now += time;
      clock.idle += time;
    },
    work(time) {
      clock.now += time;
    },
    turn() {
      for (const callback of next.splice(0)) callback();
    },
    get told() {
      return turns.since(from, idle, clock.now);
    }
  };
}

describe('The turns of the event loop', () => {
  it('tell the time for which the loop has waited', () => {
    const it = loop();
    it.turns.count(() => true);
    it.wait(30);
    assert.equal(it.told, 30);
    it.turn();
    it.wait(5);
    assert.equal(it.told, 35);
  });

  it('do not tell the time in which the program was busy, and could not read', () => {
    const it = loop();
    it.turns.count(() => true);
    it.wait(5);
    it.work(50);
    it.turn(); // after which what came meanwhile is read
    assert.equal(it.told, 5);
  });

  it('tell the time of turns that found nothing, even if the program is always busy', () => {
    const it = loop();
    it.turns.count(() => true);
    for (let i = 0; i < 30; i++) {
      it.work(2);
      it.turn();
    }
    assert.equal(it.told, 58); // all but the last one
  });

  it('are not counted when they are not needed any more', () => {
    const it = loop();
    let asked = 0;
    it.turns.count(() => ++asked < 3);
    it.turns.count(() => assert.fail());
    for (let i = 0; i < 10; i++) it.turn();
    assert.equal(asked, 3);
  });

  it('tell the time of the clock in a runtime that does not tell how long the loop was idle', () => {
    const it = loop({ now: 1000 });
    it.turns.count(() => true);
    it.work(50);
    assert.equal(it.told, 50);
  });
});
