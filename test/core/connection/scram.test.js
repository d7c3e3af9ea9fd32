'use strict';

const assert = require('node:assert/strict');
const crypto = require('node:crypto');
const { inspect } = require('node:util');
const { startScram, MAX_ITERATIONS } = require('../../../lib/core/connection/scram');

// RFC 7677, section 3.
const NONCE = 'rOprNGfwEbeRWgbNEkqO';
const SERVER_FIRST = 'r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096';
const CLIENT_FINAL =
  'c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,' + 'p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=';
const SERVER_FINAL = 'v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=';

const example = () => startScram('pencil', { nonce: NONCE, user: 'user' });
const refused = pattern => ({ name: 'ConnectionError', code: '28000', message: pattern });

/** The server's side, written from RFC 5802 without looking at ours. */
function serverFor(password, clientFirst, { salt = crypto.randomBytes(16), iterations = 4096 } = {}) {
  const bare = clientFirst.replace(/^[^,]*,,/, '');
  const hmac = (key, text) => crypto.createHmac('sha256', key).update(text).digest();
  const first = `r=${/r=(.*)$/.exec(bare)[1]}server,s=${salt.toString('base64')},i=${iterations}`;
  const salted = crypto.pbkdf2Sync(password, salt, iterations, 32, 'sha256');
  return {
    first,
    check(final) {
      const [, withoutProof, proof] = /^(.*),p=(.*)$/.exec(final);
      const message = `${bare},${first},${withoutProof}`;
      const storedKey = crypto.createHash('sha256').update(hmac(salted, 'Client Key')).digest();
      const signature = hmac(storedKey, message);
      const clientKey = Buffer.from(proof, 'base64').map((byte, i) => byte ^ signature[i]);
      assert.deepEqual(crypto.createHash('sha256').update(clientKey).digest(), storedKey, 'the proof is right');
      return `v=${hmac(hmac(salted, 'Server Key'), message).toString('base64')}`;
    },
    binding: final => Buffer.from(/^c=([^,]*)/.exec(final)[1], 'base64')
  };
}

describe('SCRAM', () => {
  it('does the exchange that RFC 7677 prints', async () => {
    const scram = example();
    assert.equal(scram.mechanism, 'SCRAM-SHA-256');
    assert.equal(scram.first, `n,,n=user,r=${NONCE}`);
    assert.equal(await scram.final(SERVER_FIRST), CLIENT_FINAL);
    scram.verify(SERVER_FINAL);
  });

  it('convinces a server and is convinced by it, with a fresh nonce each time', async () => {
    const nonces = new Set();
    for (let i = 0; i < 3; i++) {
      const scram = startScram('s3cret');
      nonces.add(scram.first);
      const server = serverFor('s3cret', scram.first);
      scram.verify(server.check(await scram.final(server.first)));
    }
    assert.equal(nonces.size, 3);
    for (const first of nonces) assert.match(first, /^n,,n=,r=[A-Za-z0-9+/]{24}$/);
  });

  it("binds to the channel with p=tls-server-end-point and the certificate's hash", async () => {
    const binding = crypto.randomBytes(32);
    const scram = startScram('s3cret', { binding });
    assert.equal(scram.mechanism, 'SCRAM-SHA-256-PLUS');
    assert.match(scram.first, /^p=tls-server-end-point,,n=,r=/);
    const server = serverFor('s3cret', scram.first);
    const final = await scram.final(server.first);
    assert.deepEqual(server.binding(final), Buffer.concat([Buffer.from('p=tls-server-end-point,,'), binding]));
    scram.verify(server.check(final));
  });

  it('says y when it could have bound but was not offered to, and n when it could not', async () => {
    for (const [able, header] of [
      [true, 'y,,'],
      [false, 'n,,']
    ]) {
      const scram = startScram('s3cret', { able });
      assert.equal(scram.first.slice(0, 3), header);
      const server = serverFor('s3cret', scram.first);
      assert.equal(server.binding(await scram.final(server.first)).toString(), header);
    }
  });

  it('refuses a nonce that is not ours, only ours, or ours altered', async () => {
    for (const nonce of [
      'xOprNGfwEbeRWgbNEkqOserver',
      NONCE,
      NONCE.slice(0, -1),
      'someothernonce',
      `${NONCE.slice(0, -1)}xserver`
    ]) {
      await assert.rejects(example().final(`r=${nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096`), refused(/nonce/), nonce);
    }
  });

  it('refuses every malformed first message', async () => {
    const nonce = `r=${NONCE}server`;
    for (const message of [
      '',
      'hello',
      nonce,
      `${nonce},s=,i=4096`,
      `${nonce},i=4096`,
      `${nonce},s=W22Z`,
      `${nonce},s=W22Z,i=`,
      `${nonce},s=W22Z,i=0`,
      `${nonce},s=W22Z,i=-1`,
      `${nonce},s=W22Z,i=4096x`,
      `${nonce},s=W22Z,i=04096`,
      `${nonce},s=W2 Z,i=1`,
      `${nonce},s=W22Z,i=4096,x=1`,
      `m=ext,${nonce},s=W22Z,i=4096`,
      `${nonce},s=W22Z,i=99999999999`,
      `${nonce}\0,s=W22Z,i=1`
    ])
      await assert.rejects(example().final(message), refused(/first message is malformed/), message);
  });

  it('refuses more iterations than its bound, without doing any', async () => {
    for (const count of [MAX_ITERATIONS + 1, 2 ** 31]) {
      await assert.rejects(
        example().final(`r=${NONCE}server,s=W22Z,i=${count}`),
        refused(new RegExp(`${count} iterations`))
      );
    }
  });

  it('refuses a wrong signature, a malformed final message, and one that comes first', async () => {
    const scram = example();
    assert.throws(() => scram.verify(SERVER_FINAL), refused(/signature is wrong/));
    await scram.final(SERVER_FIRST);
    assert.throws(() => scram.verify(SERVER_FINAL.replace('6rri', '6rrj')), refused(/signature is wrong/));
    for (const message of [
      '',
      'e=invalid-proof',
      'v=',
      'v=6rri',
      `${SERVER_FINAL},x=1`,
      'v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4'
    ]) {
      assert.throws(() => scram.verify(message), refused(/malformed/), message);
    }
  });

  it('derives keys off the event loop, and only once for each password, salt and count', async () => {
    const derived = [];
    const derive = async (password, salt, iterations) => {
      const scram = startScram(password);
      const server = serverFor(password, scram.first, { salt, iterations });
      let turns = 0;
      const timer = setInterval(() => turns++, 0);
      await new Promise(setImmediate);
      turns = 0;
      const final = await scram.final(server.first);
      clearInterval(timer);
      scram.verify(server.check(final));
      derived.push(turns);
    };
    const salt = crypto.randomBytes(16);
    await derive('one', salt, 400000);
    await derive('one', salt, 400000);
    await derive('two', salt, 400000);
    await derive('two', salt, 300000);
    await derive('two', crypto.randomBytes(16), 300000);
    for (const turns of derived.toSpliced(1, 1)) assert.ok(turns > 0, 'timers ran while a key was derived');
    assert.equal(derived[1], 0, 'no turn of the event loop passed for a key that was known');
  });

  it('shows no password when it is inspected', async () => {
    const scram = startScram('hunter2');
    await scram.final(serverFor('hunter2', scram.first).first);
    assert.doesNotMatch(inspect(scram, { depth: 9, showHidden: true }) + JSON.stringify(scram), /hunter2/);
  });
});
