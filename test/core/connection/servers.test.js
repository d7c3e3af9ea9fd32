'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const dns = require('node:dns');
const path = require('node:path');
const { promisify } = require('node:util');
const { freePort, startHole } = require('pg-test-fixtures');
const { resolve } = require('../../../lib/core/config');
const { inOrder, serversOf } = require('../../../lib/core/connection/servers');
const { open, failure, FakeServer, SAY } = require('../../support/connecting');

const good = async conversation => {
  await conversation.first();
  conversation.say(SAY.ok, SAY.parameter('name', conversation.name ?? ''), SAY.ready);
  await conversation.read();
  conversation.socket.end();
};

describe('Where to connect', () => {
  const fakes = [];
  afterEach(() => {
    for (const fake of fakes.splice(0)) fake.stop();
  });

  async function start(script, where) {
    const fake = await new FakeServer(script).listen(where);
    fakes.push(fake);
    return fake;
  }

  /** The config for several servers. */
  const all = (servers, more) => ({
    host: servers.map(() => '127.0.0.1').join(),
    port: servers.map(({ port }) => port).join(),
    user: 'u',
    database: 'd',
    connect_timeout: 20,
    ...more
  });

  async function find(config) {
    const resolved = resolve({ user: 'u', ...config }, undefined, {});
    const found = [];
    for (const entry of resolved.hosts) found.push(...(await serversOf(resolved, entry, 0)));
    return found.map(({ address, where, local }) => ({ address, where, local }));
  }

  it('is a Unix socket, an address, or each address of a name', async () => {
    const { lookup } = dns;
    dns.lookup = (name, options, done) => {
      assert.deepEqual([name, options.all], ['db.example', true]);
      done(
        null,
        ['192.0.2.1', '2001:db8::1', '192.0.2.1'].map(address => ({ address }))
      );
    };
    try {
      assert.deepEqual(await find({ host: '/run/pg,127.0.0.1,::1,db.example', port: '1,2,3,4' }), [
        { address: { path: '/run/pg/.s.PGSQL.1' }, where: '/run/pg/.s.PGSQL.1', local: true },
        { address: { host: '127.0.0.1', port: 2 }, where: '127.0.0.1:2', local: true },
        { address: { host: '::1', port: 3 }, where: '[::1]:3', local: true },
        { address: { host: '192.0.2.1', port: 4 }, where: 'db.example:4 (192.0.2.1)', local: false },
        { address: { host: '2001:db8::1', port: 4 }, where: 'db.example:4 (2001:db8::1)', local: false }
      ]);
      assert.deepEqual(await find({ host: 'db.example', hostaddr: '127.0.0.1', port: 5 }), [
        { address: { host: '127.0.0.1', port: 5 }, where: 'db.example:5 (127.0.0.1)', local: true }
      ]);
      assert.deepEqual((await find({ host: '/run/pg', hostaddr: '192.0.2.1', port: 5 }))[0].address, {
        host: '192.0.2.1',
        port: 5
      });
    } finally {
      dns.lookup = lookup;
    }
  });

  it('is not looked for any more once connecting is aborted', async () => {
    const { lookup } = dns;
    const controller = new AbortController();
    const names = [];
    dns.lookup = name => {
      names.push(name);
      controller.abort();
    };
    try {
      const error = await failure({ host: 'a.example,b.example', user: 'u' }, { signal: controller.signal });
      assert.equal(error.message, 'connecting was aborted');
      assert.deepEqual(names, ['a.example']);
    } finally {
      dns.lookup = lookup;
    }
  });

  it("does not take a name's word for being local: the address tells", async () => {
    const { lookup } = dns;
    dns.lookup = (name, options, done) => done(null, [{ address: '192.0.2.7' }]);
    try {
      const [{ local }] = await find({ host: 'localhost', port: 5 });
      assert.equal(local, false);
    } finally {
      dns.lookup = lookup;
    }
  });

  it("is a stranger behind the caller's own socket", async () => {
    const [{ address, local }] = await find({ host: 'localhost', port: 5, socket: () => {} });
    assert.deepEqual([address, local], [null, false]);
  });

  it('tries every address of a name', async () => {
    const fake = await start(good);
    const { lookup } = dns;
    dns.lookup = (name, options, done) => done(null, [{ address: '127.0.0.2' }, { address: '127.0.0.1' }]);
    try {
      const config = { ...fake.config, host: 'db.example', sslmode: 'disable' };
      await (await open(config)).end();
      fake.stop();
      const error = await failure(config);
      assert.ok(error instanceof AggregateError);
      assert.deepEqual(
        error.errors.map(({ code }) => code),
        ['ECONNREFUSED', 'ECONNREFUSED']
      );
      for (const address of ['127.0.0.2', '127.0.0.1'])
        assert.ok(error.message.includes(`db.example:${fake.port} (${address}): connecting: `));
    } finally {
      dns.lookup = lookup;
    }
  });

  describe('with several addresses of a name', () => {
    const { lookup } = dns;
    afterEach(() => {
      dns.lookup = lookup;
    });

    /** Two servers on one port, as the addresses of a name. */
    async function named(first, second) {
      const one = await start(first, { host: '127.0.0.2', port: 0 });
      const two = await start(second, { host: '127.0.0.1', port: one.port });
      const found = [{ address: '127.0.0.2' }, { address: '127.0.0.1' }];
      dns.lookup = (name, options, done) => (name === 'db.example' ? done(null, found) : lookup(name, options, done));
      return {
        one,
        two,
        config: { ...one.config, host: 'db.example', sslmode: 'disable', connect_timeout: undefined }
      };
    }

    it('connects to the first that accepts, without any connect_timeout', async () => {
      const { one, two, config } = await named(good, good);
      await (await open(config)).end();
      assert.deepEqual([one.conversations.length, two.conversations.length], [1, 0]);
      one.stop();
      const hole = await startHole({ host: '127.0.0.2', port: one.port });
      await (await open(config)).end();
      assert.equal(two.conversations.length, 1);
      await hole.stop();
    });

    it('comes back to one that did not accept at once, as the way to it may be long', async () => {
      let hole;
      const { one, config } = await named(good, async conversation => {
        await hole.stop();
        await start(good, { host: '127.0.0.2', port: one.port });
        conversation.socket.end();
      });
      one.stop();
      hole = await startHole({ host: '127.0.0.2', port: one.port });
      await (await open(config)).end();
    });
  });

  it('goes on to the next host when one refuses, has no address, hangs up, is silent or starts', async () => {
    const last = await start(good);
    const bad = [
      { port: await freePort() },
      await start(async conversation => {
        conversation.socket.end();
      }),
      await start(async conversation => {
        await conversation.first();
      }),
      await start(async conversation => {
        conversation.say(SAY.error('57P03', 'the database system is starting up'));
      })
    ];
    const config = all([...bad, last], { connect_timeout: 0.5 });
    config.host = config.host.replace('127.0.0.1', 'no.such.host.invalid');
    await (await open(config)).end();

    const error = await failure({ ...config, port: config.port.replace(/,\d+$/, `,${await freePort()}`) });
    assert.ok(error instanceof AggregateError);
    assert.equal(error.code, 'ECONNREFUSED');
    assert.deepEqual(
      error.errors.map(({ name, code }) => [name, code]),
      [
        ['ConnectionError', error.errors[0].code],
        ['ConnectionError', '08006'],
        ['TimeoutError', '08001'],
        ['PostgresError', '57P03'],
        ['ConnectionError', 'ECONNREFUSED']
      ]
    );
    for (const [i, text] of [
      'looking up the address',
      'the server closed',
      'no success within',
      'is starting up',
      'ECONNREFUSED'
    ].entries()) {
      const port = config.port.split(',')[i];
      const host = i === 0 ? 'no.such.host.invalid' : '127.0.0.1';
      if (i < 4) assert.match(error.message, new RegExp(`${host}:${port}: .*${text}`));
    }
  });

  it('ends with the error of a server that was found and said no, and asks no other', async () => {
    const no = await start(async conversation => {
      await conversation.first();
      conversation.say(SAY.error('28P01', 'password authentication failed'));
    });
    const other = await start(good);
    const error = await failure(all([{ port: await freePort() }, no, other]));
    assert.equal(error.name, 'PostgresError');
    assert.equal(error.code, '28P01');
    assert.deepEqual(other.conversations, []);
  });

  it('asks no other server once requests are on their way to one', async () => {
    const silent = await start(async conversation => {
      await conversation.first();
      conversation.socket.end();
    });
    const other = await start(good);
    const config = all([silent, other], { require_auth: 'none' });
    const error = await failure(config, { earlyRequests: Buffer.from('Q') });
    assert.equal(error.code, '08006');
    assert.deepEqual(other.conversations, []);
    await (await open(config)).end();
    assert.equal(other.conversations.length, 1);
  });

  it('asks no other server when one fails that has let the requests in', async () => {
    const starting = await start(async conversation => {
      await conversation.first();
      conversation.say(SAY.ok, SAY.error('57P03', 'the database system is starting up'));
    });
    const other = await start(good);
    const error = await failure(all([starting, other], { require_auth: 'none' }), { earlyRequests: Buffer.from('Q') });
    assert.equal(error.code, '57P03');
    assert.deepEqual(other.conversations, []);
  });

  it('sends the same requests again only when the server has said that it did not begin', async () => {
    const flights = [];
    let refused = false;
    const starting = await start(async conversation => {
      await conversation.first();
      if (!refused) {
        refused = true;
        return conversation.say(SAY.error('57P03', 'the database system is starting up'));
      }
      conversation.say(SAY.ok, SAY.ready);
      flights.push((await conversation.read()).body.toString());
      conversation.socket.end();
    });
    const session = await open(
      { ...all([starting, starting]), require_auth: 'none' },
      { earlyRequests: Buffer.from('Q\0\0\0\x08hey\0') }
    );
    assert.equal(session.taken, 1);
    await session.closed;
    assert.deepEqual(flights, ['hey\0']);
  });

  it('is in the order given, or with load_balance_hosts=random in any', () => {
    const list = [1, 2, 3, 4];
    assert.deepEqual(inOrder({ load_balance_hosts: 'disable' }, list), list);
    const seen = new Map();
    for (let i = 0; i < 4800; i++) {
      const order = inOrder({ load_balance_hosts: 'random' }, list);
      assert.deepEqual([...order].sort(), list);
      seen.set(order.join(''), (seen.get(order.join('')) ?? 0) + 1);
    }
    assert.equal(seen.size, 24);
    // 200 of each expected, standard deviation 14.
    for (const [order, count] of seen) assert.ok(count > 100 && count < 300, `${order}: ${count}`);
    assert.deepEqual(list, [1, 2, 3, 4]);
  });

  it('spreads connections over hosts with load_balance_hosts=random', async () => {
    const servers = await Promise.all([start(good), start(good), start(good)]);
    for (let i = 0; i < 60; i++) await (await open(all(servers, { load_balance_hosts: 'random' }))).end();
    for (const { conversations } of servers) assert.ok(conversations.length > 0);
  });

  it('says of a name that a lookup has answered without an address that it has none', async () => {
    const { lookup } = dns;
    try {
      for (const found of [[], undefined, null, [{}], [{ address: null, family: 4 }]]) {
        dns.lookup = (name, options, callback) => process.nextTick(callback, null, found);
        const error = await failure({ host: 'nowhere.example', port: 1, user: 'someone' });
        assert.equal(error.code, '08001');
        assert.match(error.message, /^nowhere.example:1: looking up the address: the name has no address$/);
      }
    } finally {
      dns.lookup = lookup;
    }
  });

  it("are names as they are in Cloudflare's Workers, where sockets read into no memory of ours", async () => {
    const program = `
      Object.defineProperty(globalThis, 'navigator', { value: { userAgent: 'Cloudflare-Workers' } });
      const { Socket } = require('./lib/core/connection/socket');
      const { serversOf } = require('./lib/core/connection/servers');
      const config = require('./lib/core/config').resolve({ host: 'no.such.name.invalid', user: 'me' });
      serversOf(config, config.hosts[0]).then(list => {
        console.log(JSON.stringify([typeof new Socket({}).onread, list.map(({ address }) => address)]));
      });`;
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', program], {
      cwd: path.join(__dirname, '../../..')
    });
    assert.deepEqual(JSON.parse(stdout), ['undefined', [{ host: 'no.such.name.invalid', port: 5432 }]]);
  });
});
