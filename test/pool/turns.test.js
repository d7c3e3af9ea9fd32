'use strict';

const assert = require('node:assert/strict');
const { setTimeout: sleep } = require('node:timers/promises');
const { Turns, idleTime } = require('../../lib/pool/turns');

/** Keeps the event loop busy. */
function block(time) {
  for (const end = performance.now() + time; performance.now() < end;);
}

/** Measures from now on, while `work` runs. @returns {Promise<number[]>} what is told, and what the clock tells */
async function measured(work) {
  const turns = new Turns();
  let isNeeded = true;
  turns.count(() => isNeeded);
  const [from, idle] = [performance.now(), idleTime()];
  await work();
  const now = performance.now();
  isNeeded = false;
  return [turns.since(from, idle, now), now - from];
}

describe('The turns of the event loop', () => {
  it('tell the time for which the loop has waited', async () => {
    const [told, took] = await measured(() => sleep(30));
    assert.ok(told > 20 && told <= took, `${told} of ${took}`);
  });

  it('do not tell the time in which the program was busy, and could not read', async () => {
    const [told, took] = await measured(async () => {
      await sleep(5);
      block(50);
      await new Promise(setImmediate);
    });
    assert.ok(took > 50 && told < took - 45, `${told} of ${took}`);
  });

  it('tell the time of turns that found nothing, even if the program is always busy', async () => {
    const [told, took] = await measured(async () => {
      for (let i = 0; i < 30; i++) {
        block(2);
        await new Promise(setImmediate);
      }
    });
    assert.ok(told > took / 2, `${told} of ${took}`);
  });

  it('are not counted when they are not needed any more', async () => {
    const turns = new Turns();
    let asked = 0;
    turns.count(() => ++asked < 3);
    turns.count(() => assert.fail());
    for (let i = 0; i < 10; i++) await new Promise(setImmediate);
    assert.equal(asked, 3);
  });
});
