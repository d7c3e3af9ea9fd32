'use strict';

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { createHash } = require('node:crypto');
const { once } = require('node:events');
const net = require('node:net');
const { Writable } = require('node:stream');
const { setTimeout: sleep } = require('node:timers/promises');
const { ANSWER, commandComplete, connected, faked, hex, message } = require('../../support');
const { collector } = require('../../support/kit');
const { read } = require('./targets');

/** Takes 6 MB at once, then so many bytes a second. */
const READER = `const [port, rate] = process.argv.slice(-2).map(Number);
  const socket = require('node:net').connect(port, '127.0.0.1');
  const begun = performance.now();
  const budget = () => 6e6 + rate * (performance.now() - begun) / 1000;
  let length = 0;
  socket.on('data', ({ length: more }) => { if ((length += more) > budget()) socket.pause(); });
  setInterval(() => { if (length < budget()) socket.resume(); }, 20);
  socket.on('error', () => {}).on('close', () => process.exit());`;

describe('queryTo', () => {
  it('does not cut off a reader that is slow, but steady: a second stands for 60, and 1.2 MB/s for 20 kB/s', async () => {
    const client = await connected();
    const server = net.createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const reader = spawn(process.execPath, ['-e', READER, server.address().port, 1.2e6], { stdio: 'inherit' });
    const [socket] = await once(server, 'connection');
    try {
      const { bytes } = await client.queryTo(socket, "SELECT repeat('x', 1000) FROM generate_series(1, 20000)", [], {
        stall_timeout: 1000
      });
      assert.ok(bytes > 20e6);
    } finally {
      reader.kill();
      socket.destroy();
      server.close();
    }
  });

  describe('with a row of 200 MB', () => {
    const SIZE = 200e6;
    const TEXT = `SELECT repeat('0123456789', ${SIZE / 10})`;

    /** A target that counts, and knows the most memory the process ever had. */
    const counting = () =>
      Object.assign(
        new Writable({
          write(chunk, encoding, callback) {
            this.length += chunk.length;
            this.hash.update(chunk);
            this.memory = Math.max(this.memory, process.memoryUsage.rss());
            callback();
          }
        }),
        { length: 0, memory: 0, hash: createHash('md5') }
      );
    const expected = createHash('md5');
    before(() => {
      for (let i = 0; i < 200; i++) expected.update('0123456789'.repeat(100000));
    });

    it('needs no more than twice its memory, and the row once', async () => {
      const client = await connected();
      const target = counting();
      const memory = process.memoryUsage.rss();
      await client.queryTo(target, TEXT, [], { as: 'values' });
      assert.equal(target.length, SIZE);
      assert.equal(target.hash.digest('hex'), expected.digest('hex'));
      assert.ok(target.memory - memory < 2 * SIZE, `${(target.memory - memory) / 1e6} MB`);
    });

    it('passes it on between others, as protocol and as values', async () => {
      const client = await connected();
      const text = "SELECT CASE i WHEN 3 THEN repeat('x', 1000000) ELSE i::text END FROM generate_series(1, 5) i";
      const values = collector();
      await client.queryTo(values, text, [], { as: 'values', separator: '|' });
      assert.equal(values.text, `1|2|${'x'.repeat(1000000)}|4|5`);
      const protocol = collector();
      await client.queryTo(protocol, text);
      assert.deepEqual(
        (await read(protocol.bytes)).rows.map(([x]) => x.length),
        [1, 1, 1000000, 1, 1]
      );
    });

    it('refuses a column that is not as long as its row', async () => {
      const row = message('D', hex('0001 00030000'), Buffer.alloc(0x2ffff));
      const client = await faked(async conversation => {
        await conversation.request();
        conversation.say(ANSWER.described('a'), row.subarray(0, 100));
        await sleep(20);
        conversation.say(row.subarray(100), commandComplete('SELECT 1'), ANSWER.ready);
      });
      await assert.rejects(client.queryTo(collector(), 'SELECT 1', [], { as: 'values' }), { code: '08P01' });
    });
  });
});
