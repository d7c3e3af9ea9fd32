'use strict';

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const readline = require('node:readline');
const { setImmediate: turn, setTimeout: sleep } = require('node:timers/promises');
const { skipBefore } = require('pg-test-fixtures');
const { Client, ConnectionError } = require('../..');
const { PgOutput, parseLsn, replicate } = require('../../lib/replication');
const { commandComplete, faked, hex, message, ANSWER } = require('../support');
const { following } = require('./following');
const { until } = require('../support/kit');
const { heldTimers } = require('../pool/pools');

/** Follows the table and prints each committed transaction before it confirms it: the process that is killed. */
const FOLLOWER = `
  const [folder, config, start] = process.argv.slice(-3);
  const { Client } = require(folder);
  const { PgOutput, replicate } = require(folder + '/lib/replication');
  (async () => {
    const client = new Client(JSON.parse(config));
    await client.connect();
    const stream = replicate(client, start);
    const decoder = new PgOutput();
    let ids = [];
    for await (const { data } of stream) {
      const change = decoder.decode(data);
      if (change.type === 'insert') ids.push(change.new.id);
      if (change.type !== 'commit') continue;
      if (ids.length > 0) process.stdout.write(ids.join() + '\\n');
      ids = [];
      stream.confirm(change.endLsn);
    }
  })();`;

describe('replicate', function () {
  const followed = following();
  const { start, follow, follower, changes } = followed;
  let server, writer;
  beforeEach(() => {
    ({ server, writer } = followed);
  });

  /** Where the server begins when the slot is used again. */
  async function confirmed(slot) {
    const [row] = await server.sql(`SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = '${slot}'`);
    return parseLsn(row.confirmed_flush_lsn);
  }

  it('gives insert, update, delete and truncate of another connection in order', async () => {
    const client = await follower('ordered');
    const stream = follow(client, start('ordered'));
    await writer.query("INSERT INTO followed VALUES (1, 'a', repeat('x', 3000)), (2, 'b', NULL)");
    await writer.transaction(async tx => {
      await tx.query("UPDATE followed SET name = 'c' WHERE id = 1");
      await tx.query('INSERT INTO other VALUES (1)');
      await tx.query('UPDATE followed SET id = 3 WHERE id = 2');
      await tx.query('DELETE FROM followed WHERE id = 1');
    });
    await writer.query('TRUNCATE followed RESTART IDENTITY CASCADE');
    const list = await changes(stream, 3);
    assert.deepEqual(
      list.map(({ type, key, new: row }) => [type, key, row]),
      [
        ['begin', undefined, undefined],
        ['insert', undefined, { id: 1, name: 'a', large: 'x'.repeat(3000) }],
        ['insert', undefined, { id: 2, name: 'b', large: null }],
        ['commit', undefined, undefined],
        ['begin', undefined, undefined],
        ['update', undefined, { id: 1, name: 'c' }], // the large value did not change
        ['update', { id: 2 }, { id: 3, name: 'b', large: null }],
        ['delete', { id: 1 }, undefined],
        ['commit', undefined, undefined],
        ['begin', undefined, undefined],
        ['truncate', undefined, undefined],
        ['commit', undefined, undefined]
      ]
    );
    const truncate = list.at(-2);
    assert.deepEqual(
      [truncate.cascade, truncate.restartIdentity, truncate.relations[0].name],
      [true, true, 'followed']
    );
    const [begin, , , commit] = list;
    assert.equal(begin.commitLsn, commit.commitLsn);
    assert.ok(Math.abs(commit.time - Date.now()) < 60000);
  });

  it('has positions and times on what it gives', async () => {
    const client = await follower('positions');
    const stream = follow(client, start('positions'));
    await writer.query("INSERT INTO followed VALUES (1, 'a')");
    const decoder = new PgOutput();
    for await (const { lsn, walEnd, time, data } of stream) {
      const change = decoder.decode(data);
      assert.ok(Math.abs(time - Date.now()) < 60000);
      if (change.type !== 'commit') continue;
      assert.equal(lsn, change.endLsn);
      assert.ok(walEnd >= lsn);
      assert.equal(stream.received, lsn);
      break;
    }
  });

  it('begins again where it was confirmed, and not later', async () => {
    const client = await follower('again');
    for (let i = 1; i <= 3; i++) await writer.query('INSERT INTO followed VALUES ($1)', [i]);
    const stream = follow(client, start('again'));
    const list = await changes(stream, 3);
    const [first] = list.filter(change => change.type === 'commit');
    stream.confirm(first.endLsn);
    stream.confirm(first.commitLsn); // goes nowhere
    stream.destroy();
    await client.simpleQuery('IDENTIFY_SYSTEM'); // the connection goes on
    assert.equal(await confirmed('again'), first.endLsn);
    const again = await changes(follow(await follower(), start('again')), 2);
    assert.deepEqual(
      again.filter(change => change.type === 'insert').map(change => change.new.id),
      [2, 3]
    );
  });

  it('tells the server of each confirmation, as flushed and as applied, without waiting for the next report', async () => {
    const client = await follower('told', { options: '-c wal_sender_timeout=0' });
    const stream = follow(client, start('told'), { statusInterval: 1e9 });
    const decoder = new PgOutput();
    for (let i = 1; i <= 2; i++) {
      await writer.query('INSERT INTO followed VALUES ($1)', [i]);
      const [, , { endLsn }] = await changes(stream, 1, decoder);
      stream.confirm(endLsn);
      await until(async () => (await confirmed('told')) >= endLsn);
      const [{ replay_lsn: applied }] = await server.sql(
        `SELECT replay_lsn FROM pg_stat_replication WHERE pid = ${client.processId}`
      );
      assert.equal(parseLsn(applied), endLsn);
    }
  });

  it('ends, after what had been sent, with the connection ready for more', async () => {
    const client = await follower('ended');
    const stream = follow(client, start('ended'));
    await writer.query('INSERT INTO followed VALUES (1)');
    const [, , commit] = await changes(stream, 1);
    stream.confirm(commit.endLsn);
    stream.end();
    stream.resume();
    await once(stream, 'end');
    assert.equal(await confirmed('ended'), commit.endLsn);
    const [{ rows }] = await client.simpleQuery('SELECT 7 AS a');
    assert.equal(rows[0].a, 7);
    const early = follow(await follower(), start('ended'));
    early.end();
    early.resume();
    await once(early, 'end');
  });

  it('says so where the server does not stream a second time on one connection', async () => {
    const client = await follower('twice');
    const stream = follow(client, start('twice'));
    stream.end();
    stream.resume();
    await once(stream, 'end');
    const [error] = await once(follow(client, start('twice')), 'error');
    assert.equal(error.code, '55000');
    assert.match(error.message, /it takes a new connection/);
    await client.simpleQuery('SELECT 1');
  });

  it('lets the server forget what does not concern it, once all that did was confirmed', async function () {
    skipBefore(this, 15, 'transactions that are empty are not sent');
    const client = await follower('forgetting');
    const stream = follow(client, start('forgetting'), { statusInterval: 50 });
    await writer.query('INSERT INTO followed VALUES (1)');
    const [, , commit] = await changes(stream, 1);
    await writer.query('INSERT INTO other VALUES (1)');
    const {
      rows: [now]
    } = await writer.query('SELECT pg_current_wal_lsn() AS lsn, clock_timestamp() AS time');
    const told = 'SELECT FROM pg_stat_replication WHERE sent_lsn >= $1 AND reply_time > $2::timestamptz'; // all was seen, and answered
    await until(async () => (await writer.query(told, [now.lsn, now.time])).rowCount !== 0);
    assert.ok(stream.confirmed < commit.endLsn && (await confirmed('forgetting')) < commit.endLsn);
    stream.confirm(commit.endLsn);
    await until(async () => {
      await writer.query('INSERT INTO other VALUES (1)');
      return (await confirmed('forgetting')) > commit.endLsn;
    });
    assert.ok(stream.confirmed > commit.endLsn);
  });

  it('loses nothing that was not confirmed when its process is killed, again and again', async () => {
    (await follower('killed')).destroy();
    const seen = [];
    let last = 0;
    for (let round = 0; round < 4; round++) {
      const config = JSON.stringify({ ...server.config, replication: 'database' });
      const child = spawn(process.execPath, ['-e', FOLLOWER, path.join(__dirname, '../..'), config, start('killed')], {
        stdio: ['ignore', 'pipe', 'inherit']
      });
      const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const writing = (async () => {
        for (let i = 0; i < 30; i++, last += 3) {
          await writer.query('INSERT INTO followed SELECT generate_series($1::int, $1::int + 2)', [last + 1]);
        }
      })();
      // Killed in the middle of it, but the last one.
      if (round === 3) await writing;
      for (let i = 0; round === 3 ? !seen.at(-1).endsWith(`,${last}`) : i < 7 + round; i++) {
        seen.push((await lines.next()).value);
      }
      child.kill('SIGKILL');
      for await (const line of lines) seen.push(line);
      await writing;
      const active = "SELECT 1 FROM pg_replication_slots WHERE active AND slot_name = 'killed'";
      await until(async () => (await server.sql(active)).length === 0);
    }
    // Each transaction came whole, and in order but for those that came again.
    const numbers = seen.map(line => line.split(',').map(Number));
    assert.ok(numbers.every(([a, b, c]) => b === a + 1 && c === a + 2));
    const firsts = [...new Set(numbers.map(([a]) => a))];
    assert.deepEqual(
      firsts,
      Array.from({ length: last / 3 }, (_, i) => 3 * i + 1)
    );
  });

  it('fails when the server is killed, and goes on from what was confirmed when that is back', async () => {
    const client = await follower('crashed');
    const stream = follow(client, start('crashed'));
    await writer.query('INSERT INTO followed VALUES (1)');
    const [, , commit] = await changes(stream, 1);
    stream.confirm(commit.endLsn);
    await until(async () => (await confirmed('crashed')) >= commit.endLsn);
    await writer.query('INSERT INTO followed VALUES (2)');
    const failed = once(stream, 'error');
    await server.kill();
    assert.ok((await failed)[0] instanceof ConnectionError);
    await server.start();
    const again = await follower();
    const decoder = new PgOutput();
    const list = await changes(follow(again, start('crashed')), 1, decoder);
    // What was confirmed last may come again: the server does not write it down at once.
    while (list.at(-2).new.id !== 2) list.push(...(await changes(followed.streams.at(-1), 1, decoder)));
    assert.equal(list.at(-2).new.id, 2);
  });

  it('ends when the server is shut down', async () => {
    const client = await follower('shut');
    const stream = follow(client, start('shut'));
    await once(stream, 'start');
    stream.resume();
    const over = new Promise(resolve => stream.on('end', resolve).on('error', resolve));
    await server.restart();
    await over;
    assert.equal(client.state, 'closed');
  });

  it('does not let others in between: they wait until it is over', async () => {
    const client = await follower('alone');
    const stream = follow(client, start('alone'));
    let answered = false;
    const other = client.simpleQuery('SELECT 1').then(() => {
      answered = true;
    });
    await once(stream, 'start');
    for (let i = 0; i < 10; i++) await writer.query('SELECT 1');
    assert.equal(answered, false);
    stream.destroy();
    await other;
  });

  it('reports what is wrong with the command, and goes on', async () => {
    const client = await follower();
    const [error] = await once(follow(client, start('missing')), 'error');
    assert.equal(error.code, '42704');
    for (const text of [
      'SELECT 1',
      'IDENTIFY_SYSTEM',
      'COPY followed FROM STDIN',
      'START_REPLICATION PHYSICAL 0/0',
      'START_REPLICATION SLOT a PHYSICAL 0/0',
      ''
    ]) {
      assert.throws(() => replicate(client, text), {
        name: 'TypeError',
        message: 'replicate takes START_REPLICATION SLOT … LOGICAL …'
      });
    }
    const [plain] = await once(follow(writer, '\n start_replication slot a logical 0/0'), 'error');
    assert.equal(plain.code, '42601');
    await writer.query('SELECT 1');
    assert.throws(() => replicate(client, 5), TypeError);
    assert.throws(() => replicate({}, start('missing')), { name: 'TypeError', message: 'replicate takes a Client' });
    assert.throws(() => replicate(client, 'x', { interval: 5 }), /there is no option interval here/);
    assert.throws(() => replicate(client, 'x', { statusInterval: 0 }), TypeError);
    const stream = follow(client, start('missing')).on('error', () => {});
    assert.throws(() => stream.confirm('x'), TypeError);
    for (const lsn of [-1n, 1n << 64n]) assert.throws(() => stream.confirm(lsn), RangeError);
  });

  it('is destroyed by its signal, also while it waits', async () => {
    const client = await follower('signalled');
    const controller = new AbortController();
    const stream = follow(client, start('signalled'), { signal: controller.signal });
    const waiting = follow(client, start('signalled'), { signal: controller.signal });
    const errors = Promise.all([once(stream, 'error'), once(waiting, 'error')]);
    await once(stream, 'start');
    controller.abort();
    assert.deepEqual(
      (await errors).map(([error]) => error.name),
      ['AbortError', 'AbortError']
    );
    await client.simpleQuery('SELECT 1');
    const late = follow(client, start('signalled'), { signal: controller.signal });
    assert.equal((await once(late, 'error'))[0].name, 'AbortError');
    assert.throws(() => replicate(client, start('signalled'), { signal: 5 }), TypeError);
    await client.simpleQuery('SELECT 1');
  });

  it('may be destroyed, or lose its client, at any moment', async () => {
    await follower('moments');
    let seed = 7;
    const below = n => (seed = (seed * 16807) % 2147483647) % n;
    const outcomes = new Set();
    for (let i = 0; i < 40; i++) {
      const client = new Client({ ...server.config, replication: 'database' });
      followed.clients.push(client);
      const connecting = client.connect().catch(error => error);
      if (below(2) === 0) await connecting;
      const stream = follow(client, start('moments'), { statusInterval: 1 });
      const over = new Promise(resolve => stream.on('error', resolve).on('close', resolve));
      stream.resume();
      const asked = client.simpleQuery('IDENTIFY_SYSTEM').then(
        () => 'answered',
        error => error.name
      );
      if (below(3) > 0) await sleep(below(10));
      if (below(3) === 0) client.destroy();
      else stream.destroy(below(2) === 0 ? new Error('enough') : undefined);
      await over;
      outcomes.add(await asked);
      await connecting;
      if (client.state === 'open') await client.end();
    }
    assert.deepEqual([...outcomes].sort(), ['ConnectionError', 'answered']);
  });

  it('reports what was received and what was confirmed, each on its own', async () => {
    const statuses = [];
    const client = await faked(async conversation => {
      await conversation.request();
      const keepalive = message('d', hex("'k' 0000000000000140 0000000000000000 01"));
      const piece = message('d', hex("'w' 0000000000000140 0000000000000140 0000000000000000"), Buffer.alloc(0x40));
      conversation.say(message('W', hex('00 0000')), piece, keepalive);
      for (;;) {
        const { type, body } = await conversation.read();
        if (type !== 'd') break;
        statuses.push([1, 9, 17].map(off => Number(body.readBigUInt64BE(off))));
        if (statuses.length < 3) conversation.say(keepalive);
      }
    });
    const stream = follow(client, start('list'), { statusInterval: 1e9 });
    const [{ lsn }] = await once(stream, 'data');
    await until(() => statuses.length >= 1);
    stream.confirm(0x100n); // what came before
    await until(() => statuses.length >= 3);
    assert.equal(stream.received, 0x140n);
    stream.confirm(lsn);
    await until(() => statuses.at(-1)[1] === 0x140); // answers to keepalives may come before
    assert.deepEqual(statuses[0], [0x140, 0, 0]);
    for (const status of statuses.slice(1, -1))
      assert.ok(status[0] === 0x140 && status[1] <= 0x100 && status[2] === status[1], String(status));
    assert.deepEqual(statuses.at(-1), [0x140, 0x140, 0x140]);
  });

  it('asks a server that says nothing at the end of each interval but the first, and gives it up after four', async () => {
    const replies = [];
    const client = await faked(async conversation => {
      await conversation.request();
      conversation.say(message('W', hex('00 0000')));
      for (let read; (read = await conversation.read()).type === 'd';) replies.push(read.body[33]);
    });
    const stream = follow(client, start('list'), { statusInterval: 20 });
    const [error] = await once(stream.resume(), 'error');
    assert.ok(error instanceof ConnectionError);
    assert.match(error.message, /the server was silent for 80 ms/);
    assert.deepEqual(replies, [0, 1, 1, 1]);
  });

  it('is not silent when the server has ended it, though what it gave was not read yet', async () => {
    const client = await faked(async conversation => {
      await conversation.request();
      conversation.say(
        message('W', hex('00 0000')),
        message('d', hex("'w' 0000000000000001 0000000000000002 0000000000000000")),
        message('c'),
        commandComplete('COPY 0'),
        ANSWER.ready
      );
      while ((await conversation.read()).type !== 'Q'); // status updates and CopyDone
      conversation.say(commandComplete('SELECT 0'), ANSWER.ready);
    });
    const timers = heldTimers();
    const stream = follow(client, start('list'));
    await once(stream, 'readable');
    const next = client.simpleQuery('SELECT');
    const ticks = timers.slice();
    await next;
    for (let i = 0; i < 9; i++) {
      for (const { callback } of ticks) callback();
      await turn();
    }
    assert.equal(client.state, 'open');
    assert.equal((await stream.toArray()).length, 1);
  });

  it('gives a message without data', async () => {
    const client = await faked(async conversation => {
      await conversation.request();
      conversation.say(
        message('W', hex('00 0000')),
        message('d', hex("'w' 0000000000000001 0000000000000002 0000000000000000"))
      );
      await conversation.read();
    });
    const [{ lsn, walEnd, data }] = await once(follow(client, start('list')), 'data');
    assert.deepEqual([lsn, walEnd, data.length], [1n, 2n, 0]);
  });

  it('ends the connection where a message makes no sense', async () => {
    for (const data of ["'w' 00", "'k' 00", "'k' 0000000000000000 0000000000000000 00 00", "'x'", '']) {
      const client = await faked(async conversation => {
        await conversation.request();
        conversation.say(
          message('W', hex('00 0000')),
          message('d', hex(data)),
          message('c'),
          commandComplete('COPY 0'),
          ANSWER.ready
        );
      });
      const [error] = await once(follow(client, start('list')), 'error');
      assert.match(error.message, /protocol violation/, data);
      assert.equal(client.state, 'closed');
    }
  });
});
