'use strict';

const assert = require('node:assert/strict');
const { startProxy } = require('pg-test-fixtures');
const { Channels } = require('../../lib/core/listen');
const { held, sharedServer } = require('../support');
const { shorten } = require('../support/hooks');
const { opened, until } = require('./pools');

const LISTENING = "SELECT pid FROM pg_stat_activity WHERE query ~ '^LISTEN'";
const end = async pool =>
  (await sharedServer()).sql(`SELECT pg_terminate_backend(pid) FROM (${LISTENING}) it`).then(() => pool);

describe('The listening of a pool', () => {
  it('are heard on one connection more, which ends with the last loop', async () => {
    const pool = await opened({ size: 1 });
    const news = pool.listen('news');
    const other = pool.listen('a "name"');
    await Promise.all([news.ready, other.ready]);
    await pool.batch(["NOTIFY news, '1'", "NOTIFY news, '2'", 'NOTIFY "a ""name"""']);
    assert.deepEqual(
      [await news.next(), await news.next()].map(({ value }) => value.payload),
      ['1', '2']
    );
    assert.equal((await other.next()).value.channel, 'a "name"');
    assert.equal((await (await sharedServer()).sql(LISTENING)).length, 1);
    await Promise.all([news.return(), other.return()]);
    assert.deepEqual(await news.next(), { done: true, value: undefined });
    await until(async () => (await (await sharedServer()).sql(LISTENING)).length === 0);
    const again = pool.listen('news');
    await again.ready;
    await again.return();
  });

  it('are listened to again when the connection was lost, and say so', async () => {
    const pool = await opened();
    const news = pool.listen('news');
    await news.ready;
    await pool.query("NOTIFY news, 'before'");
    assert.equal((await news.next()).value.payload, 'before');
    await end(pool);
    assert.deepEqual(await news.next(), {
      done: false,
      value: { processId: 0, channel: 'news', payload: '', missed: true }
    });
    await pool.query("NOTIFY news, 'behind'");
    const { value } = await news.next();
    assert.deepEqual([value.payload, value.missed], ['behind', undefined]);
    await news.return();
  });

  it('are listened to again when a signal ends the wait for a connection that has gone silent', async () => {
    const proxy = await startProxy({ target: await sharedServer() });
    const pool = await opened({}, { host: proxy.host, port: proxy.port }, { silence: 100 });
    const news = pool.listen('news');
    await news.ready;
    proxy.connections[0].stall();
    await assert.rejects(pool.listen('other', { signal: AbortSignal.timeout(50) }).ready, { name: 'TimeoutError' });
    assert.equal((await news.next()).value.missed, true);
    await pool.end();
    await proxy.stop();
  });

  it('are listened to again when attempts to connect have failed', async () => {
    const proxy = await startProxy({ target: await sharedServer() });
    const pool = await opened({}, { host: proxy.host, port: proxy.port });
    const errors = [];
    pool.on('error', error => errors.push(error));
    const news = pool.listen('news');
    await news.ready;
    proxy.refuse();
    proxy.cut();
    await until(() => errors.length >= 3);
    proxy.accept();
    assert.equal((await news.next()).value.missed, true);
    await pool.end();
    await proxy.stop();
  });

  it('are listened to on the next connection when theirs is lost before LISTEN was answered', async () => {
    const proxy = await startProxy({ target: await sharedServer() });
    const pool = await opened({}, { host: proxy.host, port: proxy.port });
    await pool.listen('news').ready;
    const [wire] = proxy.connections;
    const { toServer } = wire.stats.flights;
    wire.stall();
    const other = pool.listen('other');
    await until(() => wire.stats.flights.toServer > toServer);
    wire.reset();
    await other.ready;
    await pool.end();
    await proxy.stop();
  });

  it('end on the server with the last loop of a channel, while loops of other channels go on', async () => {
    const server = await sharedServer();
    const pool = await opened();
    const news = pool.listen('news');
    const other = pool.listen('other');
    await Promise.all([news.ready, other.ready]);
    const [{ pid }] = await server.sql(LISTENING);
    await other.return();
    const [{ query }] = await server.sql(`SELECT query FROM pg_stat_activity WHERE pid = ${pid}`);
    assert.equal(query, 'UNLISTEN "other"');
    await pool.query("NOTIFY news, 'on'");
    assert.equal((await news.next()).value.payload, 'on');
    await news.return();
  });

  it('that come with the answer to LISTEN come behind what tells that some were missed', async () => {
    const server = await sharedServer();
    const proxy = await startProxy({ target: server, delay: 20 });
    const { user, database } = server;
    const pool = await opened({}, { host: proxy.host, port: proxy.port, user, database });
    const news = pool.listen('news');
    await news.ready;
    for (let i = 0; i < 5; i++) {
      proxy.connections.at(-1).reset();
      let first;
      news.next().then(({ value }) => {
        first = value;
      });
      while (first === undefined) await server.sql("NOTIFY news, 'behind'");
      assert.equal(first.missed, true);
      await server.sql(`NOTIFY news, 'last of ${i}'`);
      while ((await news.next()).value.payload !== `last of ${i}`);
    }
    await pool.end();
    await proxy.stop();
  });

  it('are listened to again when the network has gone dark, without a request that would notice', async () => {
    shorten(Channels, 'silenceLimit', 20);
    const proxy = await startProxy({ target: await sharedServer() });
    const { user, database } = await sharedServer();
    const pool = await opened({}, { host: proxy.host, port: proxy.port, user, database });
    const errors = [];
    pool.on('error', ({ message }) => errors.push(message));
    const news = pool.listen('news', { keepalive: 20 });
    await news.ready;
    proxy.connections[0].stall();
    assert.equal((await news.next()).value.missed, true);
    assert.match(errors[0], /the server was silent for 40 ms/);
    let heard;
    do {
      await pool.query("NOTIFY news, 'behind'");
      heard = (await news.next()).value;
    } while (heard.missed); // a busy machine is silent for 40 ms as well
    assert.equal(heard.payload, 'behind');
    await pool.end();
    await proxy.stop();
  });

  it('close the unused connections of their pool when theirs is lost, and none that is in use', async () => {
    const proxy = await startProxy({ target: await sharedServer() });
    const { user, database } = await sharedServer();
    const pool = await opened({ size: 2 }, { host: proxy.host, port: proxy.port, user, database });
    const { call, release } = await held();
    const news = pool.listen('news');
    await news.ready;
    const listening = proxy.connections.at(-1);
    const running = pool.query(`SELECT 1 AS one, ${call}`, [], { alone: true });
    await pool.query('SELECT 1');
    assert.deepEqual([pool.stats.connected, pool.stats.idle], [2, 1]);
    listening.reset();
    assert.equal((await news.next()).value.missed, true);
    assert.deepEqual([pool.stats.connected, pool.stats.idle], [1, 0]);
    await release();
    assert.equal((await running).one().one, 1);
    await pool.end();
    await proxy.stop();
  });

  it('take only what a name can be, and the options that there are', async () => {
    const pool = await opened({}, { port: 1 });
    assert.throws(() => pool.listen(''), TypeError);
    assert.throws(() => pool.listen(5), TypeError);
    assert.throws(() => pool.listen('x'.repeat(64)), RangeError);
    assert.throws(() => pool.listen('x', { sginal: 1 }), /there is no option sginal/);
  });

  it('end with the signal, with the pool, and with its destruction', async () => {
    const pool = await opened();
    const controller = new AbortController();
    const first = pool.listen('first', { signal: controller.signal });
    const second = pool.listen('second');
    await Promise.all([first.ready, second.ready]);
    controller.abort(new Error('enough'));
    await assert.rejects(first.next(), { message: 'enough' });
    const waiting = second.next();
    await pool.end();
    assert.deepEqual(await waiting, { done: true, value: undefined });
    assert.throws(() => pool.listen('third'), { name: 'ConnectionError', code: '08003' });

    const other = await opened();
    const third = other.listen('third');
    await third.ready;
    other.destroy(new Error('now'));
    await assert.rejects(third.next(), error => error.name === 'ConnectionError' && error.cause.message === 'now');
  });

  it('tell the event error of the pool of their lost connection, and of attempts that failed', async () => {
    const pool = await opened();
    const news = pool.listen('news');
    await news.ready;
    const heard = new Promise(resolve => pool.once('error', resolve));
    await end(pool);
    assert.equal((await heard).code, '57P01');
    await news.return();

    const down = await opened({}, { host: '127.0.0.1', port: 1 });
    const failed = new Promise(resolve => down.once('error', resolve));
    const unheard = down.listen('news');
    assert.equal((await failed).code, 'ECONNREFUSED');
    await unheard.return();
    const quiet = await opened({}, { host: '127.0.0.1', port: 1 });
    await quiet.listen('news', { signal: AbortSignal.timeout(100) }).ready.catch(() => {}); // nobody has to listen
  });

  it('have ready reject with the reason of the signal, at once', async () => {
    const pool = await opened({}, { host: '127.0.0.1', port: 1 });
    const other = pool.listen('other');
    const controller = new AbortController();
    const news = pool.listen('news', { signal: controller.signal });
    const reason = new Error('enough');
    controller.abort(reason);
    await assert.rejects(news.ready, error => error === reason);
    await assert.rejects(news.next(), error => error === reason);
    await other.return();
    await assert.rejects(other.ready, { name: 'ConnectionError', message: 'the pool has stopped listening' });
    await assert.rejects(pool.listen('news', { signal: controller.signal }).ready, error => error === reason);
  });

  it('reject where the server says no', async () => {
    const pool = await opened({}, { database: 'nowhere' });
    const news = pool.listen('news');
    await assert.rejects(news.ready, { code: '3D000' });
    await assert.rejects(news.next(), { code: '3D000' });
  });
});
