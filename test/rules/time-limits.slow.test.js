'use strict';

const assert = require('node:assert/strict');
const net = require('node:net');
const { setTimeout: wait } = require('node:timers/promises');
const { startServer } = require('pg-test-fixtures');
const { Client } = require('../..');
const { changes } = require('../../lib/replication');
const { until } = require('../support/kit');
const { table } = require('./kit');

/** Milliseconds of each limit, and seconds that exceed it. */
const LIMIT = 500;
const LONGER = 0.8;

const NAMES = `'statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_session_timeout',
  'idle_in_transaction_session_timeout'`;
let names; // those that the server has

const options = () => names.map(name => `-c ${name}=${LIMIT}`).join(' ');

/** Where limits come from: the config with them, or what sets them on the server. */
const FROM = {
  'the config': { config: config => ({ ...config, ...Object.fromEntries(names.map(name => [name, LIMIT])) }) },
  options: { config: config => ({ ...config, options: options() }) },
  'the URL': {
    config: (config, url) => `${url}${url.includes('?') ? '&' : '?'}options=${encodeURIComponent(options())}`
  },
  'the role': { on: ({ user }) => `ROLE "${user}"` },
  'the database': { on: ({ database }) => `DATABASE "${database}"` }
};

const sleep = session => session.query(`SELECT pg_sleep(${LONGER})`);

/** What takes longer than the limits: a transaction from before the slot, the snapshot, or the reading of a change. */
const LONG = {
  'a slot that waits for a transaction': { before: sleep },
  'a snapshot that is idle': { snapshot: (tx, writer) => sleep(writer) },
  'a statement of a snapshot': { snapshot: sleep },
  'a loop that reads a large transaction': { rows: 100000, read: sleep }
};

describe('Time limits of the server', function () {
  this.timeout(60000);
  let server, writer;
  before(async () => {
    server = await startServer({ external: false, settings: { wal_level: 'logical' } });
    await server.sql('CREATE TABLE items (id int); CREATE PUBLICATION pub FOR TABLE items');
    await server.sql(`ALTER ROLE "${server.user}" REPLICATION; GRANT ALL ON items TO PUBLIC`);
    const found = await server.sql(`SELECT name FROM pg_settings WHERE name IN (${NAMES})`);
    names = found.map(({ name }) => name);
    writer = new Client(server.config);
    await writer.connect();
  });
  after(async () => {
    writer?.destroy();
    await server?.stop();
  });

  it('do not end a connection that is idle while the names of types are asked for', async () => {
    let opened = 0;
    const { host, port } = server.config;
    const socket = async () => {
      if (opened++ === 1) await wait(1000 * LONGER); // that which asks
      return net.connect(port, host);
    };
    const config = { ...server.config, options: options(), socket, decode: { 'public.items': String } };
    const loop = changes(config, { publication: 'pub' });
    const first = loop.next();
    const isActive = async () => (await server.sql('SELECT FROM pg_replication_slots WHERE active')).length === 1;
    await Promise.race([until(isActive), first]); // it rejects if the connection was ended
    await server.sql('INSERT INTO items VALUES (0)');
    assert.equal((await first).value.type, 'begin');
    await loop.return();
  });

  table(
    'end neither changes nor the snapshot of its slot',
    { from: FROM, long: LONG },
    async ({ config = plain => plain, on }, { before: hold, snapshot, rows = 1, read }) => {
      const setOn = verb => on && server.sql(names.map(name => `ALTER ${on(server.config)} ${verb(name)}`).join('; '));
      await server.sql('TRUNCATE items; INSERT INTO items VALUES (0)');
      await setOn(name => `SET ${name} = ${LIMIT}`);
      try {
        const held =
          hold &&
          (await new Promise((resolve, reject) => {
            const over = writer.transaction(async tx => {
              await tx.query('SELECT pg_current_xact_id()');
              resolve({ over });
              await hold(tx);
            });
            over.catch(reject);
          }));
        const seen = [];
        const loop = changes(config(server.config, server.url), {
          publication: 'pub',
          async snapshot(tx) {
            await held?.over;
            await writer.query('INSERT INTO items SELECT * FROM generate_series(1, $1::int)', [rows]);
            await snapshot?.(tx, writer);
            seen.push(...(await tx.query('SELECT id FROM items')).rows.map(({ id }) => id));
          }
        });
        let changed = 0;
        for await (const { type } of loop) {
          if (type === 'commit') break;
          if (type === 'missed') throw new Error('the connection was lost');
          if (type === 'insert' && changed++ === 0) await read?.(writer);
        }
        assert.deepEqual([seen, changed], [[0], rows]);
      } finally {
        await setOn(name => `RESET ${name}`);
      }
    }
  );
});
