'use strict';

const assert = require('node:assert/strict');
const crypto = require('node:crypto');
const { inspect } = require('node:util');
const { authenticate } = require('../../../lib/core/connection/auth');
const { REASON } = require('../../../lib/core/connection/attempt');
const { resolve } = require('../../../lib/core/config');

const OK = [0, ''];
const CLEARTEXT = [3, ''];
const MD5 = [5, '\x01\x02\x03\x04'];
const sasl = (...names) => [10, names.map(name => `${name}\0`).join('') + '\0'];
const SASL = sasl('SCRAM-SHA-256');
const BINDING = crypto.randomBytes(32);

/** Authentication on a connection to another host without TLS, unless said otherwise, and its server. */
class Exchange {
  done = false;
  reason = undefined;
  unread = Buffer.alloc(0);

  constructor(options, connection) {
    const config = resolve({ user: 'foo', host: 'db.example', ...options }, undefined, {});
    const { binding = null, ...more } = connection;
    const login = { config, password: () => 'secret', encrypted: false, local: false, ...more };
    login.binding = () => (config.channel_binding === 'disable' ? null : binding);
    this.opening = this.#answer();
    authenticate(login, {
      attempt: this,
      startupMessage: Buffer.from('startup'),
      early: true,
      send: (last, ...parts) => {
        this.sent = { last, message: Buffer.concat(parts) };
      },
      request: () => {
        this.resolve(this.sent);
        return new Promise(resolve => {
          this.give = resolve;
        });
      }
    }).then(
      () => {
        this.done = true;
        this.resolve(null);
      },
      error => this.reject(error)
    );
    this.opening.catch(() => {});
  }

  /** What is sent until another message is waited for. */
  #answer() {
    this.sent = null;
    return new Promise((resolve, reject) => Object.assign(this, { resolve, reject }));
  }

  /** What goes with the StartupMessage: null where that goes alone, and more is to follow. */
  async early() {
    const { last, message } = await this.opening;
    assert.equal(message.toString('latin1', 0, 7), 'startup');
    return message.length === 7 && !last ? null : { last, message: message.subarray(7) };
  }

  async respond(code, data) {
    await this.opening;
    const answer = this.#answer();
    this.give({ code, data });
    return answer;
  }
}

const make = (options = {}, connection = {}) => new Exchange(options, connection);
const respond = (auth, [code, body]) => auth.respond(code, Buffer.from(body, 'latin1'));
const refused = message => ({ name: 'ConnectionError', code: '28000', message });
const broken = { name: 'ConnectionError', code: '08P01' };

/** Takes a p message apart: body as text. */
function body({ message }) {
  assert.equal(message[0], 0x70);
  assert.equal(message.readUInt32BE(1), message.length - 1);
  return message.toString('latin1', 5);
}

/** A server that goes through SCRAM with it. */
async function scram(auth, { offer = SASL, early, password = 'secret' } = {}) {
  const answer = early ?? (await respond(auth, offer));
  if (early) assert.equal(await respond(auth, offer), null);
  assert.equal(answer.last, false);
  const [, mechanism, length, header, bare] = /^([A-Z0-9-]+)\0(....)([^,]*,,)(.*)$/s.exec(body(answer));
  assert.equal(Buffer.from(length, 'latin1').readUInt32BE(), header.length + bare.length);
  const salt = crypto.randomBytes(8);
  const first = `${bare.replace('n=,', '')}more,s=${salt.toString('base64')},i=10`;
  const final = await respond(auth, [11, first]);
  assert.equal(final.last, true);
  const withoutProof = body(final).replace(/,p=.*/, '');
  const salted = crypto.pbkdf2Sync(password, salt, 10, 32, 'sha256');
  const hmac = (key, data) => crypto.createHmac('sha256', key).update(data).digest();
  const signature = hmac(hmac(salted, 'Server Key'), `${bare},${first},${withoutProof}`).toString('base64');
  return {
    mechanism,
    header,
    bound: Buffer.from(withoutProof.slice(2).split(',')[0], 'base64'),
    verdict: [12, `v=${signature}`]
  };
}

describe('Authentication', () => {
  it('refuses a list of mechanisms that has no end', async () => {
    for (const list of ['', '\0', 'SCRAM-SHA-256', 'SCRAM-SHA-256\0', 'SCRAM-SHA-256\0\0x']) {
      const error = { code: list === '\0' ? '28000' : '08P01' };
      await assert.rejects(respond(make(), [10, list]), error, JSON.stringify(list));
    }
  });

  it('answers a request for the password in cleartext over TLS or on this machine', async () => {
    for (const connection of [{ encrypted: true }, { local: true }]) {
      const auth = make({}, connection);
      assert.deepEqual(body(await respond(auth, CLEARTEXT)), 'secret\0');
      await respond(auth, OK);
      assert.equal(auth.done, true);
    }
  });

  it('sends no cleartext password where others can read it, unless require_auth names the method', async () => {
    await assert.rejects(respond(make(), CLEARTEXT), refused(/not encrypted/));
    await assert.rejects(respond(make({ require_auth: '!md5' }), CLEARTEXT), refused(/not encrypted/));
    assert.equal(body(await respond(make({ require_auth: 'password,md5' }), CLEARTEXT)), 'secret\0');
    assert.equal(body(await make({ require_auth: 'password' }).early()), 'secret\0');
  });

  it('answers MD5 with the hash of the hash of password and user, and the salt', async () => {
    const auth = make({ user: 'foo' }, { password: () => 'bar' });
    // md5('bar' || 'foo') is 96948aad3fcae80c08a35c9b5958cd89.
    const expected = crypto
      .createHash('md5')
      .update('96948aad3fcae80c08a35c9b5958cd89')
      .update(Buffer.from([1, 2, 3, 4]));
    assert.equal(body(await respond(auth, MD5)), `md5${expected.digest('hex')}\0`);
    await respond(auth, OK);
    assert.equal(auth.done, true);
  });

  it('refuses an MD5 salt of another length', async () => {
    for (const salt of ['', '\x01\x02\x03', '\x01\x02\x03\x04\x05'])
      await assert.rejects(respond(make(), [5, salt]), broken);
  });

  it("goes through SCRAM and is done when the server's signature was right", async () => {
    const auth = make();
    const { verdict, header, mechanism } = await scram(auth);
    assert.deepEqual([mechanism, header], ['SCRAM-SHA-256', 'n,,']);
    assert.equal(await respond(auth, verdict), null);
    assert.equal(auth.done, false);
    await respond(auth, OK);
    assert.equal(auth.done, true);
  });

  it('does not believe that all is well before SCRAM has proven it', async () => {
    const started = make();
    await respond(started, SASL);
    await assert.rejects(respond(started, OK), refused(/before it proved/));
    const half = make();
    await scram(half);
    await assert.rejects(respond(half, OK), refused(/before it proved/));
    const wrong = make();
    await scram(wrong);
    await assert.rejects(respond(wrong, [12, `v=${Buffer.alloc(32).toString('base64')}`]), refused(/signature/));
  });

  it('accepts no SCRAM message out of order, and no second request for authentication', async () => {
    await assert.rejects(respond(make(), [11, 'r=x,s=eA==,i=1']), broken);
    await assert.rejects(respond(make(), [12, 'v=x']), broken);
    for (const request of [[11, 'r=x,s=eA==,i=1'], SASL]) {
      const auth = make();
      await scram(auth);
      await assert.rejects(respond(auth, request), broken);
    }
    for (const request of ['verdict', MD5]) {
      const auth = make();
      const { verdict } = await scram(auth);
      await respond(auth, verdict);
      await assert.rejects(respond(auth, request === 'verdict' ? verdict : request), broken);
    }
    const twice = make();
    await respond(twice, MD5);
    await assert.rejects(respond(twice, MD5), broken);
  });

  it('holds the server to require_auth', async () => {
    const asks = { password: CLEARTEXT, md5: MD5, 'scram-sha-256': SASL, none: OK };
    for (const [required, allowed] of Object.entries({
      '': ['password', 'md5', 'scram-sha-256', 'none'],
      password: ['password'],
      md5: ['md5'],
      'scram-sha-256': ['scram-sha-256'],
      none: ['none'],
      'md5,scram-sha-256': ['md5', 'scram-sha-256'],
      'scram-sha-256,none': ['scram-sha-256', 'none'],
      '!password': ['md5', 'scram-sha-256', 'none'],
      '!password,!md5': ['scram-sha-256', 'none'],
      '!none': ['password', 'md5', 'scram-sha-256'],
      'gss,md5': ['md5']
    })) {
      for (const [method, request] of Object.entries(asks)) {
        const ask = () => respond(make({ require_auth: required }, { encrypted: true }), request);
        if (allowed.includes(method)) await assert.doesNotReject(ask, `${required}: ${method}`);
        else await assert.rejects(ask, refused(/require_auth/), `${required}: ${method}`);
      }
    }
  });

  it('binds SCRAM to the channel when the server offers it, as channel_binding says', async () => {
    const both = sasl('SCRAM-SHA-256-PLUS', 'SCRAM-SHA-256');
    const cases = [
      // channel_binding, offered, what the connection has → mechanism, header
      ['prefer', both, BINDING, 'SCRAM-SHA-256-PLUS', 'p=tls-server-end-point,,'],
      ['require', both, BINDING, 'SCRAM-SHA-256-PLUS', 'p=tls-server-end-point,,'],
      ['disable', both, BINDING, 'SCRAM-SHA-256', 'n,,'],
      ['prefer', SASL, BINDING, 'SCRAM-SHA-256', 'y,,'],
      ['disable', SASL, BINDING, 'SCRAM-SHA-256', 'n,,'],
      ['prefer', both, null, 'SCRAM-SHA-256', 'n,,']
    ];
    for (const [channel_binding, offer, binding, mechanism, header] of cases) {
      const auth = make({ channel_binding }, { encrypted: true, binding });
      const exchange = await scram(auth, { offer });
      assert.deepEqual([exchange.mechanism, exchange.header], [mechanism, header]);
      const data = mechanism.endsWith('PLUS') ? BINDING : Buffer.alloc(0);
      assert.deepEqual(exchange.bound, Buffer.concat([Buffer.from(header), data]));
      await respond(auth, exchange.verdict);
      await respond(auth, OK);
      assert.equal(auth.done, true);
    }
  });

  it('refuses everything without channel binding when it is required', async () => {
    const required = { channel_binding: 'require' };
    const secure = { encrypted: true, binding: BINDING };
    await assert.rejects(respond(make(required, secure), SASL), refused(/does not offer it/));
    await assert.rejects(respond(make(required, { encrypted: true }), SASL), refused(/algorithm/));
    await assert.rejects(respond(make(required), SASL), refused(/no TLS/));
    for (const request of [CLEARTEXT, MD5, OK]) {
      await assert.rejects(respond(make(required, secure), request), refused(/channel binding is required/));
    }
    await assert.rejects(make({ ...required, require_auth: 'scram-sha-256' }).early(), refused(/no TLS/));
    await assert.rejects(make({ ...required, require_auth: 'none' }, secure).early(), refused(/channel binding/));
    await assert.rejects(make({ ...required, require_auth: 'password' }, secure).early(), refused(/channel binding/));
  });

  it('refuses channel binding offered without TLS, as libpq does', async () => {
    await assert.rejects(respond(make(), sasl('SCRAM-SHA-256-PLUS', 'SCRAM-SHA-256')), refused(/without TLS/));
  });

  it('says what the server offers when it knows none of it', async () => {
    await assert.rejects(respond(make(), sasl('SCRAM-SHA-1')), refused(/offers SCRAM-SHA-1 and not SCRAM-SHA-256/));
    await assert.rejects(respond(make(), sasl()), refused(/offers nothing/));
    await assert.rejects(respond(make(), sasl('\x1b[31mEVIL')), refused(/offers nothing/));
  });

  it('says that GSSAPI, SSPI, Kerberos and what it never heard of are not supported', async () => {
    for (const [code, name] of [
      [2, 'Kerberos'],
      [6, 'SCM'],
      [7, 'GSSAPI'],
      [9, 'SSPI'],
      [4711, 'method 4711']
    ]) {
      await assert.rejects(respond(make(), [code, '']), refused(new RegExp(`${name}.* not supported`)));
    }
  });

  it('says that a password is missing, and counts an empty one as missing', async () => {
    for (const password of [undefined, '']) {
      for (const request of [CLEARTEXT, MD5, SASL]) {
        await assert.rejects(
          respond(make({}, { password: () => password, local: true }), request),
          refused(/no password was given/)
        );
      }
    }
  });

  it('has something to send early only when require_auth names exactly one method that needs no salt', async () => {
    for (const required of ['', 'md5', 'password,md5', 'scram-sha-256,none', '!md5,!none,!password', 'gss,password']) {
      assert.equal(await make({ require_auth: required }).early(), null, required);
    }
    const none = await make({ require_auth: 'none' }).early();
    assert.deepEqual([none.message.length, none.last], [0, true]);
    assert.equal((await make({ require_auth: 'password' }).early()).last, true);
    assert.equal((await make({ require_auth: 'scram-sha-256' }).early()).last, false);
  });

  it('goes on from an early password only when the server asks for it', async () => {
    const auth = make({ require_auth: 'password' });
    await auth.early();
    assert.equal(await respond(auth, CLEARTEXT), null);
    await respond(auth, OK);
    assert.equal(auth.done, true);
    for (const request of [OK, MD5, SASL]) {
      const other = make({ require_auth: 'password' });
      await other.early();
      await assert.rejects(respond(other, request), refused(/require_auth/));
    }
  });

  it('goes on from an early SCRAM message, bound to the channel when there is TLS', async () => {
    for (const [binding, offer, mechanism] of [
      [null, SASL, 'SCRAM-SHA-256'],
      [BINDING, sasl('SCRAM-SHA-256-PLUS', 'SCRAM-SHA-256'), 'SCRAM-SHA-256-PLUS']
    ]) {
      const auth = make({ require_auth: 'scram-sha-256' }, { encrypted: binding !== null, binding });
      const exchange = await scram(auth, { early: await auth.early(), offer });
      assert.equal(exchange.mechanism, mechanism);
      await respond(auth, exchange.verdict);
      await respond(auth, OK);
      assert.equal(auth.done, true);
    }
    for (const request of [OK, CLEARTEXT, MD5]) {
      const other = make({ require_auth: 'scram-sha-256' });
      await other.early();
      await assert.rejects(respond(other, request), refused(/require_auth|before it proved/));
    }
  });

  it('accepts no SCRAM challenge before the server has named the mechanism it was started with', async () => {
    const auth = make({ require_auth: 'scram-sha-256' });
    await auth.early();
    await assert.rejects(respond(auth, [11, 'r=x,s=eA==,i=1']), broken);
  });

  it('tells that it is worth trying again without channel binding, unless that is required', async () => {
    const tries = { prefer: REASON.UNBOUND, require: undefined };
    for (const [channel_binding, reason] of Object.entries(tries)) {
      const auth = make({ require_auth: 'scram-sha-256', channel_binding }, { encrypted: true, binding: BINDING });
      await auth.early();
      await assert.rejects(respond(auth, SASL), refused(/offers SCRAM-SHA-256 and not SCRAM-SHA-256-PLUS/));
      assert.equal(auth.reason, reason);
    }
  });

  it('shows no password when it is inspected', async () => {
    const auth = make();
    await respond(auth, SASL);
    assert.doesNotMatch(inspect(auth, { depth: 9, showHidden: true }) + JSON.stringify(auth), /secret/);
  });
});
