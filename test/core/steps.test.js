'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { RowReader } = require('../..');
const { connected, proxied } = require('../support');

describe('Step by step', () => {
  it('fetches rows by startQuery, getResults and sync, one query at a time', async () => {
    const client = await connected();
    assert.equal(client.inQuery, false);
    client.startQuery('SELECT generate_series(1, 5) AS a');
    assert.equal(client.inQuery, true);
    assert.throws(() => client.startQuery('SELECT 1'), { name: 'UsageError', code: '34000' });
    const first = await client.getResults(2);
    assert.deepEqual([first.cmd, first.rows.map(row => row.a)], ['SUSPENDED', [1, 2]]);
    const own = new RowReader();
    assert.equal(await client.sync(own), own);
    assert.equal(client.inQuery, false);
    await assert.rejects(client.getResults(2), { name: 'UsageError', code: '34000' });
  });

  it('copies by query, copyData and copyDone or copyFail, one COPY at a time', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE numbers (a int)');
    await client.query('COPY numbers FROM STDIN');
    assert.equal(client.copyData('1\n'), true);
    assert.equal((await client.copyDone()).rowCount, 1);
    assert.throws(() => client.copyData('2\n'), { name: 'UsageError', code: '55000' });
    await client.query('COPY numbers FROM STDIN');
    assert.throws(() => client.copyData('3\ud83d'), { name: 'TypeError', code: '22021' });
    client.copyData('3\n');
    await client.copyFail('no');
    await assert.rejects(client.copyDone(), { name: 'UsageError', code: '55000' });
    assert.equal((await client.query('SELECT sum(a) AS sum FROM numbers')).rows[0].sum, 1);
  });

  it('rejects copyFail with the error for which the COPY had failed before, and only with that', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE numbers (a int)');
    for (const [data, expected] of [
      ['no number\n', { name: 'PostgresError', code: '22P02' }],
      ['1\n', undefined]
    ]) {
      await client.query('COPY numbers FROM STDIN');
      client.copyData(data);
      const failing = client.copyFail('no'); // the server's error has not come yet
      if (expected) await assert.rejects(failing, expected);
      else assert.equal((await failing).rowCount, 0);
    }
    assert.equal((await client.query('SELECT count(*) FROM numbers')).rows[0].count, 0);
  });

  it("asks to wait while a mebibyte waits to be taken, and emits one 'drain' when all has been", async () => {
    const { client, wire } = await proxied();
    let drains = 0;
    client.on('drain', () => {
      drains++;
    });
    await client.query('CREATE TEMP TABLE long (a text)');
    const data = Buffer.alloc(1 << 20, 'x');
    data[data.length - 1] = 10;
    for (let round = 1; round <= 2; round++) {
      await client.query('COPY long FROM STDIN');
      wire.stall('toServer');
      let waits = 0;
      for (let i = 0; i < 24; i++) if (!client.copyData(data)) waits++;
      assert.ok(waits > 1, `${waits} times`);
      assert.equal(drains, round - 1);
      const drained = once(client, 'drain');
      wire.resume();
      await drained;
      assert.equal((await client.copyDone()).rowCount, 24);
      assert.equal(drains, round);
    }
  });

  it('takes no object for the reason of copyFail, whose length would be that of what is sent', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE numbers (a int)');
    await client.query('COPY numbers FROM STDIN');
    for (const [reason, kind] of [
      [{ length: 1073741000 }, 'an object'],
      [[1, 2], 'an array'],
      [5, 'a number'],
      [null, 'null']
    ]) {
      await assert.rejects(client.copyFail(reason), {
        name: 'TypeError',
        message: `copyFail takes a string or a Buffer, not ${kind}`
      });
    }
    await client.copyFail(Buffer.from('no'));
  });

  it('belongs to a client: a transaction has none of it', async () => {
    const client = await connected();
    await client.transaction(async tx => {
      for (const name of ['startQuery', 'getResults', 'inQuery', 'sync', 'copyData', 'copyDone', 'copyFail'])
        assert.equal(name in tx, false, name);
      await assert.rejects(tx.query('COPY users FROM STDIN'), {
        name: 'UsageError',
        code: '0A000',
        message: /use copyFrom\(\)/
      });
    });
  });
});
