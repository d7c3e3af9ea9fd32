'use strict';

const path = require('node:path');
const { homeFile } = require('./files');
const { hostList } = require('./hosts');
const { late } = require('../late');
const { OPTIONS, ENCRYPTED, MODES, VERIFIED, check, isOption, isToken, isUtf8 } = require('./options');
const { checkText, isRecord, isUrl, keysOf, kindOf } = require('../protocol');

const later = late({
  conninfo: () => require('./conninfo'),
  names: () => require('./names'),
  os: () => require('node:os')
});

/**
 * Resolves what to connect to and how from an object, a connection string and the environment, with libpq's names,
 * meanings and precedence.
 * @see https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS
 */

/** Environment variables of session parameters, as in libpq. */
const SESSION_VARIABLES = [
  ['PGDATESTYLE', 'datestyle'],
  ['PGTZ', 'timezone'],
  ['PGGEQO', 'geqo']
];

const NAMES = Object.keys(OPTIONS);

/** Hosts of Neon and Cloudflare Hyperdrive, whose proxies take pipelined queries. */
const PIPELINES = /\.(?:neon\.(?:tech|build)|hyperdrive\.local)\.?$/i;

/** Types of values that become texts. */
const TEXTS = new Set(['string', 'number', 'bigint', 'boolean']);

/** Options that may be booleans. */
const FLAGS = ['keepalives', 'replication', 'sslsni'];

/** Versions that must not be greater than others. */
const BOUNDS = [
  ['min_protocol_version', 'max_protocol_version'],
  ['ssl_min_protocol_version', 'ssl_max_protocol_version']
];

const DEFAULTS = Object.fromEntries(
  NAMES.filter(name => OPTIONS[name][2] !== undefined).map(name => [name, OPTIONS[name][0](OPTIONS[name][2], name)])
);

/** A resolved config. Neither inspecting nor serializing it shows its secrets. */
class Config {
  #secrets;

  constructor(secrets) {
    this.#secrets = secrets;
  }

  static {
    for (const name of ['password', 'oauth_token', 'sslpassword', 'ssl'])
      Object.defineProperty(this.prototype, name, {
        get() {
          return this.#secrets[name];
        }
      });
  }
}

// A copy of 20 defaults for each connection would cost a fourth of `resolve`.
Object.assign(Config.prototype, DEFAULTS);

/**
 * Makes one checked object.
 * @param {object|string|URL} [config] options by name, with `connectionString` among them, or that alone. Other names
 *   are parameters for the server; undefined, null and '' count as not given
 * @param {object} [overrides] `{ port, host, ssl }` of `connect()`: as in net.connect, a port that is not a number is
 *   the path of a socket, and a port without a host is one of localhost
 * @returns {object} by libpq's names; secrets are not enumerable
 */
function resolve(config, overrides, env = process.env) {
  const { texts, own, parameters, sslmode, fallback } = gather(config, overrides, env);
  const result = new Config({
    password: own.password ?? (texts.get('password') || undefined),
    oauth_token: own.oauth_token,
    sslpassword: texts.get('sslpassword') || undefined,
    ssl: own.ssl === true ? {} : own.ssl || undefined
  });
  texts.forEach((value, name) => {
    const parsed = parse(value, name);
    if (parsed !== undefined || name in DEFAULTS) result[name] = parsed;
  });
  if (!texts.has('max_protocol_version')) result.max_protocol_version = result.min_protocol_version; // as in libpq
  result.user ??= userName();
  result.database = texts.get('dbname') || result.user;
  check(
    !/^postgres(?:ql)?:\/\//.test(result.database),
    'database must be the name of one; a URL is a whole config: new Client(url)'
  );
  result.passfile ??= homeFile(env, '.pgpass', 'pgpass.conf');
  if (own.socket !== undefined) result.socket = own.socket;
  result.sslmode = sslMode(result, own.ssl, sslmode);
  checkTogether(result);
  result.hosts = hostList(texts, result, own.socket ? 'localhost' : fallback);
  result.parameters = startupParameters(texts, parameters, env);
  // Supabase's pooler in transaction mode may give the answers of what was pipelined to another client.
  if (result.hosts.some(({ host, port }) => port === 6543 && /\.pooler\.supabase\.com\.?$/i.test(host))) {
    result.max_pipeline ??= 1;
    if (!texts.has('statement_cache')) result.statement_cache = 0;
  } else if (result.hosts.every(({ host }) => PIPELINES.test(host))) result.max_pipeline ??= 0;
  return result;
}

/**
 * Takes what was given by its precedence: the arguments of `connect()`, then the config, then the environment.
 * @returns {object} `texts` by option; `own`, the options that have no text; `parameters` for the server; the
 *   `sslmode` that is not of the environment; the `fallback` for a host
 */
function gather(config, overrides, env) {
  const { texts, own, parameters } = read(config);
  let fallback;
  if (overrides !== undefined) {
    const first = fromObject(connectArguments(overrides));
    if (first.texts.has('host'))
      texts.set('hostaddr', ''); // it is another host's
    else if (first.texts.has('port')) fallback = 'localhost';
    first.texts.forEach((value, name) => texts.set(name, value));
    Object.assign(own, first.own);
  }
  const sslmode = texts.get('sslmode');
  NAMES.forEach(name => {
    const variable = OPTIONS[name][1];
    const value = variable && !texts.has(name) && env[variable]; // a question to the system
    if (value) texts.set(name, value);
  });
  if (env.PGREQUIRESSL?.startsWith('1') && !texts.has('sslmode')) texts.set('sslmode', 'require');
  return { texts, own, parameters, sslmode, fallback };
}

/** @returns {*} the value of an option; throws a TypeError for a wrong one */
function parse(text, name) {
  checkText(text, name);
  return OPTIONS[name][0](text, name);
}

/** Checks a config alone: the environment may still change. @throws {TypeError} */
const checkConfig = config => read(config).texts.forEach(parse);

const FORMS = 'connect takes (port, host, ssl) or (socketPath), not';

/** @returns {object} the arguments of `connect()` as a config */
function connectArguments({ port, host, ssl }) {
  const hint = typeof port === 'function' ? 'it returns a promise' : 'the config goes to new Client(config)';
  check(port === null || !['object', 'function'].includes(typeof port), `${FORMS} ${kindOf(port)}: ${hint}`);
  const isPath = typeof port === 'string' && !/^\d+$/.test(port);
  check(!isPath || host === undefined, `${FORMS} a host first`);
  check(host === undefined || typeof host === 'string', `host must be a string, not ${kindOf(host)}`);
  return isPath ? { host: port.startsWith('@') ? port : path.resolve(port), ssl } : { port, host, ssl };
}

/** Options that have no text, and their types; the client checks `decode`. */
const OBJECT_OPTIONS = {
  ssl: [value => ['object', 'boolean'].includes(typeof value), 'an object for tls.connect or a boolean'],
  socket: [value => typeof (value.write ?? value) === 'function', 'a Duplex stream or a function that gives one'],
  password: [value => typeof value === 'function', 'a string or a function'],
  oauth_token: [value => typeof value === 'function' || isToken(value), 'a bearer token or a function'],
  decode: [() => true],
  names: [value => value === 'camel', "'camel'"]
};

const read = config =>
  fromObject(typeof config === 'string' || isUrl(config) ? { connectionString: config } : (config ?? {}));

/** Sorts the keys of a config object into libpq's options, the client's own, and parameters for the server. */
function fromObject(config) {
  if (!isRecord(config)) throw new TypeError(`config must be an object or a connection string, not ${kindOf(config)}`);
  const { connectionString: text } = config;
  if ((text ?? '') !== '' && typeof text !== 'string' && !isUrl(text))
    throw new TypeError(`connectionString must be a string or a URL, not ${kindOf(text)}`);
  const texts = text ? later.conninfo.parse(String(text)) : new Map();
  const parameters = Object.create(null);
  const own = {};
  for (const key of keysOf(config, NAMES)) {
    const value = config[key];
    if (key === 'connectionString' || value === undefined || value === null || value === '') continue;
    const name = key === 'database' ? 'dbname' : key;
    if (Object.hasOwn(OBJECT_OPTIONS, name) && !(name === 'password' && typeof value === 'string')) {
      const [test, expected] = OBJECT_OPTIONS[name];
      const mode = name === 'ssl' && MODES.includes(value) ? `: write sslmode: '${value}'` : '';
      check(test(value), `${name} must be ${expected}, not ${kindOf(value)}${mode}`);
      own[name] = value;
      continue;
    }
    const option = isOption(name);
    if (!option) later.names.checkParameterName(name);
    if (!TEXTS.has(typeof value)) {
      const what = option ? '' : 'an option, or a setting for the server as ';
      throw new TypeError(`${key} must be ${what}a string, a number or a boolean, not ${kindOf(value)}`);
    }
    const isFlag = option && typeof value === 'boolean';
    check(!isFlag || FLAGS.includes(name), `${key} must be a string or a number, not a boolean`);
    const given = String(isFlag ? +value : value);
    check(
      (texts.get(name) ?? given) === given,
      `${key} is given twice, with different values: remove one${text ? ', here or in connectionString' : ''}`
    );
    if (option) texts.set(name, given);
    else parameters[name] = given;
  }
  return { texts, parameters, own };
}

/**
 * Decides `sslmode` if `ssl` or other options imply one.
 * @param {object} result the options so far
 * @param {string|undefined} given the config's own sslmode
 * @returns {string|undefined} undefined leaves it to each host
 */
function sslMode({ sslmode, sslrootcert, sslcert, channel_binding: binding }, ssl, given) {
  check(ssl !== false || !ENCRYPTED.includes(given), `ssl is false, but sslmode is "${given}"`);
  check(!ssl || given !== 'disable', 'ssl is given, but sslmode is "disable"');
  if (ssl === false) return 'disable';
  const system = sslrootcert === 'system' ? 'verify-full' : undefined;
  if (ssl) return given ?? (VERIFIED.includes(sslmode) ? sslmode : (system ?? 'require'));
  // Without TLS these options would have no effect, or only that of an error.
  return sslmode ?? system ?? (sslrootcert || sslcert || binding === 'require' ? 'prefer' : undefined);
}

/** @throws {TypeError} for options that exclude each other */
function checkTogether(result) {
  const { sslmode = 'prefer', sslrootcert, sslnegotiation, sslkey } = result;
  const checkStrong = (isStrong, what) => {
    if (!isStrong) throw new TypeError(`a weak sslmode (${sslmode}) may not be used with ${what}`);
  };
  checkStrong(sslrootcert !== 'system' || sslmode === 'verify-full', 'sslrootcert=system: use verify-full');
  checkStrong(
    sslnegotiation !== 'direct' || ENCRYPTED.includes(sslmode),
    'sslnegotiation=direct: use require, verify-ca or verify-full'
  );
  check(!sslkey?.includes('-----BEGIN'), 'sslkey must be the name of a file; a key itself goes in ssl.key');
  for (const [min, max] of BOUNDS)
    if (result[min] > result[max]) throw new TypeError(`${min} must not be greater than ${max}`);
}

let hasWarned = false;

function warnOnce() {
  if (!hasWarned)
    globalThis.process?.emitWarning?.('PGCLIENTENCODING is ignored: this library needs UTF8', 'QuickgresWarning');
  hasWarned = true;
}

/** @returns {Object<string, string>} the parameters of StartupMessage, beside user and database */
function startupParameters(values, extra, env) {
  const parameters = Object.create(null);
  const put = (name, value) => {
    if (!value) return;
    checkText(value, name);
    parameters[name] = value;
  };
  for (const [variable, name] of SESSION_VARIABLES) {
    const value = env[variable];
    if (value?.toLowerCase() !== 'default') put(name, value);
  }
  for (const name in extra) put(name, extra[name]); // last, since the server takes the last of two spellings
  if (env.PGCLIENTENCODING && !isUtf8(env.PGCLIENTENCODING)) warnOnce();
  put('client_encoding', 'UTF8');
  put('options', values.get('options'));
  put('application_name', values.get('application_name') ?? values.get('fallback_application_name'));
  put('replication', values.get('replication'));
  return parameters;
}

/** @throws {TypeError} if there is none */
function userName() {
  try {
    return later.os.userInfo().username;
  } catch {
    throw new TypeError('user must be given: the operating system has no name for it');
  }
}

module.exports = { OPTIONS, checkConfig, isToken, parseConninfo: text => later.conninfo.parse(text), resolve };
