'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const http = require('node:http');
const { connected } = require('../../support');
const { slow } = require('../../support/kit');

/** A target that takes nothing. */
const STALLED = {
  name: 'TimeoutError',
  code: '57014',
  message: 'the target took nothing for 5000 ms (other requests waited for it)'
};
const LONG = "SELECT repeat('x', 1000) FROM generate_series(1, 50000)";

describe('A reader that stalls', function () {
  this.timeout(60000);

  it('is cut off after 5 s, where requests were sent behind its long result', async () => {
    const client = await connected();
    const targets = [slow(), slow()];
    for (const [ask, target] of [
      [target => client.queryTo(target, LONG), targets[0]],
      [stream => client.query("SELECT 1, repeat('x', 1000) FROM generate_series(1, 50000)", [], { stream }), targets[1]]
    ]) {
      const result = ask(target);
      const other = client.query('SELECT 7 AS a');
      await assert.rejects(result, STALLED);
      assert.equal((await other).rows[0].a, 7);
      assert.equal(target.destroyed, true);
    }
  });

  it('is cut off after 5 s as an HTTP response', async () => {
    const client = await connected();
    const results = [];
    const server = http
      .createServer((request, response) => {
        results.push(client.queryTo(response, LONG), client.query('SELECT 7 AS a'));
      })
      .listen(0, '127.0.0.1');
    await once(server, 'listening');
    const request = http.get({ port: server.address().port, host: '127.0.0.1' }).on('error', () => {});
    const [response] = await once(request, 'response');
    response.on('error', () => {});
    await assert.rejects(results[0], STALLED);
    assert.equal((await results[1]).rows[0].a, 7);
    response.resume();
    await new Promise(resolve => response.once('close', resolve));
    assert.equal(response.complete, false);
    server.close();
  });

  it('has its stall_timeout where nothing was sent behind its long result', async () => {
    const client = await connected();
    const target = slow();
    const begun = performance.now();
    const result = client.queryTo(target, LONG, [], { stall_timeout: 7000, alone: true });
    const other = client.query('SELECT 7 AS a'); // it waits in the client
    await assert.rejects(result, {
      name: 'TimeoutError',
      message: 'the target took nothing for 7000 ms (stall_timeout)'
    });
    assert.ok(performance.now() - begun > 6900);
    assert.equal((await other).rows[0].a, 7);
  });

  it('is cut off together with all the others, where together they hold max_buffer_bytes and other requests wait', async () => {
    const client = await connected({ max_buffer_bytes: 1_000_000 });
    const targets = Array.from({ length: 250 }, () => slow());
    const results = targets.map(target => client.queryTo(target, "SELECT repeat('x', 10000)").catch(error => error));
    const other = client.query('SELECT 7 AS a');
    assert.equal((await other).rows[0].a, 7);
    const errors = await Promise.race([Promise.all(results), other.then(() => Promise.all(results.slice(0, 100)))]);
    for (const { name, message } of errors) assert.deepEqual({ name, code: '57014', message }, STALLED);
    for (const target of targets) target.destroy();
    await Promise.all(results);
  });
});
