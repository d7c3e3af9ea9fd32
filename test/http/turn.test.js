'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const http = require('node:http');
const net = require('node:net');
const { AbortError } = require('../..');
const { turn } = require('../../lib/http/turn');

/** The responses to requests that were sent at once, and the reader's socket. */
async function pipelined(count, work) {
  const server = http.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const reader = net.connect(server.address().port, '127.0.0.1');
  reader.on('error', () => {});
  try {
    const responses = [];
    const all = new Promise(resolve => server.on('request', (request, response) => {
      if (responses.push(response) === count) resolve();
    }));
    reader.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(count));
    await all;
    await work(responses, reader);
  } finally {
    reader.destroy();
    server.close();
    server.closeAllConnections();
  }
}

describe('The turn of a response', () => {
  it('has come where no other is in front of it', () => pipelined(1, async ([response]) => {
    assert.equal(turn(response), undefined);
    response.end();
    await once(response, 'finish');
    assert.equal(turn(response), undefined);
  }));

  it('comes when those in front of it have ended', () => pipelined(3, async ([first, second, third]) => {
    const order = [];
    const waiting = [turn(third).then(() => order.push('third')), turn(second).then(() => order.push('second'))];
    first.end();
    await waiting[1];
    assert.deepEqual(order, ['second']);
    second.end();
    await waiting[0];
    assert.deepEqual(order, ['second', 'third']);
    assert.equal(third.listenerCount('socket'), 0);
  }));

  it('never comes when the reader has left', () => pipelined(3, async ([first, second, third], reader) => {
    const waiting = [assert.rejects(turn(second), AbortError), assert.rejects(turn(third), AbortError)];
    reader.destroy();
    await Promise.all(waiting);
    await assert.rejects(turn(second), AbortError);
    assert.ok(first.destroyed);
  }));

  it('is not waited for beyond its signal', () => pipelined(2, async ([, second]) => {
    const controller = new AbortController();
    const waiting = turn(second, controller.signal);
    controller.abort('enough');
    await assert.rejects(waiting, error => error instanceof AbortError && error.cause === 'enough');
    await assert.rejects(turn(second, AbortSignal.abort()), AbortError);
  }));

  it('is awaited by many without a warning', () => pipelined(50, async ([first, ...others], reader) => {
    const warnings = [];
    const onwarning = warning => warnings.push(warning);
    process.on('warning', onwarning);
    const waiting = Promise.allSettled(others.map(response => turn(response)));
    reader.destroy();
    const results = await waiting;
    assert.ok(results.every(({ status }) => status === 'rejected'));
    process.removeListener('warning', onwarning);
    assert.deepEqual(warnings, []);
    assert.ok(first.destroyed);
  }));

  it('is of no concern where a response is not one of Node’s', () => {
    assert.equal(turn({ setHeader() {} }), undefined);
    assert.equal(turn({ setHeader() {}, socket: null }), undefined);
  });
});
