'use strict';

const assert = require('node:assert/strict');
const { Attempt, STEP } = require('../../lib/connection/attempt');
const { ConnectionError, PostgresError } = require('../../lib/protocol');

/** A socket that only knows whether it was destroyed. */
const fakeSocket = () => ({
  destroyed: false,
  destroy() {
    this.destroyed = true;
  }
});

describe('An attempt to connect', () => {
  it('says where, doing what and why it failed, with the code and cause of the system', () => {
    const attempt = new Attempt('db.example:5432');
    attempt.doing = STEP.LOOKUP;
    const cause = Object.assign(new Error('connect ETIMEDOUT'), { code: 'ETIMEDOUT' });
    const error = attempt.fail(cause);
    assert.equal(error.name, 'ConnectionError');
    assert.equal(error.message, 'db.example:5432: looking up the address: connect ETIMEDOUT');
    assert.equal(error.code, 'ETIMEDOUT');
    assert.equal(error.cause, cause);
    assert.equal(attempt.error, error);
  });

  it("passes the server's own errors on as they are", () => {
    const error = new PostgresError({ message: 'no', code: '28P01' });
    assert.equal(new Attempt('here').fail(error), error);
  });

  it('fails only once', () => {
    const attempt = new Attempt('here');
    const first = attempt.fail(new Error('first'));
    assert.equal(attempt.fail(new Error('second')), first);
    assert.equal(attempt.fail(first), first);
  });

  it('rejects who waits, and who waits later', async () => {
    const attempt = new Attempt('here');
    const waiting = attempt.wait(() => {});
    attempt.fail();
    const expected = { code: '08006', message: 'here: connecting: the server closed the connection' };
    await assert.rejects(waiting, expected);
    await assert.rejects(
      attempt.wait(() => assert.fail('it was begun')),
      expected
    );
  });

  it('says what to do about what it knows, and only that', () => {
    for (const [code, hint] of [['ECONNREFUSED', /: no: does a server listen there\?$/], ['toString', /: no$/]]) {
      assert.match(new Attempt('here').fail(Object.assign(new Error('no'), { code })).message, hint);
    }
  });

  it('closes what it has opened', () => {
    const attempt = new Attempt('here');
    attempt.socket = fakeSocket();
    attempt.stream = fakeSocket();
    attempt.fail();
    assert.ok(attempt.socket.destroyed && attempt.stream.destroyed);
  });

  it('fails when its socket closes', () => {
    const attempt = new Attempt('here');
    attempt.listener().closed(new Error('gone'));
    assert.match(attempt.error.message, /gone/);
  });

  it('leaves what it has opened alone once it is released', async () => {
    const controller = new AbortController();
    const attempt = new Attempt('here', { seconds: 0.01, signal: controller.signal });
    attempt.socket = fakeSocket();
    attempt.release();
    controller.abort();
    attempt.fail(new Error('late'));
    assert.equal(attempt.socket.destroyed, false);
    assert.equal(attempt.error, null);
  });

  it('counts its seconds from when it is told they began', async () => {
    const attempt = new Attempt('here', { seconds: 60, begun: performance.now() - 59990 });
    await assert.rejects(
      attempt.wait(() => {}),
      { code: '08001', message: /no success within 60 s/ }
    );
    assert.equal(attempt.expired, true);
  });

  it('that is aborted rejects with the reason if that is our error, else with one that has it as its cause', async () => {
    const reason = new ConnectionError('the client was destroyed', { code: '08003' });
    for (const [given, check] of [
      [reason, error => error === reason],
      ['enough', { name: 'ConnectionError', code: '08006', cause: 'enough' }]
    ]) {
      const controller = new AbortController();
      const attempt = new Attempt('here', { signal: controller.signal });
      const waiting = attempt.wait(() => {});
      controller.abort(given);
      await assert.rejects(waiting, check);
      const late = new Attempt('here', { signal: controller.signal });
      await assert.rejects(
        late.wait(() => {}),
        check
      );
    }
  });
});
