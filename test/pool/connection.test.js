'use strict';

const assert = require('node:assert/strict');
const { Connection } = require('../../lib/pool/connection');
const { KnownTexts } = require('../../lib/pool/known-texts');
const { sharedServer } = require('../support');
const { endAfterTest } = require('../support/hooks');

/** A request's use of a connection. */
const use = (isLimited = false, known = undefined) => ({ isAnswered: true, isLimited, isLate: false, isSuspected: false, next: null, previous: null, since: 0, known });

/** A connection that is open and shared. */
async function connection() {
  const { config } = await sharedServer();
  const made = new Connection(config, Infinity);
  endAfterTest(made.client);
  await made.client.connect();
  made.end({ ...use(), since: made.since }, performance.now());
  made.state = 'shared';
  return made;
}

describe('A connection of a pool', () => {
  it('is unused when nothing is under way on it, and no cursor was left open', async () => {
    const it = await connection();
    assert.deepEqual([it.isUnused, it.isIdle, it.isOpening, it.isOwned], [true, true, false, false]);
    const asked = it.client.query('SELECT 1');
    assert.equal(it.isUnused, false);
    await asked;
    const cursor = it.client.cursor('SELECT generate_series(1, 9)', [], { batchSize: 1 });
    await cursor.next();
    assert.equal(it.isUnused, false);
    await cursor.return();
    assert.equal(it.isUnused, true);
  });

  it('is likely to let a request wait the longer, the longer its oldest one runs, and the more there are', async () => {
    const it = await connection();
    const after = (time, isLimited = false, mayFollow = true) => it.waitAt(it.since + time, isLimited, mayFollow);
    assert.equal(after(0), -1);
    const uses = [use(), use()];
    it.begin(uses[0], it.since);
    const one = after(100);
    it.begin(uses[1], it.since);
    assert.ok(one >= 100 && after(100) > one && after(200) > after(100));
    assert.ok(after(100, true) > after(100), 'one with a limit rather goes where all have one');
    for (const each of uses) it.end(each, it.since);
    it.begin(use(true), it.since);
    assert.ok(after(100, true) < 200);
    assert.equal(after(100, false, false), Infinity);
  });

  it('knows when the answer of its oldest request is late: after 10 ms and two round trips', async () => {
    const it = await connection();
    assert.ok(it.roundTrip < 1000);
    assert.equal(it.lateAt, Infinity);
    const knownTexts = new KnownTexts();
    const [first, middle, last] = ['a', 'b', 'c'].map(text => use(false, knownTexts.of(text)));
    for (const [i, each] of [first, middle, last].entries()) it.begin(each, 1000 + i);
    it.roundTrip = 100;
    assert.equal(it.lateAt, 1000 + 10 + 200);
    first.isLate = first.isSuspected = true;
    assert.deepEqual([it.waitAt(1000, false, true), it.lateAt, it.isTaken], [Infinity, Infinity, true]);
    it.end({ ...middle, isAnswered: false }, 1001); // it was given up
    assert.equal(it.roundTrip, 100);
    assert.equal(it.first, first);
    it.end(first, 1050);
    assert.deepEqual([it.first, it.isLate, it.roundTrip, it.lateAt], [last, false, 50, 1050 + 10 + 100]);
  });

  it('forgets what is over, also behind a request that lasts', async () => {
    const it = await connection();
    const [lasting, behind, another] = [use(), use(), use()];
    for (const each of [lasting, behind, another]) it.begin(each, it.since);
    it.end(behind, it.since);
    assert.deepEqual([lasting.next === another, another.previous === lasting, behind.next], [true, true, null]);
    it.end(another, it.since);
    assert.deepEqual([it.first === lasting, it.last === lasting, lasting.next], [true, true, null]);
    it.end(lasting, it.since);
    assert.deepEqual([it.first, it.last], [null, null]);
  });

  it('gets nothing new on which a request was given up, until it says something', async () => {
    const it = await connection();
    await assert.rejects(it.client.query('SELECT pg_sleep(9)', [], { statement_timeout: 20 }), { code: '57014' });
    assert.equal(it.waitAt(0, true, true), Infinity);
    await it.client.sync();
    assert.equal(it.waitAt(0, true, true), -1);
  });

  it('is restored: no block is open, and settings are reset, behind which others go on at once', async () => {
    const it = await connection();
    await it.client.query('SET search_path TO elsewhere');
    await it.client.query('BEGIN');
    await it.restore(true, true);
    assert.deepEqual([it.client.transactionStatus, it.resetting, it.isUnused], ['I', true, true]);
    assert.equal((await it.client.query('SHOW search_path')).rows[0].search_path, '"$user", public');
    assert.equal(it.resetting, false);
  });
});
