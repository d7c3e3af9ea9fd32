'use strict';

const assert = require('node:assert/strict');
const { LEASE } = require('../../../lib/core/internal');
const { mayBePooled } = require('../../../lib/core/requests/proof');
const { Client } = require('../../..');
const { Pool } = require('../../../lib/pool');
const { FakeServer, SAY } = require('../../support/connecting');
const { afterTest, endAfterTest } = require('../../support/hooks');
const { ANSWER, commandComplete, connected, dataRow, message, proxied } = require('../../support');

const OF_SERVER = ['integer_datetimes', 'is_superuser', 'server_encoding', 'server_version', 'session_authorization'];
const OF_CLIENT = ['client_encoding', 'DateStyle', 'TimeZone', 'standard_conforming_strings', 'application_name'];
const parametersOf = names => Object.fromEntries(names.map(name => [name, '']));

const POOLED = [-(1 << 22), -1, 0, (1 << 22) + 1, 2 ** 31 - 1, undefined];

/** The messages of the request that asks. */
const PROOF = 'PBECS';

/**
 * A pooler of the test's own, with a process id that Linux does not have. It answers the proof with `answer`, and each
 * query with an empty result.
 * @returns {Promise<{config: object, requests: string[], most: number}>} most: how many were not answered at once
 */
async function pooler(answer) {
  const requests = [];
  let most = 0; // requests that were not answered
  const fake = await new FakeServer(async conversation => {
    await conversation.first();
    conversation.say(SAY.ok, SAY.parameter('server_version', '18.0'), message('K', 5000000, 1), SAY.ready);
    let types = '';
    let unanswered = 0;
    for (;;) {
      types += (await conversation.read()).type;
      if (!/[SQ]$/.test(types)) continue;
      const request = types;
      types = '';
      requests.push(request);
      most = Math.max(most, ++unanswered);
      setImmediate(() => {
        unanswered--;
        if (request === PROOF) return conversation.say(...answer);
        if (request === 'S') return conversation.say(ANSWER.ready);
        conversation.say(
          request.startsWith('P') ? ANSWER.described() : ANSWER.bindComplete,
          commandComplete('SELECT 0'),
          ANSWER.ready
        );
      });
    }
  }).listen();
  afterTest(() => fake.stop());
  return {
    config: fake.config,
    requests,
    get most() {
      return most;
    }
  };
}

const rowOf = value => [
  ANSWER.parseComplete,
  ANSWER.bindComplete,
  dataRow(value),
  commandComplete('SELECT 1'),
  message('3'),
  ANSWER.ready
];
const ANSWERS = {
  'that it renames prepared statements': [rowOf('t'), true],
  'that it does not': [rowOf('f'), false],
  'with NULL': [rowOf(null), false],
  'with an error': [[ANSWER.error('42P01', 'no'), ANSWER.ready], false]
};

const ask = (session, count) =>
  Promise.all(Array.from({ length: count }, (_, i) => session.query('SELECT $1::int', [i], { cache: false })));

describe('A pooler may be in between', () => {
  it('if the process id is none of Linux, or missing', () => {
    for (const processId of POOLED) assert.equal(mayBePooled({ processId, parameters: {} }), true, String(processId));
    for (const processId of [1, 4711, 1 << 22]) assert.equal(mayBePooled({ processId, parameters: {} }), false);
  });

  it('if the settings of the client are reported behind those of the server, as PgBouncer does', () => {
    const reports = {
      'PgBouncer 1.18': [[...OF_SERVER, ...OF_CLIENT], true],
      'PgBouncer 1.25': [['in_hot_standby', ...OF_SERVER, ...OF_CLIENT.toReversed(), 'IntervalStyle'], true],
      'PostgreSQL 15': [
        [...OF_SERVER, ...OF_CLIENT].sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)),
        false
      ],
      'a server that reports nothing': [[], false],
      'a server that reports its version': [['server_version'], false]
    };
    for (const [name, [names, expected]] of Object.entries(reports))
      assert.equal(mayBePooled({ processId: 4711, parameters: parametersOf(names) }), expected, name);
  });

  it('but not with PostgreSQL itself, which is asked nothing', async () => {
    const { client, wire } = await proxied();
    assert.equal(mayBePooled({ processId: client.processId, parameters: client.serverParameters }), false);
    const before = wire.stats.flights.toServer;
    await ask(client, 20);
    assert.equal(wire.stats.flights.toServer - before, 1);
  });
});

describe('Behind what may be a pooler', () => {
  for (const [name, [answer, isProven]] of Object.entries(ANSWERS)) {
    it(`${isProven ? 'requests are pipelined' : 'there is one request at a time'} if it answers ${name}`, async () => {
      const it = await pooler(answer);
      const client = endAfterTest(new Client(it.config));
      await client.connect();
      await ask(client, 20);
      assert.equal(it.requests[1], PROOF);
      assert.equal(it.requests.filter(request => request === PROOF).length, 1);
      assert.equal(it.most, isProven ? 19 : 1);
      assert.equal(client.pending, 0);
    });

    it(`a pool does the same if it answers ${name}`, async () => {
      const it = await pooler(answer);
      const pool = endAfterTest(new Pool(it.config, { size: 1 }));
      await ask(pool, 20);
      await ask(pool, 20);
      assert.equal(it.requests.filter(request => request === PROOF).length, 1);
      assert.equal(it.most > 1, isProven);
    });
  }

  it('nothing is asked before two requests could be sent at once', async () => {
    const it = await pooler(rowOf('t'));
    const client = endAfterTest(new Client(it.config));
    await client.connect();
    for (let i = 0; i < 3; i++) await ask(client, 1);
    await client.sync();
    assert.deepEqual(
      it.requests.filter(request => request === PROOF),
      []
    );
  });

  it('max_pipeline decides, and nothing is asked', async () => {
    for (const [max_pipeline, most] of [
      [0, 20],
      [1, 1],
      [4, 4]
    ]) {
      const it = await pooler(rowOf('t'));
      const client = endAfterTest(new Client({ ...it.config, max_pipeline }));
      await client.connect();
      await ask(client, 20);
      assert.deepEqual([it.most, it.requests.length], [most, 20]);
    }
  });

  it('one request goes with the start-up, since nothing is known of the server', async () => {
    for (const [max_pipeline, most] of [
      [undefined, 1],
      [0, 20]
    ]) {
      const it = await pooler(rowOf('f'));
      const client = endAfterTest(new Client({ ...it.config, require_auth: 'none', max_pipeline }));
      await Promise.all([client.connect(), ask(client, 20)]);
      assert.equal(it.most, most);
    }
  });
});

describe('A lost prepared statement', () => {
  it('shows that there is a pooler: from then on there is one request at a time, unless max_pipeline is set', async () => {
    for (const [max_pipeline, most] of [
      [undefined, 1],
      [0, Infinity],
      [3, 3]
    ]) {
      const client = await connected({ max_pipeline });
      await client.query('SELECT 1 AS lost');
      await client.close('S', 's1'); // as a pooler that has given another server
      await client.query('SELECT 1 AS lost');
      assert.equal(client[LEASE].pipeline.maxPipeline, most);
    }
  });
});
