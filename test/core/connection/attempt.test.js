'use strict';

const assert = require('node:assert/strict');
const { Attempt, STEP } = require('../../../lib/core/connection/attempt');
const { ConnectionError, PostgresError } = require('../../../lib/core/protocol');
const { message, SAY } = require('../../support/connecting');

/** A socket that only knows whether and why it was destroyed. */
const fakeSocket = () => ({
  destroyed: false,
  destroy(error) {
    this.destroyed = true;
    this.error = error;
  }
});

const never = () => {};
const push = (attempt, bytes) => attempt.listener.chunk(bytes, bytes.length);

/** @returns {Promise<Buffer>} the next message */
async function next(attempt) {
  while (!attempt.read()) await attempt.more();
  return attempt.bytes.subarray(attempt.start, attempt.end);
}

describe('An attempt to connect', () => {
  it('says where, doing what and why it failed, with the code and the other fields of the system', () => {
    const attempt = new Attempt('db.example:5432');
    attempt.doing = STEP.LOOKUP;
    const cause = Object.assign(new Error('connect ETIMEDOUT'), { code: 'ETIMEDOUT', syscall: 'connect', port: 5432 });
    const error = attempt.fail(cause);
    assert.equal(error.name, 'ConnectionError');
    assert.equal(error.message, 'db.example:5432: looking up the address: connect ETIMEDOUT');
    assert.equal(error.code, 'ETIMEDOUT');
    assert.deepEqual([error.syscall, error.port, 'cause' in error], ['connect', 5432, false]);
  });

  it('says so of errors of the server, which keep their fields', () => {
    const attempt = new Attempt('db.example:5432');
    attempt.doing = STEP.AUTHENTICATE;
    const failure = attempt.fail(new PostgresError({ message: 'no "ann"', code: '08P01', severity: 'FATAL' }));
    const { name, message, code, severity } = failure;
    assert.equal('cause' in failure, false);
    assert.deepEqual(
      [name, message, code, severity],
      ['PostgresError', 'db.example:5432: authenticating: no "ann"', '08P01', 'FATAL']
    );
  });

  it('rejects who waits, and who waits later, when its connection is lost', async () => {
    const attempt = new Attempt('here');
    const waiting = attempt.wait(never);
    attempt.listener.closed();
    const expected = { code: '08006', message: 'the server closed the connection' };
    await assert.rejects(waiting, expected);
    await assert.rejects(attempt.wait(never), expected);
    await assert.rejects(new Attempt('here').wait(Promise.reject(new Error('mine'))), /mine/);
    assert.equal(await new Attempt('here').wait(Promise.resolve(5)), 5);
    const lost = new Attempt('here');
    lost.listener.closed(new Error('gone'));
    await assert.rejects(lost.wait(never), /gone/);
  });

  it('says what to do about what it knows, and only that', () => {
    for (const [code, hint] of [
      ['ECONNREFUSED', /: no: does a server listen there\?$/],
      ['EAI_AGAIN', /: no: is the host name right, /],
      ['toString', /: no$/]
    ]) {
      assert.match(new Attempt('here').fail(Object.assign(new Error('no'), { code })).message, hint);
    }
  });

  it('closes what it has opened when it fails, and ends what waits', async () => {
    const attempt = new Attempt('here');
    attempt.socket = fakeSocket();
    attempt.stream = fakeSocket();
    const waiting = attempt.wait(never);
    attempt.fail(new Error('no'));
    assert.ok(attempt.socket.destroyed && attempt.stream.destroyed && attempt.released);
    await assert.rejects(waiting, /^Error: no$/);
  });

  it('leaves what it has opened alone once it is released', async () => {
    const controller = new AbortController();
    const attempt = new Attempt('here', { seconds: 0.01, signal: controller.signal });
    attempt.socket = fakeSocket();
    attempt.release();
    controller.abort();
    await Promise.race([
      attempt.wait(never),
      new Promise(later => {
        setTimeout(later, 20);
      })
    ]);
    assert.equal(attempt.socket.destroyed, false);
    assert.equal(attempt.released, true);
  });

  it('counts its seconds from when it is told they began', async () => {
    const attempt = new Attempt('here', { seconds: 60, begun: performance.now() - 59990 });
    await assert.rejects(attempt.wait(never), { code: '08001', message: /no success within 60 s/ });
  });

  it('that is aborted rejects with the reason if that is our error, else with one whose cause that is', async () => {
    const reason = new ConnectionError('the client was destroyed', { code: '08003' });
    for (const [given, check] of [
      [reason, error => assert.equal(error, reason)],
      [
        'enough',
        ({ name, code, cause }) => {
          assert.deepEqual([name, code, cause], ['ConnectionError', '08006', 'enough']);
        }
      ]
    ]) {
      const controller = new AbortController();
      const attempt = new Attempt('here', { signal: controller.signal });
      const waiting = attempt.wait(never).catch(error => attempt.fail(error));
      controller.abort(given);
      check(await waiting);
      const late = new Attempt('here', { signal: controller.signal });
      check(await late.wait(never).catch(error => late.fail(error)));
    }
  });

  it('reads nothing more once it is aborted, also of what has come', async () => {
    const controller = new AbortController();
    const attempt = new Attempt('here', { signal: controller.signal });
    push(attempt, Buffer.concat([SAY.ok, SAY.ready]));
    await next(attempt);
    controller.abort(new Error('enough'));
    await assert.rejects(next(attempt), /enough/);
  });

  it('reads messages in whatever pieces they come, and those that came before the connection was lost', async () => {
    const attempt = new Attempt('here');
    const bytes = Buffer.concat([SAY.ok, SAY.key, SAY.ready]);
    const reading = (async () => [await next(attempt), await next(attempt), await next(attempt)])();
    for (const byte of bytes) {
      push(attempt, Buffer.from([byte]));
      await null;
    }
    attempt.listener.closed();
    assert.deepEqual(await reading, [SAY.ok, SAY.key, SAY.ready]);
    await assert.rejects(next(attempt), /the server closed/);
  });

  it("keeps no memory of the socket's, and leaves what it has not read", async () => {
    const attempt = new Attempt('here');
    const chunk = Buffer.concat([SAY.ok, SAY.key, Buffer.from('rest'), Buffer.from('garbage')]);
    attempt.listener.chunk(chunk, chunk.length - 7);
    chunk.fill(0);
    assert.deepEqual([await next(attempt), await next(attempt)], [SAY.ok, SAY.key]);
    assert.equal(attempt.unread.toString(), 'rest');
  });

  it('throws an ErrorResponse that it reads', async () => {
    const attempt = new Attempt('here');
    push(attempt, SAY.error('28P01', 'no such user'));
    await assert.rejects(next(attempt), { name: 'PostgresError', code: '28P01', message: 'no such user' });
  });

  it('refuses a message longer than 64 KiB and more bytes than anybody reads', async () => {
    const long = new Attempt('here');
    push(long, message('S', Buffer.alloc(65533)).subarray(0, 5));
    await assert.rejects(next(long), { code: '08P01', message: /type 0x53 announces 65537 bytes/ });
    const flooded = new Attempt('here');
    flooded.socket = fakeSocket();
    for (let i = 0; i < 20; i++) push(flooded, Buffer.alloc(65536));
    assert.equal(flooded.socket.error.code, '08P01');
    assert.ok(flooded.unread.length < 1200000);
  });
});
