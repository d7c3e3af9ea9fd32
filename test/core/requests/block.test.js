'use strict';

const assert = require('node:assert/strict');
const { PassThrough } = require('node:stream');
const { setImmediate: turn } = require('node:timers/promises');
const { connected, proxied, faked, ANSWER, commandComplete, dataRow } = require('../../support');

/** A client with an empty table. */
async function prepared(config) {
  const client = await connected(config);
  await client.query('CREATE TEMP TABLE t (i int)');
  return client;
}

/** Counts the flights to the server of a piece of work. */
async function flights({ client, wire }, work) {
  await client.query('SELECT $1::int AS i', [0]); // a warm statement
  const before = wire.stats.flights.toServer;
  await work(client);
  return wire.stats.flights.toServer - before;
}

const ask = (on, i = 1) => on.query('SELECT $1::int AS i', [i]);

const ints = async client => (await client.query('SELECT i FROM t ORDER BY i')).rows.map(row => Number(row.i));
const insert = (on, i) => on.query('INSERT INTO t VALUES ($1)', [i]);

describe('The round trips of a transaction', () => {
  it('are two of one query, three of two that depend on each other, four with a savepoint of one query, one of none', async () => {
    const wired = await proxied();
    assert.equal(await flights(wired, client => client.transaction(tx => ask(tx))), 2);
    assert.equal(
      await flights(wired, client =>
        client.transaction(async tx => {
          await ask(tx, (await ask(tx)).rowCount);
        })
      ),
      3
    );
    assert.equal(
      await flights(wired, client =>
        client.transaction(async tx => {
          await ask(tx);
          await tx.transaction(nested => ask(nested));
        })
      ),
      4
    );
    assert.equal(await flights(wired, client => client.transaction(tx => tx.transaction(nested => ask(nested)))), 3);
    assert.equal(await flights(wired, client => client.transaction(() => {})), 1);
    assert.equal(
      await flights(wired, client =>
        client
          .transaction(() => {
            throw new Error('thrown');
          })
          .catch(() => {})
      ),
      0
    );
  });

  it('are two whatever its first request is', async () => {
    const wired = await proxied();
    await wired.client.query('CREATE TEMP TABLE t (i int)');
    for (const work of [
      tx => tx.simpleQuery('SELECT 1; SELECT 2'),
      tx => tx.batch(['SELECT 1', 'SELECT 2']),
      tx => tx.query('SELECT 1', [], { cache: false }),
      tx => tx.queryTo(new PassThrough().resume(), 'SELECT 1')
    ])
      assert.equal(await flights(wired, client => client.transaction(work)), 2, String(work));
    await assert.rejects(
      wired.client.transaction(tx => tx.query('SELECT $1', [new Map()])),
      TypeError
    );
    await wired.client.transaction(async tx => {
      await assert.rejects(tx.query('SELECT $1', [new Map()]), TypeError);
      await insert(tx, 1);
    });
    assert.deepEqual(await ints(wired.client), [1]);
  });

  it('are shared by transactions at the same time: one begins right behind the COMMIT of the one before', async () => {
    const wired = await proxied();
    const results = [];
    const count = await flights(wired, client =>
      Promise.all(
        Array.from({ length: 10 }, async (_, i) => {
          results.push((await client.transaction(tx => ask(tx, i))).rows[0].i);
        })
      )
    );
    assert.deepEqual(
      results,
      Array.from({ length: 10 }, (_, i) => i)
    );
    assert.ok(count <= 11, `${count} flights`);
    // So does a query.
    await wired.client.query('CREATE TEMP TABLE t (i int)');
    let behind;
    assert.equal(
      await flights(wired, async client => {
        const whole = client.transaction(tx => insert(tx, 1));
        behind = ints(client);
        await whole;
        await behind;
      }),
      2
    );
    assert.deepEqual(await behind, [1]);
  });

  it('of one without requests, are one, and what waits behind it goes on', async () => {
    const client = await prepared();
    const empty = client.transaction(() => {});
    const results = await Promise.all([
      empty,
      client.query('SELECT 1 AS one'),
      client.transaction(() => 2),
      client.transaction(tx => ask(tx, 3))
    ]);
    assert.deepEqual([results[1].rows[0].one, results[2], results[3].rows[0].i], [1, 2, 3]);
  });

  it('do not include those of what was sent before: its function is called at once, BEGIN goes with its first request', async () => {
    const { client, wire } = await proxied();
    await client.query('SELECT 1');
    wire.stall();
    const before = client.query('SELECT 2');
    let called = false;
    const whole = client.transaction(tx => {
      called = true;
      return ask(tx);
    });
    await turn();
    assert.equal(called, true);
    assert.match(wire.recorded.toServer.toString('latin1'), /SELECT 1/);
    wire.resume();
    await Promise.all([before, whole]);
  });

  it('do, where one of these may have begun a block: it waits for that answer, and is refused in the block', async () => {
    for (const begin of [
      client => client.query('BEGIN'),
      client => client.query('/* a comment */ start transaction', [], { cache: false }),
      client => client.batch(['SELECT 1', 'BEGIN']),
      client => client.simpleQuery('SELECT 1; BEGIN')
    ]) {
      const client = await prepared();
      const begun = begin(client);
      const refused = assert.rejects(
        client.transaction(tx => insert(tx, 1)),
        { name: 'UsageError', code: '25001' },
        String(begin)
      );
      await begun;
      await refused;
      await client.query('ROLLBACK');
      await client.transaction(tx => insert(tx, 2));
      assert.deepEqual(await ints(client), [2]);
    }
  });

  it('begin behind a query that is to end the block of another, all in one tick', async () => {
    const prepare = "PREPARE TRANSACTION 'in one tick'";
    for (const [end, undo] of [
      [client => client.query('COMMIT')],
      [client => client.query(prepare), "ROLLBACK PREPARED 'in one tick'"],
      [client => client.simpleQuery(`SELECT 1; ${prepare}`), "ROLLBACK PREPARED 'in one tick'"]
    ]) {
      const client = await connected();
      const { max_prepared_transactions: most } = (await client.query('SHOW max_prepared_transactions')).one();
      if (undo && most === '0') continue; // a server that was not started for the tests
      const [, , result] = await Promise.all([
        client.query('BEGIN'),
        end(client),
        client.transaction(tx => tx.query('SELECT 1 AS one'))
      ]);
      assert.deepEqual(result.objects, [{ one: 1 }], String(end));
      if (undo) await client.query(undo);
    }
  });

  it('hold what is asked in one tick besides the first request until BEGIN is answered, though that takes long', async () => {
    const { client, wire } = await proxied();
    await client.transaction(async tx => {
      const first = tx.query('SELECT pg_sleep(0.1)');
      const sent = () => wire.recorded.toServer.toString('latin1').includes('SELECT 2');
      const second = tx.query('SELECT 2');
      let over = false;
      first.then(() => {
        over = true;
      });
      await turn();
      assert.equal(sent(), false);
      while (!sent()) await turn();
      assert.equal(over, false, 'the first one is still at work');
      await Promise.all([first, second]);
    });
  });
});

describe('A BEGIN that fails', () => {
  const failing = () => Buffer.concat([ANSWER.error('25001', 'no BEGIN today')]);

  for (const [kind, work, types] of [
    ['query', tx => tx.query('SELECT 1'), ['PDBEH', 'PDBES']],
    ['batch', tx => tx.batch(['SELECT 1', 'SELECT 2']), ['PDBEH', 'PDBEPDBES']],
    ['simpleQuery', tx => tx.simpleQuery('SELECT 1'), ['PDBEH', 'Q', 'S']],
    ['savepoint', tx => tx.transaction(nested => nested.query('SELECT 1')), ['PDBEPDBEH', 'PDBES']]
  ]) {
    it(`takes the ${kind} with it that it was sent with, and nothing else is sent`, async () => {
      const seen = [];
      const client = await faked(async conversation => {
        for (const expected of types) {
          if (expected === 'S') conversation.say(failing());
          seen.push(await conversation.request());
        }
        if (!types.includes('S')) conversation.say(failing());
        conversation.say(ANSWER.ready);
        seen.push(await conversation.request());
        conversation.say(ANSWER.described('a'), dataRow('x'), commandComplete('SELECT 1'), ANSWER.ready);
      });
      const codes = [];
      const whole = client.transaction(async tx => {
        const note = error => codes.push(error.code);
        await Promise.all([work(tx).catch(note), tx.query('SELECT 2').catch(note)]);
        await tx.query('SELECT 3').catch(note);
      });
      const behind = client.query('SELECT 4');
      await assert.rejects(whole, { code: '25001', message: 'no BEGIN today' });
      assert.deepEqual(codes, ['25001', '25001', '25001']);
      assert.equal((await behind).rows[0].a, 'x');
      assert.deepEqual(seen, [...types, 'PDBES']);
      assert.equal(client.pending, 0);
    });
  }
});
