'use strict';

const assert = require('node:assert/strict');
const { PostgresError } = require('../../lib/protocol/errors');
const { Request, SyncRequest, CloseRequest, describeType } = require('../../lib/query/request');
const { Statements } = require('../../lib/query/statements');
const { MessageWriter } = require('../../lib/protocol/writer');
const { hex, ANSWER, message } = require('../support');

/** As much of a pipeline as a request needs. */
const pipeline = () => ({ events: { lost(error) { this.errors.push(error); }, errors: [] } });

/** What a request writes. */
function encoded(request) {
  const writer = new MessageWriter();
  request.encode(writer, new Statements(10));
  return writer.take().toString('hex');
}

/** Gives a request one message of its answer. */
function give(request, bytes, target = pipeline()) {
  request.message(target, bytes[0], bytes, 0, bytes.length, 1);
  return target;
}

describe('Request', () => {
  it('resolves to its result when ReadyForQuery comes', async () => {
    const request = new Request();
    request.done = true;
    request.ready();
    assert.equal(await request.promise, undefined);
    assert.equal(request.settled, true);
  });

  it('rejects with the server\'s error when ReadyForQuery comes', async () => {
    const request = new Request();
    give(request, ANSWER.error('22012', 'division by zero'));
    assert.equal(request.settled, false);
    request.ready();
    await assert.rejects(request.promise,
      { name: 'PostgresError', code: '22012', message: 'division by zero' });
  });

  it('takes one error, and keeps it', async () => {
    const request = new Request();
    give(request, ANSWER.error('22012', 'first'));
    assert.throws(() => give(request, ANSWER.error('22012', 'second')), { code: '08P01' });
    request.ready();
    await assert.rejects(request.promise, { message: 'first' });
  });

  it('gives the connection up when the error is FATAL or PANIC', () => {
    for (const severity of ['FATAL', 'PANIC']) {
      const target = give(new Request(), message('E', `S${severity}\0V${severity}\0C57P01\0Mbye\0\0`));
      assert.equal(target.events.errors[0].code, '57P01');
    }
  });

  it('refuses every other message, and ReadyForQuery before the end of the answer', () => {
    const request = new Request();
    assert.throws(() => give(request, message('C', 'SELECT 1\0')),
      { code: '08P01', message: "protocol violation: unexpected message of type 'C'" });
    assert.throws(() => give(request, hex('ff 00000004')), { message: /unexpected message of type 0xff/ });
    assert.throws(() => request.ready(),
      { code: '08P01', message: /ReadyForQuery before the end of the answer/ });
  });

  it('settles once, and tells when', async () => {
    const resolved = new Request();
    let times = 0;
    resolved.onsettled = () => { times++; };
    resolved.resolve(1);
    resolved.resolve(2);
    resolved.reject(new Error('late'));
    assert.equal(await resolved.promise, 1);
    const rejected = new Request();
    rejected.onsettled = error => { times += error === undefined ? 10 : 1; };
    const error = new Error('no');
    rejected.reject(error);
    rejected.reject(new PostgresError({}));
    rejected.resolve(1);
    await assert.rejects(rejected.promise, error);
    assert.equal(times, 2);
  });

  it('has nothing to write, to keep or to retry by itself', () => {
    const request = new Request();
    assert.equal(encoded(request), '');
    assert.equal(request.retry(), false);
    for (const method of ['snapshot', 'unsend', 'discard']) assert.equal(request[method](), undefined);
  });
});

describe('SyncRequest', () => {
  it('writes Sync and resolves to its value', async () => {
    const request = new SyncRequest('value');
    assert.equal(encoded(request), '5300000004');
    request.ready();
    assert.equal(await request.promise, 'value');
  });
});

describe('CloseRequest', () => {
  it('writes Close and Sync, and resolves after CloseComplete', async () => {
    const request = new CloseRequest('S', 's1');
    assert.equal(encoded(request), hex("43 00000008 53 's1' 00  53 00000004").toString('hex'));
    assert.throws(() => request.ready(), { code: '08P01' });
    give(request, message('3'));
    request.ready();
    await request.promise;
  });

  it('refuses any other answer but an error', async () => {
    const request = new CloseRequest('P', '');
    assert.throws(() => give(request, message('1')), { code: '08P01' });
    give(request, ANSWER.error('22012', 'no'));
    request.ready();
    await assert.rejects(request.promise, { code: '22012' });
  });
});

describe('describeType', () => {
  it('shows letters as such and other bytes as numbers', () => {
    assert.deepEqual([0x5a, 0x31, 0, 32, 127, 255].map(describeType),
      ["'Z'", "'1'", '0x0', '0x20', '0x7f', '0xff']);
  });
});
