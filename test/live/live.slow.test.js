'use strict';

const assert = require('node:assert/strict');
const { createHash } = require('node:crypto');
const { once } = require('node:events');
const http = require('node:http');
const { setTimeout: sleep } = require('node:timers/promises');
const { startProxy, startServer } = require('pg-test-fixtures');
const { Client } = require('../..');
const { Live } = require('../../lib/live');
const { Pool } = require('../../lib/pool');
const { changes } = require('../../lib/replication');
const { seeded, until } = require('../support/kit');

const SECONDS = Number(process.env.LIVE_SECONDS ?? 15);

/** Decides what is written, what is lost and which pauses are made. The title tells it. */
const SEED = Number(process.env.LIVE_SEED || (process.env.CI ? 1 : Math.floor(Math.random() * 2 ** 32)));
const READERS = 4; // of each server

/** The row with id -1 has the number of the transaction, by which a state is known. */
const TEXT = 'SELECT id, value FROM items UNION ALL SELECT -1, n::text FROM clock ORDER BY 1';
const hashOf = rows =>
  createHash('sha1')
    .update(JSON.stringify(rows.map(({ id, value }) => [id, value])))
    .digest('base64');

describe(`Live results for ${SECONDS} seconds (LIVE_SECONDS) of writes, losses and slow readers, from LIVE_SEED=${SEED}`, function () {
  this.timeout((SECONDS + 60) * 1000);
  let database;
  const seeds = seeded(SEED);
  const [writes, losing, reading] = [seeds.fork(), seeds.fork(), seeds.fork()];

  before(async () => {
    database = await startServer({
      external: false,
      settings: { wal_level: 'logical', max_wal_senders: 20, max_replication_slots: 20 }
    });
    await database.sql(`CREATE TABLE items (id int PRIMARY KEY, value text); CREATE TABLE clock (one int PRIMARY KEY DEFAULT 1, n int) PARTITION BY LIST (one); CREATE TABLE clock_1 PARTITION OF clock DEFAULT; INSERT INTO clock (n) VALUES (0);
      CREATE PUBLICATION pub FOR TABLE items, clock;
      CREATE FUNCTION changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_notify('changes', TG_TABLE_NAME); RETURN NULL; END $$;
      CREATE TRIGGER changed AFTER UPDATE ON clock EXECUTE FUNCTION changed()`);
  });
  after(() => database?.stop());

  /** A server of live results, to which the database and the pages come through proxies; `restart` replaces it. */
  async function start(follow) {
    const behind = await startProxy({ target: database });
    let live, pool, server;
    const begin = async port => {
      const config = { ...database.config, host: behind.host, port: behind.port };
      pool = new Pool(config, { size: 3 });
      live = new Live(pool, { interval: 20, keepalive: 200, max_lifetime: 5000 });
      follow(live, pool, config);
      server = http.createServer((request, response) => {
        live.respond(request, response, TEXT, [], { tags: ['clock'] }).catch(() => {
          if (!response.headersSent) response.writeHead(503).end();
          else response.destroy();
        });
      });
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
      return server.address().port;
    };
    const end = async () => {
      server.close();
      server.closeAllConnections();
      await live.end();
      pool.destroy();
    };
    const port = await begin(0);
    const front = await startProxy({ target: { host: '127.0.0.1', port } });
    return {
      front,
      behind,
      url: `http://${front.host}:${front.port}/`,
      get size() {
        return live.size;
      },
      restart: async () => {
        await end();
        await begin(port);
      },
      stop: async () => {
        await end();
        await front.stop();
        await behind.stop();
      }
    };
  }

  it('are states that the database had, in their order, and the last is the newest', async function () {
    const { live } = await import('../../client-parser/live.js');
    const servers = await Promise.all([
      start((results, pool) => results.follow(pool.listen('changes'))),
      start((results, pool, config) => {
        // The first connection may fail in a loss.
        const again = () => results.follow(changes(config, { publication: 'pub' }));
        results.on('error', (error, about) => {
          if (about === undefined) setTimeout(again, 100);
        });
        again();
      })
    ]);
    const writer = new Client(database.config);
    await writer.connect();
    const hashes = [hashOf([{ id: -1, value: '0' }])];
    const model = new Map();
    let isOver = false;
    const wrong = [];
    const counts = { states: 0, losses: 0, kept: 0, rows: 0 };
    const readers = [];

    async function read(server, isSlow) {
      const reader = { last: -1, connected: false, controller: new AbortController() };
      readers.push(reader);
      let before = new Set();
      for await (const rows of live(server.url, { timeout: 1000, signal: reader.controller.signal })) {
        const n = Number(rows[0].value);
        reader.connected = rows.connected;
        if (rows.connected) counts.states++;
        else counts.losses++;
        if (n < reader.last) wrong.push(`${n} after ${reader.last}`);
        await until(() => hashes[n] !== undefined); // the writer has not been told yet
        if (hashes[n] !== hashOf(rows)) wrong.push(`${n} is not what it was`);
        counts.rows += rows.length;
        counts.kept += rows.filter(row => before.has(row)).length;
        before = new Set(rows);
        reader.last = n;
        if (isSlow && !isOver) await sleep(reading.below(300));
      }
    }
    for (const server of servers) {
      for (let i = 0; i < READERS; i++)
        read(server, i % 2 === 1).catch(error => {
          if (!isOver) wrong.push(error);
        });
    }

    async function write() {
      await writer.transaction(async tx => {
        for (let i = writes.below(4); i >= 0; i--) {
          const id = writes.below(60);
          const value = writes.below(20) === 0 ? 'x'.repeat(writes.below(20000)) : `${writes.below(1000)}`;
          if (writes.below(4) === 0) {
            model.delete(id);
            await tx.query('DELETE FROM items WHERE id = $1', [id]);
          } else {
            model.set(id, value);
            await tx.query('INSERT INTO items VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET value = $2', [id, value]);
          }
        }
        await tx.query('UPDATE clock SET n = n + 1');
      });
      const n = hashes.length;
      hashes.push(
        hashOf([
          { id: -1, value: `${n}` },
          ...[...model].sort(([a], [b]) => a - b).map(([id, value]) => ({ id, value }))
        ])
      );
    }

    const losses = [
      server => server.behind.cut(),
      server => server.behind.reset(),
      server => server.front.cut(),
      server => server.front.reset(),
      server => {
        const connection = server.front.connections[losing.below(server.front.connections.length)];
        connection?.throttle?.(20000);
      },
      async server => {
        const connection = server.front.connections.at(-1 - losing.below(READERS));
        connection?.stall?.();
        await sleep(losing.below(500));
        connection?.resume?.();
      },
      server => server.restart()
    ];
    const end = Date.now() + SECONDS * 1000;
    const writing = (async () => {
      while (Date.now() < end) {
        await write();
        if (writes.below(3) === 0) await sleep(writes.below(60));
      }
    })();
    const cutting = (async () => {
      while (Date.now() < end) {
        await sleep(200 + losing.below(400));
        await losing.pick(losses)(losing.pick(servers));
      }
    })();
    await Promise.all([writing, cutting]);
    const [{ last, hash }] = [{ last: hashes.length - 1, hash: hashes.at(-1) }];
    isOver = true;
    const isDone = () => wrong.length > 0 || readers.every(reader => reader.last === last && reader.connected);
    await until(isDone, 'all readers to have the last state').catch(() => {}); // what they have is shown below
    assert.deepEqual(wrong, []);
    assert.deepEqual(
      readers.map(reader => [reader.last, reader.connected]),
      readers.map(() => [last, true])
    );
    assert.equal(hashOf((await writer.query(TEXT, [], { decode: true })).rows), hash);
    assert.ok(counts.states > 20 && counts.losses > 0 && counts.kept > counts.rows / 4, JSON.stringify(counts));
    this.test.title += ` (${last} transactions, ${counts.states} states, ${counts.losses} losses)`;
    for (const reader of readers) reader.controller.abort();
    for (const server of servers) {
      await until(() => server.size === 0, 'no reader to be left');
      await server.stop();
    }
    writer.destroy();
  });
});
