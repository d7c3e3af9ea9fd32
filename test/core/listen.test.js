'use strict';

const assert = require('node:assert/strict');
const { setImmediate: turn, setTimeout: sleep } = require('node:timers/promises');
const { ConnectionError } = require('../..');
const { Channels } = require('../../lib/core/listen');
const { connected, held, proxied } = require('../support');
const { shorten } = require('../support/hooks');
const { until } = require('../support/kit');

/** The channels that the server notifies a client of. */
async function channels(client) {
  const { rows } = await client.query('SELECT pg_listening_channels() AS name ORDER BY 1');
  return rows.map(row => row.name);
}

/** Waits for the time of so many keepalives. One of another connection would not do: 2 × 5 ms are silence on a busy machine. */
const rhythmOf = keepalive => count => sleep(count * keepalive);

describe('listen', () => {
  let client;
  let other;
  beforeEach(async () => {
    client = await connected();
    other = await connected();
  });

  const notify = (channel, payload) => other.query('SELECT pg_notify($1, $2)', [channel, payload]);

  it('gives the notifications of its channel in order, and stops notifying when the loop is left', async () => {
    const listener = client.listen('news');
    await listener.ready;
    for (const payload of ['a', 'b', 'c']) {
      await notify('other', 'x');
      await notify('news', payload);
    }
    const payloads = [];
    for await (const { processId, channel, payload } of listener) {
      assert.deepEqual([processId, channel], [other.processId, 'news']);
      if (payloads.push(payload) === 3) break;
    }
    assert.deepEqual(payloads, ['a', 'b', 'c']);
    assert.deepEqual(await channels(client), []);
    assert.deepEqual(await listener.next(), { value: undefined, done: true });
  });

  it('throws when the network has gone dark: a server that says nothing is asked, and does not answer', async () => {
    shorten(Channels, 'silenceLimit', 20);
    const { client, wire } = await proxied();
    const lost = new Promise(resolve => {
      client.once('error', resolve);
    });
    const listener = client.listen('news', { keepalive: 20 });
    await listener.ready;
    wire.stall();
    await assert.rejects(listener.next(), { name: 'ConnectionError', message: /the server was silent for 40 ms/ });
    assert.ok((await lost) instanceof ConnectionError);
    assert.equal(client.state, 'closed');
  });

  it('asks a quiet server, which answers, as often as the shortest time of its loops says, and never with 0', async () => {
    const { client, wire } = await proxied();
    const loops = [client.listen('never', { keepalive: 0 })];
    await loops[0].ready;
    const flights = () => wire.stats.flights.toServer;
    const more = async count => {
      const before = flights();
      await until(() => flights() >= before + count);
    };
    const rhythm = rhythmOf(10);
    let before = flights();
    await rhythm(5);
    assert.equal(flights(), before);
    loops.push(client.listen('slowly'), client.listen('news', { keepalive: 10 }));
    await more(5);
    assert.equal(client.state, 'open');
    for (const each of loops) await each.return();
    before = flights();
    await rhythm(5);
    assert.equal(flights(), before);
  });

  it('asks nothing while a query runs, a transaction waits for its function, or a cursor is open', async () => {
    const { client, wire } = await proxied();
    const { call, release } = await held();
    const listener = client.listen('news', { keepalive: 5 });
    await listener.ready;
    const rhythm = rhythmOf(5);
    const quiet = async () => {
      const { silenceLimit } = Channels;
      Channels.silenceLimit = 5;
      await rhythm(4);
      const before = wire.stats.flights.toServer;
      await rhythm(10);
      Channels.silenceLimit = silenceLimit;
      assert.deepEqual([wire.stats.flights.toServer, client.state], [before, 'open']);
    };
    const query = client.query(`SELECT ${call}`);
    await quiet();
    await release();
    await query;
    await client.transaction(async tx => {
      await tx.query('SELECT 1');
      await quiet();
    });
    const cursor = client.cursor('SELECT generate_series(1, 10)', [], { batchSize: 1 });
    await cursor.next();
    await quiet();
    await cursor.return();
    await listener.return();
  });

  it('takes no busy program for a silent server', async () => {
    const listener = client.listen('news', { keepalive: 10 });
    await listener.ready;
    shorten(Channels, 'silenceLimit', 100);
    for (let i = 0; i < 3; i++) {
      while (client.pending === 0) await turn();
      for (const end = performance.now() + 200; performance.now() < end;);
      while (client.pending > 0) await turn();
    }
    await client.query('SELECT 1');
    await listener.return();
  });

  it('needs not be waited for: the LISTEN has left when it returns, before later queries', async () => {
    const listener = client.listen('own');
    await client.query("SELECT pg_notify('own', 'mine')");
    assert.equal((await listener.next()).value.payload, 'mine');
    await listener.return();
  });

  it('takes any name as it is', async () => {
    for (const channel of ['Mixed Case', 'with "quotes"', "it's", 'ünï', '; DROP TABLE users', 'x'.repeat(63)]) {
      const listener = client.listen(channel);
      await client.query('SELECT pg_notify($1, $2)', [channel, 'here']);
      assert.equal((await listener.next()).value.payload, 'here');
      await listener.return();
    }
    assert.deepEqual(await channels(client), []);
  });

  it('refuses a name that is none', () => {
    for (const channel of ['', 'a\0b', 5, undefined]) assert.throws(() => client.listen(channel), TypeError);
    assert.throws(() => client.listen('é'.repeat(32)), RangeError);
  });

  it('serves several loops over one channel, and unlistens with the last of them', async () => {
    const first = client.listen('shared');
    const second = client.listen('shared');
    await second.ready;
    await notify('shared', '1');
    assert.equal((await first.next()).value.payload, '1');
    await first.return();
    assert.deepEqual(await channels(client), ['shared']);
    await notify('shared', '2');
    assert.equal((await second.next()).value.payload, '1');
    assert.equal((await second.next()).value.payload, '2');
    await second.return();
    assert.deepEqual(await channels(client), []);
    const again = client.listen('shared');
    await again.ready;
    assert.deepEqual(await channels(client), ['shared']);
    await again.return();
  });

  it('answers calls that do not wait for each other in their order, and ends them all', async () => {
    const listener = client.listen('news');
    const calls = [listener.next(), listener.next(), listener.next(), listener.next()];
    await listener.ready;
    await notify('news', 'a');
    await notify('news', 'b');
    assert.deepEqual(
      (await Promise.all(calls.slice(0, 2))).map(({ value }) => value.payload),
      ['a', 'b']
    );
    await listener.return();
    for (const call of calls.slice(2)) assert.deepEqual(await call, { value: undefined, done: true });
  });

  it('keeps what comes while nobody takes it, however much it is', async () => {
    const listener = client.listen('many');
    await listener.ready;
    await other.query("SELECT pg_notify('many', i::text) FROM generate_series(1, 50000) AS i");
    await client.query('SELECT 1');
    for (let i = 1; i <= 50000; i++) assert.equal((await listener.next()).value.payload, String(i));
    await listener.return();
  });

  it('throws when the connection is lost, and ends when the client is ended', async () => {
    const { client: lost, wire } = await proxied();
    const listener = lost.listen('news');
    await listener.ready;
    const result = listener.next();
    wire.reset();
    await assert.rejects(result, error => error instanceof ConnectionError || error.code === 'ECONNRESET');
    assert.deepEqual(await listener.next(), { value: undefined, done: true });
    const unread = client.listen('news');
    await unread.ready;
    const ending = unread.next();
    await client.end();
    assert.deepEqual(await ending, { value: undefined, done: true });
  });

  it('throws at the next turn what happened between two', async () => {
    const { client: lost, wire } = await proxied();
    const listener = lost.listen('news');
    await listener.ready;
    wire.reset();
    await lost.closed;
    await assert.rejects(listener.next());
  });

  it('throws when the server refuses to listen', async () => {
    await client.query('BEGIN');
    await assert.rejects(client.query('SELECT 1 / 0'));
    const listener = client.listen('news');
    await assert.rejects(listener.ready, { code: '25P02' });
    await assert.rejects(listener.next(), { code: '25P02' });
    await client.query('ROLLBACK');
  });

  it('throws the reason of its signal', async () => {
    const controller = new AbortController();
    const listener = client.listen('news', { signal: controller.signal });
    await listener.ready;
    const result = listener.next();
    const reason = new Error('enough');
    controller.abort(reason);
    await assert.rejects(result, error => error === reason);
    assert.deepEqual(await channels(client), []);
    const before = client.listen('news', { signal: controller.signal });
    await assert.rejects(before.ready, error => error === reason);
    await assert.rejects(before.next(), error => error === reason);
    assert.deepEqual(await channels(client), []);
  });

  it('listens to many channels with no listener of the client, and again on its next connection', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `channel ${i}`);
    for (let round = 0; round < 2; round++) {
      const listeners = names.map(name => client.listen(name));
      await Promise.all(listeners.map(listener => listener.ready));
      for (const name of names) await notify(name, `to ${name}`);
      for (const [i, listener] of listeners.entries()) {
        assert.equal((await listener.next()).value.payload, `to channel ${i}`);
      }
      await client.end();
      for (const listener of listeners) assert.equal((await listener.next()).done, true);
      await client.connect();
    }
  });

  it('is not for transactions', async () => {
    await client.transaction(async tx => {
      assert.throws(() => tx.listen('news'), { code: '25001' });
    });
  });
});
