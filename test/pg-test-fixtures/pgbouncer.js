'use strict';

// A PgBouncer in front of a server.

const fs = require('node:fs');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { writeServerFile } = require('./cluster.js');
const { makeDirectory, run, spawnGuarded } = require('./guardian.js');
const { need } = require('./have.js');
const { canConnect, freePort } = require('./ports.js');
const { serverIds, serverUser } = require('./user.js');

/** Milliseconds that starting and stopping may take. */
const LIMIT = 10000;

/** A running PgBouncer. */
class PgBouncer {
  #child;
  #exited;
  #directory;

  /** @param {{target: object, mode: string, version: string, port: number, directory: string}} options */
  constructor({ target, mode, version, port, directory }) {
    this.target = target;
    /** The pool_mode. */
    this.mode = mode;
    /** For example 1.18.0. */
    this.version = version;
    this.host = '127.0.0.1';
    this.port = port;
    this.user = target.user;
    this.database = target.database;
    /** Path of its Unix socket. */
    this.socketPath = path.join(directory, `.s.PGSQL.${port}`);
    this.logFile = path.join(directory, 'log');
    this.#directory = directory;
  }

  /** Its process. */
  get pid() {
    return this.#child.pid;
  }

  /** What a client needs to connect; the password isn't asked for. */
  get config() {
    const { host, port, user, database } = this;
    return { host, port, user, database };
  }

  /** The same as a connection string. */
  get url() {
    const { host, port, user, database } = this;
    return `postgres://${encodeURIComponent(user)}@${host}:${port}/${encodeURIComponent(database)}`;
  }

  /** What it has logged. */
  log() {
    return fs.readFileSync(this.logFile, 'utf8');
  }

  /** Starts it and waits until it takes connections. */
  async start() {
    const log = fs.openSync(this.logFile, 'a');
    const { name } = serverUser();
    // As root it wants to be told whom to run as.
    const args = name ? ['-u', name] : [];
    this.#child = spawnGuarded(need('pgbouncer'), [...args, path.join(this.#directory, 'ini')], {
      stdio: ['ignore', log, log]
    });
    fs.closeSync(log);
    let ended = false;
    this.#exited = new Promise(resolve => {
      this.#child.once('error', resolve);
      this.#child.once('exit', resolve);
    }).then(() => {
      ended = true;
    });
    for (const until = Date.now() + LIMIT; !(await canConnect(this.port)); await sleep(10)) {
      if (!ended && Date.now() < until) continue;
      await this.stop();
      throw new Error(`pgbouncer does not start:\n${this.log()}`);
    }
  }

  /** Ends it at once, and with it the sessions of its clients; its files stay. */
  async kill() {
    this.#child.ref();
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  /** Ends it and removes its files. */
  async stop() {
    // SIGTERM, which ends older versions at once, makes those from 1.23 wait for their clients.
    this.#child.ref();
    this.#child.kill('SIGQUIT');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), LIMIT);
    await this.#exited;
    clearTimeout(timer);
    await fs.promises.rm(this.#directory, { recursive: true, force: true });
  }
}

/**
 * The version number of the installed PgBouncer.
 * @returns {Promise<string>} for example 1.18.0
 */
async function pgbouncerVersion() {
  return /(\d+(?:\.\d+)+)/.exec(await run(need('pgbouncer'), ['--version']))[1];
}

/**
 * Starts PgBouncer in front of a server. Anybody is let in as any role, without a password; it logs into the
 * server as that role, with the password that the target knows.
 * @param {object} options
 * @param {object} options.target a server
 * @param {'session' | 'transaction' | 'statement'} [options.mode] its pool_mode; transaction unless given
 * @param {number} [options.poolSize] connections to the server at most, 2 unless given
 * @param {Object<string, string | number>} [options.settings] for the section [pgbouncer];
 *   `max_prepared_statements` is left out where the version is older than 1.21, which has it
 * @param {Object<string, string>} [options.users] further roles and their passwords
 * @returns {Promise<PgBouncer>}
 * @throws {Error} when it isn't installed: see `have('pgbouncer')` and `skipUnless`
 */
async function startPgBouncer({ target, mode = 'transaction', poolSize = 2, settings = {}, users = {} }) {
  const version = await pgbouncerVersion();
  const port = await freePort();
  const directory = makeDirectory('pgbouncer', serverIds());
  const { max_prepared_statements: statements, ...others } = settings;
  const [major, minor] = version.split('.').map(Number);
  const section = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: directory,
    auth_type: 'trust',
    auth_file: path.join(directory, 'users'),
    admin_users: target.user,
    pool_mode: mode,
    default_pool_size: poolSize,
    max_client_conn: 1000,
    ignore_startup_parameters: 'extra_float_digits',
    ...(statements !== undefined && (major > 1 || minor >= 21) ? { max_prepared_statements: statements } : {}),
    ...others
  };
  const lines = [
    '[databases]',
    `* = host=${target.host} port=${target.port}`,
    '[pgbouncer]',
    ...Object.entries(section).map(([name, value]) => `${name} = ${value}`),
    ''
  ];
  const quote = text => `"${String(text ?? '').replaceAll('"', '""')}"`;
  writeServerFile(path.join(directory, 'ini'), lines.join('\n'));
  writeServerFile(
    path.join(directory, 'users'),
    Object.entries({ [target.user]: target.password, ...users })
      .map(([name, password]) => `${quote(name)} ${quote(password)}\n`)
      .join('')
  );
  const bouncer = new PgBouncer({ target, mode, version, port, directory });
  await bouncer.start();
  return bouncer;
}

module.exports = { startPgBouncer };
