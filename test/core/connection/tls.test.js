'use strict';

const assert = require('node:assert/strict');
const crypto = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const tls = require('node:tls');
const { inspect } = require('node:util');
const { startServer, makeCertificates } = require('pg-test-fixtures');
const { Client } = require('../../..');
const { resolve } = require('../../../lib/core/config');
const { tlsOptions, endPoint, signatureDigest } = require('../../../lib/core/connection/tls');
const { open, failure, FakeServer, SAY } = require('../../support/connecting');

/** A server without PostgreSQL behind it: TLS with a certificate, then everybody is let in. */
function startTlsServer({ cert, key }, options = {}) {
  const fake = new FakeServer(async conversation => {
    if (options.direct) await conversation.secure({ cert, key }, { ALPNProtocols: ['postgresql'], ...options });
    else {
      await conversation.first();
      conversation.socket.write('S');
      await conversation.secure({ cert, key }, options);
    }
    fake.servername = conversation.socket.servername;
    fake.version = conversation.socket.getProtocol();
    await conversation.first();
    conversation.say(SAY.ok, SAY.ready);
    await conversation.read();
    conversation.socket.end();
  });
  return fake.listen();
}

describe('TLS', () => {
  let certificates;
  let directory;
  let files;
  const fakes = [];

  before(async () => {
    certificates = await makeCertificates();
    directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tls-'));
    files = certificates.write(directory);
  });

  after(() => fs.rmSync(directory, { recursive: true, force: true }));

  afterEach(() => {
    for (const fake of fakes.splice(0)) fake.stop();
  });

  async function start(certificate, options) {
    const fake = await startTlsServer(certificate, options);
    fakes.push(fake);
    return fake;
  }

  /** Which sslmodes connect to a server, and how the others fail. */
  async function outcome(fake, config) {
    const found = {};
    for (const sslmode of ['require', 'verify-ca', 'verify-full']) {
      const options = { ...fake.config, sslmode, ...config };
      const session = await open(options).catch(error => error);
      if (session instanceof Error) {
        assert.equal(session.name, 'ConnectionError');
        assert.match(session.message, /TLS/);
        found[sslmode] = session.code;
      } else {
        assert.equal(session.encrypted, true);
        found[sslmode] = 'connected';
        await session.end();
      }
    }
    return found;
  }

  describe('verifies with sslrootcert', () => {
    it('the right certificate of PostgreSQL, by request and directly', async () => {
      const { cert, key } = certificates.server;
      const server = await startServer({ tls: { cert, key } });
      try {
        for (const sslnegotiation of server.version >= 17 ? ['postgres', 'direct'] : ['postgres']) {
          assert.deepEqual(await outcome(server, { sslrootcert: files.ca.cert, sslnegotiation }), {
            require: 'connected',
            'verify-ca': 'connected',
            'verify-full': 'connected'
          });
        }
      } finally {
        await server.stop();
      }
    });

    for (const [what, name, [require, ca, full]] of [
      ['one for another name', 'wrongName', ['connected', 'connected', 'ERR_TLS_CERT_ALTNAME_INVALID']],
      ['an expired one', 'expired', Array(3).fill('CERT_HAS_EXPIRED')],
      ['a self-signed one', 'selfSigned', Array(3).fill('DEPTH_ZERO_SELF_SIGNED_CERT')],
      ['one of an unknown authority', 'unknownAuthority', Array(3).fill('UNABLE_TO_VERIFY_LEAF_SIGNATURE')]
    ]) {
      it(`${what}, by request and directly`, async () => {
        for (const direct of [false, true]) {
          const fake = await start(certificates[name], { direct });
          const config = { sslrootcert: files.ca.cert, sslnegotiation: direct ? 'direct' : 'postgres' };
          assert.deepEqual(await outcome(fake, config), { require, 'verify-ca': ca, 'verify-full': full });
        }
      });
    }
  });

  it('verifies nothing with sslmode require and no root certificate', async () => {
    for (const name of ['wrongName', 'expired', 'selfSigned', 'unknownAuthority']) {
      const fake = await start(certificates[name]);
      assert.equal((await outcome(fake, {})).require, 'connected');
    }
  });

  it('verifies names and addresses: those of the host, not of its hostaddr', async () => {
    const named = await start(
      await certificates.issue({ commonName: 'db.example', names: ['db.example', '*.wild.example'] })
    );
    const verify = {
      sslmode: 'verify-full',
      sslrootcert: files.ca.cert,
      hostaddr: '127.0.0.1',
      port: named.port
    };
    const attempt = host => open({ ...named.config, ...verify, host }).then(session => session.end());
    await attempt('db.example');
    await attempt('a.wild.example');
    for (const host of ['other.example', 'a.b.wild.example', 'wild.example', '127.0.0.1']) {
      await assert.rejects(attempt(host), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' }, host);
    }
    await assert.rejects(open({ ...named.config, ...verify, host: undefined }), /verify-full needs a host name/);
  });

  it('goes on without TLS with sslmode prefer when a certificate does not verify, as libpq', async () => {
    const fake = new FakeServer(async (conversation, number) => {
      await conversation.first();
      if (number === 0) {
        conversation.socket.write('S');
        return conversation.secure(certificates.expired);
      }
      conversation.say(SAY.ok, SAY.ready);
      await conversation.read();
      conversation.socket.end();
    });
    fakes.push(await fake.listen());
    const session = await open({ ...fake.config, sslmode: 'prefer', sslrootcert: files.ca.cert });
    assert.equal(session.encrypted, false);
    await session.end();
  });

  it("with sslrootcert=system trusts the system's authorities and nothing else", async () => {
    const fake = await start(certificates.server);
    const config = { ...fake.config, sslrootcert: 'system' };
    assert.match((await failure(config)).code, /SELF_SIGNED|UNABLE/);
    process.env.SSL_CERT_FILE = files.ca.cert;
    try {
      await (await open(config)).end();
    } finally {
      delete process.env.SSL_CERT_FILE;
    }
  });

  it('needs the root certificate that sslmode verifies with', async () => {
    const fake = await start(certificates.server);
    const home = process.env.HOME;
    process.env.HOME = directory;
    try {
      for (const sslmode of ['verify-ca', 'verify-full']) {
        const error = await failure({ ...fake.config, sslmode });
        assert.match(
          error.message,
          /setting up TLS: root certificate file ".*root\.crt" does not exist.*sslrootcert=system/
        );
      }
      const named = await failure({
        ...fake.config,
        sslmode: 'require',
        sslrootcert: path.join(directory, 'nope')
      });
      assert.match(named.message, /root certificate file ".*nope" cannot be read: ENOENT$/);
      const der = path.join(directory, 'ca.der');
      fs.writeFileSync(der, new crypto.X509Certificate(certificates.ca.cert).raw);
      const unusual = await failure({ ...fake.config, sslmode: 'verify-full', sslrootcert: der });
      assert.match(unusual.message, /root certificate file ".*ca\.der" is not PEM: it has no "-----BEGIN "$/);

      // The default file makes require verify, too.
      fs.mkdirSync(path.join(directory, '.postgresql'));
      fs.copyFileSync(files.unknownAuthority.cert, path.join(directory, '.postgresql', 'root.crt'));
      assert.equal((await outcome(fake, {})).require, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE');
      fs.copyFileSync(files.ca.cert, path.join(directory, '.postgresql', 'root.crt'));
      assert.deepEqual(await outcome(fake, {}), {
        require: 'connected',
        'verify-ca': 'connected',
        'verify-full': 'connected'
      });
    } finally {
      process.env.HOME = home;
    }
  });

  it("indicates the host's name, but no address, and nothing with sslsni=0", async () => {
    for (const [config, name] of [
      [{ host: 'localhost' }, 'localhost'],
      [{ host: 'db.example', hostaddr: '127.0.0.1' }, 'db.example'],
      [{ host: '127.0.0.1' }, false],
      [{ host: 'localhost', sslsni: '0' }, false]
    ]) {
      for (const direct of [false, true]) {
        const fake = await start(certificates.server, { direct });
        await (
          await open({
            ...fake.config,
            ...config,
            sslmode: 'require',
            sslnegotiation: direct ? 'direct' : 'postgres'
          })
        ).end();
        assert.equal(fake.servername, name);
      }
    }
  });

  it('keeps to ssl_min_protocol_version and ssl_max_protocol_version', async () => {
    const fake = await start(certificates.server);
    const config = { ...fake.config, sslmode: 'require' };
    await (await open(config)).end();
    assert.equal(fake.version, 'TLSv1.3');
    await (await open({ ...config, ssl_max_protocol_version: 'TLSv1.2' })).end();
    assert.equal(fake.version, 'TLSv1.2');
    const old = await start(certificates.server, {
      maxVersion: 'TLSv1.2',
      secureContext: tls.createSecureContext({ ...certificates.server, maxVersion: 'TLSv1.2' })
    });
    const error = await failure({ ...old.config, sslmode: 'require', ssl_min_protocol_version: 'TLSv1.3' });
    assert.match(error.message, /TLS handshake: /);
  });

  describe('with the ssl object', () => {
    it('verifies nothing if NODE_TLS_REJECT_UNAUTHORIZED says so, unless rejectUnauthorized or sslmode does', async () => {
      const { NODE_TLS_REJECT_UNAUTHORIZED: before } = process.env;
      const fake = await start(certificates.selfSigned);
      try {
        process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
        for (const ssl of [true, {}, { servername: 'localhost' }]) await (await open({ ...fake.config, ssl })).end();
        for (const config of [
          { ssl: { rejectUnauthorized: true } },
          { ssl: true, sslmode: 'verify-full', host: 'localhost' },
          { sslmode: 'verify-ca', sslrootcert: files.ca.cert }
        ])
          assert.match((await failure({ ...fake.config, ...config })).code, /SELF_SIGNED|UNABLE/);
        process.env.NODE_TLS_REJECT_UNAUTHORIZED = '1';
        assert.match((await failure({ ...fake.config, ssl: true })).code, /SELF_SIGNED|UNABLE/);
      } finally {
        if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
        else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
      }
    });

    it('verifies as tls.connect does unless rejectUnauthorized is false, whatever it has beside', async () => {
      for (const [name, code] of [
        ['unknownAuthority', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
        ['selfSigned', 'DEPTH_ZERO_SELF_SIGNED_CERT']
      ]) {
        const fake = await start(certificates[name]);
        for (const ssl of [{}, true, { rejectUnauthorized: undefined }, { servername: 'localhost' }]) {
          for (const more of [{}, { sslmode: 'require' }]) {
            const error = await failure({ ...fake.config, ssl, ...more });
            assert.equal(error.code, code);
            assert.match(
              error.message,
              /: pass its certificate authority: a file as sslrootcert, or PEM text as ssl\.ca$/
            );
          }
        }
        const session = await open({ ...fake.config, ssl: { rejectUnauthorized: false } });
        assert.equal(session.encrypted, true);
        await session.end();
      }
    });

    it('given to connect() does, too', async () => {
      const fake = await start(certificates.unknownAuthority);
      for (const ssl of [{}, true]) {
        const client = new Client(fake.config);
        await assert.rejects(client.connect(fake.port, '127.0.0.1', ssl), { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
      }
      const client = new Client(fake.config);
      await client.connect(fake.port, '127.0.0.1', { rejectUnauthorized: false });
      await client.end();
    });

    it("trusts what Node trusts, not libpq's default files", async () => {
      const fake = await start(certificates.server);
      const home = process.env.HOME;
      process.env.HOME = path.join(directory, 'roots');
      fs.mkdirSync(path.join(process.env.HOME, '.postgresql'), { recursive: true });
      fs.copyFileSync(files.ca.cert, path.join(process.env.HOME, '.postgresql', 'root.crt'));
      try {
        await (await open({ ...fake.config, sslmode: 'verify-full' })).end();
        for (const sslmode of ['require', 'verify-full']) {
          assert.match((await failure({ ...fake.config, sslmode, ssl: {} })).code, /SELF_SIGNED|UNABLE/);
        }
        await (await open({ ...fake.config, ssl: {}, sslrootcert: files.ca.cert })).end();
      } finally {
        process.env.HOME = home;
      }
    });

    it('that does not verify leaves sslmode=verify-ca and verify-full what they are', async () => {
      const fake = await start(certificates.unknownAuthority);
      for (const sslmode of ['verify-ca', 'verify-full']) {
        const error = await failure({ ...fake.config, sslmode, ssl: { rejectUnauthorized: false } });
        assert.equal(error.code, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE');
      }
    });

    it('verifies authority and name as Node does when it has a ca or wants verification', async () => {
      const good = await start(certificates.server);
      await (await open({ ...good.config, ssl: { ca: certificates.ca.cert } })).end();
      assert.match((await failure({ ...good.config, ssl: { rejectUnauthorized: true } })).code, /SELF_SIGNED|UNABLE/);
      const wrong = await start(certificates.wrongName);
      assert.equal(
        (await failure({ ...wrong.config, ssl: { ca: certificates.ca.cert } })).code,
        'ERR_TLS_CERT_ALTNAME_INVALID'
      );
      await (await open({ ...wrong.config, ssl: { ca: certificates.ca.cert, servername: 'other.example' } })).end();
      await (
        await open({
          ...wrong.config,
          ssl: { ca: certificates.ca.cert, checkServerIdentity: () => undefined }
        })
      ).end();
      await (await open({ ...wrong.config, sslmode: 'verify-ca', ssl: { ca: certificates.ca.cert } })).end();
      const error = await failure({
        ...wrong.config,
        sslmode: 'verify-full',
        ssl: { ca: certificates.ca.cert, rejectUnauthorized: false }
      });
      assert.equal(error.code, 'ERR_TLS_CERT_ALTNAME_INVALID');
    });

    it('says what is wrong with it', async () => {
      const fake = await start(certificates.server);
      const error = await failure({
        ...fake.config,
        ssl: { key: 'not a key', cert: certificates.client.cert }
      });
      assert.match(error.message, /setting up TLS: /);
    });
  });

  describe('with a client certificate', () => {
    let server;
    before(async () => {
      server = await startServer({
        tls: { ...certificates.server, ca: certificates.ca.cert },
        hba: ['hostssl all all all cert', 'local all all trust']
      });
    });
    after(() => server?.stop());

    const config = more => ({ ...server.config, sslmode: 'require', ...more });

    it('takes it from files, from the default ones, or from the ssl object', async () => {
      await (await open(config({ sslcert: files.client.cert, sslkey: files.client.key }))).end();
      await (await open(config({ ssl: { ...certificates.client, ca: certificates.ca.cert } }))).end();
      const home = process.env.HOME;
      process.env.HOME = path.join(directory, 'home');
      try {
        fs.mkdirSync(path.join(directory, 'home', '.postgresql'), { recursive: true });
        fs.copyFileSync(files.client.cert, path.join(directory, 'home', '.postgresql', 'postgresql.crt'));
        assert.match((await failure(config())).message, /private key file ".*postgresql\.key" cannot be read/);
        fs.copyFileSync(files.client.key, path.join(directory, 'home', '.postgresql', 'postgresql.key'));
        await (await open(config())).end();
        assert.equal((await failure(config({ sslcertmode: 'disable' }))).code, '28000');
      } finally {
        process.env.HOME = home;
      }
    });

    it('decrypts its key with sslpassword, and shows neither', async () => {
      const encrypted = certificates.write(directory, {
        encrypted: await certificates.issue({
          commonName: 'postgres',
          usage: 'client',
          passphrase: 'open sesame'
        })
      }).encrypted;
      const given = config({ sslcert: encrypted.cert, sslkey: encrypted.key });
      const session = await open({ ...given, sslpassword: 'open sesame' });
      assert.doesNotMatch(inspect(session, { depth: 12, showHidden: true }), /sesame|PRIVATE KEY/);
      await session.end();
      for (const sslpassword of [undefined, 'open barley']) {
        const error = await failure({ ...given, sslpassword });
        assert.match(error.message, /setting up TLS: /);
        assert.doesNotMatch(inspect(error, { depth: 9, showHidden: true }), /barley|PRIVATE KEY/);
      }
    });

    it('does not use a key that others can read', async function () {
      if (process.platform === 'win32') this.skip();
      const root = process.geteuid() === 0;
      for (const [mode, good] of [
        [0o600, true],
        [0o400, true],
        [0o640, root],
        [0o660, false],
        [0o644, false],
        [0o604, false]
      ]) {
        fs.chmodSync(files.client.key, mode);
        const attempt = open(config({ sslcert: files.client.cert, sslkey: files.client.key }));
        if (good) await (await attempt).end();
        else
          await assert.rejects(attempt, /private key file ".*client\.key" has group or world access/, mode.toString(8));
      }
      fs.chmodSync(files.client.key, 0o600);
    });
  });

  describe('gives SCRAM its channel binding', () => {
    for (const algorithm of ['ecdsa-sha384', 'rsa-sha1', 'rsa-sha512', 'rsa-pss-sha256', 'rsa-pss-sha512']) {
      it(`with a certificate signed by ${algorithm}`, async () => {
        const made = await makeCertificates({ algorithm });
        const server = await startServer({ auth: 'scram-sha-256', tls: { ...made.server } });
        try {
          for (const more of [{}, { require_auth: 'scram-sha-256' }]) {
            await (await open({ ...server.config, sslmode: 'require', channel_binding: 'require', ...more })).end();
          }
        } finally {
          await server.stop();
        }
      });
    }

    it('and says that there is none for Ed25519', async () => {
      const made = await makeCertificates({ algorithm: 'ed25519' });
      const fake = await start(made.server);
      const config = { ...fake.config, password: 'x', sslmode: 'require', require_auth: 'scram-sha-256' };
      assert.match(
        (await failure({ ...config, channel_binding: 'require' })).message,
        /signed with an algorithm that has none/
      );
      fakes.push(
        await new FakeServer(async conversation => {
          await conversation.startTls(made.server);
          await conversation.first();
          fakes.at(-1).header = (await conversation.read()).body.toString('latin1');
          conversation.socket.end();
        }).listen()
      );
      await failure({ ...config, port: fakes.at(-1).port });
      assert.match(fakes.at(-1).header, /^SCRAM-SHA-256\0....n,,/s);
    });

    it('by the signature of the certificate, which is the last that it names', () => {
      const der = Buffer.from(certificates.server.cert.replace(/-.*-|\s/g, ''), 'base64');
      assert.equal(signatureDigest(der), 'sha256');
      const [sha384, ed25519] = ['2a8648ce3d040303', '2b6570'].map(oid => Buffer.from(oid, 'hex'));
      assert.equal(signatureDigest(Buffer.concat([sha384, der])), 'sha256');
      assert.equal(signatureDigest(Buffer.concat([der, sha384])), 'sha384');
      assert.equal(signatureDigest(ed25519), undefined);
      assert.equal(endPoint({ getPeerCertificate: () => ({}) }), null);
      const expected = crypto.createHash('sha256').update(der).digest();
      assert.deepEqual(endPoint({ getPeerCertificate: () => ({ raw: der }) }), expected);
    });
  });

  it('leaves no key and no password in the options of a socket', () => {
    const config = resolve(
      { host: 'db.example', ssl: { ...certificates.client, passphrase: 'open sesame', pfx: undefined } },
      undefined,
      {}
    );
    const options = tlsOptions(config, config.hosts[0]);
    assert.doesNotMatch(inspect(options, { depth: 9, showHidden: true }), /sesame|PRIVATE KEY/);
  });
});
