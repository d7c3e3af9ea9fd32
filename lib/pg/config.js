'use strict';

// node-postgres' configuration, and its translation to libpq's parameters.

const { OPTIONS } = require('../core/config');
const { defaults } = require('./values');

/** The server's settings in milliseconds; 0 and false keep the server's value. */
const TIMEOUTS = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'];

/** Reads a connection string as pg-connection-string does: a URL, or a socket's directory, a space, and a database. */
function parse(text) {
  const [directory, database] = text.split(' ');
  if (text.startsWith('/')) return { host: directory, database };
  const encoded = / |%[^a-f0-9]|%[a-f0-9][^a-f0-9]/i.test(text) ? encodeURI(text).replace(/%25(\d\d)/g, '%$1') : text;
  // A URL with a user must have a host, but a socket has none.
  const valid = [encoded, encoded.replace('@/', '@none/')].find(each => URL.canParse(each, 'postgres://base'));
  if (valid === undefined) {
    throw new TypeError(
      'Invalid URL: the connection string is not a URL; in a password, write %23 for "#", %2F for "/", %3F for "?"'
    );
  }
  const { searchParams, protocol, username, password, hostname, port, pathname } = new URL(valid, 'postgres://base');
  const { db, encoding, ...query } = Object.fromEntries(searchParams);
  for (const name of Object.keys(query)) if (query[name] === '' && name !== 'ssl') delete query[name];
  const user = { user: decodeURIComponent(username), password: decodeURIComponent(password) };
  const path = decodeURI(pathname);
  if (protocol === 'socket:') return { ...user, ...query, host: path, database: db, client_encoding: encoding };
  const host = valid === encoded ? hostname.replace(/^\[|\]$/g, '') : '';
  // If the query has the host, a directory in place of the host is the beginning of the database's name.
  const name = query.host && /^%2f/i.test(host) ? decodeURI(host) + path : path.slice(1);
  return { ...user, host: decodeURIComponent(host), port, ...query, database: name };
}

/** What PGSSLMODE has for no. Other words that node-postgres does not know, such as `true`, may ask for TLS. */
const NO_TLS = ['', '0', 'allow', 'disable', 'disabled', 'f', 'false', 'n', 'never', 'no', 'none', 'off'];

/** @returns {string|undefined} */
function modeOfEnvironment({ PGSSLMODE: mode } = process.env) {
  return mode === undefined || NO_TLS.includes(mode.toLowerCase()) ? undefined : mode;
}

/**
 * In node-postgres every mode but these verifies the certificate.
 * @returns {object|boolean} options for tls.connect, or whether TLS is used
 */
function sslOf(mode) {
  if (mode === 'no-verify') return { rejectUnauthorized: false };
  return typeof mode === 'object' ? mode : Boolean(mode) && mode !== '0' && mode !== 'disable';
}

const namesFiles = ({ sslcert, sslkey, sslrootcert }) => Boolean(sslcert || sslkey || sslrootcert) || undefined;

/** What a connection string says of TLS: its files ask for it, whatever `ssl` says. */
const modeOfText = text => text.sslmode || (namesFiles(text) ?? text.ssl);

/** What a config says of TLS. node-postgres knows `ssl` alone; what else is in it may ask for TLS, not against it. */
const modeOfConfig = config => config.ssl || config.sslmode || (config.ssl ?? namesFiles(config));

/** @type {WeakMap<Error, *>} what functions of a config have thrown, by the error that was made of it */
const thrown = new WeakMap();

/** Remembers what a function of the config throws, which requests then reject with. */
function remember(value) {
  const error = value instanceof Error ? value : new Error('thrown by a function of the config');
  thrown.set(error, value);
  return error;
}

/** Adds properties that neither inspecting nor serializing shows. @returns the same object */
function hide(object, values) {
  const shape = { enumerable: false, configurable: true, writable: true };
  for (const name of Object.keys(values)) Object.defineProperty(object, name, { ...shape, value: values[name] });
  return object;
}

/** @returns {object} what a config has, also what its class or another object gives it, and what it hides */
function allOf(config) {
  const all = {};
  for (let each = config; each; each = Object.getPrototypeOf(each)) {
    if (each !== config && Object.getPrototypeOf(each) === null) break; // Object.prototype
    for (const name of Object.getOwnPropertyNames(each)) if (name !== 'constructor') all[name] ??= config[name];
  }
  return Object.assign(all, config);
}

/** A config, completed from the environment and `defaults`: the `connectionParameters` of a client. */
class ConnectionParameters {
  /**
   * Has the options of this library by name. Those that are not enumerable are secrets and `given`, the config with its
   * connection string resolved.
   * @throws {TypeError} for an invalid connection string
   */
  constructor(config) {
    const given = typeof config === 'string' ? {} : allOf(config);
    const mode = modeOfConfig(given);
    const text = typeof config === 'string' ? config : given.connectionString;
    const said = typeof config === 'string' || text ? parse(text) : {};
    Object.assign(given, said);
    const value = (name, variable) => given[name] || process.env[variable] || defaults[name];
    const options = Object.keys(OPTIONS).map(name => [
      name,
      value(name, OPTIONS[name][1] ?? `PG${name.toUpperCase()}`) ?? given[name]
    ]);
    Object.assign(this, Object.fromEntries(options.filter(([, each]) => each !== undefined)));
    for (const name of TIMEOUTS) this[name] = parseInt(value(name), 10) || undefined;
    for (const name of ['query_timeout', 'binary']) this[name] = value(name);
    if (this.port) this.port = parseInt(this.port, 10);
    this.database = value('database', 'PGDATABASE') || this.user;
    const isDirect = given.sslnegotiation === 'direct' || undefined;
    const ssl =
      given.uselibpqcompat === 'true' && given.sslmode
        ? undefined
        : sslOf(modeOfText(said) ?? mode ?? isDirect ?? modeOfEnvironment() ?? defaults.ssl);
    hide(this, {
      password: value('password', 'PGPASSWORD'),
      oauth_token: given.oauth_token,
      sslpassword: this.sslpassword,
      dbname: undefined,
      ssl,
      given
    });
  }
}

/** @returns {Function} the same check, whose error is remembered; as for Node.js, null and false are none */
const checking = check => (host, certificate) => {
  const error = check(host, certificate);
  return error ? remember(error) : undefined;
};

/**
 * @param {ConnectionParameters} parameters
 * @param {object} [options] whose `password` is read for each connection
 * @returns {object} the config of this library's Client
 */
function libpqConfig(parameters, options = parameters) {
  const { query_timeout: timeout, binary, oauth_token, sslpassword, ssl, given, ...config } = parameters;
  const { stream, sslmode, connectionTimeoutMillis: timeLimit, keepAlive, keepAliveInitialDelayMillis: delay } = given;
  // node-postgres' `stream` is a stream, or a function that gives one, and is told where to connect.
  const connect = server => {
    const socket = typeof stream === 'function' ? stream() : stream;
    socket.connect?.(server.port, server.host);
    return socket;
  };
  const { port } = config;
  const isWrong = port !== undefined && !(port > 0 && port < 65536);
  // As net.connect, which is called when the client connects.
  const refuse = () => {
    const message = `Port should be >= 0 and < 65536. Received type number (${port}).`;
    throw remember(Object.assign(new RangeError(message), { code: 'ERR_SOCKET_BAD_PORT' }));
  };
  return {
    ...config,
    port: isWrong ? undefined : port,
    decode: false, // cursors take texts
    oauth_token,
    ssl: ssl?.checkServerIdentity ? { ...ssl, checkServerIdentity: checking(ssl.checkServerIdentity) } : ssl,
    sslpassword,
    sslmode: ssl === undefined ? sslmode : ssl ? 'require' : 'disable',
    get password() {
      const { password } = options;
      if (typeof password !== 'function') return password;
      const ask = async () => password(given);
      return () =>
        ask().catch(error => {
          throw remember(error);
        });
    },
    socket: isWrong ? refuse : stream && connect,
    connect_timeout: timeLimit ? timeLimit / 1000 : config.connect_timeout,
    keepalives: keepAlive ?? config.keepalives,
    keepalives_idle: delay ? Math.floor(delay / 1000) : config.keepalives_idle
  };
}

module.exports = { ConnectionParameters, hide, libpqConfig, thrown };
