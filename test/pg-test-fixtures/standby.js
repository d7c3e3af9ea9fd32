'use strict';

// A streaming standby of a server, made as pg_basebackup makes one.

const fs = require('node:fs');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { ADMIN, makeServerDirectory, copyData, writeServerFile, configText } = require('./cluster.js');
const { Server } = require('./server.js');

/** Milliseconds that replication may take. */
const LIMIT = 30000;

/** A server that began as a standby. */
class Standby extends Server {
  /** @param {object} options Server's, and `primary`: the server that it follows */
  constructor({ primary, ...options }) {
    super(options);
    this.primary = primary;
  }

  /**
   * Waits until everything that the primary has written so far can be read here.
   * @returns {Promise<void>}
   */
  async catchUp() {
    // A commit that writes something and is waited for also flushes the earlier ones that weren't.
    await this.primary.sql(`
      SET synchronous_commit = local; SELECT pg_logical_emit_message(true, 'fixtures', '')`);
    const [{ lsn }] = await this.primary.sql('SELECT pg_current_wal_flush_lsn() AS lsn');
    await this.#until(`SELECT pg_last_wal_replay_lsn() >= '${lsn}' AS done`, 'the standby does not catch up');
  }

  /**
   * Makes it a primary, and waits until it takes writes.
   * @returns {Promise<void>}
   */
  async promote() {
    await this.sql('SELECT pg_promote(wait => true)');
    await this.#until('SELECT NOT pg_is_in_recovery() AS done', 'the standby was not promoted');
  }

  /** Asks until the column `done` is true. */
  async #until(query, complaint) {
    for (const until = Date.now() + LIMIT; ; await sleep(10)) {
      const [{ done }] = await this.sql(query);
      if (done === 't') return;
      if (Date.now() > until) throw new Error(`${complaint}\n${this.log()}`);
    }
  }
}

/**
 * Copies the files of a running server.
 * @param {Server} primary
 * @param {string} data where to
 * @returns {Promise<void>}
 */
async function backup(primary, data) {
  // The session that begins a backup has to end it.
  const session = await primary.session();
  const [start, stop] =
    primary.version >= 15
      ? ["pg_backup_start('standby', true)", 'pg_backup_stop(false)']
      : ["pg_start_backup('standby', true, false)", 'pg_stop_backup(false, false)'];
  try {
    await session.query(`SELECT ${start}`);
    await copyData(primary.dataDirectory, data, { running: true });
    const [{ labelfile }] = await session.query(`SELECT * FROM ${stop}`);
    writeServerFile(path.join(data, 'backup_label'), labelfile);
  } finally {
    session.close();
  }
  fs.rmSync(path.join(data, 'postmaster.pid'), { force: true });
  fs.rmSync(path.join(data, 'postmaster.opts'), { force: true });
  for (const slot of fs.readdirSync(path.join(data, 'pg_replslot'))) {
    fs.rmSync(path.join(data, 'pg_replslot', slot), { recursive: true });
  }
}

/**
 * Starts a hot standby that streams from a server, and waits until it does. It has the primary's
 * authentication, TLS, roles and settings. `server.stop()`, `kill()`, `restart()` and so on are those of any
 * server.
 * @param {Server} primary by `startServer({ external: false })`
 * @param {object} [options]
 * @param {Object<string, string | number | boolean>} [options.settings] for its postgresql.conf
 * @param {number} [options.port] a free one unless given
 * @returns {Promise<Standby>}
 */
async function startStandby(primary, { settings = {}, port } = {}) {
  const directory = makeServerDirectory();
  const data = path.join(directory, 'data');
  await backup(primary, data);
  const quote = text => `'${String(text).replace(/['\\]/g, '\\$&')}'`;
  const conninfo = Object.entries({
    host: primary.socketDirectory,
    port: primary.port,
    ...ADMIN,
    application_name: path.basename(directory)
  })
    .map(([name, value]) => `${name}=${quote(value)}`)
    .join(' ');
  const config = path.join(data, 'postgresql.conf');
  writeServerFile(
    config,
    fs.readFileSync(config, 'utf8') +
      configText({
        primary_conninfo: conninfo,
        hot_standby: true,
        wal_retrieve_retry_interval: '100ms',
        ...settings
      })
  );
  writeServerFile(path.join(data, 'standby.signal'), '');
  const { binaries, user, password, database, tls } = primary;
  const standby = new Standby({ primary, directory, binaries, data, user, password, database, tls });
  try {
    await standby.start(port);
    await standby.catchUp();
    return standby;
  } catch (error) {
    await standby.stop({ mode: 'immediate' });
    throw error;
  }
}

module.exports = { startStandby };
