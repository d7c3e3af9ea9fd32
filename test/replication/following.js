'use strict';

// What the tests of replication stand on: a server, a table that is followed, and streams that end with their test.

const { startServer } = require('pg-test-fixtures');
const { Client } = require('../..');
const { PgOutput, replicate } = require('../../lib/replication');
const { until } = require('../support/kit');

/** Makes hooks for the suite. @returns {object} `server` and `writer`, a connection that changes things, once they run */
function following() {
  const it = { connect, start, follow, follower, changes, clients: [], streams: [] };

  before(async () => {
    const server = (it.server = await startServer({
      external: false,
      settings: { wal_level: 'logical', max_wal_senders: 10, max_replication_slots: 10, wal_sender_timeout: '1s' }
    }));
    await server.sql(`CREATE TABLE followed (id int PRIMARY KEY, name text, large text);
      ALTER TABLE followed ALTER large SET STORAGE EXTERNAL; CREATE TABLE other (id int);
      ALTER TABLE followed OWNER TO ${server.user}; ALTER TABLE other OWNER TO ${server.user};
      ALTER ROLE ${server.user} REPLICATION; CREATE PUBLICATION changes FOR TABLE followed`);
  });
  after(() => it.server?.stop());
  beforeEach(async () => {
    it.writer = await connect();
    await it.writer.query('TRUNCATE followed');
  });
  afterEach(async () => {
    for (const stream of it.streams.splice(0)) stream.on('error', () => {}).destroy();
    for (const client of it.clients.splice(0)) client.destroy();
    await until(async () => (await it.server.sql('SELECT 1 FROM pg_replication_slots WHERE active')).length === 0);
    await it.server.sql('SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots');
  });

  async function connect(config) {
    const client = new Client({ ...it.server.config, ...config });
    it.clients.push(client);
    await client.connect();
    return client;
  }

  function start(slot) {
    return `START_REPLICATION SLOT ${slot} LOGICAL 0/0 (proto_version '1', publication_names 'changes')`;
  }

  /** What replicate gives, which is destroyed after the test. */
  function follow(client, text, options) {
    const stream = replicate(client, text, options);
    it.streams.push(stream);
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

  return it;
}

module.exports = { following };
