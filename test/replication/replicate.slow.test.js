'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { setTimeout: sleep } = require('node:timers/promises');
const { startServer } = require('pg-test-fixtures');
const { Client } = require('../..');
const { PgOutput, replicate } = require('../../lib/replication');

describe('replicate', function () {
  let server;
  let writer; // a connection that changes things
  let clients;
  let streams;

  before(async () => {
    server = await startServer({
      external: false,
      settings: { wal_level: 'logical', max_wal_senders: 10, max_replication_slots: 10, wal_sender_timeout: '1s' }
    });
    await server.sql(`CREATE TABLE followed (id int PRIMARY KEY, name text, large text);
      ALTER TABLE followed ALTER large SET STORAGE EXTERNAL; CREATE TABLE other (id int);
      ALTER TABLE followed OWNER TO ${server.user}; ALTER TABLE other OWNER TO ${server.user};
      ALTER ROLE ${server.user} REPLICATION; CREATE PUBLICATION changes FOR TABLE followed`);
  });
  after(() => server?.stop());
  beforeEach(async () => {
    clients = [];
    streams = [];
    writer = await connect();
    await writer.query('TRUNCATE followed');
  });
  afterEach(async () => {
    for (const stream of streams) stream.on('error', () => {}).destroy();
    for (const client of clients) client.destroy();
    while ((await server.sql('SELECT 1 FROM pg_replication_slots WHERE active')).length > 0) await sleep(10);
    await server.sql('SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots');
  });

  async function connect(config) {
    const client = new Client({ ...server.config, ...config });
    clients.push(client);
    await client.connect();
    return client;
  }

  const start = slot => `START_REPLICATION SLOT ${slot} LOGICAL 0/0 (proto_version '1', publication_names 'changes')`;

  /** What replicate gives, which is destroyed after the test. */
  function follow(client, text, options) {
    const stream = replicate(client, text, options);
    streams.push(stream);
    return stream;
  }

  /** A connection for replication; with a slot of this name, unless it is there. */
  async function follower(slot, config) {
    const client = await connect({ replication: 'database', ...config });
    if (slot) await client.simpleQuery(`CREATE_REPLICATION_SLOT ${slot} LOGICAL pgoutput`);
    return client;
  }

  /** The changes of a stream, decoded, up to and with so many commits. */
  async function changes(stream, commits, decoder = new PgOutput()) {
    const list = [];
    for await (const { data } of stream.iterator({ destroyOnReturn: false })) {
      const change = decoder.decode(data);
      if (change.type !== 'relation') list.push(change);
      if (change.type === 'commit' && --commits === 0) break;
    }
    return list;
  }

  it('stays connected beyond wal_sender_timeout, whether it is read or not', async () => {
    const client = await follower('quiet');
    const stream = follow(client, start('quiet'), { statusInterval: 200 });
    await once(stream, 'start');
    await sleep(1500);
    await writer.query("INSERT INTO followed SELECT i, 'x', repeat('y', 1000) FROM generate_series(1, 20000) AS i");
    await sleep(2500);
    assert.equal(stream.destroyed, false);
    assert.ok(stream.readableLength > 0 && stream.readableLength < 5000, `${stream.readableLength} messages wait`);
    const list = await changes(stream, 1);
    assert.equal(list.length, 20002);
  });
});
