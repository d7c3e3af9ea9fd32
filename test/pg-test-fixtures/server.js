'use strict';

// A PostgreSQL server as a test has it in its hands.

const fs = require('node:fs');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { findBinaries } = require('./binaries.js');
const { makeCertificates } = require('./certificates.js');
const {
  ADMIN,
  SETTINGS,
  makeServerDirectory,
  makeCluster,
  writeServerFile,
  configText,
  hbaText
} = require('./cluster.js');
const { findExternal } = require('./external.js');
const { freePort } = require('./ports.js');
const { Postmaster } = require('./postmaster.js');
const { psql } = require('./psql.js');
const { loadSample } = require('./sample.js');
const { Session } = require('./session.js');

/** A server of our own. `startServer` and `startStandby` give it. */
class Server {
  #directory;
  #postmaster;

  /**
   * @param {object} options
   * @param {string} options.directory the server's own; it's removed at the end
   * @param {{bin: string, version: number, env: object}} options.binaries
   * @param {string} options.data data directory, configured
   * @param {string} options.user @param {string} [options.password] @param {string} options.database
   * @param {object} [options.tls] certificates
   */
  constructor({ directory, binaries, data, user, password, database, tls }) {
    this.#directory = directory;
    /** Whether it is the user's own server, not one that was started here. */
    this.external = false;
    /** Major version. */
    this.version = binaries.version;
    this.binaries = binaries;
    this.dataDirectory = data;
    this.host = '127.0.0.1';
    this.port = undefined;
    /** Directory of the Unix socket. */
    this.socketDirectory = path.join(directory, 'socket');
    this.user = user;
    this.password = password;
    this.database = database;
    /** Certificates of a server with TLS, as makeCertificates gives them or as they were given. */
    this.tls = tls;
    this.logFile = path.join(directory, 'log');
    this.#postmaster = new Postmaster({
      binaries,
      data,
      sockets: this.socketDirectory,
      logFile: this.logFile
    });
  }

  /** Path of the Unix socket. */
  get socketPath() {
    return path.join(this.socketDirectory, `.s.PGSQL.${this.port}`);
  }

  /** What a client needs to connect over TCP. */
  get config() {
    const { host, port, user, password, database } = this;
    return { host, port, user, database, ...(password === undefined ? {} : { password }) };
  }

  /** The same as a connection string. */
  get url() {
    const { host, port, user, password, database } = this;
    const secret = password === undefined ? '' : `:${encodeURIComponent(password)}`;
    return `postgres://${encodeURIComponent(user)}${secret}@${host}:${port}/${encodeURIComponent(database)}`;
  }

  /** Id of the server's first process, undefined while it isn't running. */
  get pid() {
    return this.#postmaster.pid;
  }

  /**
   * What the server has logged.
   * @returns {string}
   */
  log() {
    return fs.readFileSync(this.logFile, 'utf8');
  }

  /**
   * Starts the server (again, after `stop({ keep: true })` or `kill()`), and waits until it takes
   * connections.
   * @param {number} [port] the one it had, or any free one at the first start
   * @returns {Promise<void>}
   */
  async start(port = this.port) {
    for (let tries = 20; ; tries--) {
      this.port = port ?? (await freePort());
      try {
        return await this.#postmaster.start(this.port);
      } catch (error) {
        if (error.code !== 'EADDRINUSE' || tries === 0) throw error;
        if (port) await sleep(250);
      }
    }
  }

  /**
   * Shuts the server down and removes all its files.
   * @param {object} [options]
   * @param {'smart' | 'fast' | 'immediate'} [options.mode] PostgreSQL's shutdown mode; fast unless given
   * @param {boolean} [options.keep] keep the files, for `start()`
   * @returns {Promise<void>}
   */
  async stop({ mode = 'fast', keep = false } = {}) {
    await this.#postmaster.stop(mode);
    if (!keep) await fs.promises.rm(this.#directory, { recursive: true, force: true, maxRetries: 5 });
  }

  /**
   * Kills all the server's processes at once (SIGKILL). Its files stay, `start()` recovers it, `stop()`
   * removes them.
   * @returns {Promise<void>}
   */
  async kill() {
    await this.#postmaster.kill();
  }

  /**
   * Stops the server and starts it on the same port.
   * @param {'smart' | 'fast' | 'immediate'} [mode]
   * @returns {Promise<void>}
   */
  async restart(mode = 'fast') {
    await this.stop({ mode, keep: true });
    await this.start();
  }

  /**
   * Opens an administrator's session: superuser, over the Unix socket, whatever the authentication of the
   * others is.
   * @param {string} [database] the server's unless given
   * @returns {Promise<Session>} with `query(text)` and `close()`
   */
  session(database = this.database) {
    return Session.open({ path: this.socketPath, ...ADMIN, database });
  }

  /**
   * Runs SQL as administrator.
   * @param {string} text one or more statements
   * @param {{database?: string}} [options]
   * @returns {Promise<Object<string, string | null>[]>} rows of the last statement that gives any
   */
  async sql(text, { database } = {}) {
    const session = await this.session(database);
    try {
      return await session.query(text);
    } finally {
      session.close();
    }
  }

  /**
   * Runs SQL with psql, as the server's user over TCP.
   * @param {string} text
   * @param {{args?: string[], env?: object}} [options] `args`: further arguments of psql; unless given, those
   *   that print rows unaligned, without headings
   * @returns {Promise<string>} what psql prints
   */
  psql(text, options) {
    return psql(this.url, text, options);
  }
}

/** SQL string. */
const literal = text => `'${String(text).replaceAll("'", "''")}'`;
/** SQL name. */
const identifier = text => `"${String(text).replaceAll('"', '""')}"`;

/**
 * Statements that make the roles and the database.
 * @param {object} options as startServer's, with `user` and `database`
 * @returns {string[]}
 */
function setupStatements({ auth, users, user, password, database }) {
  const statements = [];
  const method = name => (typeof auth === 'string' ? auth : (auth[name] ?? auth.all ?? 'trust'));
  const setPassword = (name, secret, encryption = method(name) === 'md5' ? 'md5' : 'scram-sha-256') => {
    statements.push(`SET password_encryption = '${encryption}'`);
    statements.push(`ALTER ROLE ${identifier(name)} PASSWORD ${literal(secret)}`);
  };
  for (const [name, spec] of Object.entries(users)) {
    const role = typeof spec === 'string' ? { password: spec } : spec;
    const { password: secret, encryption, attributes = '' } = role;
    if (name !== 'postgres') statements.push(`CREATE ROLE ${identifier(name)} LOGIN ${attributes}`);
    if (secret !== undefined) setPassword(name, secret, encryption);
  }
  if (!Object.hasOwn(users, user) && password !== undefined) setPassword(user, password);
  if (database !== 'postgres') statements.push(`CREATE DATABASE ${identifier(database)}`);
  return statements;
}

/**
 * Runs statements one by one.
 * @param {Server} server
 * @param {string} database
 * @param {string[]} statements
 */
async function administrate(server, database, statements) {
  if (!statements.length) return;
  const session = await server.session(database);
  try {
    for (const statement of statements) await session.query(statement);
  } finally {
    session.close();
  }
}

/**
 * Puts certificates into a data directory.
 * @param {string} data
 * @param {{server?: {cert: string, key: string}, cert?: string, key?: string, ca?: string | {cert: string}}}
 *   certificates
 * @returns {object} the settings for them
 */
function writeCertificates(data, certificates) {
  const { cert, key } = certificates.server ?? certificates;
  const ca = certificates.ca?.cert ?? certificates.ca;
  writeServerFile(path.join(data, 'server.crt'), cert);
  writeServerFile(path.join(data, 'server.key'), key);
  const settings = { ssl: true, ssl_cert_file: 'server.crt', ssl_key_file: 'server.key' };
  if (!ca) return settings;
  writeServerFile(path.join(data, 'root.crt'), ca);
  return { ...settings, ssl_ca_file: 'root.crt' };
}

/** Methods that need a password. */
const NEEDS_PASSWORD = /^(?:password|md5|scram-sha-256)/;

/**
 * Starts a PostgreSQL server: its own data directory, a free port of 127.0.0.1, a Unix socket. It goes away
 * with this process, if nobody stops it before.
 *
 * With `DATABASE_URL` or `PGHOST` in the environment, a call that needs nothing special (only `sample`,
 * `progress`) gives that server instead; its `stop()` leaves it running.
 * @param {object} [options]
 * @param {string | Object<string, string>} [options.auth] authentication method of pg_hba.conf for everybody
 *   and every kind of connection; or methods by user, `all` for the others. `trust` unless given.
 * @param {string[]} [options.hba] lines of pg_hba.conf, in place of those made of `auth`;
 *   passwords that they ask for are to be given by `password` or `users`
 * @param {boolean | {cert: string, key: string, ca?: string}} [options.tls] true: certificates by
 *   makeCertificates, see `server.tls`; or PEM of certificate, key and the authority of clients' certificates
 * @param {Object<string, string | {password?: string, encryption?: 'md5' | 'scram-sha-256', attributes?:
 *   string}>} [options.users] roles to make, with their passwords; `attributes` as in CREATE ROLE. The
 *   encryption is md5 for users whose method is md5, else scram-sha-256.
 * @param {string} [options.user] who `server.config` is for; superuser `postgres` unless given
 * @param {string} [options.password] of `user`; where a method needs one and none is given, `postgres`
 * @param {string} [options.database] made if it isn't there; `postgres` unless given
 * @param {Object<string, string | number | boolean>} [options.settings] for postgresql.conf
 * @param {number} [options.sample] rows of the table `users` to load
 * @param {(done: number, total: number) => void} [options.progress] called while the sample is loaded
 * @param {number} [options.port] a free one unless given
 * @param {number | string} [options.version] major version of PostgreSQL, 18 unless given; see findBinaries
 * @param {string} [options.binaries] directory with bin/postgres and bin/initdb
 * @param {boolean} [options.external] false: never the user's own server, for tests that stop, kill or
 *   restart it
 * @returns {Promise<Server>}
 */
async function startServer(options = {}) {
  const {
    auth = 'trust',
    hba,
    tls,
    users = {},
    user = 'postgres',
    database = 'postgres',
    settings = {},
    sample,
    progress,
    port
  } = options;
  const special = Object.keys(options).some(
    name => !['sample', 'progress', 'external'].includes(name) && options[name] !== undefined
  );
  if (!special && options.external !== false) {
    const external = await findExternal({ sample, progress });
    if (external) return external;
  }

  const binaries = await findBinaries(options);
  const certificates = tls === true ? await makeCertificates() : tls || undefined;
  const method = typeof auth === 'string' ? auth : (auth[user] ?? auth.all ?? 'trust');
  const listed = users[user]?.password ?? users[user];
  const password =
    options.password ??
    (typeof listed === 'string' ? listed : undefined) ??
    (NEEDS_PASSWORD.test(method) ? 'postgres' : undefined);

  const directory = makeServerDirectory();
  const data = await makeCluster(binaries, directory);

  const tlsSettings = certificates ? writeCertificates(data, certificates) : {};
  const quiet = binaries.version >= 18 ? { md5_password_warnings: false } : {};
  writeServerFile(
    path.join(data, 'postgresql.conf'),
    configText({ ...SETTINGS, ...quiet, ...tlsSettings, ...settings })
  );
  writeServerFile(path.join(data, 'pg_hba.conf'), hbaText(auth, hba));

  const server = new Server({ directory, binaries, data, user, password, database, tls: certificates });
  try {
    await server.start(port);
    await administrate(server, 'postgres', setupStatements({ auth, users, user, password, database }));
    if (Object.keys(users).length) {
      await administrate(server, database, ['GRANT ALL ON SCHEMA public TO PUBLIC']);
    }
    if (sample !== undefined) {
      const session = await server.session();
      await loadSample(text => session.query(text), sample, progress).finally(() => session.close());
    }
    return server;
  } catch (error) {
    await server.stop({ mode: 'immediate' });
    throw error;
  }
}

module.exports = { Server, startServer };
