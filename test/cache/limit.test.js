'use strict';

const assert = require('node:assert/strict');
const { getEventListeners } = require('node:events');
const { setImmediate: turn, setTimeout: sleep } = require('node:timers/promises');
const { startProxy } = require('pg-test-fixtures');
const { LEASE } = require('../../lib/core/internal');
const { ResponseCache } = require('../../lib/cache');
const { Asking } = require('../../lib/cache/asking');
const { limitOf } = require('../../lib/cache/limit');
const { Pool } = require('../../lib/pool');
const { AbortError, TimeoutError } = require('../..');
const { held, sharedServer } = require('../support');
const { afterTest, endAfterTest } = require('../support/hooks');

const never = new Promise(() => {});

describe('limitOf', () => {
  it('lets what is awaited settle', async () => {
    const limit = limitOf({ signal: new AbortController().signal, statement_timeout: 60000 });
    assert.equal(await limit.race(5), 5);
    await assert.rejects(limit.race(Promise.reject(new Error('own'))), /own/);
    limit.release();
  });

  it('rejects with an AbortError when the signal aborts, before or during', async () => {
    const controller = new AbortController();
    const limit = limitOf({ signal: controller.signal });
    const waiting = limit.race(never);
    controller.abort('why');
    await assert.rejects(waiting, error => error instanceof AbortError && error.cause === 'why');
    assert.throws(() => limitOf({ signal: controller.signal }), AbortError);
  });

  it('rejects with a TimeoutError of code 57014 when the time is over', async () => {
    await assert.rejects(limitOf({ statement_timeout: 5 }).race(never), error => {
      assert.equal(error.message, 'the query took longer than its statement_timeout of 5 ms');
      return error instanceof TimeoutError && error.code === '57014';
    });
  });

  it('rejects with what it is given to fail with, and nothing is uncaught where nobody waits', async () => {
    limitOf({}).fail(new Error('nobody waits'));
    const limit = limitOf({});
    limit.fail(new Error('gone'));
    await new Promise(setImmediate);
    await assert.rejects(limit.race(never), /gone/);
  });

  it('leaves nothing behind on a signal, and has no warning of many', () => {
    const { signal } = new AbortController();
    const limits = Array.from({ length: 20 }, () => limitOf({ signal }));
    assert.ok(getEventListeners(signal, 'abort').length > 0);
    for (const limit of limits) limit.release();
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  });

  it('leaves no timer behind, and is not reached before its time', async () => {
    const timers = () => process.getActiveResourcesInfo().filter(each => each === 'Timeout').length;
    await new Promise(setImmediate); // the test's own is set
    const before = timers();
    const limit = limitOf({ statement_timeout: 60000 });
    assert.equal(timers(), before + 1);
    assert.equal(await limit.race(new Promise(resolve => setTimeout(resolve, 10, 'in time'))), 'in time');
    limit.release();
    await new Promise(setImmediate);
    assert.ok(timers() <= before, 'one of another test may have ended meanwhile');
  });
});

describe('A key of a ResponseCache', () => {
  it('is asked for again when a wait for it has timed out, so that a silent connection does not keep it', async () => {
    const proxy = await startProxy({ target: await sharedServer() });
    afterTest(() => proxy.stop());
    const pool = endAfterTest(new Pool({ ...(await sharedServer()).config, host: proxy.host, port: proxy.port }));
    pool[LEASE].policy.silence = 200;
    const cache = new ResponseCache(pool, { max_age: 3600 });
    const ask = () =>
      cache.query('SELECT 1 AS one', [], { statement_timeout: 100 }).then(
        ({ rows }) => rows.length,
        error => error.name
      );
    await cache.query('SELECT 1 AS one');
    cache.clear();
    for (const each of proxy.open) each.stall();
    const asked = [];
    // They overlap: there is always one that waits.
    for (let i = 0; i < 100; i++) {
      const one = { outcome: undefined };
      asked.push(one);
      ask().then(outcome => {
        one.outcome = outcome;
      });
      await sleep(30);
      if (asked.some(({ outcome }) => outcome === 1)) break;
    }
    assert.ok(
      asked.some(({ outcome }) => outcome === 1),
      JSON.stringify(asked)
    );
  });

  it('that the database does not answer is asked for a few times, not for each wait that has timed out', async () => {
    const { call, release } = await held();
    const pool = endAfterTest(new Pool((await sharedServer()).config));
    let now = 0;
    const cache = new ResponseCache(pool, { max_age: 3600, now: () => now });
    const text = `SELECT ${call}`;
    const waiting = [];
    for (; now < 30000; now += 250) {
      waiting.push(cache.query(text));
      await assert.rejects(cache.query(text, [], { statement_timeout: 5 }), { name: 'TimeoutError' });
    }
    const asked = await (await sharedServer()).sql(`SELECT 1 FROM pg_stat_activity WHERE query = '${text}'`);
    await release();
    await Promise.all(waiting);
    assert.equal(asked.length, 6);
  });

  it('is not asked for again because a reader has left, but after a time limit has ended a wait', async () => {
    const asking = new Asking(0);
    asking.join({ isLimited: false });
    const leaving = new AbortController();
    asking.join(limitOf({ signal: leaving.signal }));
    leaving.abort();
    await turn();
    assert.ok(asking.mayJoin(1, 1000));
    const limit = limitOf({ signal: AbortSignal.timeout(1) });
    asking.join(limit);
    await assert.rejects(limit.race(never));
    assert.ok(!asking.mayJoin(1, 1000));
  });

  it('that is asked for within limits is aborted with the last wait, and joined no more', async () => {
    const asking = new Asking(0).counted();
    const leaving = [new AbortController(), new AbortController()];
    for (const { signal } of leaving) asking.join(limitOf({ signal }));
    for (const controller of leaving) {
      assert.deepEqual([asking.limits.signal.aborted, asking.mayJoin(1, 1000)], [false, true]);
      controller.abort();
      await turn();
    }
    assert.deepEqual([asking.limits.signal.aborted, asking.mayJoin(1, 1000)], [true, false]);
    assert.ok(!new Asking(0).within(5).mayJoin(1, 1000), 'it has a time limit of its own');
  });
});
