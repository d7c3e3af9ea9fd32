'use strict';

// The user's own server, named by the environment as libpq has it.

const { psql } = require('./psql.js');
const { SAMPLE_COMMENT, loadSample } = require('./sample.js');

/** What a test may only do to a server of its own. */
const FORBIDDEN = ['start', 'kill', 'restart', 'session', 'log'];

/** The server of DATABASE_URL or PGHOST. */
class ExternalServer {
  #madeSample = false;

  /** @param {URL} url */
  constructor(url) {
    this.external = true;
    const part = (name, value) => url.searchParams.get(name) ?? (value === '' ? undefined : decodeURIComponent(value));
    const host = part('host', url.hostname.replace(/^\[|\]$/g, '')) ?? '127.0.0.1';
    this.url = url.href;
    this.host = host;
    this.port = Number(part('port', url.port) ?? 5432);
    this.user = part('user', url.username) ?? process.env.USER ?? 'postgres';
    this.password = part('password', url.password);
    this.database = part('dbname', url.pathname.slice(1)) ?? this.user;
    this.sslmode = url.searchParams.get('sslmode') ?? undefined;
    /** Path of the Unix socket, when the host is a directory. */
    this.socketPath = host.startsWith('/') ? `${host}/.s.PGSQL.${this.port}` : undefined;
    for (const name of FORBIDDEN) {
      this[name] = () => {
        throw new Error(
          `server.${name}() is not for the server of DATABASE_URL or PGHOST: ` + 'use startServer({ external: false })'
        );
      };
    }
  }

  /** What a client needs to connect. */
  get config() {
    const { host, port, user, password, database, sslmode } = this;
    return JSON.parse(JSON.stringify({ host, port, user, password, database, sslmode }));
  }

  /** Leaves the server running; removes only the sample table that was made here. */
  async stop() {
    if (!this.#madeSample) return;
    this.#madeSample = false;
    await this.sql('DROP TABLE IF EXISTS users');
  }

  /** @see Server#sql */
  async sql(text, { database = this.database } = {}) {
    const client = this.#client(database);
    await client.connect();
    try {
      return lastRows(await client.query(text));
    } finally {
      await client.end();
    }
  }

  /** @see Server#psql */
  psql(text, options) {
    return psql(this.url, text, options);
  }

  /** A client for administration. */
  #client(database) {
    const { Client, types } = require('pg');
    const { host, port, user, password, sslmode } = this;
    const encrypted = /^(?:require|verify)/.test(sslmode ?? '');
    return new Client({
      host,
      port,
      user,
      password,
      database,
      ssl: encrypted ? { rejectUnauthorized: sslmode !== 'require' } : undefined,
      types: {
        getTypeParser: (oid, format) => (format === 'binary' ? types.getTypeParser(oid, format) : text => text)
      }
    });
  }

  /**
   * Has the sample table there: makes it, or takes the one that an earlier run left. Nobody else's table is
   * touched.
   * @param {number} count @param {(done: number, total: number) => void} [progress]
   * @throws {Error} when the database has another table of that name
   */
  async sample(count, progress) {
    const [{ table, comment }] = await this.sql(`
      SELECT to_regclass('users') AS table, obj_description(to_regclass('users'), 'pg_class') AS comment`);
    if (table !== null && comment !== SAMPLE_COMMENT) {
      throw new Error(
        'the database has a table "users" already, which is not the sample: ' + 'name an empty one in DATABASE_URL'
      );
    }
    if (table !== null) {
      const [row] = await this.sql('SELECT count(*) AS count FROM users');
      if (Number(row.count) === count) {
        progress?.(count, count);
        return;
      }
      await this.sql('DROP TABLE users');
    }
    const client = this.#client(this.database);
    await client.connect();
    try {
      await loadSample(text => client.query(text), count, progress);
      this.#madeSample = true;
    } finally {
      await client.end();
    }
  }
}

/** Rows of the last result with columns. */
function lastRows(results) {
  return (
    [results]
      .flat()
      .filter(({ fields }) => fields.length)
      .at(-1)?.rows ?? []
  );
}

/**
 * URL of the server that the environment names.
 * @param {object} env
 * @returns {URL | undefined} undefined when it names none
 */
function externalUrl(env) {
  if (env.DATABASE_URL) return new URL(env.DATABASE_URL);
  if (!env.PGHOST) return undefined;
  const url = new URL('postgres://localhost/');
  const values = {
    host: env.PGHOST,
    port: env.PGPORT,
    user: env.PGUSER,
    password: env.PGPASSWORD,
    dbname: env.PGDATABASE,
    sslmode: env.PGSSLMODE
  };
  for (const [name, value] of Object.entries(values)) if (value) url.searchParams.set(name, value);
  return url;
}

/**
 * The server that DATABASE_URL or PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE name, if any.
 * @param {{sample?: number, progress?: (done: number, total: number) => void}} options
 * @returns {Promise<ExternalServer | undefined>}
 */
async function findExternal({ sample, progress }) {
  const url = externalUrl(process.env);
  if (!url) return undefined;
  const server = new ExternalServer(url);
  if (sample !== undefined) await server.sample(sample, progress);
  return server;
}

module.exports = { findExternal };
