'use strict';

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const crypto = require('node:crypto');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const tls = require('node:tls');
const {
  startServer,
  startStandby,
  startProxy,
  startPgBouncer,
  makeCertificates,
  findBinaries,
  launchBrowser,
  have,
  skipUnless,
  SAMPLE_ID,
  SERVER_VERSION
} = require('pg-test-fixtures');

const fixtures = require.resolve('pg-test-fixtures');
// The fixtures' own dependency, taken as a client that is known to work.
const { Client } = require(require.resolve('pg', { paths: [path.dirname(fixtures)] }));

/** Rows of a query by a new client. */
async function ask(config, text) {
  const client = new Client(config);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

/** Waits for something to become true. */
async function eventually(condition, complaint, limit = 10000) {
  for (const until = Date.now() + limit; !(await condition()); await sleep(5)) {
    if (Date.now() > until) assert.fail(complaint);
  }
}

/** Whether a process is there and not only waiting to be collected. */
function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return !/\) Z /.test(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch (error) {
    return error.code === 'ENOENT' && !fs.existsSync('/proc/self/stat');
  }
}

describe('fixtures: servers', function () {
  let server;
  before(async () => {
    server = await startServer({ external: false, sample: 1000 });
  });
  after(() => server.stop());

  it('a server takes connections over TCP and over its Unix socket', async () => {
    assert.equal(server.external, false);
    assert.equal(server.version, SERVER_VERSION);
    const { config, url, port, socketDirectory: host } = server;
    const ways = [
      [config, port],
      [{ connectionString: url }, port],
      [{ ...config, host }, null]
    ];
    for (const [each, expected] of ways) {
      const rows = await ask(each, 'SELECT current_user AS user, inet_server_port() AS port');
      assert.deepEqual(rows, [{ user: 'postgres', port: expected }]);
    }
    assert.ok(fs.statSync(server.socketPath).isSocket());
  });

  it('the database speaks UTF8 and C.UTF-8, and is ready for replication', async () => {
    const [row] = await ask(
      server.config,
      `
      SELECT current_setting('server_encoding') AS encoding, datcollate AS collation,
        current_setting('wal_level') AS wal
      FROM pg_database WHERE datname = 'postgres'`
    );
    assert.deepEqual(row, { encoding: 'UTF8', collation: 'C.UTF-8', wal: 'logical' });
  });

  it('the sample has numbers as emails, and one user with the known id', async () => {
    const [row] = await server.sql(`
      SELECT count(*), count(DISTINCT id) AS ids, min(email::int), max(email::int),
        bool_and(name <> '' AND password <> '') AS full
      FROM users`);
    assert.deepEqual(row, { count: '1000', ids: '1000', min: '0', max: '999', full: 't' });
    const rows = await ask(server.config, `SELECT email FROM users WHERE id = '${SAMPLE_ID}'`);
    assert.deepEqual(rows, [{ email: '0' }]);
  });

  it('sql gives the rows of the last statement that has any, and the error of a failing one', async () => {
    const rows = await server.sql('SELECT 1 AS a; SELECT 2 AS b, NULL AS c; SET work_mem = 100');
    assert.deepEqual(rows, [{ b: '2', c: null }]);
    await assert.rejects(server.sql('SELECT 1/0'), { code: '22012', message: 'ERROR: division by zero' });
    const elsewhere = await server.sql('SELECT current_database() AS name', { database: 'template1' });
    assert.deepEqual(elsewhere, [{ name: 'template1' }]);
  });

  it('several servers at once have ports, files and options of their own', async () => {
    const servers = await Promise.all([
      startServer({ settings: { work_mem: '1234kB', 'test.text': "it's \\ here" }, database: 'other db' }),
      startServer({ hba: ['host all postgres 127.0.0.1/32 trust', 'host all all 127.0.0.1/32 reject'] })
    ]);
    try {
      const [one, two] = servers;
      assert.equal(new Set([server.port, one.port, two.port]).size, 3);
      const rows = await ask(
        one.config,
        `
        SELECT current_setting('work_mem') AS m, current_setting('test.text') AS t, current_database() AS d`
      );
      assert.deepEqual(rows, [{ m: '1234kB', t: "it's \\ here", d: 'other db' }]);
      await assert.rejects(ask({ ...two.config, user: 'other' }, 'SELECT'), { code: '28000' });
      assert.deepEqual(await two.sql("SELECT to_regclass('users') AS users"), [{ users: null }]);
    } finally {
      await Promise.all(servers.map(each => each.stop()));
    }
  });

  it('users log in by the methods that they were given, with their passwords only', async () => {
    const other = await startServer({
      auth: { all: 'scram-sha-256', old: 'md5', plain: 'password' },
      users: { old: 'öld', plain: 'plain', 'The "New"': { password: 'new', attributes: 'CREATEROLE' } }
    });
    try {
      const passwords = { old: 'öld', plain: 'plain', 'The "New"': 'new', postgres: 'postgres' };
      for (const [user, password] of Object.entries(passwords)) {
        const rows = await ask({ ...other.config, user, password }, 'SELECT current_user AS user');
        assert.deepEqual(rows, [{ user }]);
        await assert.rejects(ask({ ...other.config, user, password: 'wrong' }, 'SELECT'), { code: '28P01' });
      }
      assert.deepEqual(
        await other.sql(`
        SELECT rolname AS name, left(rolpassword, 5) AS kind, rolcreaterole AS creates
        FROM pg_authid
        WHERE rolname IN ('old', 'plain', 'The "New"') ORDER BY rolname`),
        [
          { name: 'The "New"', kind: 'SCRAM', creates: 't' },
          { name: 'old', kind: `md5${md5('öldold').slice(0, 2)}`, creates: 'f' },
          { name: 'plain', kind: 'SCRAM', creates: 'f' }
        ]
      );
    } finally {
      await other.stop();
    }
  });

  it('a killed server ends with all its processes, and starts again with what was committed', async () => {
    const other = await startServer({ external: false });
    try {
      const { port, pid } = other;
      await other.sql('CREATE TABLE kept AS SELECT 42 AS answer; CHECKPOINT');
      const client = new Client(other.config);
      await client.connect();
      const backend = (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
      const lost = new Promise(resolve => client.on('error', resolve));
      await other.kill();
      await lost;
      assert.deepEqual([pid, backend].filter(isRunning), []);
      await assert.rejects(other.sql('SELECT 1'));
      await other.start();
      assert.deepEqual(await other.sql('SELECT * FROM kept'), [{ answer: '42' }]);
      await other.restart();
      assert.equal(other.port, port);
      assert.match(other.log(), /database system was not properly shut down/);
    } finally {
      await other.stop();
    }
    assert.ok(!fs.existsSync(other.dataDirectory));
  });

  it('a server that cannot start says why', async () => {
    const settings = { shared_buffers: 'plenty' };
    await assert.rejects(startServer({ settings }), /invalid value for parameter "shared_buffers"/);
    await assert.rejects(startServer({ version: 7 }), /no programs of PostgreSQL 7/);
  });

  it('psql talks to it where psql is installed', async function () {
    skipUnless(this, 'psql');
    assert.equal(await server.psql('SELECT 1, 2'), '1|2\n');
    await assert.rejects(server.psql('SELECT 1/0'), /division by zero/);
  });
});

/** MD5 as hexadecimal digits. */
function md5(text) {
  return crypto.createHash('md5').update(text).digest('hex');
}

describe('fixtures: nothing is left', function () {
  /** Runs a script which starts a server and prints its process id and directory, then does `rest`. */
  async function runScript(rest, prepare = '', options = '{}') {
    const child = spawn(
      process.execPath,
      [
        '-e',
        `
      const { startServer } = require(${JSON.stringify(fixtures)});
      ${prepare}
      startServer({ external: false, ...${options} }).then(async server => {
        const [{ pid }] = await server.sql('SELECT pg_backend_pid() AS pid');
        const root = require('node:path').resolve(server.dataDirectory, '../..');
        process.stdout.write(JSON.stringify({ pid: server.pid, backend: Number(pid), root }) + '\\n');
        ${rest}
      });`
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] }
    );
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', text => {
      errors += text;
    });
    const ended = once(child, 'close');
    const said = once(child.stdout.setEncoding('utf8'), 'data');
    const [line] = await Promise.race([said, ended.then(() => [errors])]);
    assert.match(line, /^\{/, errors);
    return { child, ended, ...JSON.parse(line) };
  }

  /** Checks that a script's processes and files go away. */
  async function gone({ pid, backend, root }) {
    await eventually(() => !isRunning(pid) && !isRunning(backend), 'the server still runs');
    await eventually(() => !fs.existsSync(root), `${root} is still there`);
  }

  const idle = 'setInterval(() => {}, 1000);';
  const cases = [
    ['when the program comes to its end, which a running server does not hold up', ''],
    ['after process.exit', 'process.exit(0);'],
    ['after an exception', 'throw new Error("on purpose");'],
    ['after SIGINT', idle, 'SIGINT'],
    ['after SIGTERM', idle, 'SIGTERM'],
    ['after SIGKILL', idle, 'SIGKILL'],
    ['after SIGKILL while a query runs', `server.sql('SELECT pg_sleep(100)'); ${idle}`, 'SIGKILL']
  ];
  let scripts;
  // All at once: it takes half the time.
  before(async () => {
    scripts = await Promise.all(cases.map(([, rest]) => runScript(rest)));
  });
  for (const [index, [title, , signal]] of cases.entries()) {
    it(title, async () => {
      const script = scripts[index];
      assert.ok(signal === undefined || isRunning(script.pid));
      if (signal) script.child.kill(signal);
      await script.ended;
      await gone(script);
    });
  }

  it('and stop() leaves none itself, before the program ends', async () => {
    const server = await startServer({ external: false });
    const { pid, dataDirectory } = server;
    await server.stop();
    assert.ok(!isRunning(pid));
    assert.ok(!fs.existsSync(path.dirname(dataDirectory)));
  });

  describe('also', function () {
    let directory, binaries;
    before(async () => {
      // The package as npm lays it down for a careful user who has switched install scripts off: private, no
      // links.
      const { bin } = await findBinaries();
      const source = path.dirname(bin);
      directory = fs.mkdtempSync(path.join(os.tmpdir(), 'private-'));
      binaries = path.join(directory, 'native');
      const links = [];
      fs.cpSync(source, binaries, {
        recursive: true,
        filter(file) {
          if (!fs.lstatSync(file).isSymbolicLink()) return true;
          const target = path.join(path.dirname(file), fs.readlinkSync(file));
          links.push({ source: inPackage(source, target), target: inPackage(source, file) });
          return false;
        }
      });
      assert.ok(links.length > 5);
      fs.writeFileSync(path.join(binaries, 'pg-symlinks.json'), JSON.stringify(links));
      for (const file of fs.readdirSync(binaries, { recursive: true })) {
        const whole = path.join(binaries, file);
        fs.chmodSync(whole, fs.statSync(whole).mode & 0o700);
      }
    });
    after(() => fs.rmSync(directory, { recursive: true, force: true }));

    const inPackage = (source, file) => path.join('native', path.relative(source, file));

    it('programs that only their owner may read, without their links, are made to run', async () => {
      const server = await startServer({ binaries });
      try {
        assert.deepEqual(await server.sql('SELECT 1 AS one'), [{ one: '1' }]);
      } finally {
        await server.stop();
      }
    });

    it('an ordinary user starts servers, and leaves nothing either', async function () {
      if (process.getuid() !== 0) return; // The other tests are that.
      for (const file of ['', ...fs.readdirSync(directory, { recursive: true })]) {
        fs.chownSync(path.join(directory, file), 65534, 65534);
      }
      const script = await runScript(
        'process.kill(process.pid, "SIGKILL")',
        'process.setgroups([65534]); process.setgid(65534); process.setuid(65534);',
        JSON.stringify({ binaries })
      );
      await script.ended;
      await gone(script);
    });
  });
});

describe("fixtures: one's own server", function () {
  let server;
  const before = { ...process.env };
  beforeEach(async () => {
    server ??= await startServer({ external: false, auth: 'scram-sha-256' });
  });
  afterEach(() => {
    for (const name of ['DATABASE_URL', 'PGHOST', 'PGPORT', 'PGUSER', 'PGPASSWORD']) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  });
  after(() => server.stop());

  it('DATABASE_URL is handed out, with the sample, and is left running and clean', async () => {
    process.env.DATABASE_URL = server.url;
    const own = await startServer({ sample: 10 });
    assert.equal(own.external, true);
    assert.equal((await ask(own.config, 'SELECT * FROM users')).length, 10);
    assert.deepEqual(await own.sql('SELECT 1 AS a; SELECT 2 AS b'), [{ b: '2' }]);
    assert.throws(() => own.kill(), /external: false/);
    await own.stop();
    assert.deepEqual(await server.sql("SELECT to_regclass('users') AS users"), [{ users: null }]);
  });

  it("a table of the user's is not touched", async () => {
    process.env.DATABASE_URL = server.url;
    await server.sql('CREATE TABLE users AS SELECT 1 AS precious');
    await assert.rejects(startServer({ sample: 10 }), /has a table "users" already/);
    assert.deepEqual(await server.sql('SELECT * FROM users'), [{ precious: '1' }]);
    await server.sql('DROP TABLE users');
  });

  it('PGHOST and its like are handed out, a socket directory too', async () => {
    delete process.env.DATABASE_URL;
    Object.assign(process.env, {
      PGHOST: server.socketDirectory,
      PGPORT: String(server.port),
      PGUSER: 'postgres',
      PGPASSWORD: 'postgres'
    });
    const own = await startServer();
    assert.equal(own.external, true);
    assert.equal(own.socketPath, server.socketPath);
    assert.deepEqual(await ask(own.config, 'SELECT 1 AS one'), [{ one: 1 }]);
  });

  it('what needs a special server gets one', async () => {
    process.env.DATABASE_URL = server.url;
    const special = await startServer({ settings: { work_mem: '1MB' } });
    assert.equal(special.external, false);
    await special.stop();
  });
});

describe('fixtures: a standby', function () {
  let primary, standby;
  before(async () => {
    primary = await startServer({ external: false });
    standby = await startStandby(primary);
  });
  after(() => Promise.all([primary?.stop(), standby?.stop()]));

  it('streams from its primary, reads only, and takes over when it is promoted', async () => {
    await primary.sql('CREATE TABLE log AS SELECT 1 AS line');
    await standby.catchUp();
    assert.deepEqual(await ask(standby.config, 'SELECT * FROM log'), [{ line: 1 }]);
    await assert.rejects(ask(standby.config, 'INSERT INTO log VALUES (2)'), { code: '25006' });
    await primary.stop();
    await standby.promote();
    await ask(standby.config, 'INSERT INTO log VALUES (2)');
    const rows = await standby.sql('SELECT count(*), pg_is_in_recovery() AS standby FROM log');
    assert.deepEqual(rows, [{ count: '2', standby: 'f' }]);
  });
});

describe('fixtures: certificates', function () {
  let certificates, server;
  before(async () => {
    certificates = await makeCertificates();
    server = await startServer({
      tls: true,
      users: { certified: {} },
      hba: ['hostssl all certified all cert', 'hostssl all all all trust']
    });
  });
  after(() => server.stop());

  it('a server with TLS shows a certificate that its authority vouches for', async () => {
    const ssl = { ca: server.tls.ca.cert };
    const query = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()';
    assert.deepEqual(await ask({ ...server.config, ssl }, query), [{ ssl: true }]);
    const unknown = { ca: certificates.unknownAuthority.ca };
    await assert.rejects(ask({ ...server.config, ssl: unknown }, 'SELECT'), /certificate/);
    await assert.rejects(ask(server.config, 'SELECT'), /no encryption|SSL off/);
  });

  it("a client's certificate logs in its user", async () => {
    const ssl = { ca: certificates.ca.cert };
    const login = pair =>
      ask({ ...server.config, user: 'certified', ssl: { ...ssl, ...pair } }, 'SELECT current_user AS user');
    const own = await certificates.issue({ commonName: 'certified', usage: 'client' });
    assert.deepEqual(await login(own), [{ user: 'certified' }]);
    await assert.rejects(login(certificates.client), { code: '28000' });
  });

  it('each bad certificate is refused for its own reason', async () => {
    const { ca, expired, wrongName, selfSigned, unknownAuthority } = certificates;
    for (const [{ cert, key }, code] of [
      [certificates.server, 'connected'],
      [expired, 'CERT_HAS_EXPIRED'],
      [wrongName, 'ERR_TLS_CERT_ALTNAME_INVALID'],
      [selfSigned, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
      [unknownAuthority, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE']
    ]) {
      const listener = tls.createServer({ cert, key }, socket => socket.on('error', () => {}).end());
      listener.on('tlsClientError', () => {}).listen(0, '127.0.0.1');
      await once(listener, 'listening');
      const { port } = listener.address();
      const socket = tls.connect({ host: '127.0.0.1', port, ca: ca.cert, servername: 'localhost' });
      const result = await once(socket, 'secureConnect').then(
        () => 'connected',
        error => error.code
      );
      assert.equal(result, code);
      socket.destroy();
      listener.close();
    }
  });

  it('they come with every signature, and with encrypted keys', async () => {
    for (const algorithm of ['ecdsa-sha384', 'rsa-sha512', 'rsa-pss-sha384', 'ed25519']) {
      const set = await makeCertificates({ algorithm });
      const authority = new crypto.X509Certificate(set.ca.cert);
      const { cert, key } = await set.issue({ commonName: 'x', passphrase: 'open' });
      const certificate = new crypto.X509Certificate(cert);
      assert.ok(certificate.verify(authority.publicKey), algorithm);
      assert.ok(certificate.checkPrivateKey(crypto.createPrivateKey({ key, passphrase: 'open' })));
      assert.throws(() => crypto.createPrivateKey({ key, passphrase: 'wrong' }));
    }
    await assert.rejects(makeCertificates({ algorithm: 'rot13' }), RangeError);
  });

  it('they are written to files, keys for their owner alone', () => {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'certificates-'));
    try {
      const paths = certificates.write(directory);
      assert.equal(fs.readFileSync(paths.ca.cert, 'utf8'), certificates.ca.cert);
      assert.equal(fs.statSync(paths.client.key).mode & 0o777, 0o600);
    } finally {
      fs.rmSync(directory, { recursive: true });
    }
  });
});

describe('fixtures: the proxy', function () {
  let echo, proxy;
  /** Options of startProxy for the echo. */
  const start = async options => (proxy = await startProxy({ target: echo.address().port, ...options }));
  before(async () => {
    echo = net.createServer({ allowHalfOpen: true, noDelay: true });
    echo.on('connection', socket => socket.on('error', () => {}).pipe(socket));
    echo.listen(0, '127.0.0.1');
    await once(echo, 'listening');
  });
  afterEach(() => proxy.stop());
  after(() => echo.close());

  /** A client and its connection in the proxy. */
  async function connect() {
    const next = proxy.next();
    const socket = net.connect({ host: proxy.host, port: proxy.port, noDelay: true });
    const sizes = [];
    const chunks = [];
    const client = {
      socket,
      sizes,
      chunks,
      failure: undefined,
      get bytes() {
        return Buffer.concat(chunks);
      },
      received: count => eventually(() => client.bytes.length >= count, 'not all bytes came'),
      closed: new Promise(resolve => socket.once('close', resolve))
    };
    socket.on('data', chunk => {
      sizes.push(chunk.length);
      chunks.push(chunk);
    });
    socket.on('error', error => {
      client.failure = error.code;
    });
    await once(socket, 'connect');
    return { ...client, client, connection: await next };
  }

  it('bytes pass unchanged, are counted and recorded, and ends pass too', async () => {
    await start({ record: true });
    const { client, connection } = await connect();
    const sent = crypto.randomBytes(3 << 20);
    client.socket.end(sent);
    await client.closed;
    assert.ok(client.bytes.equals(sent));
    assert.ok(connection.recorded.toServer.equals(sent) && connection.recorded.toClient.equals(sent));
    assert.deepEqual(connection.stats.bytes, { toServer: sent.length, toClient: sent.length });
    await connection.closed;
    assert.deepEqual(proxy.open, []);
  });

  it('a flight is what a side sends until it has an answer', async () => {
    await start();
    const { client, connection } = await connect();
    client.socket.write('one');
    await client.received(3);
    client.socket.write('two');
    await client.received(6);
    assert.deepEqual(connection.stats.flights, { toServer: 2, toClient: 2 });
    assert.deepEqual(
      connection.flights.map(flight => flight.direction),
      ['toServer', 'toClient', 'toServer', 'toClient']
    );
    assert.deepEqual(proxy.stats.flights, { toServer: 2, toClient: 2 });
    assert.deepEqual(proxy.stats.bytes, { toServer: 6, toClient: 6 });
  });

  it("time divided by the delay is twice the round trips, TCP's own included", async () => {
    const delay = 40;
    await start({ delay });
    let best = Infinity;
    // Never earlier; later when the machine is busy, but hardly every time.
    for (let tries = 0; tries < 10 && best >= 7 * delay; tries++) {
      const before = performance.now();
      const { client } = await connect();
      client.socket.write('one');
      await client.received(3);
      assert.ok(performance.now() - before >= 4 * delay);
      client.socket.write('two');
      client.socket.write('three');
      await client.received(11);
      const time = performance.now() - before;
      assert.ok(time >= 6 * delay);
      assert.equal(client.bytes.toString(), 'onetwothree');
      best = Math.min(best, time);
    }
    assert.ok(best < 7 * delay, `${best} ms`);
  });

  it('fragments are delivered one by one: of a size, by a function, by chance with a seed', async () => {
    await start();
    const { client } = await connect();
    const sent = crypto.randomBytes(700);
    proxy.fragment(7, 'toClient');
    client.socket.write(sent);
    await client.received(700);
    assert.ok(client.bytes.equals(sent));
    // The kernel may still join two now and then.
    assert.ok(client.sizes.length > 90, `${client.sizes.length} pieces`);
    const asked = [];
    proxy.fragment(left => asked.push(left) && 300, 'toClient');
    client.socket.write(sent);
    await client.received(1400);
    assert.equal(asked[0], 700);
    assert.equal(asked.at(-1), 100);
    proxy.fragment({ seed: 1, min: 100, max: 200 });
    client.socket.write(sent);
    await client.received(2100);
    assert.ok(client.bytes.subarray(1400).equals(sent));
  });

  it('silence says nothing, and afterwards everything comes', async () => {
    await start();
    const { client, connection } = await connect();
    connection.stall();
    client.socket.write('hello');
    await sleep(50);
    assert.equal(connection.stats.bytes.toServer + client.bytes.length, 0);
    connection.resume();
    await client.received(5);
  });

  it('less bandwidth takes more time', async () => {
    await start();
    proxy.throttle(50000, 'toClient');
    const { client } = await connect();
    const before = performance.now();
    client.socket.write(Buffer.alloc(10000));
    await client.received(10000);
    assert.ok(performance.now() - before >= 150);
  });

  it('a connection is cut, reset, and fed bytes', async () => {
    await start();
    const cut = await connect();
    proxy.inject(Buffer.from('nonsense'));
    await cut.client.received(8);
    cut.connection.cut();
    await cut.client.closed;
    assert.equal(cut.client.failure, undefined);
    const reset = await connect();
    reset.connection.reset();
    await reset.client.closed;
    assert.equal(reset.client.failure, 'ECONNRESET');
  });

  it('something happens at an exact byte', async () => {
    await start({ onConnection: connection => connection.after('toClient', 3, 'cut') });
    const { client } = await connect();
    client.socket.write('hello');
    await client.closed;
    assert.equal(client.bytes.toString(), 'hel');
  });

  it('connections are refused and taken again, and those to a dead target are reset', async () => {
    await start();
    proxy.refuse();
    await assert.rejects(connect(), { code: 'ECONNREFUSED' });
    await proxy.accept();
    const { port } = proxy;
    const { client } = await connect();
    client.socket.end();
    await client.closed;
    assert.equal(proxy.port, port);
    proxy.target = path.join(os.tmpdir(), 'no such socket');
    const dead = await connect();
    await dead.client.closed;
    assert.equal(dead.client.failure, 'ECONNRESET');
  });

  it('the target may be a server, or its Unix socket', async () => {
    const server = await startServer({ external: false });
    try {
      for (const target of [server, server.socketPath, { path: server.socketPath }]) {
        await start({ target });
        const { host, port } = proxy;
        assert.deepEqual(await ask({ ...server.config, host, port }, 'SELECT 1 AS one'), [{ one: 1 }]);
        await proxy.stop();
      }
    } finally {
      await server.stop();
    }
  });
});

describe('fixtures: PgBouncer', function () {
  before(function () {
    skipUnless(this, 'pgbouncer');
  });

  it("pools by the mode that it was given, and logs in with the server's password", async () => {
    const server = await startServer({ auth: 'scram-sha-256', users: { alice: 'secret' } });
    try {
      for (const mode of ['session', 'transaction', 'statement']) {
        const bouncer = await startPgBouncer({
          target: server,
          mode,
          poolSize: 1,
          users: { alice: 'secret' },
          settings: { max_prepared_statements: 100 }
        });
        const [one, two] = [new Client(bouncer.config), new Client(bouncer.config)];
        await Promise.all([one.connect(), two.connect()]);
        const pid = client => client.query('SELECT pg_backend_pid() AS pid').then(({ rows }) => rows[0].pid);
        const first = await pid(one);
        // With one connection for two clients, only a session keeps it to itself.
        if (mode === 'session') await one.end();
        assert.equal(await pid(two), first);
        if (mode === 'statement') await assert.rejects(two.query('BEGIN'), /transaction/);
        await Promise.all([one, two].map(client => client.end().catch(() => {})));
        const rows = await ask({ ...bouncer.config, user: 'alice' }, 'SELECT current_user AS user');
        assert.deepEqual(rows, [{ user: 'alice' }]);
        await bouncer.stop();
      }
    } finally {
      await server.stop();
    }
  });
});

describe('fixtures: the browser', function () {
  before(function () {
    skipUnless(this, 'chromium');
  });

  it("runs a page's JavaScript", async () => {
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage();
      await page.setContent('<h1></h1><script>document.querySelector("h1").textContent = 6 * 7</script>');
      assert.equal(await page.textContent('h1'), '42');
    } finally {
      await browser.close();
    }
  });
});

describe('fixtures: what a machine lacks', function () {
  const before = { ...process.env };
  beforeEach(() => {
    process.env.CHROMIUM_PATH = '/nowhere/chromium';
  });
  afterEach(() => {
    for (const name of ['CHROMIUM_PATH', 'CI']) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  });

  /** Stands in for mocha's context. */
  const context = () => ({
    test: { title: 'title' },
    skipped: false,
    skip() {
      this.skipped = true;
    }
  });

  it('skips a test and says what it lacks', () => {
    delete process.env.CI;
    assert.equal(have('chromium'), undefined);
    const test = context();
    skipUnless(test, 'chromium');
    assert.equal(test.skipped, true);
    assert.match(test.test.title, /^title \[chromium is not installed \(.*CHROMIUM_PATH.*\)\]$/);
  });

  it('fails in CI', async () => {
    process.env.CI = 'true';
    const test = context();
    assert.throws(() => skipUnless(test, 'chromium'), /chromium is not installed/);
    assert.equal(test.skipped, false);
    await assert.rejects(launchBrowser(), /chromium is not installed/);
  });

  it('does nothing when all is there', () => {
    process.env.CHROMIUM_PATH = process.execPath;
    const test = context();
    skipUnless(test, 'chromium');
    assert.equal(test.skipped, false);
  });
});
