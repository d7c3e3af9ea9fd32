'use strict';

const assert = require('node:assert/strict');
const { setTimeout: sleep } = require('node:timers/promises');
const { Schedule } = require('../../lib/live/schedule');

const result = () => ({ asked: -Infinity, isAsked: false });

describe('A schedule', () => {
  it('asks at once, for at most so many at a time, in their order', async () => {
    const asked = [];
    const schedule = new Schedule({ interval: 10, concurrency: 2 }, each => new Promise(resolve => asked.push({ each, resolve })));
    const results = [result(), result(), result(), result()];
    for (const each of results) schedule.add(each);
    schedule.add(results[3]);
    schedule.remove(results[2]);
    assert.deepEqual(asked.map(({ each }) => each), results.slice(0, 2));
    asked[1].resolve();
    await sleep(0);
    assert.deepEqual(asked.map(({ each }) => each), [...results.slice(0, 2), results[3]]);
    for (const { resolve } of asked) resolve();
    await sleep(0);
    assert.equal(asked.length, 3);
  });

  it('waits for the interval, and not for one that is asked or was removed', async () => {
    const asked = [];
    const schedule = new Schedule({ interval: 30, concurrency: 1 }, async each => asked.push(each));
    const [soon, gone, busy] = [result(), result(), { ...result(), isAsked: true }];
    soon.asked = gone.asked = performance.now();
    for (const each of [soon, soon, gone, busy]) schedule.add(each);
    schedule.remove(gone);
    assert.deepEqual(asked, []);
    await sleep(60);
    assert.deepEqual(asked, [soon]);
    schedule.add(gone, 1);
    assert.equal(asked.length, 1);
    await sleep(60);
    assert.equal(asked.length, 2);
  });
});
