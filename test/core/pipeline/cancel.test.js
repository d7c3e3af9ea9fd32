'use strict';

const assert = require('node:assert/strict');
const { PassThrough } = require('node:stream');
const { Client, AbortError, ConnectionError } = require('../../..');
const { FakeServer } = require('../../support/connecting');
const {
  sharedServer,
  connected,
  proxied,
  dataRow,
  commandComplete,
  ANSWER,
  GREETING,
  running
} = require('../../support');
const { slow, until } = require('../../support/kit');

/** Aborts a request after so many milliseconds. */
function aborting(ms, work) {
  const abort = new AbortController();
  const promise = work(abort.signal);
  setTimeout(() => abort.abort(), ms);
  return promise;
}

/**
 * A client of a server of the test's own, which is told of the CancelRequests.
 * @param {function(Conversation): Promise} script
 * @param {function(Conversation)} [oncancel] is given the conversation that is to be cancelled
 */
async function cancellable(script, oncancel = () => {}) {
  let main;
  const fake = await new FakeServer(async conversation => {
    const first = await conversation.first();
    if (first.readUInt32BE(0) === 80877102) {
      conversation.socket.end();
      return oncancel(main);
    }
    main = conversation;
    conversation.say(GREETING);
    await script(conversation).catch(() => {});
  }).listen();
  const client = new Client(fake.config);
  await client.connect();
  return {
    client,
    stop() {
      client.destroy();
      fake.stop();
    }
  };
}

/** Reads up to the next Sync. */
async function request(conversation) {
  for (let type; type !== 'S';) ({ type } = await conversation.read());
}

describe('A signal', () => {
  it('aborts those that are left of several which it was given to', async () => {
    const client = await connected();
    const controller = new AbortController();
    const { signal } = controller;
    const [first, second] = ['SELECT 1', 'SELECT pg_sleep(10)'].map(text => client.query(text, [], { signal }));
    await first;
    controller.abort();
    await assert.rejects(second, { name: 'AbortError' });
  });

  it('may be of another library, which calls its listeners as it likes', async () => {
    const client = await connected();
    const listeners = new Set();
    const signal = {
      aborted: false,
      addEventListener: (_, each) => listeners.add(each),
      removeEventListener: (_, each) => listeners.delete(each)
    };
    for (const args of [[{ type: 'abort', target: signal }], [{ type: 'abort' }], []]) {
      signal.aborted = false;
      const slow = client.query('SELECT pg_sleep(100)', [], { signal });
      Object.assign(signal, { aborted: true, reason: 5 });
      for (const each of listeners) each.call(listeners, ...args);
      await assert.rejects(slow, { name: 'AbortError', cause: 5 });
    }
    assert.equal(listeners.size, 0);
  });

  it('leaves no listener behind', async () => {
    const client = await connected();
    const { signal } = new AbortController();
    const { getEventListeners } = require('node:events');
    await client.query('CREATE TEMP TABLE t (i int)');
    await client.query('SELECT 1', [], { signal });
    await assert.rejects(client.query('SELEC', [], { signal }));
    await assert.rejects(client.query('SELECT $1', [new Map()], { signal }));
    await client.batch([['SELECT 1']], { signal });
    for await (const row of client.cursor('SELECT generate_series(1, 10)', [], { batchSize: 2, signal }))
      assert.ok(row);
    await client.query('COPY t FROM STDIN', [], { signal });
    assert.equal(getEventListeners(signal, 'abort').length, 1, 'while the COPY is open');
    await client.copyDone();
    await client.query('COPY t FROM STDIN', [], { signal });
    await client.copyFail();
    await assert.rejects(client.query('COPY missing FROM STDIN', [], { signal }));
    const waiting = client.query('SELECT 1', [], { signal });
    client.destroy();
    await assert.rejects(waiting, ConnectionError);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  });

  it('is refused when it is none', async () => {
    const client = await connected();
    for (const signal of [null, 1, {}, 'x']) await assert.rejects(client.query('SELECT 1', [], { signal }), TypeError);
    await client.query('SELECT 1', [], { signal: undefined });
    assert.equal(client.pending, 0);
  });

  it('holds up nothing when the stream that takes the rows had stopped the reading', async () => {
    const client = await connected();
    const full = slow({ highWaterMark: 1 });
    const text = "SELECT repeat('x', 10000) FROM generate_series(1, 1000)";
    await assert.rejects(
      aborting(50, signal => client.query(text, [], { signal, stream: full })),
      AbortError
    );
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
    await assert.rejects(client.query(text, [], { statement_timeout: 50, stream: slow({ highWaterMark: 1 }) }), {
      code: '57014'
    });
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
  });

  it('goes on holding up nothing when that stream is destroyed', async () => {
    const client = await connected();
    const full = slow({ highWaterMark: 1 });
    const text = "SELECT repeat('x', 10000) FROM generate_series(1, 1000)";
    const promise = client.query(text, [], { stream: full });
    setTimeout(() => full.destroy(), 30);
    await assert.rejects(promise);
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
  });

  it('has nothing sent behind its query until the server has taken the CancelRequest', async () => {
    const { client, proxy, wire } = await proxied();
    const abort = new AbortController();
    const slow = client.query('SELECT pg_sleep(60)', [], { signal: abort.signal });
    await running(client);
    const sent = wire.stats.bytes.toServer;
    const next = proxy.next();
    abort.abort();
    const behind = client.query('SELECT 1 AS one');
    const second = await next;
    second.stall('toServer');
    await assert.rejects(slow, AbortError);
    // The query is over in another way, and the CancelRequest still under way.
    const { toClient } = wire.stats.bytes;
    await (await sharedServer()).sql(`SELECT pg_cancel_backend(${client.processId})`);
    await until(() => wire.stats.bytes.toClient > toClient, 'the end of the query');
    await (await sharedServer()).sql('SELECT 1');
    assert.equal(wire.stats.bytes.toServer, sent);
    second.resume();
    assert.equal((await behind).rows[0].one, 1);
    await second.closed;
  });

  it('is repeated when it came before the server had begun', async () => {
    let cancels = 0;
    const { client, stop } = await cancellable(
      async conversation => {
        await request(conversation);
        await request(conversation);
        conversation.say(ANSWER.described('a'), dataRow('x'), commandComplete('SELECT 1'), ANSWER.ready);
      },
      conversation => {
        if (++cancels === 3)
          conversation.say(ANSWER.error('57014', 'canceling statement due to user request'), ANSWER.ready);
      }
    );
    await assert.rejects(
      aborting(10, signal => client.query('SELECT 1', [], { signal })),
      AbortError
    );
    assert.equal((await client.query('SELECT 2')).rows[0].a, 'x');
    assert.equal(cancels, 3);
    stop();
  });

  it('or a target that fails sends no CancelRequest where something was sent behind its query', async () => {
    const { client, proxy, wire } = await proxied();
    const text = 'SELECT pg_sleep($1)';
    const target = new PassThrough().resume();
    const left = client.queryTo(target, text, [0.2]);
    await running(client);
    const { toServer } = wire.stats.bytes;
    const behind = client.query('SELECT pg_sleep(0.1), 2 AS two');
    await until(() => wire.stats.bytes.toServer > toServer, 'a query behind');
    target.destroy();
    await assert.rejects(left);
    assert.equal((await behind).rows[0].two, 2);
    assert.equal(proxy.connections.length, 1, 'the CancelRequest could have met the query behind');
  });

  it('does without a CancelRequest that cannot be sent', async () => {
    const { client, proxy } = await proxied();
    proxy.refuse();
    const abort = new AbortController();
    const slow = client.query('SELECT pg_sleep(0.2)', [], { signal: abort.signal });
    setTimeout(() => abort.abort(), 10);
    await assert.rejects(slow, AbortError);
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
  });

  it('takes a COPY FROM STDIN that waits for a lock', async () => {
    const client = await connected();
    const server = await sharedServer();
    await server.sql('CREATE TABLE IF NOT EXISTS locked (i int)');
    const session = await server.session();
    await session.query('BEGIN; LOCK TABLE locked');
    await assert.rejects(
      aborting(30, signal => client.query('COPY locked FROM STDIN', [], { signal })),
      AbortError
    );
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
    await session.query('ROLLBACK');
    session.close();
  });

  it('takes a COPY FROM STDIN whose data has all been sent', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE t (i int)');
    await client.query(
      'CREATE FUNCTION pg_temp.slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NEW; END $$'
    );
    await client.query('CREATE TRIGGER slow BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION pg_temp.slow()');
    const abort = new AbortController();
    await client.query('COPY t FROM STDIN', [], { signal: abort.signal });
    client.copyData('1\n');
    const done = client.copyDone();
    setTimeout(() => abort.abort(), 30);
    await assert.rejects(done, AbortError);
    assert.equal((await client.query('SELECT count(*) AS n FROM t')).rows[0].n, 0);
  });
});

describe('A query that is given up', () => {
  it('is cancelled when the last one behind it was given up, too: then those are, each in its turn', async () => {
    const client = await connected();
    const ask = ms => aborting(ms, signal => client.query('SELECT pg_sleep(60)', [], { signal }));
    const [second, first, third] = [ask(60), ask(30), ask(90)];
    for (const each of [first, second, third]) await assert.rejects(each, AbortError);
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
  });

  it('is cancelled when all that were sent behind it were given up, though each of their callers asks again', async () => {
    const client = await connected();
    const ask = (on = client) => on.query('SELECT pg_sleep(600)', [], { statement_timeout: 20 });
    const askAgain = async () => {
      await assert.rejects(ask(), { code: '57014' });
      return (await client.query('SELECT 1 AS one')).rows[0].one;
    };
    assert.deepEqual(await Promise.all([askAgain(), askAgain(), askAgain()]), [1, 1, 1]);
    await assert.rejects(
      client.transaction(tx => Promise.all([ask(tx), ask(tx)])),
      { code: '57014' }
    );
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
  });

  it('is one of thousands: the server gets one CancelRequest at a time', async () => {
    const { client, proxy } = await proxied({}, { delay: 5 });
    const abort = new AbortController();
    const queries = Array.from({ length: 2000 }, () => client.query('SELECT 1', [], { signal: abort.signal }));
    setTimeout(() => abort.abort(), 1);
    assert.equal(new Set((await Promise.allSettled(queries)).map(({ reason }) => reason.name)).size, 1);
    await client.query('SELECT 2');
    assert.ok(proxy.connections.length < 20, `${proxy.connections.length} connections`);
  });

  it('leaves those that rely on its Parse their results: they live, so it is not cancelled', async () => {
    const client = await connected();
    const text = 'SELECT $1::int AS i, pg_sleep($2)';
    const left = aborting(20, signal => client.query(text, [1, 0.1], { signal }));
    const behind = [2, 3].map(i => client.query(text, [i, 0]));
    await assert.rejects(left, AbortError);
    assert.deepEqual(
      (await Promise.all(behind)).map(({ rows: [{ i }] }) => i),
      [2, 3]
    );
    // And where the Parse itself was cancelled, the next one carries its own.
    const server = await sharedServer();
    await server.sql('CREATE TABLE IF NOT EXISTS parsed (i int)');
    const session = await server.session();
    await session.query('BEGIN; LOCK TABLE parsed');
    await assert.rejects(
      aborting(30, signal => client.query('SELECT * FROM parsed', [], { signal })),
      AbortError
    );
    await session.query('ROLLBACK');
    session.close();
    assert.equal((await client.query('SELECT * FROM parsed')).rowCount, 0);
  });

  it('is cancelled though statements are closed behind it: a close that the CancelRequest meets is repeated', async () => {
    const client = await connected({ statement_cache: 1 });
    await client.query('SELECT 1');
    await assert.rejects(
      aborting(30, signal => client.query('SELECT pg_sleep(60)', [], { signal })),
      AbortError
    );
    const names = 'SELECT count(*) AS n FROM pg_prepared_statements';
    await client.query(names);
    await client.query(names);
    assert.equal((await client.query(names)).rows[0].n, 1);
  });

  it('in a transaction: COMMIT behind it is not cancelled, ROLLBACK waits until the server has cancelled it', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE kept (i int)');
    const insert = 'INSERT INTO kept SELECT 1 FROM pg_sleep(0.1)';
    await client.transaction(async tx => {
      await tx.query('SELECT 1');
      aborting(20, signal => tx.query(insert, [], { signal })).catch(() => {});
    });
    assert.equal((await client.query('SELECT * FROM kept')).rowCount, 1);
    await assert.rejects(
      client.transaction(async tx => {
        await tx.query(insert);
        await aborting(20, signal => tx.query('SELECT pg_sleep(60)', [], { signal }));
      }),
      AbortError
    );
    assert.equal((await client.query('SELECT * FROM kept')).rowCount, 1);
    assert.equal(client.transactionStatus, 'I');
  });

  it('that was stale is not sent again; one with a signal is, where nothing was sent behind it', async () => {
    const client = await connected();
    const { signal } = new AbortController();
    const ask = () => client.query('SELECT $1::int AS i', [1], { signal });
    await ask();
    await client.query("DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$");
    assert.equal((await ask()).rows[0].i, 1);
  });
});

describe('cancel()', () => {
  it('cancels what the server is running, whatever that is', async () => {
    const client = await connected();
    const other = await connected();
    const slow = client.query('SELECT pg_sleep(60)');
    const running = () =>
      other.query("SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep'", [client.processId]);
    await until(async () => (await running()).rowCount !== 0);
    await client.cancel();
    await assert.rejects(slow, { name: 'PostgresError', code: '57014' });
    await client.cancel();
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
  });

  it('ends with the connection', async () => {
    const { client, proxy } = await proxied();
    const next = proxy.next();
    const cancelled = client.cancel();
    (await next).stall();
    client.destroy();
    await assert.rejects(cancelled);
  });
});
