'use strict';

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { pipeline } = require('node:stream/promises');
const { mock } = require('node:test');
const { setImmediate: turn } = require('node:timers/promises');
const { startProxy } = require('pg-test-fixtures');
const { LEASE } = require('../../lib/core/internal');
const { Client, ConnectionError } = require('../..');
const { FakeServer } = require('../support/connecting');
const {
  activity,
  sharedServer,
  connected,
  proxied,
  faked,
  answering,
  message,
  dataRow,
  GREETING,
  ANSWER,
  running
} = require('../support');
const { until } = require('../support/kit');

/** All events of a client that tell of its end. */
function events(client) {
  const list = [];
  client.on('error', error => list.push(['error', error]));
  client.on('end', () => list.push(['end']));
  return list;
}

describe('A lost connection', () => {
  it('rejects everything that is pending, and tells what had been sent', async () => {
    const { client, wire } = await proxied();
    await client.query('SELECT 1');
    wire.stall('toServer');
    const sent = [
      client.query('SELECT 1'),
      client.query('SELECT 2', ['x']),
      client.query('SELECT 3', [], { alone: true })
    ];
    const unsent = [
      client.query('SELECT 4'),
      client.transaction(() => {}),
      client.batch([['SELECT 5']]),
      client.query('COPY t FROM STDIN')
    ];
    await turn();
    wire.reset();
    for (const promise of sent) {
      await assert.rejects(
        promise,
        error =>
          error instanceof ConnectionError && error.sent === true && /may have carried it out/.test(error.message)
      );
    }
    for (const promise of unsent) {
      await assert.rejects(
        promise,
        error => error instanceof ConnectionError && error.sent === false && /had not been sent/.test(error.message)
      );
    }
    assert.equal(client.pending, 0);
  });

  it('tells of what was to leave in the same tick that it was not sent', async () => {
    const { client, wire } = await proxied();
    await client.query('SELECT 1');
    const sent = client.query('SELECT pg_sleep(60)');
    await until(async () => (await activity(client)) === 'active');
    const late = [client.query('SELECT 1'), client.transaction(tx => tx.query('SELECT 1'))];
    client.destroy(new Error('the end'));
    await assert.rejects(sent, { name: 'ConnectionError', sent: true });
    for (const promise of late)
      await assert.rejects(promise, { name: 'ConnectionError', sent: false, message: /had not been sent$/ });
    wire.reset();
  });

  it('is told by every rejection, with its code', async () => {
    const client = await connected();
    const list = events(client);
    const pending = [client.query('SELECT pg_sleep(60)'), client.query('SELECT 1'), client.transaction(() => {})];
    await running(client);
    await (await sharedServer()).sql(`SELECT pg_terminate_backend(${client.processId})`);
    for (const promise of pending) {
      await assert.rejects(promise, error => {
        assert.ok(error instanceof ConnectionError);
        assert.equal(error.code, '57P01');
        assert.match(error.message, /administrator command/);
        return true;
      });
    }
    const lost = await client.closed;
    assert.equal(lost.code, '57P01');
    assert.deepEqual(list, [['error', lost], ['end']]);
    await assert.rejects(client.query('SELECT 1'), { name: 'ConnectionError', code: '08003', sent: false });
  });

  it('tells that queries of the first flight had been sent', async () => {
    const fake = await new FakeServer(async conversation => {
      await conversation.first();
      await conversation.read();
      conversation.socket.destroy();
    }).listen();
    const client = new Client({ ...fake.config, require_auth: 'none' });
    const flown = client.query('SELECT 1');
    const waiting = client.transaction(() => {});
    await assert.rejects(client.connect());
    await assert.rejects(flown, { name: 'ConnectionError', sent: true });
    await assert.rejects(waiting, { name: 'ConnectionError', sent: false });
    assert.equal(client.pending, 0);
    fake.stop();
  });

  it('is replaced by another connect() on the same client', async () => {
    const client = await connected();
    const server = await sharedServer();
    for (let i = 0; i < 5; i++) {
      const { closed } = client;
      const pid = client.processId;
      const lost = client.query('SELECT pg_sleep(60)');
      await running(client);
      await server.sql(`SELECT pg_terminate_backend(${pid})`);
      await assert.rejects(lost);
      await closed;
      const early = client.connect();
      assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
      await early;
      assert.notEqual(client.processId, pid);
    }
  });

  it('may be replaced in the handlers of its events', async () => {
    for (const event of ['error', 'end']) {
      const client = await connected();
      client.on('error', () => {});
      const again = new Promise(resolve => client.once(event, () => resolve(client.connect())));
      await (await sharedServer()).sql(`SELECT pg_terminate_backend(${client.processId})`);
      await again;
      await turn();
      assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1, event);
    }
  });

  it('is lost also when nothing but garbage comes, and what came whole before it counts', async () => {
    const client = await answering(
      ANSWER.described('a'),
      dataRow('x'),
      message('C', 'SELECT 1\0'),
      ANSWER.ready,
      Buffer.alloc(100, 255)
    );
    const [good, bad] = await Promise.allSettled([client.query('SELECT 1'), client.query('SELECT 1')]);
    assert.equal(good.value.rows[0].a, 'x');
    assert.equal(bad.reason.code, '08P01');
    assert.equal((await client.closed).code, '08P01');
  });
});

describe('destroy()', () => {
  it('rejects everything at once', async () => {
    const client = await connected();
    const list = events(client);
    const pending = [
      client.query('SELECT pg_sleep(60)'),
      client.transaction(() => {}),
      client.cursor('SELECT 1').next(),
      client.end()
    ];
    client.destroy();
    assert.equal(client.state, 'closed');
    assert.equal(client.pending, 0);
    const results = await Promise.allSettled(pending);
    assert.deepEqual(
      results.map(({ reason }) => reason && reason.code),
      ['08003', '08003', '08003', undefined]
    );
    assert.equal(await client.closed, undefined);
    assert.deepEqual(list, [['end']]);
    client.destroy();
    await client.end();
  });

  it('takes an error as the reason', async () => {
    const client = await connected();
    const list = events(client);
    const pending = client.query('SELECT pg_sleep(60)');
    const error = new Error('enough');
    client.destroy(error);
    await assert.rejects(
      pending,
      thrown => thrown instanceof ConnectionError && thrown.cause === error && !/enough/.test(thrown.message)
    );
    assert.equal(await client.closed, error);
    assert.deepEqual(list, [['error', error], ['end']]);
  });

  it('lets connect() follow at once', async () => {
    const client = await connected();
    for (let i = 0; i < 10; i++) {
      client.query('SELECT pg_sleep(60)').catch(() => {});
      client.destroy();
      await client.connect();
      assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
    }
    const { config } = await sharedServer();
    const early = new Client(config);
    const lost = early.connect();
    early.destroy();
    await Promise.all([assert.rejects(lost), early.connect()]);
    assert.equal((await early.query('SELECT 1 AS one')).rows[0].one, 1);
    await early.end();
  });

  it('may be called in any callback', async () => {
    const destroyed = { name: 'ConnectionError', code: '08003' };
    for (const ask of [
      client => client.query('SELECT generate_series(1, 10)', [], { stream: { write: () => client.destroy() } }),
      client => {
        client.startQuery('SELECT generate_series(1, 10)');
        return client.getResults(2, {
          write: packet => {
            if (packet[0] === 115) client.destroy();
          }
        });
      },
      client => {
        client.on('notice', () => client.destroy());
        return client.query("DO $$ BEGIN RAISE NOTICE 'now'; END $$");
      },
      client => {
        client.onNotification = () => client.destroy();
        return client.simpleQuery('LISTEN c; NOTIFY c; SELECT pg_sleep(0)').then(() => client.query('SELECT 1'));
      },
      client => {
        client.on('parameter', () => client.destroy());
        return client.query("SET application_name = 'now'");
      },
      client =>
        client.transaction(async tx => {
          client.destroy();
          await tx.query('SELECT 1');
        }),
      client => client.transaction(async () => client.destroy()),
      async client => {
        for await (const row of client.cursor('SELECT generate_series(1, 10)', [], { batchSize: 2 }))
          client.destroy(row && undefined);
      }
    ]) {
      const client = await connected();
      await assert.rejects(ask(client), destroyed, String(ask));
      assert.equal(client.state, 'closed');
      assert.equal(client.pending, 0);
    }
  });

  it('may be called by a handler of a notice while connecting', async () => {
    const fake = await new FakeServer(async conversation => {
      await conversation.first();
      conversation.say(GREETING.subarray(0, -6), message('N', 'SNOTICE\0VNOTICE\0C00000\0Mhello\0\0'), ANSWER.ready);
    }).listen();
    const client = new Client(fake.config);
    client.on('notice', () => client.destroy());
    const query = client.query('SELECT 1');
    await assert.rejects(client.connect(), { code: '08003' });
    await assert.rejects(query, { code: '08003' });
    assert.equal(client.state, 'closed');
    await fake.closed();
    fake.stop();
  });

  it('rejects queries that nobody has connected for', async () => {
    const client = new Client({ user: 'nobody' });
    const { closed } = client;
    const query = client.query('SELECT 1');
    client.destroy();
    await assert.rejects(query, { code: '08003', sent: false });
    assert.equal(await closed, undefined);
  });
});

describe('end()', () => {
  it('rejects queries that nobody has connected for', async () => {
    const client = new Client({ user: 'nobody' });
    const { closed } = client;
    const query = client.query('SELECT 1');
    await client.end();
    await assert.rejects(query, { code: '08003', sent: false });
    assert.equal(await closed, undefined);
  });

  it('waits for the connection when it is still being made, and takes nothing more', async () => {
    const { config } = await sharedServer();
    const client = new Client(config);
    const list = events(client);
    const connecting = client.connect();
    const query = client.query('SELECT 1 AS one');
    const ended = client.end();
    await assert.rejects(client.query('SELECT 2'), { code: '08003', sent: false });
    await connecting;
    assert.equal((await query).rows[0].one, 1);
    await ended;
    assert.equal(await client.closed, undefined);
    assert.deepEqual(list, [['end']]);
  });

  it('resolves when the connection cannot be made', async () => {
    const client = new Client({ host: '127.0.0.1', port: 1, user: 'nobody' });
    const connecting = client.connect();
    const query = client.query('SELECT 1');
    const ended = client.end();
    await assert.rejects(connecting, { code: 'ECONNREFUSED' });
    await assert.rejects(query, { code: 'ECONNREFUSED', sent: false });
    await ended;
  });

  it('lets cursors and transactions come to their end', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE t (i int)');
    let rows = 0;
    let ended;
    const loop = async () => {
      for await (const row of client.cursor('SELECT generate_series(1, 100)', [], { batchSize: 7 })) {
        assert.ok(row);
        if (++rows === 10) ended = client.end();
      }
    };
    const work = client.transaction(async tx => {
      client.end().catch(() => {}); // it is asked inside the function
      await tx.query('INSERT INTO t VALUES (1)');
      await tx.query('SELECT 1');
      await pipeline(['2\n'], tx.copyFrom('COPY t FROM STDIN'));
      return (await tx.query('SELECT count(*) AS n FROM t')).rows[0].n;
    });
    const looped = loop().catch(error => error);
    assert.equal(await work, 2);
    // The loop's first row was asked for before the end was.
    assert.equal(await looped, undefined);
    assert.equal(rows, 100);
    await ended;
    await client.closed;
  });

  it('fails a COPY FROM STDIN whenever it begins, and ends a query of startQuery', async () => {
    for (const wait of [true, false]) {
      const client = await connected();
      await client.query('CREATE TEMP TABLE t (i int)');
      const copies = [client.query('COPY t FROM STDIN')];
      copies[0].then(
        () => {},
        () => {}
      );
      if (wait) await copies[0];
      else copies.push(client.query('COPY t FROM STDIN'));
      const behind = client.query('SELECT 1 AS one');
      await client.end();
      for (const copy of copies) await copy;
      assert.equal((await behind).rows[0].one, 1);
    }
    const client = await connected();
    client.startQuery('SELECT generate_series(1, 10)');
    await client.getResults(2);
    const more = client.getResults(2);
    await client.end();
    assert.equal((await more).rows.length, 2);
  });

  it('does not wait for a server that does not close the connection', async () => {
    const { client, wire } = await proxied();
    const list = events(client);
    await client.query('SELECT 1');
    wire.stall();
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const ended = client.end();
      mock.timers.tick(2999);
      assert.equal(client.state, 'ending');
      mock.timers.tick(1);
      await ended;
    } finally {
      mock.timers.reset();
    }
    assert.equal(client.state, 'closed');
    assert.deepEqual(list, [['end']]);
  });

  it('does not wait for a silent server where every request was given up', async () => {
    const { client, wire } = await proxied();
    await client.query('SELECT 1');
    wire.stall();
    mock.timers.enable({ apis: ['setInterval'] });
    try {
      await assert.rejects(
        client.transaction(tx => tx.query('SELECT 1'), { statement_timeout: 20 }),
        { code: '57014' }
      );
      const ended = client.end();
      mock.timers.tick(1000);
      assert.equal(client.state, 'ending');
      client[LEASE].pipeline.silentSince -= 3000;
      mock.timers.tick(1000);
      await ended;
    } finally {
      mock.timers.reset();
    }
    assert.equal(client.state, 'closed');
  });

  it('waits for an answer that takes long, but comes', async () => {
    const { client } = await proxied();
    const query = client.query('SELECT pg_sleep(0.05)');
    mock.timers.enable({ apis: ['setInterval'] });
    try {
      const ended = client.end();
      mock.timers.tick(9000);
      await query;
      await ended;
    } finally {
      mock.timers.reset();
    }
  });

  it('is no loss when the server closes the connection in another way', async () => {
    const client = await faked(async conversation => {
      await conversation.read(); // Terminate
      conversation.socket.resetAndDestroy();
    });
    const list = events(client);
    await client.end();
    assert.equal(await client.closed, undefined);
    assert.deepEqual(list, [['end']]);
  });

  it('is a loss when the server closes the connection while something runs', async () => {
    const { client, wire } = await proxied();
    const list = events(client);
    const query = client.query('SELECT pg_sleep(60)');
    const ended = client.end();
    await running(client);
    wire.cut();
    await assert.rejects(query, { name: 'ConnectionError', sent: true });
    await ended;
    assert.equal(list[0][0], 'error');
  });
});

/** Runs a script with a client of the shared server in a process of its own. */
async function script(body) {
  const { config } = await sharedServer();
  const code = `
    const { Client } = require(${JSON.stringify(path.join(__dirname, '../..'))});
    const config = ${JSON.stringify(config)};
    process.on('unhandledRejection', error => { console.log('unhandled', error); process.exitCode = 9; });
    (async () => { ${body} })().catch(error => { console.log(error); process.exitCode = 1; });
    process.on('exit', code => console.log('exit', code));`;
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', text => {
    output += text;
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), 15000);
  const begun = Date.now();
  await once(child, 'close');
  clearTimeout(timer);
  return { output: output.trim(), ms: Date.now() - begun };
}

describe('A program', () => {
  it('ends when its clients have, though they had time limits, signals, cursors and transactions', async () => {
    const { output, ms } = await script(`
      const client = new Client(config);
      await client.connect();
      const { signal } = new AbortController();
      await client.query('SELECT 1', [], { signal, statement_timeout: 60000 });
      await client.query('SELECT pg_sleep(60)', [], { statement_timeout: 10 }).catch(() => {});
      await client.transaction(tx => tx.query('SELECT 1', [], { statement_timeout: 60000 }));
      for await (const row of client.cursor('SELECT 1', [], { signal })) if (row) break;
      client.query('SELECT 1').catch(() => {});
      client.end();`);
    assert.equal(output, 'exit 0');
    assert.ok(ms < 10000);
  });

  it('does not end for rejections that it has handled, nor for those inside', async () => {
    const { output } = await script(`
      const client = new Client({ ...config, connect_timeout: 5 });
      const early = client.query('SELECT 1');
      await client.connect();
      await early;
      const slow = client.query('SELECT pg_sleep(60)');
      const more = [client.batch([['SELECT 1']]), client.transaction(() => {}), client.simpleQuery('SELECT 1'),
        client.cursor('SELECT 1').next(), client.query('COPY t FROM STDIN')];
      const cancelled = client.cancel().catch(() => {});
      const ended = client.end();
      client.destroy();
      const results = await Promise.allSettled([slow, ...more]);
      await Promise.all([cancelled, ended, client.closed]);
      if (!results.every(({ status }) => status === 'rejected')) console.log(results);`);
    assert.equal(output, 'exit 0');
  });

  it('is not kept running by a client that is unreferenced, before it has connected or after', async () => {
    const { output } = await script(`
      const running = setTimeout(() => {}, 60000);
      const [one, two, three] = [1, 2, 3].map(() => new Client(config));
      one.unref();
      await one.connect();
      await two.connect();
      two.unref();
      two.ref();
      two.unref();
      three.unref();
      await three.connect();
      three.destroy();
      await three.connect();
      await Promise.all([one.query('SELECT 1'), two.query('SELECT 1'), three.query('SELECT 1')]);
      clearTimeout(running);
      console.log('over');`);
    assert.equal(output, 'over\nexit 0');
  });
});

describe('A network that goes silent', () => {
  it('is noticed where the connection is made again and again', async () => {
    const server = await sharedServer();
    const proxy = await startProxy({ target: server });
    const client = new Client({ ...server.config, port: proxy.port, connect_timeout: 2 });
    await client.connect();
    proxy.stall();
    const lost = client.query('SELECT 1', [], { statement_timeout: 50 });
    await assert.rejects(lost, { code: '57014' });
    client.destroy();
    proxy.resume();
    await client.connect();
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
    await client.end();
    await proxy.stop();
  });
});
