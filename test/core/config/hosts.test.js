'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { hostList, socketPath, isLoopback, defaultHost } = require('../../../lib/core/config/hosts');

/** Pairs hosts; shows each as host/address:port. */
function pair(values, rest = {}) {
  return hostList(new Map(Object.entries(values)), rest, '/run').map(
    ({ host = '', hostaddr = '', port }) => `${host}/${hostaddr}:${port}`
  );
}

describe('a list of hosts', () => {
  const lists = [
    [{}, ['/run/:5432']],
    [{ host: '' }, ['/run/:5432']],
    [{ port: '1' }, ['/run/:1']],
    [{ host: 'a' }, ['a/:5432']],
    [{ host: 'a', port: '' }, ['a/:5432']],
    [{ host: 'a,b,c' }, ['a/:5432', 'b/:5432', 'c/:5432']],
    [{ host: 'a,b', port: '1' }, ['a/:1', 'b/:1']],
    [{ host: 'a,b', port: '1,2' }, ['a/:1', 'b/:2']],
    [{ host: 'a,b', port: ',2' }, ['a/:5432', 'b/:2']],
    [{ host: 'a,', port: '1' }, ['a/:1', '/run/:1']],
    [{ host: ',' }, ['/run/:5432', '/run/:5432']],
    [{ hostaddr: '10.0.0.1,::1' }, ['/10.0.0.1:5432', '/::1:5432']],
    [{ host: 'a,b', hostaddr: '10.0.0.1,10.0.0.2' }, ['a/10.0.0.1:5432', 'b/10.0.0.2:5432']],
    [{ host: 'a,b', hostaddr: '' }, ['a/:5432', 'b/:5432']],
    [{ host: 'a,b', hostaddr: ',10.0.0.2' }, ['a/:5432', 'b/10.0.0.2:5432']],
    [{ host: ',b', hostaddr: '10.0.0.1,' }, ['/10.0.0.1:5432', 'b/:5432']],
    [{ host: '/tmp,@x', port: '1' }, ['/tmp/:1', '@x/:1']]
  ];
  for (const [values, expected] of lists) {
    it(`of ${JSON.stringify(values)} is ${expected.join(' ')}`, () => assert.deepEqual(pair(values), expected));
  }

  it('has as many addresses as names, and one port or as many', () => {
    assert.throws(
      () => pair({ host: 'a', hostaddr: '10.0.0.1,10.0.0.2' }),
      /host and hostaddr must be as many, not 1 and 2/
    );
    assert.throws(() => pair({ host: 'a,b,c', port: '1,2' }), /as many as there are hosts: it lists 2 for 3/);
    assert.throws(() => pair({ port: '1,2' }), /as many as there are hosts: it lists 2 for 1/);
  });

  it('has ports from 1 to 65535', () => {
    assert.deepEqual(pair({ host: 'a,b', port: '1,65535' }), ['a/:1', 'b/:65535']);
    assert.deepEqual(pair({ host: 'a', port: ' +7 ' }), ['a/:7']);
    for (const port of ['0', '65536', '-1', 'x', '1.5', '0x1', '1e3', ' ', ':1', '99999999']) {
      assert.throws(() => pair({ host: 'a', port }), {
        name: 'TypeError',
        message: `port must be a number from 1 to 65535, not "${port}"`
      });
    }
  });

  it('has addresses that are addresses', () => {
    assert.equal(
      hostList(
        new Map([
          ['host', 'a,b'],
          ['hostaddr', ',::1']
        ]),
        {}
      )[0].hostaddr,
      undefined
    );
    assert.throws(() => pair({ hostaddr: 'localhost' }), /hostaddr must be an IP address, not "localhost"/);
  });

  it('has no URL among its names, and does not show the one that is', () => {
    for (const host of ['postgres://me:hunter2@host/db', 'me:hunter2@host']) {
      assert.throws(
        () => pair({ host }),
        error => /host must be a host name/.test(error.message) && !error.stack.includes('hunter2')
      );
    }
  });

  const modes = [
    ['/tmp', undefined, 'disable'],
    ['/tmp', 'verify-full', 'disable'],
    ['@x', 'require', 'disable'],
    ['localhost', undefined, 'disable'],
    ['127.0.0.1', undefined, 'disable'],
    ['::1', undefined, 'disable'],
    ['localhost', 'prefer', 'prefer'],
    ['127.0.0.1', 'require', 'require'],
    ['db.example', undefined, 'prefer'],
    ['10.0.0.1', undefined, 'prefer'],
    ['db.example', 'allow', 'allow']
  ];
  for (const [host, sslmode, expected] of modes) {
    it(`has sslmode ${expected} for ${host} when ${sslmode ?? 'none'} is given`, () => {
      assert.equal(hostList(new Map([['host', host]]), { sslmode }, '')[0].sslmode, expected);
    });
  }

  it('goes by the address where there is one, not by the name', () => {
    const mode = (host, hostaddr) =>
      hostList(
        new Map([
          ['host', host],
          ['hostaddr', hostaddr]
        ]),
        {},
        ''
      )[0].sslmode;
    assert.equal(mode('localhost', '10.0.0.1'), 'prefer');
    assert.equal(mode('db.example', '127.0.0.1'), 'disable');
    assert.equal(mode('/tmp', '10.0.0.1'), 'prefer');
  });

  it('takes nothing to be near that is reached by a socket of the caller', () => {
    const [{ sslmode }] = hostList(new Map([['host', 'localhost']]), { socket: () => {} }, '');
    assert.equal(sslmode, 'prefer');
  });
});

describe('a socket path', () => {
  it('is the directory with the port in a name', () => {
    assert.equal(socketPath('/nowhere', 5433), '/nowhere/.s.PGSQL.5433');
  });

  it('is what it is when it names the socket itself', () => {
    assert.equal(socketPath('/nowhere/.s.PGSQL.7', 5433), '/nowhere/.s.PGSQL.7');
  });

  it('of a socket by another name is that socket', async () => {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'pg-'));
    const server = net.createServer();
    const name = path.join(directory, 'pooler.sock');
    await new Promise(done => server.listen(name, done));
    assert.equal(socketPath(name, 5433), name);
    assert.equal(socketPath(directory, 5433), path.join(directory, '.s.PGSQL.5433'));
    await new Promise(done => server.close(done));
    fs.rmSync(directory, { recursive: true });
  });

  it('asks the system once for a directory that has a socket', () => {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'pg-'));
    const inside = path.join(directory, '.s.PGSQL.5433');
    const { existsSync } = fs;
    let asked = 0;
    fs.existsSync = name => {
      asked++;
      return existsSync(name);
    };
    try {
      for (const expected of [1, 2]) {
        assert.equal(socketPath(directory, 5433), inside);
        assert.equal(asked, expected);
      }
      fs.writeFileSync(inside, '');
      for (let i = 0; i < 3; i++) assert.equal(socketPath(directory, 5433), inside);
      assert.equal(asked, 3);
    } finally {
      fs.existsSync = existsSync;
      fs.rmSync(directory, { recursive: true });
    }
  });

  it('in the abstract namespace begins with NUL', () => {
    assert.equal(socketPath('@x', 1), '\0x/.s.PGSQL.1');
  });

  it('of anything else is none', () => {
    for (const host of ['localhost', '::1', 'tmp/x']) assert.equal(socketPath(host, 1), undefined);
  });

  it('that the system would cut off is an error', () => {
    assert.throws(() => socketPath(`/${'x'.repeat(100)}`, 5432), /socket path must be at most 10[37] bytes long/);
    assert.throws(() => socketPath(`/${'ä'.repeat(50)}`, 5432), TypeError);
  });
});

describe('isLoopback', () => {
  for (const host of ['localhost', 'LOCALHOST', '127.0.0.1', '127.255.255.254', '::1', '/tmp', '@x'])
    it(`is true for ${host}`, () => assert.equal(isLoopback(host), true));

  for (const host of [
    'localhost.example',
    '128.0.0.1',
    '126.255.255.255',
    '127.0.0.1.example',
    '127.1',
    '0.0.0.0',
    '::',
    '::2',
    '',
    '%'
  ])
    it(`is false for "${host}"`, () => assert.equal(isLoopback(host), false));
});

describe('the default host', () => {
  it('is the first socket directory that exists, else localhost', () => {
    const exists = fs.existsSync;
    try {
      for (const [there, expected] of [
        [['/var/run/postgresql', '/tmp'], '/var/run/postgresql'],
        [['/tmp'], '/tmp'],
        [[], 'localhost']
      ]) {
        fs.existsSync = file => there.includes(file);
        assert.equal(defaultHost(), expected);
      }
    } finally {
      fs.existsSync = exists;
    }
  });
});
