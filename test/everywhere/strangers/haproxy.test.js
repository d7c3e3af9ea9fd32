'use strict';

// HAProxy in front of a primary and a standby, which is promoted under load.

const assert = require('node:assert/strict');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { startServer, startStandby, freePort, skipUnless } = require('pg-test-fixtures');
const { writeServerFile } = require('../../pg-test-fixtures/cluster');
const { makeDirectory } = require('../../pg-test-fixtures/guardian');
const { serverIds } = require('../../pg-test-fixtures/user');
const { Pool } = require('../../../lib/pool');
const { startBetween } = require('./proxied');
const { stranger } = require('../../support/stranger');

/** Starts HAProxy, which sends connections to the first server that is there. */
async function startHaproxy(servers) {
  const directory = makeDirectory('haproxy', serverIds());
  const port = await freePort();
  const config = path.join(directory, 'cfg');
  writeServerFile(
    config,
    [
      'defaults',
      ' mode tcp',
      ' timeout connect 1s',
      ' timeout client 1h',
      ' timeout server 1h',
      'listen postgres',
      ` bind 127.0.0.1:${port}`,
      ' option tcp-check',
      ...servers.map(
        ({ port }, i) =>
          ` server s${i} 127.0.0.1:${port} check inter 100 fall 1 rise 1 on-marked-down shutdown-sessions${i > 0 ? ' backup' : ''}`
      ),
      ''
    ].join('\n')
  );
  const end = await startBetween('haproxy', ['-f', config, '-db'], { port, directory });
  return { port, end };
}

stranger({
  name: 'HAProxy',
  async start() {
    const target = await startServer({ external: false });
    const { port, end } = await startHaproxy([target]);
    return {
      config: { host: '127.0.0.1', port, user: target.user, database: target.database, sslmode: 'disable' },
      async stop() {
        await end();
        await target.stop();
      }
    };
  },
  needs: 'haproxy'
});

describe('HAProxy in front of a primary and a standby', () => {
  it('loses nothing that a pool was told is committed, when the standby is promoted', async function () {
    skipUnless(this, 'haproxy');
    this.timeout(120000);
    const primary = await startServer({ external: false, settings: { synchronous_commit: 'remote_apply' } });
    const standby = await startStandby(primary);
    await primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
    await primary.sql('SELECT pg_reload_conf()');
    await primary.sql('CREATE TABLE ledger (n int PRIMARY KEY)');
    const { port, end } = await startHaproxy([primary, standby]);
    const pool = new Pool(
      { host: '127.0.0.1', port, user: primary.user, database: primary.database, sslmode: 'disable' },
      { size: 4 }
    );
    pool.on('error', () => {});
    const committed = new Set();
    let isOver = false;
    let back; // when the first commit was made after the primary's end
    let killed = Infinity;
    const work = async start => {
      for (let n = start; !isOver; n += 8) {
        try {
          await pool.query('INSERT INTO ledger VALUES ($1)', [n]);
          committed.add(n);
          if (performance.now() > killed) back ??= performance.now();
        } catch {
          await sleep(20);
        }
      }
    };
    const works = Array.from({ length: 8 }, (_, i) => work(i));
    await sleep(500);
    await primary.kill();
    killed = performance.now();
    await standby.promote();
    await standby.sql("ALTER SYSTEM SET synchronous_standby_names = ''");
    await standby.sql('SELECT pg_reload_conf()');
    for (let i = 0; back === undefined && i < 600; i++) await sleep(50);
    await sleep(300);
    isOver = true;
    await Promise.all(works);
    assert.ok(back !== undefined, 'nothing was committed after the primary had gone');
    const { rows } = await pool.query('SELECT n FROM ledger');
    const there = new Set(rows.map(({ n }) => n));
    assert.deepEqual(
      [...committed].filter(n => !there.has(n)),
      []
    );
    await pool.end();
    await end();
    await standby.stop();
    await primary.stop();
  });
});
