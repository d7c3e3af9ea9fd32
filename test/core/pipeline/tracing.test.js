'use strict';

const assert = require('node:assert/strict');
const { AsyncLocalStorage } = require('node:async_hooks');
const { tracingChannel } = require('node:diagnostics_channel');
const { PassThrough } = require('node:stream');
const { inspect } = require('node:util');
const { LEASE } = require('../../../lib/core/internal');
const { Client } = require('../../..');
const { Pool } = require('../../../lib/pool');
const { connected, sharedServer } = require('../../support');
const { afterTest } = require('../../support/hooks');
const { until } = require('../../support/kit');

const channel = tracingChannel('quickgres:query');
const MESSAGES = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'];

describe('diagnostics', () => {
  let events, subscribers;
  beforeEach(() => {
    events = [];
    subscribers = Object.fromEntries(MESSAGES.map(name => [name, operation => events.push([name, operation])]));
    channel.subscribe(subscribers);
  });
  afterEach(() => channel.unsubscribe(subscribers));

  /** Which messages of an operation came, in their order, and the operation. */
  function told(text) {
    const [, operation] = events.find(([, each]) => each.text === text);
    return {
      operation,
      names: events
        .filter(([, each]) => each === operation)
        .map(([name]) => name)
        .join(' ')
    };
  }

  it('tells of the start and the end of a query, and not of values or rows', async () => {
    const client = await connected();
    const text = 'SELECT $1::text AS answer';
    const promise = client.query(text, ['a secret value']);
    assert.equal(told(text).names, 'start end');
    await promise;
    const { operation, names } = told(text);
    assert.equal(names, 'start end asyncStart asyncEnd');
    assert.deepEqual(operation.result, { cmd: 'SELECT', rowCount: 1 });
    assert.equal(operation.error, undefined);
    const { host, port, config } = client[LEASE].pipeline.connection;
    assert.deepEqual(
      [operation.host, operation.port, operation.database, operation.user, operation.processId],
      [host, port, config.database, config.user, client.processId]
    );
    assert.ok(!inspect(operation, { depth: 9, showHidden: true, getters: true }).includes('a secret value'));
  });

  it('tells of an error before the caller knows it', async () => {
    const client = await connected();
    const error = await client.query('SELECT 1 / 0').catch(error => {
      assert.equal(told('SELECT 1 / 0').names, 'start end error asyncStart asyncEnd');
      return error;
    });
    assert.equal(told('SELECT 1 / 0').operation.error, error);
    assert.equal(told('SELECT 1 / 0').operation.result, undefined);
  });

  it('tells how many rows each batch of a cursor has', async () => {
    const client = await connected();
    for await (const row of client.cursor('SELECT generate_series(1, 7)', [], { batchSize: 3 })) row.get(0);
    const batches = events.filter(([name]) => name === 'asyncEnd').map(([, { result }]) => result);
    assert.deepEqual(
      batches.map(({ cmd, rowCount }) => `${cmd} ${rowCount}`),
      ['BEGIN 0', 'SUSPENDED 3', 'SUSPENDED 3', 'SELECT 1', 'COMMIT 0']
    );
  });

  it('tells of whatever has SQL, once', async () => {
    const client = await connected();
    await client.batch(['SELECT 1', ['SELECT generate_series(1, $1)', ['2']]]);
    await client.simpleQuery('SELECT 3; SELECT 4 UNION ALL SELECT 5');
    await client.transaction(tx => tx.query('SELECT 6'));
    await client.queryTo(new PassThrough().resume(), 'SELECT 7');
    for await (const row of client.cursor('SELECT generate_series(1, 5)', [], { batchSize: 3 })) row.get(0);
    await client.query('CREATE TEMP TABLE traced (n int)');
    await client.query('COPY traced FROM STDIN');
    client.copyData('1\n2\n');
    assert.equal(told('COPY traced FROM STDIN').names, 'start end');
    await client.copyDone();
    await client.query('COPY traced FROM STDIN');
    await client.copyFail();
    for await (const piece of client.copyTo('COPY traced TO STDOUT')) assert.ok(piece.length);
    await client.sync();
    const ended = events
      .filter(([name]) => name === 'asyncEnd')
      .map(([, { text, batchSize, result, error }]) => [
        text,
        batchSize,
        result ? [result.cmd, result.rowCount] : error.code
      ]);
    assert.deepEqual(ended, [
      ['SELECT 1; SELECT generate_series(1, $1)', 2, [undefined, 3]],
      ['SELECT 3; SELECT 4 UNION ALL SELECT 5', undefined, [undefined, 3]],
      ['BEGIN', undefined, ['BEGIN', 0]],
      ['SELECT 6', undefined, ['SELECT', 1]],
      ['COMMIT', undefined, ['COMMIT', 0]],
      ['SELECT 7', undefined, ['SELECT', 1]],
      ['BEGIN', undefined, ['BEGIN', 0]],
      ['SELECT generate_series(1, 5)', undefined, ['SUSPENDED', 3]],
      ['SELECT generate_series(1, 5)', undefined, ['SELECT', 2]],
      ['COMMIT', undefined, ['COMMIT', 0]],
      ['CREATE TEMP TABLE traced (n int)', undefined, ['CREATE TABLE', 0]],
      ['COPY traced FROM STDIN', undefined, ['COPY', 2]],
      ['COPY traced FROM STDIN', undefined, '57014'],
      ['COPY traced TO STDOUT', undefined, ['COPY', 2]]
    ]);
    const count = name => events.filter(([each]) => each === name).length;
    assert.deepEqual(MESSAGES.map(count), [14, 14, 14, 14, 1]);
  });

  it('tells of one that is cancelled, once, before the caller knows it', async () => {
    const client = await connected();
    const controller = new AbortController();
    const promise = client.query('SELECT pg_sleep(60)', [], { signal: controller.signal });
    controller.abort();
    await promise.catch(error => {
      assert.equal(error.name, 'AbortError');
      assert.equal(told('SELECT pg_sleep(60)').operation.error, error);
    });
    await client.query('SELECT 1');
    assert.equal(told('SELECT pg_sleep(60)').names, 'start end error asyncStart asyncEnd');
  });

  it('tells of one that cannot be sent, and of one that was asked before the connection was there', async () => {
    const client = await connected();
    await assert.rejects(client.query('SELECT $1', [Symbol('s')]), TypeError);
    assert.equal(told('SELECT $1').names, 'start end error asyncStart asyncEnd');
    const {
      host,
      port,
      config: { user, database }
    } = client[LEASE].pipeline.connection;
    const early = new Client({ host, port, user, database });
    const connecting = early.connect();
    const promise = early.query('SELECT 8');
    assert.equal(told('SELECT 8').operation.host, undefined);
    await Promise.all([connecting, promise]);
    assert.equal(told('SELECT 8').operation.processId, early.processId);
    await early.end();
  });

  it('tells a text, whatever was given for one, since subscribers read it', async () => {
    const client = await connected();
    for (const wrong of [null, 5, {}]) {
      await assert.rejects(client.query(wrong), TypeError);
      assert.equal(told(String(wrong)).names, 'start end error asyncStart asyncEnd');
    }
  });

  it('tells how long a query has waited, until it is sent, and how long until the first byte and in all', async () => {
    const client = await connected();
    let finish;
    const transaction = client.transaction(() => new Promise(resolve => (finish = resolve)));
    const waiting = client.query('SELECT 10');
    const { operation } = told('SELECT 10');
    assert.equal(operation.waited, undefined);
    while (finish === undefined) await new Promise(setImmediate);
    finish();
    await Promise.all([transaction, waiting]);
    const { waited, firstByte, duration } = operation;
    assert.ok(waited > 0 && firstByte > 0 && duration >= waited + firstByte, inspect(operation));
  });

  it('begins with the call in a pool as well, and is one, whatever was lost meanwhile', async () => {
    const { config } = await sharedServer();
    const pool = new Pool(config, { size: 1 });
    let finish;
    const begun = new Promise(resolve => {
      pool.transaction(async tx => {
        await tx.query('SELECT 11');
        resolve();
        await new Promise(resolve => (finish = resolve));
      });
    });
    await begun;
    const waiting = pool.query('SELECT 12');
    const before = performance.now();
    assert.equal(told('SELECT 12').names, 'start end');
    assert.equal(told('SELECT 12').operation.waited, undefined);
    await new Promise(setImmediate);
    const least = performance.now() - before;
    finish();
    await waiting;
    const { names, operation } = told('SELECT 12');
    assert.equal(names, 'start end asyncStart asyncEnd');
    assert.ok(operation.waited >= least && operation.duration > operation.waited, inspect(operation));
    assert.equal(events.filter(([, { text }]) => text === 'SELECT 12').length, 4);
    await pool.end();
  });

  it('tells why a stream of COPY was destroyed', async () => {
    const client = await connected();
    const mine = new Error('mine');
    for (const [error, reason, n] of [
      [undefined, /^AbortError: the stream was destroyed$/, 1],
      [mine, /^Error: mine$/, 2]
    ]) {
      const text = `COPY (SELECT ${n}) TO STDOUT`;
      const stream = client.copyTo(text).on('error', () => {});
      stream.destroy(error);
      await until(() => told(text).names.endsWith('asyncEnd'));
      assert.match(String(told(text).operation.error), reason);
    }
  });

  for (const [when, isWarm, isOwned] of [
    ['waits', true, true],
    ['runs', true, false],
    ['runs after a wait', false, false]
  ])
    it(`does not keep queryTo of a pool from ending with its target when it ${when}`, async () => {
      const pool = new Pool((await sharedServer()).config, { size: 1 });
      if (isWarm) await pool.query('SELECT 1');
      let finish;
      const owner = isOwned && pool.connection(() => new Promise(resolve => (finish = resolve)));
      if (isOwned) await until(() => finish !== undefined);
      const target = new PassThrough();
      const text = `SELECT pg_sleep(60) -- ${when}`;
      const written = pool.queryTo(target, text);
      if (!isOwned) await until(() => told(text).operation.waited !== undefined);
      target.destroy(new Error('gone'));
      await assert.rejects(written, { message: 'gone' });
      assert.equal(told(text).names, 'start end error asyncStart asyncEnd');
      finish?.();
      await owner;
      await pool.end();
    });

  it('tells of what failed without a connection, with its text', async () => {
    const { config } = await sharedServer();
    const pool = new Pool(config, { size: 1, acquire_timeout: 20 });
    let finish;
    await pool.query('SELECT 1').catch(() => {});
    while (pool.stats.idle === 0) await new Promise(setImmediate);
    const owner = pool.connection(() => new Promise(resolve => (finish = resolve)));
    while (finish === undefined) await new Promise(setImmediate);
    await assert.rejects(pool.query('SELECT 13'), { code: '53300' });
    await assert.rejects(
      pool.transaction(() => {}),
      { code: '53300' }
    );
    await assert.rejects(pool.cursor('SELECT 14').next(), { code: '53300' });
    await assert.rejects(pool.simpleQuery('SELECT 15'), { code: '53300' });
    for (const text of ['SELECT 13', 'BEGIN', 'SELECT 14', 'SELECT 15']) {
      const { names, operation } = told(text);
      assert.equal(names, 'start end error asyncStart asyncEnd', text);
      assert.equal(operation.error.code, '53300');
      assert.ok(operation.duration > 0 && operation.waited === undefined, text);
    }
    finish();
    await owner;
    await pool.end();
    const nowhere = new Pool({ ...config, host: '127.0.0.1', port: 1 });
    await assert.rejects(nowhere.query('SELECT 16'), { name: 'ConnectionError' });
    assert.equal(told('SELECT 16').operation.error.name, 'ConnectionError');
    await nowhere.end();
  });

  it('leaves the awaiting caller in the stack of an error', async () => {
    const client = await connected();
    const pool = new Pool((await sharedServer()).config);
    for (const session of [client, pool]) {
      const saveUser = async () => {
        await session.query('SELECT 1 / 0');
      };
      const { stack } = await saveUser().catch(error => error);
      assert.match(stack, /at async saveUser \(.*tracing\.test\.js/);
    }
    await pool.end();
  });

  it('leaves the SQL in the stack of an error that no code awaits', async () => {
    const client = await connected();
    const pool = new Pool((await sharedServer()).config);
    for (const session of [client, pool]) {
      const promise = session.query("SELECT 1 / 0, 'a secret'");
      promise.catch(() => {});
      while (!events.some(([name, { text }]) => name === 'asyncEnd' && text.includes('secret')))
        await new Promise(setImmediate);
      const { stack } = await promise.catch(error => error);
      assert.match(stack, /in a query that no known code awaits: SELECT … \/ …, '…'$/);
      assert.ok(!stack.includes('secret'));
      events = [];
    }
    await pool.end();
  });

  it('runs the stores that are bound to its start', async () => {
    const storage = new AsyncLocalStorage();
    afterTest(() => storage.disable()); // on Node.js 20 it makes every promise dearer
    const client = await connected();
    let seen;
    channel.start.bindStore(storage, ({ text }) => text);
    const onend = () => {
      seen = storage.getStore();
    };
    channel.end.subscribe(onend);
    await client.query('SELECT 9');
    channel.end.unsubscribe(onend);
    channel.start.unbindStore(storage);
    assert.equal(seen, 'SELECT 9');
  });

  it('needs nobody to listen', () => {
    channel.unsubscribe(subscribers);
    const { channel: own } = require('../../../lib/core/pipeline/tracing');
    assert.equal(own.hasSubscribers, false);
    channel.subscribe({ asyncEnd: subscribers.asyncEnd });
    assert.equal(own.hasSubscribers, true);
    channel.asyncEnd.unsubscribe(subscribers.asyncEnd);
    assert.equal(own.hasSubscribers, false);
  });
});
