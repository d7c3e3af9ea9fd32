'use strict';

const assert = require('node:assert/strict');
const { PostgresError, State } = require('../../../lib/core/protocol');
const { Flight, mayResend } = require('../../../lib/core/pipeline/flight');
const { SyncRequest } = require('../../../lib/core/pipeline/close');
const { hex, ANSWER, message } = require('../../support');
const { encoded, give, open } = require('../../support/submitted');

describe('Flight', () => {
  it('is pending until it is settled, and settles once', async () => {
    const request = new Flight();
    assert.equal(request.pending, false);
    open(request);
    assert.equal(request.pending, true);
    request.settle();
    request.settle(new Error('late'));
    assert.equal(request.pending, false);
    assert.equal(await request.promise, undefined);
    const rejected = open(new Flight());
    const error = new Error('no');
    rejected.settle(error);
    rejected.settle(new PostgresError({}));
    await assert.rejects(rejected.promise, error);
  });

  it("rejects with the server's error when ReadyForQuery comes, not before", async () => {
    const request = open(new Flight());
    give(request, ANSWER.error('22012', 'division by zero'));
    assert.deepEqual([request.pending, request.state], [true, State.Failed]);
    request.ready();
    await assert.rejects(request.promise, { name: 'PostgresError', code: '22012', message: 'division by zero' });
  });

  it('takes one error, and keeps it', async () => {
    const request = open(new Flight());
    give(request, ANSWER.error('22012', 'first'));
    assert.throws(() => give(request, ANSWER.error('22012', 'second')), { code: '08P01' });
    request.ready();
    await assert.rejects(request.promise, { message: 'first' });
  });

  it('gives the connection up when the error is FATAL or PANIC', () => {
    for (const severity of ['FATAL', 'PANIC']) {
      const { errors } = give(new Flight(), message('E', `S${severity}\0V${severity}\0C57P01\0Mbye\0\0`));
      assert.equal(errors[0].code, '57P01');
    }
  });

  it('refuses every other message', () => {
    const request = new Flight();
    assert.throws(() => give(request, message('C', 'SELECT 1\0')), {
      code: '08P01',
      message: 'protocol violation: unexpected CommandComplete (state Waiting)'
    });
    assert.throws(() => give(request, hex('ff 00000004')), { message: /unexpected a message of type 0xff/ });
  });

  it('that is given up rejects, and says whether the server is at work for it', async () => {
    const error = new Error('aborted');
    const waiting = open(new Flight());
    assert.equal(waiting.giveUp(error), false);
    await assert.rejects(waiting.promise, error);
    const sent = open(new SyncRequest());
    encoded(sent);
    assert.equal(sent.giveUp(error), true);
    assert.equal(sent.giveUp(error), false, 'once');
    await assert.rejects(sent.promise, error);
  });

  it('is Sync alone by itself, with nothing to keep or to repeat', () => {
    const request = new Flight();
    assert.equal(encoded(request), '5300000004');
    assert.equal(request.canResend(), false);
    for (const method of ['snapshot', 'drop']) assert.equal(request[method](), undefined);
    assert.equal(request.result, undefined);
  });

  it('is as before it was sent when it has been reset', () => {
    const request = open(new Flight());
    give(request, ANSWER.error('22012', 'no'));
    request.reset();
    assert.deepEqual([request.state, request.error], [State.Waiting, undefined]);
  });
});

describe('mayResend', () => {
  it('lets nothing come later than what it could affect, or what could affect it', () => {
    const scope = {};
    const sent = { pending: true, scope, isRead: true, hold: 0, next: null, canResend: () => true };
    const request = more => ({ ...sent, ...more });
    for (const [more, expected] of [
      [{}, true],
      [{ isRead: false }, true],
      [{ next: request() }, true],
      [{ isRead: false, next: request({ internal: true }) }, true],
      [{ pending: false }, false],
      [{ scope: {} }, false],
      [{ canResend: () => false }, false],
      [{ isRead: false, next: request() }, false],
      [{ next: request({ isRead: false }) }, false],
      [{ next: request({ hold: Infinity }) }, false],
      [{ next: request({ next: request({ isRead: false }) }) }, false]
    ])
      assert.equal(mayResend(request(more), scope), expected, JSON.stringify(more));
  });
});
