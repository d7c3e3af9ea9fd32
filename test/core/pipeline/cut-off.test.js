'use strict';

const assert = require('node:assert/strict');
const { proxied, sharedServer } = require('../../support');
const { until } = require('../../support/kit');

/** Each sends a request, and whether the server may have carried it out although nothing of its answer came. */
const REQUESTS = {
  query: [client => client.query('SELECT 1'), false],
  'query behind another one': [client => [client.query('SELECT 1'), client.query('SELECT 2')], false],
  batch: [client => client.batch(['SELECT 1', 'SELECT 2']), false],
  describe: [client => client.describe('SELECT 1'), false],
  'query with settings': [client => client.with({ application_name: 'x' }).query('SELECT 1'), false],
  simpleQuery: [client => client.simpleQuery('SELECT 1'), true],
  'query behind a simpleQuery': [client => [client.simpleQuery('SELECT 1'), client.query('SELECT 2')], [true, false]]
};

/** What the server does to an idle session. */
const ENDS = {
  '57P01': async ({ processId }) => {
    const server = await sharedServer();
    await server.sql(`SELECT pg_terminate_backend(${processId})`);
    await untilGone(server, processId);
  },
  '57P05': async ({ processId }) => untilGone(await sharedServer(), processId)
};

const untilGone = (server, processId) =>
  until(async () => (await server.sql(`SELECT FROM pg_stat_activity WHERE pid = ${processId}`)).length === 0);

describe('A request that has crossed the end of an idle session', () => {
  for (const [code, end] of Object.entries(ENDS))
    for (const [name, [ask, sent]] of Object.entries(REQUESTS))
      it(`was ${sent === true ? 'perhaps' : 'not'} carried out: ${name}, ${code}`, async function () {
        if (code === '57P05' && (await sharedServer()).version < 14) this.skip(); // it has no idle_session_timeout
        const { client, wire } = await proxied(code === '57P05' ? { idle_session_timeout: 100 } : {});
        await client.query('SELECT 0');
        wire.stall('toClient');
        await end(client);
        const asked = [ask(client)].flat();
        const outcomes = Promise.allSettled(asked);
        await until(() => client.bufferedBytes === 0);
        wire.resume('toClient');
        for (const [index, { reason }] of (await outcomes).entries()) {
          const isSent = [sent].flat()[index] ?? [sent].flat()[0];
          assert.deepEqual([reason.name, reason.code, reason.sent], ['ConnectionError', code, isSent]);
          assert.match(reason.message, isSent ? /may have carried it out/ : /has not carried it out/);
        }
      });

  it('while the server was executing one was perhaps carried out, and those behind it were not', async () => {
    const { client } = await proxied();
    const server = await sharedServer();
    const outcomes = Promise.allSettled([client.query('SELECT pg_sleep(60)'), client.query('SELECT 1')]);
    await until(async () => {
      const rows = await server.sql(
        `SELECT FROM pg_stat_activity WHERE pid = ${client.processId} AND wait_event = 'PgSleep'`
      );
      return rows.length > 0;
    });
    await server.sql(`SELECT pg_terminate_backend(${client.processId})`);
    assert.deepEqual(
      (await outcomes).map(({ reason }) => reason.sent),
      [true, false]
    );
  });
});
