'use strict';

const assert = require('node:assert/strict');
const { setTimeout: sleep } = require('node:timers/promises');
const { Connection, OWNED } = require('../../lib/pool/connection');
const { KnownTexts } = require('../../lib/pool/known-texts');
const { Turns } = require('../../lib/pool/turns');
const { sharedServer } = require('../support');
const { endAfterTest } = require('../support/hooks');

/** A request's use of a connection. */
const use = known => ({ known, isAnswered: true, since: 0, average: 0, variance: 0 });

/** What is known of a text whose executions take so long. */
function known(text, time) {
  const it = new KnownTexts().of(text);
  if (time !== undefined) it.answered(time);
  return it;
}

/** A connection that is open and shared. */
async function connection(options, more) {
  const { config } = await sharedServer();
  const made = new Connection({ ...config, ...more }, { max_lifetime: Infinity, size: 10, ...options }, new Turns());
  endAfterTest(made.client);
  await made.client.connect();
  made.opened();
  await made.client.sync();
  await made.restore();
  made.room = 0;
  return made;
}

describe('A connection of a pool', () => {
  it('is unused when nothing is under way on it, and no cursor was left open', async () => {
    const it = await connection();
    assert.deepEqual([it.isClear, it.isIdle, it.isOpening, it.isOwned], [true, true, false, false]);
    const asked = it.client.query('SELECT 1');
    assert.equal(it.isClear, false);
    await asked;
    const cursor = it.client.cursor('SELECT generate_series(1, 9)', [], { batchSize: 1 });
    await cursor.next();
    assert.equal(it.isClear, false);
    await cursor.return();
    assert.equal(it.isClear, true);
  });

  it('knows its round trip when it is open: a slow query does not count', async () => {
    const it = await connection();
    const { roundTrip } = it;
    assert.ok(roundTrip < Infinity);
    const slow = use();
    it.addUser(slow, performance.now() - 1000);
    it.removeUser(slow, performance.now());
    assert.equal(it.roundTrip, roundTrip);
  });

  it('asks for its round trip with its first query, but not if it is the only one, or if a request would wait for the answer', async () => {
    const asks = async (given = [], holds = 0) => {
      const it = await connection(...given);
      it.pipeline.holds += holds;
      it.addUser(use(known('SELECT 1', 1)), performance.now());
      it.pipeline.holds -= holds;
      return it.pipeline.head !== null;
    };
    assert.equal(await asks(), true);
    assert.equal(await asks([{ size: 1 }]), false);
    assert.equal(await asks([{}, { max_pipeline: 1 }]), false);
    assert.equal(await asks([], 1), false);
  });

  it('has a reader if what was sent of the result that holds it was not taken', async () => {
    const it = await connection();
    const { pipeline } = it;
    const receiver = { target: { unsent: 1 } };
    const readerOf = (holds, pending, unsent) => {
      receiver.target.unsent = unsent;
      it.pipeline = { holds, head: { pending, receiver } };
      return it.reader;
    };
    assert.equal(readerOf(1, true, 1), receiver);
    for (const [holds, pending, unsent] of [
      [0, true, 1], // others are sent behind it
      [1, false, 1], // it was given up
      [1, true, 0] // the server is slow, not the reader
    ])
      assert.ok(!readerOf(holds, pending, unsent), `${holds} ${pending} ${unsent}`);
    it.pipeline = pipeline;
  });

  it('sums up what its requests are expected to need, and counts those that may wait for a lock', async () => {
    const it = await connection();
    const [one, two, three] = [use(known('SELECT 1', 2)), use(known('UPDATE t', 3)), use(known('SELECT 1', 4))];
    for (const each of [one, two, three]) it.addUser(each, it.since);
    assert.deepEqual([it.expected, it.writes], [9, 1]);
    it.removeUser(two, it.since);
    assert.deepEqual([it.expected, it.writes], [6, 0]);
    it.removeUser(one, it.since);
    it.removeUser(three, it.since);
    assert.deepEqual([it.expected, it.users], [0, 0]);
  });

  it('expects of 100 requests ten times the difference of one: differences compensate each other', async () => {
    const it = await connection();
    const told = { isRead: true, average: 1, difference: 2, answered() {} };
    const all = Array.from({ length: 100 }, () => use(told));
    it.addUser(all[0], it.since);
    assert.equal(it.expected, 1 + 2 * 2);
    for (const each of all.slice(1)) it.addUser(each, it.since);
    assert.equal(it.expected, 100 + 10 * 2 * 2);
    for (const each of all.slice(1)) it.removeUser(each, it.since);
    assert.equal(it.expected, 1 + 2 * 2);
  });

  it('takes nothing behind a text that was never executed, nor when nothing was answered for 10 ms and two round trips', async () => {
    const it = await connection();
    const now = performance.now();
    assert.equal(it.mayTake(now), true);
    const first = use(known('SELECT 1'));
    it.addUser(first, now);
    assert.equal(it.mayTake(now), false);
    it.removeUser(first, now);
    it.roundTrip = 5;
    const [second, third] = [use(known('SELECT 1', 1)), use(known('SELECT 1', 1))];
    it.addUser(second, now);
    it.addUser(third, now + 15);
    assert.equal(it.mayTake(now + 19), true);
    await sleep(25);
    assert.equal(it.mayTake(performance.now()), false);
    it.removeUser(second, performance.now());
    assert.equal(it.mayTake(performance.now()), true);
  });

  it('tells a text the time that the server has needed, without the round trip and what was in front of it', async () => {
    const it = await connection();
    it.roundTrip = 10;
    const times = [];
    const told = { isRead: true, average: 0, difference: 0, answered: time => times.push(Math.round(time)) };
    it.turns = { since: (from, idle, now) => now - from };
    const [one, two, three, four] = [use(told), use(told), use(told), use(told)];
    it.addUser(one, 1000);
    it.addUser(two, 1001);
    it.addUser(three, 1002);
    it.removeUser(one, 1030);
    it.pipeline.reads++;
    it.removeUser(two, 1035);
    it.removeUser(three, 1036); // of the same read
    it.pipeline.reads++;
    it.addUser(four, 1050);
    it.removeUser(four, 1055); // sooner than ever
    assert.deepEqual([times, it.roundTrip], [[20, 5, 0, 0], 5]);
  });

  it('tells what holds it without literals, and nothing of those before', async () => {
    const it = await connection();
    await it.client.query("SELECT 'before'");
    it.state = 'owned';
    it.addUser(use(), 1000);
    assert.deepEqual(it.holderAt(1500), { owned: true, time: 500, text: undefined });
    await it.client.query("SELECT 'secret', $1::int", [5]);
    assert.equal(it.holderAt(1500).text, "SELECT '…', $1::int");
    await it.client.query(`SELECT ${'1 + '.repeat(50)}'secret`).catch(() => {});
    assert.equal(it.holderAt(1500).text, `SELECT ${'… + '.repeat(23)}……`);
  });

  it('gets nothing new on which a request was given up, until it says something', async () => {
    const it = await connection();
    await assert.rejects(it.client.query('SELECT pg_sleep(9)', [], { statement_timeout: 20 }), { code: '57014' });
    assert.equal(it.mayTake(performance.now()), false);
    await it.client.sync();
    assert.equal(it.mayTake(performance.now()), true);
  });

  it('is not silent while it is being opened: each attempt has a limit of its own', async () => {
    const { config } = await sharedServer();
    const it = new Connection(config, { max_lifetime: Infinity, size: 10 }, new Turns());
    endAfterTest(it.client);
    const opening = it.client.connect();
    assert.equal(it.silentSince, Infinity);
    await opening;
    assert.equal(it.silentSince, Infinity);
    it.opened();
    assert.equal(it.silentSince, it.since); // what listeners ask may not be answered
    await it.restore();
    assert.equal(it.silentSince, Infinity);
    it.users = 1;
    it.pipeline.silentSince = 5; // a cancel, though its owner goes on
    assert.equal(it.silentSince, 5);
    it.pipeline.silentSince = it.users = 0;
  });

  it('is restored: no block is open, and settings are reset', async () => {
    const it = await connection();
    await it.client.query('SET search_path TO elsewhere');
    await it.client.query('BEGIN');
    it.state = OWNED;
    await it.restore(true);
    assert.deepEqual([it.client.transactionStatus, it.isClear], ['I', true]);
    assert.equal((await it.client.query('SHOW search_path')).rows[0].search_path, '"$user", public');
  });

  it('is closed if its settings cannot be reset', async () => {
    const it = await connection();
    await it.client.query('SET statement_timeout = 1');
    const query = it.client.query.bind(it.client);
    it.client.query = (text, ...rest) => query(text === 'DISCARD ALL' ? 'SELECT pg_sleep(1)' : text, ...rest); // which takes too long
    it.state = OWNED;
    await it.restore(true);
    assert.equal(it.client.state, 'closed');
  });
});
