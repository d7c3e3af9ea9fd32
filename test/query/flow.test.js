'use strict';

const assert = require('node:assert/strict');
const { Flow } = require('../../lib/query/flow');

/** A flow to a transport that notes what is done to it. */
function make({ reusable = true } = {}) {
  const flow = new Flow();
  const log = [];
  flow.transport = {
    bufferedBytes: 0,
    needsDrain: false,
    write(bytes) {
      log.push(Buffer.from(bytes).toString('latin1'));
      return reusable;
    },
    pause() { log.push('pause'); },
    resume() { log.push('resume'); }
  };
  return { flow, log };
}

describe('The flow of a connection', () => {
  it('lets all that is written in a tick leave in one write', async () => {
    const { flow, log } = make();
    for (let i = 0; i < 3; i++) {
      flow.writer.sync();
      flow.scheduleFlush();
    }
    assert.deepEqual([log, flow.bufferedBytes], [[], 15]);
    await new Promise(setImmediate);
    assert.deepEqual([log, flow.bufferedBytes], [['S\0\0\0\x04'.repeat(3)], 0]);
    flow.scheduleFlush();
    await new Promise(setImmediate);
    assert.equal(log.length, 1, 'nothing is written where there is nothing');
  });

  it('writes nothing while there is no transport, and loses nothing', () => {
    const { flow, log } = make();
    const { transport } = flow;
    flow.transport = null;
    flow.writer.sync();
    flow.flush();
    assert.deepEqual([flow.bufferedBytes, flow.needsDrain], [5, false]);
    flow.transport = transport;
    flow.flush();
    assert.deepEqual(log, ['S\0\0\0\x04']);
  });

  it('counts what the transport holds, too', () => {
    const { flow } = make();
    flow.transport.bufferedBytes = 100;
    flow.writer.sync();
    assert.equal(flow.bufferedBytes, 105);
  });

  it('calls back once when it has drained; not when it was stopped before', () => {
    const { flow } = make();
    let calls = 0;
    flow.whenDrained(() => { calls++; });
    flow.drained();
    flow.drained();
    assert.equal(calls, 1);
    flow.whenDrained(() => { calls++; });
    flow.pause(flow);
    flow.writer.sync();
    flow.stop();
    assert.equal(flow.bufferedBytes, 0);
    flow.drained();
    flow.resume(flow);
    assert.equal(calls, 1);
  });
});
