'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { inspect, promisify } = require('node:util');
const { startServer, startPgBouncer, makeCertificates, skipUnless, freePort, skipBefore } = require('pg-test-fixtures');
const { Client } = require('../../..');
const { open, failure, query } = require('../../support/connecting');

const PASSWORD = 'S\u00fcper secret\u00ad'; // SASLprep makes it 'Süper secret'

describe('Connecting', () => {
  let server;
  let directory;
  let files;

  before(async () => {
    const certificates = await makeCertificates();
    server = await startServer({
      tls: { ...certificates.server, ca: certificates.ca.cert },
      users: {
        trusted: {},
        bearer: {},
        plain: { password: PASSWORD },
        scram: { password: PASSWORD },
        bound: { password: PASSWORD },
        hashed: { password: PASSWORD, encryption: 'md5' },
        tlsonly: { password: PASSWORD },
        plainonly: { password: PASSWORD }
      },
      hba: [
        'host all trusted all trust',
        'host all plain all password',
        'host all hashed all md5',
        'host all scram,bound all scram-sha-256',
        'hostssl all bearer all cert',
        'hostssl all tlsonly all scram-sha-256',
        'hostnossl all plainonly all scram-sha-256',
        'local all all trust'
      ]
    });
    directory = fs.mkdtempSync(path.join(os.tmpdir(), 'connect-'));
    files = certificates.write(directory, {
      bearer: await certificates.issue({ commonName: 'bearer', usage: 'client' }),
      other: await certificates.issue({ commonName: 'other', usage: 'client' })
    });
  });

  after(async () => {
    fs.rmSync(directory, { recursive: true, force: true });
    await server?.stop();
  });

  const base = (user, more) => ({
    host: server.host,
    port: server.port,
    database: 'postgres',
    user,
    connect_timeout: 20,
    sslmode: 'disable',
    ...more
  });

  const TLS = {
    'without TLS': { sslmode: 'disable' },
    'with TLS by request': { sslmode: 'require' },
    'with direct TLS': { sslmode: 'require', sslnegotiation: 'direct' }
  };
  const METHODS = [
    // what, user, require_auth that names it, more
    ['trust', 'trusted', 'none'],
    ['a cleartext password', 'plain', 'password'],
    ['MD5', 'hashed', 'md5'],
    ['SCRAM-SHA-256', 'scram', 'scram-sha-256', { channel_binding: 'disable' }],
    ['SCRAM-SHA-256-PLUS', 'bound', 'scram-sha-256', { channel_binding: 'require' }],
    ['a certificate', 'bearer', 'none']
  ];

  for (const [transport, tls] of Object.entries(TLS)) {
    for (const [method, user, named, more] of METHODS) {
      it(`authenticates by ${method} ${transport}, and refuses what is wrong or missing`, async function () {
        if (tls.sslnegotiation) skipBefore(this, 17, 'direct TLS');
        const encrypted = tls.sslmode === 'require';
        const certificate = owner => ({ sslcert: files[owner].cert, sslkey: files[owner].key });
        const secrets =
          method === 'a certificate'
            ? {
                right: certificate('bearer'),
                wrong: certificate('other'),
                missing: { sslcertmode: 'disable' }
              }
            : { right: { password: PASSWORD }, wrong: { password: 'no' }, missing: {} };
        for (const require_auth of ['', named]) {
          for (const [kind, secret] of Object.entries(secrets)) {
            const config = base(user, { ...tls, ...more, ...secret, ...(require_auth && { require_auth }) });
            const label = `${require_auth || 'any method'}, ${kind}`;
            const possible = encrypted || !['SCRAM-SHA-256-PLUS', 'a certificate'].includes(method);
            if (possible && (kind === 'right' || method === 'trust')) {
              const session = await open(config, { earlyRequests: query('SELECT 7') });
              assert.equal(session.encrypted, encrypted, label);
              assert.equal(session.taken, require_auth ? 1 : 0, label);
              if (session.taken) {
                await session.ready;
                assert.deepEqual(session.values, ['7'], label);
              }
              assert.deepEqual(await session.ask('SELECT current_user'), [user], label);
              await session.end();
              continue;
            }
            const error = await failure(config, { earlyRequests: query('SELECT 7') });
            const byServer = method === 'a certificate' || (kind === 'wrong' && possible);
            assert.equal(error.name, byServer ? 'PostgresError' : 'ConnectionError', `${label}: ${error}`);
            assert.equal(error.code, byServer && method !== 'a certificate' ? '28P01' : '28000', label);
            assert.doesNotMatch(inspect(error, { depth: 9, showHidden: true }), /secret/);
          }
        }
      });
    }
  }

  it('reads the password file only if the server asks for a password', async () => {
    const passfile = path.join(directory, 'open.pgpass');
    fs.writeFileSync(passfile, '*:*:*:*:secret', { mode: 0o644 });
    const warnings = [];
    const warn = ({ message }) => warnings.push(message);
    process.on('warning', warn);
    await (await open(base('trusted', { passfile }))).end();
    await assert.rejects(open(base('scram', { passfile })), { code: '28000' });
    await new Promise(setImmediate);
    process.off('warning', warn);
    assert.equal(warnings.length, process.platform === 'win32' ? 0 : 1);
  });

  it('prepares passwords for SCRAM as the server has stored them', async () => {
    for (const password of [PASSWORD, 'S\u00fcper secret', 'Su\u0308per\u00a0secret']) {
      await (await open(base('scram', { password }))).end();
    }
    // Prohibited by SASLprep: taken as it is, on both sides.
    for (const password of ['a\u0627b', 'bell\u0007', '\u0221', '\u{1f600}', '\u00ad']) {
      await server.sql(`ALTER ROLE scram PASSWORD '${password}'`);
      await (await open(base('scram', { password }))).end();
    }
    await server.sql(`ALTER ROLE scram PASSWORD '${PASSWORD}'`);
  });

  it('gives the session as the server described it', async () => {
    const session = await open(
      base('trusted', { application_name: 'a test', timezone: 'UTC', TimeZone: 'Asia/Tokyo' })
    );
    assert.equal(session.parameters.TimeZone, 'Asia/Tokyo');
    assert.equal(session.parameters.client_encoding, 'UTF8');
    assert.deepEqual(await session.ask('SELECT pg_backend_pid()'), [String(session.processId)]);
    assert.deepEqual(await session.ask('SHOW application_name'), ['a test']);
    assert.deepEqual([session.host, session.port], [server.host, server.port]);
    await session.end();
  });

  it('speaks protocol 3.2 with servers that have it, when told so, else 3.0', async () => {
    for (const [max_protocol_version, keyLength] of [
      [undefined, 4],
      ['3.0', 4],
      ['3.2', 32],
      ['latest', 32]
    ]) {
      const session = await open(base('trusted', { max_protocol_version }));
      const [number] = await session.ask('SHOW server_version_num');
      assert.equal(session.backendKey.length, number < 180000 ? 8 : 4 + keyLength);
      await session.end();
    }
  });

  it("rejects with the server's error when there is no such database", async () => {
    for (const require_auth of ['', 'none']) {
      const error = await failure(base('trusted', { database: 'nope', ...(require_auth && { require_auth }) }), {
        earlyRequests: query('SELECT 1')
      });
      assert.equal(error.name, 'PostgresError');
      assert.equal(error.code, '3D000');
      assert.match(error.message, /^127\.0\.0\.1:\d+: .*: database "nope" does not exist$/);
    }
  });

  it('says where, what and why when a port refuses or a socket is missing', async () => {
    const port = await freePort();
    const refused = await failure(base('trusted', { port }));
    assert.equal(refused.name, 'ConnectionError');
    assert.equal(refused.code, 'ECONNREFUSED');
    assert.match(refused.message, new RegExp(`^127\\.0\\.0\\.1:${port}: connecting: `));
    const missing = await failure(base('trusted', { host: directory }));
    assert.equal(missing.code, 'ENOENT');
    assert.ok(missing.message.startsWith(`${directory}/.s.PGSQL.${server.port}: connecting: `), missing.message);
  });

  it('connects over a Unix socket, where sslmode means nothing', async () => {
    const session = await open(base('trusted', { host: server.socketDirectory, sslmode: 'require' }));
    assert.equal(session.encrypted, false);
    assert.deepEqual([session.host, session.port], [server.socketDirectory, server.port]);
    assert.deepEqual(await session.ask('SELECT 1'), ['1']);
    await session.end();
  });

  it('tries TLS after plaintext with sslmode allow, and plaintext after TLS with prefer', async () => {
    for (const [sslmode, user, encrypted] of [
      ['allow', 'scram', false],
      ['allow', 'tlsonly', true],
      ['allow', 'plainonly', false],
      ['prefer', 'scram', true],
      ['prefer', 'tlsonly', true],
      ['prefer', 'plainonly', false]
    ]) {
      for (const more of [{}, { require_auth: 'scram-sha-256' }]) {
        const session = await open(base(user, { password: PASSWORD, sslmode, ...more }));
        assert.equal(session.encrypted, encrypted, `${sslmode} ${user}`);
        await session.end();
      }
    }
    assert.equal((await failure(base('tlsonly', { password: PASSWORD }))).code, '28000');
    assert.equal((await failure(base('plainonly', { password: PASSWORD, sslmode: 'require' }))).code, '28000');
  });

  it('reads large results the same over every transport', async () => {
    const text = 'SELECT repeat(md5(n::text), 200) FROM generate_series(1, 1000) AS n';
    const expected = (await server.sql(text.replace(' FROM', ' AS line FROM'))).map(({ line }) => line);
    for (const [user, more] of [
      ['trusted', {}],
      ['trusted', { host: server.socketDirectory }],
      ...Object.values(TLS)
        .filter(tls => !tls.sslnegotiation || server.version >= 17)
        .map(tls => ['trusted', tls]),
      ['trusted', { ssl_max_protocol_version: 'TLSv1.2', sslmode: 'require' }]
    ]) {
      const session = await open(base(user, more));
      assert.deepEqual(await session.ask(text), expected);
      await session.end();
    }
  });

  it('shows no password and no key in a client at any time, nor in its errors', async () => {
    const secrets = {
      password: 'open sesame',
      sslpassword: 'open sesame',
      ssl: { ...(await makeCertificates()).client, rejectUnauthorized: false }
    };
    const looks = value =>
      inspect(value, { depth: 20, showHidden: true, getters: true }) + JSON.stringify(value) + String(value);
    for (const more of [{ ...secrets }, { ...secrets, password: () => 'open sesame' }]) {
      for (const user of ['trusted', 'scram']) {
        const client = new Client(base(user, { ...more, sslmode: 'require' }));
        const seen = [looks(client)];
        const connecting = client.connect();
        seen.push(looks(client));
        const error = await connecting.catch(failed => failed);
        seen.push(looks(client), looks(error));
        if (user === 'scram') {
          assert.equal(error.code, '28P01');
          assert.match(error.message, /:\d+: authenticating: .*"scram"/);
        } else await client.end();
        seen.push(looks(client));
        assert.doesNotMatch(seen.join(), /sesame|PRIVATE KEY/);
      }
    }
  });

  it('shows who awaits where the server refuses the password', async () => {
    const connect = async () => {
      await new Client(base('scram', { password: 'wrong' })).connect();
    };
    await assert.rejects(connect(), ({ stack }) => /at async connect .*connect\.test\.js/.test(stack));
  });

  describe('the password function', () => {
    it('may be asynchronous, and is called at each connection, with whom it is for', async () => {
      const calls = [];
      const password = async whom => {
        calls.push(whom);
        return PASSWORD;
      };
      for (let i = 0; i < 2; i++) await (await open(base('scram', { password }))).end();
      const whom = { host: '127.0.0.1', port: server.port, user: 'scram', database: 'postgres' };
      assert.deepEqual(calls, [whom, whom]);
      await (await open(base('scram', { password: () => PASSWORD }))).end();
    });

    it('that throws, rejects, or gives something else rejects the connection and says so', async () => {
      for (const [password, message] of [
        [
          () => {
            throw new Error('vault is closed');
          },
          /the password function failed: vault is closed/
        ],
        [
          async () => {
            throw new Error('vault is closed');
          },
          /the password function failed: vault is closed/
        ],
        [
          () => {
            throw null;
          },
          /the password function failed: the password function threw null instead of an Error/
        ],
        [() => Promise.reject('vault'), /threw a string instead of an Error/],
        [() => 42, /the password function gave a number: return a string without NUL/],
        [() => [], /the password function gave an array: return a string/],
        [() => 'a\0b', /the password function gave a string: return a string without NUL characters/],
        [() => 'a\ud800', /return a string without NUL characters and halves of surrogate pairs/]
      ]) {
        const error = await failure(base('scram', { password }));
        assert.equal(error.code, '28000');
        assert.match(error.message, message);
      }
      assert.match((await failure(base('scram', { password: () => undefined }))).message, /no password was given/);
    });

    it('is not called when no password can be asked for', async () => {
      const password = () => assert.fail('it was called');
      await (await open(base('trusted', { password, require_auth: 'none' }))).end();
    });

    it('that never answers is ended by connect_timeout', async () => {
      const error = await failure(base('scram', { password: () => new Promise(() => {}), connect_timeout: 0.2 }));
      assert.match(error.message, /no success within 0.2 s \(connect_timeout\)/);
      assert.deepEqual([error.name, error.code, error.cause], ['TimeoutError', '08001', undefined]);
    });
  });

  it('takes the password from the password file, by host, port, database and user', async () => {
    const passfile = path.join(directory, 'pgpass');
    fs.writeFileSync(passfile, `127.0.0.1:${server.port}:postgres:scram:${PASSWORD}\n`, { mode: 0o600 });
    await (await open(base('scram', { passfile }))).end();
    assert.match((await failure(base('plain', { passfile }))).message, /no password was given/);
  });

  it('connects through PgBouncer, with and without the first query in the first flight', async function () {
    skipUnless(this, 'pgbouncer');
    const target = await startServer({ users: { someone: 'secret' }, tls: true });
    const paths =
      server.tls && (await makeCertificates()).write(directory, { bouncer: (await makeCertificates()).server });
    for (const file of Object.values(paths.bouncer)) fs.chmodSync(file, 0o644);
    fs.chmodSync(directory, 0o755);
    try {
      for (const [auth_type, require_auth] of [
        ['trust', 'none'],
        ['plain', 'password'],
        ['md5', 'md5'],
        ['scram-sha-256', 'scram-sha-256']
      ]) {
        const bouncer = await startPgBouncer({
          target,
          users: { someone: 'secret' },
          settings: {
            auth_type,
            client_tls_sslmode: 'allow',
            client_tls_cert_file: paths.bouncer.cert,
            client_tls_key_file: paths.bouncer.key
          }
        });
        try {
          for (const sslmode of ['disable', 'require']) {
            for (const more of [{}, { require_auth }]) {
              const config = {
                ...bouncer.config,
                user: 'someone',
                password: 'secret',
                connect_timeout: 20,
                sslmode,
                ...more
              };
              const session = await open(config, { earlyRequests: query('SELECT 7') });
              if (session.taken) {
                await session.ready;
                assert.deepEqual(session.values, ['7']);
              }
              assert.deepEqual(await session.ask('SELECT current_user'), ['someone']);
              await session.end();
            }
          }
        } finally {
          await bouncer.stop();
        }
      }
    } finally {
      await target.stop();
    }
  });

  it('ignores what a program has put on Object.prototype', async () => {
    const program = `Object.prototype.early = () => {};
      const { Client } = require('.');
      Object.prototype.late = 'late';
      const { Pool } = require('./lib/pool');
      (async () => {
        const config = JSON.parse(process.argv.at(-1));
        for (const session of [new Client(config), new Pool(config)]) {
          if (session instanceof Client) await session.connect();
          const { rows } = await session.query('SELECT $1::int AS n', [5], { decode: true });
          await session.batch([['SELECT 1', [], { cache: false }]], { statement_timeout: 60000 });
          await session.transaction(tx => tx.query('SELECT 1'), { isolation: 'serializable' });
          console.log(JSON.stringify(rows));
          await session.end();
        }
      })();`;
    for (const more of [{}, { sslmode: 'require', user: 'scram', password: PASSWORD }]) {
      const config = JSON.stringify({
        host: server.host,
        port: server.port,
        database: server.database,
        user: 'trusted',
        ...more
      });
      const { stdout } = await promisify(execFile)(process.execPath, ['-e', program, config], {
        cwd: path.join(__dirname, '../../..')
      });
      assert.equal(stdout, '[{"n":5}]\n[{"n":5}]\n');
    }
  });
});
