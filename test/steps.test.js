'use strict';

const assert = require('node:assert/strict');
const { connected } = require('./support');

describe('What a session does step by step', () => {
  it('is one query at a time, fetched in as many steps as wanted', async () => {
    const client = await connected();
    client.startQuery('SELECT generate_series(1, $1::int) AS i', [5]);
    assert.throws(() => client.startQuery('SELECT 1'), { name: 'UsageError', code: '34000' });
    assert.equal(client.inQuery, true);
    const first = await client.getResults(2);
    assert.deepEqual([first.cmd, first.rows.map(({ i }) => i)], ['SUSPENDED', ['1', '2']]);
    const rest = await client.getResults();
    assert.deepEqual([rest.cmd, rest.rows.map(({ i }) => i)], ['SELECT', ['3', '4', '5']]);
    assert.equal(client.inQuery, false);
    await assert.rejects(client.getResults(), { name: 'UsageError', code: '34000' });
  });

  it('gives the connection back with sync, whose value is what it is given', async () => {
    const client = await connected();
    client.startQuery('SELECT generate_series(1, 5)');
    await client.getResults(1);
    const behind = client.query('SELECT 1 AS one');
    const value = {};
    assert.equal(await client.sync(value), value);
    assert.equal((await behind).rows[0].one, '1');
    assert.equal(await client.sync(value), value, 'also where no query is open');
  });

  it('needs a COPY that query has begun for copyData, copyDone and copyFail, and each ends it once', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE t (i int)');
    const closed = { name: 'UsageError', code: '55000' };
    assert.throws(() => client.copyData('1\n'), closed);
    await assert.rejects(client.copyDone(), closed);
    await assert.rejects(client.copyFail(), closed);
    await client.query('COPY t FROM STDIN');
    assert.throws(() => client.copyData(5), TypeError);
    client.copyData('1\n2');
    client.copyData(Buffer.from('\n'));
    assert.equal((await client.copyDone()).rowCount, 2);
    await assert.rejects(client.copyDone(), closed);
    await client.query('COPY t FROM STDIN');
    client.copyData('3\n');
    await client.copyFail('no');
    assert.equal((await client.query('SELECT count(*) AS n FROM t')).rows[0].n, '2');
  });

  it('refuses counts that are none', async () => {
    const client = await connected();
    client.startQuery('SELECT 1');
    for (const count of [-1, 1.5, '2', NaN, 2 ** 31]) await assert.rejects(client.getResults(count), TypeError, String(count));
    await client.sync();
  });
});
