'use strict';

const assert = require('node:assert/strict');
const { AsyncLocalStorage } = require('node:async_hooks');
const net = require('node:net');
const { Duplex, Writable } = require('node:stream');
const { mock } = require('node:test');
const { setImmediate: turn } = require('node:timers/promises');
const { sharedServer } = require('../support');
const { collector, slow } = require('../support/kit');
const { SESSIONS, table } = require('./kit');

/** A socket whose data comes when a promise has resolved, not from the event loop. */
function promisedSocket({ port, host }) {
  const socket = net.connect(port, host);
  const duplex = new Duplex({
    read() {},
    write: (...given) => void socket.write(...given),
    final: done => void socket.end(done)
  });
  socket.on('data', async chunk => {
    await undefined;
    duplex.push(chunk);
  });
  return duplex.on('close', () => socket.destroy());
}

const own = options => new Writable({ write: (chunk, encoding, done) => done(), ...options });

const METHODS = {
  query: (session, stream, text, more) => session.query(text, [], { stream, ...more }),
  'query by position': (session, stream, text) => session.query(text, [], 0, true, stream),
  queryTo: (session, stream, text, more) => session.queryTo(stream, text, [], { end: false, ...more }),
  'query with a signal': (session, stream, text) =>
    session.query(text, [], { stream, signal: new AbortController().signal })
};

const ROW = "SELECT 'a' AS a";
const FAILS = 'SELECT 1 / (3 - i) AS a FROM generate_series(1, 5) i';

/** What becomes of one result, while two others go into the same stream, before and behind it. */
const CASES = {
  'succeeds, and each is written whole': async run => {
    const stream = collector();
    const results = await Promise.all([run(stream, "SELECT 'x'"), run(stream, ROW), run(stream, "SELECT 'y'")]);
    assert.deepEqual(
      stream.bytes
        .toString('latin1')
        .match(/[xay](?=C\0\0\0\rSELECT 1\0)/g)
        .sort(),
      ['a', 'x', 'y']
    );
    for (const result of results) assert.ok(result === stream || result.rowCount === 1);
  },
  'fails, and the others are whole': async run => {
    const stream = collector();
    const [first, failed, last] = await Promise.allSettled([run(stream, ROW), run(stream, FAILS), run(stream, ROW)]);
    assert.equal(failed.reason?.code, '22012');
    assert.deepEqual([first.status, last.status], ['fulfilled', stream.destroyed ? 'rejected' : 'fulfilled']);
  },
  'meets an error of the stream in the tick of its write': async run => {
    const stream = own({ write: (chunk, encoding, done) => done(new Error('full')) });
    await assert.rejects(run(stream, ROW), /full/);
    await assert.rejects(run(stream, ROW), { name: /Error/ });
  },
  'meets a stream that was destroyed': async run => {
    await assert.rejects(run(own().destroy(), ROW), { name: 'AbortError' });
  },
  'meets a stream that is destroyed meanwhile': async run => {
    const stream = own();
    const running = run(stream, 'SELECT pg_sleep(5)');
    setImmediate(() => stream.destroy(new Error('gone')));
    await assert.rejects(running, /gone/);
  },
  'leaves no listener for it alone': async run => {
    const stream = own();
    for (let i = 0; i < 20; i++) await run(stream, ROW);
    assert.ok(['close', 'error', 'finish', 'drain'].every(name => stream.listenerCount(name) <= 1));
  },
  'runs the stream in the context of its caller': async run => {
    const store = new AsyncLocalStorage();
    const seen = [];
    const stream = own({
      write(chunk, encoding, done) {
        seen.push(store.getStore());
        done();
      }
    });
    await Promise.all(['one', 'two', 'three'].map(name => store.run(name, () => run(stream, ROW))));
    assert.deepEqual([...new Set(seen)].sort(), ['one', 'three', 'two']);
  }
};

describe('A result into a stream that stays open', function () {
  this.timeout(30000);

  const sessions = Object.fromEntries(
    Object.entries(SESSIONS).filter(([name]) => ['client', 'pool', 'with'].includes(name))
  );

  table('has the same outcome on all paths', { case: CASES, method: METHODS, session: sessions }, (check, into, open) =>
    open(async session => {
      await check((stream, text) => into(session, stream, text));
      assert.equal((await session.query('SELECT 1 AS a')).rows[0].a, 1, 'the session goes on');
    })
  );

  const WAITS = { query: false, queryTo: true };
  table(
    'is over when its stream has its bytes, that of queryTo when it has taken them',
    { method: WAITS },
    (waits, names) =>
      SESSIONS.client(async client => {
        const stream = slow();
        let isOver = false;
        const running = METHODS[names[0]](client, stream, ROW).then(() => {
          isOver = true;
        });
        await stream.asked();
        await client.query('SELECT 1');
        assert.equal(isOver, !waits);
        stream.hurry();
        await running;
      })
  );

  it('fails with the error of its stream wherever its end was read', async () => {
    const { config } = await sharedServer();
    const use = async client => {
      const full = () => own({ write: (chunk, encoding, done) => done(new Error('full')) });
      for (const run of Object.values(METHODS)) await assert.rejects(run(client, full(), ROW), /full/);
    };
    await SESSIONS.client(use, { socket: () => promisedSocket(config) });
  });

  it('has one error for its reader, although its statement_timeout passes while that takes it', () =>
    SESSIONS.client(async client => {
      const stream = slow();
      const text = "SELECT repeat('x', 1000), 1 / (3000 - i) FROM generate_series(1, 4000) AS i";
      mock.timers.enable({ apis: ['setTimeout'] });
      try {
        const running = METHODS.queryTo(client, stream, text, { buffer: 1e9, statement_timeout: 1000 });
        await Promise.all([stream.asked(), client.query('SELECT 1')]);
        mock.timers.tick(1000);
        await turn();
        stream.hurry();
        await assert.rejects(running, { code: '22012' });
      } finally {
        mock.timers.reset();
      }
      assert.equal(stream.text.split('division by zero').length, 2);
    }));

  it('ends by its own statement_timeout', () =>
    SESSIONS.client(async client => {
      for (const name of ['query', 'queryTo']) {
        const running = METHODS[name](client, own(), 'SELECT pg_sleep(5)', { statement_timeout: 30 });
        await assert.rejects(running, { name: 'TimeoutError' });
      }
    }));
});
