'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { setTimeout: sleep } = require('node:timers/promises');
const { following } = require('./following');

describe('replicate', function () {
  const followed = following();
  const { start, follow, follower, changes } = followed;

  it('stays connected beyond wal_sender_timeout, whether it is read or not', async () => {
    const client = await follower('quiet');
    const stream = follow(client, start('quiet'), { statusInterval: 200 });
    await once(stream, 'start');
    await sleep(1500);
    await followed.writer.query(
      "INSERT INTO followed SELECT i, 'x', repeat('y', 1000) FROM generate_series(1, 20000) AS i"
    );
    await sleep(2500);
    assert.equal(stream.destroyed, false);
    assert.ok(stream.readableLength > 0 && stream.readableLength < 5000, `${stream.readableLength} messages wait`);
    const list = await changes(stream, 1);
    assert.equal(list.length, 20002);
  });
});
