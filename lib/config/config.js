'use strict';

const { process, os, path } = require('#platform');
const conninfo = require('./conninfo.js');
const { hostList, defaultHost, socketPath, isLoopback } = require('./hosts.js');
const { OPTIONS, ENCRYPTED, VERIFIED, isOption } = require('./options.js');
const { readService } = require('./servicefile.js');

/**
 * What a client is to connect to and how, from everything that may say so: an object, a connection
 * string, a service file and the environment. Names, meanings and precedence are libpq's.
 *
 * @see https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS
 */

/** What others call it; as parameters for the server, these names would only be noticed when it is too late. */
const ELSEWHERE = {
  connectionString: 'give the string as the whole config', hostname: 'host is', pass: 'password is', username: 'user is'
};

/** Environment variables that set a parameter of the session, as in libpq's startup packet. */
const SESSION_VARIABLES = { PGDATESTYLE: 'datestyle', PGTZ: 'timezone', PGGEQO: 'geqo' };

/**
 * Gathers what says where and how to connect into one checked object. First comes what `overrides` says,
 * then the config, the service file that it or PGSERVICE names, the environment, libpq's defaults.
 *
 * @param {object|string|URL} [config] options by name, or a connection string. In an object an unknown
 *   name is a parameter for the server, and an option that is undefined, null or '' counts as not given
 * @param {object} [overrides] `{ port, host, ssl }`, the arguments of `connect()`: as in net.connect, a port
 *   that is no number is the path of a socket, and a port without any host is one of localhost
 * @param {Object<string, string>} [env=process.env] the environment
 * @returns {object} the options by libpq's names; secrets are readable but not enumerable
 * @throws {TypeError} when something does not make sense: it names the option and, unless secret, the value
 */
function resolve(config, overrides, env = process.env) {
  const { values, parameters, own } = typeof config === 'string' || config instanceof URL
    ? { values: conninfo.parse(String(config), isOption), parameters: Object.create(null), own: {} }
    : fromObject(config ?? {});
  const { ssl, onlyPort } = override(values, own, overrides ?? {});
  const sslmodeGiven = values.get('sslmode');
  addDefaults(values, env);

  const result = {};
  for (const name in OPTIONS) {
    const [parser, , fallback] = OPTIONS[name];
    const value = values.get(name) ?? fallback;
    if (value?.includes('\0')) throw new TypeError(`${name} must not contain a NUL character`);
    const parsed = value === undefined ? undefined : parser(value, name);
    if (parsed !== undefined) result[name] = parsed;
  }
  if (result.min_protocol_version > result.max_protocol_version) {
    throw new TypeError('min_protocol_version must not be greater than max_protocol_version');
  }
  result.user ??= userName();
  result.database = values.get('dbname') || result.user;
  if (/^postgres(ql)?:\/\//.test(result.database)) {
    throw new TypeError('database must be the name of one; a URL is the whole config, not a part of it');
  }
  result.passfile ??= defaultPassfile(env);
  if (own.socket) result.socket = own.socket;
  result.sslmode = sslMode(result, ssl, sslmodeGiven);
  checkTls(result);
  result.hosts = hostList(values, result, onlyPort || result.socket ? 'localhost' : defaultHost());
  result.parameters = startupParameters(values, parameters, env);
  hide(result, 'password', own.password ?? (values.get('password') || undefined));
  hide(result, 'sslpassword', values.get('sslpassword') || undefined);
  hide(result, 'ssl', ssl === true ? {} : ssl || undefined);
  return result;
}

/**
 * Sorts the keys of a config object into libpq's options, our own, and parameters for the server.
 *
 * @param {object} config the object
 * @returns {{values: Map<string, string>, parameters: Object<string, string>, own: object}}
 * @throws {TypeError} for a value of a type that makes no sense
 */
function fromObject(config) {
  if (typeof config !== 'object' || Array.isArray(config)) {
    throw new TypeError(`config must be an object or a connection string, not ${aTypeOf(config)}`);
  }
  const values = new Map();
  const parameters = Object.create(null);
  const own = {};
  for (const [key, value] of Object.entries(config)) {
    if (value === undefined || value === null || value === '') continue;
    // The server knows names of parameters in any case, and this one must not get past us.
    const name = key === 'database' ? 'dbname' : /^client_encoding$/i.test(key) ? 'client_encoding' : key;
    if (name === 'ssl') {
      own.ssl = checkSsl(value);
    } else if (name === 'socket') {
      if (typeof value !== 'function' && typeof value.write !== 'function') {
        throw new TypeError('socket must be a Duplex stream or a function that gives one');
      }
      own.socket = value;
    } else if (name === 'password') {
      if (typeof value !== 'string' && typeof value !== 'function') {
        throw new TypeError(`password must be a string or a function, not ${aTypeOf(value)}`);
      }
      if (typeof value === 'string') values.set('password', value);
      else own.password = value;
    } else if (Object.hasOwn(ELSEWHERE, name)) {
      throw new TypeError(`${name} is not an option: ${ELSEWHERE[name]}`);
    } else {
      if (!['string', 'number', 'bigint', 'boolean'].includes(typeof value)) {
        throw new TypeError(`${key} must be a string, a number or a boolean, not ${aTypeOf(value)}`);
      }
      if (values.has(name) && values.get(name) !== String(value)) {
        throw new TypeError(`${key} is given twice, with different values`);
      }
      if (isOption(name)) values.set(name, typeof value === 'boolean' ? String(+value) : String(value));
      else parameters[startupName(name)] = String(value);
    }
  }
  return { values, parameters, own };
}

/**
 * @param {string} name the name of a parameter for the server
 * @returns {string} the name
 * @throws {TypeError} when it cannot be one
 */
function startupName(name) {
  if (name === '' || name.includes('\0') || name.startsWith('_pq_.')) {
    throw new TypeError(`${JSON.stringify(name)} cannot be the name of a parameter for the server`);
  }
  return name;
}

/**
 * Lays the arguments of `connect()` over the options.
 *
 * @param {Map<string, string>} values the options, changed in place
 * @param {object} own our own options
 * @param {object} overrides `{ port, host, ssl }`
 * @returns {{ssl: object|boolean|undefined, onlyPort: boolean}} what is to be taken for `ssl`, and whether a
 *   port was named alone
 */
function override(values, own, { port, host, ssl }) {
  if (typeof port === 'string' && !/^\d+$/.test(port)) {
    if (host !== undefined) throw new TypeError('connect takes (port, host, ssl) or (socketPath), not a host first');
    host = port.startsWith('@') ? port : path.resolve(port);
    port = undefined;
  }
  if (host !== undefined) {
    if (typeof host !== 'string') throw new TypeError(`host must be a string, not ${aTypeOf(host)}`);
    values.set('host', host);
    // An address of the host that is no longer meant, from wherever it would come.
    values.set('hostaddr', '');
  }
  if (port !== undefined) values.set('port', String(port));
  return { ssl: checkSsl(ssl) ?? own.ssl, onlyPort: port !== undefined && host === undefined };
}

/**
 * Fills in what the config left open from the service file and the environment.
 *
 * @param {Map<string, string>} values the options, changed in place
 * @param {Object<string, string>} env the environment
 */
function addDefaults(values, env) {
  const service = values.get('service') ?? env.PGSERVICE;
  if (service !== undefined) {
    for (const [name, value] of readService(service, values.get('servicefile'), env, isOption)) {
      if (!values.has(name)) values.set(name, value);
    }
  }
  for (const name in OPTIONS) {
    const value = env[OPTIONS[name][1]];
    if (!values.has(name) && value !== undefined) values.set(name, value);
  }
  if (!values.has('sslmode') && env.PGREQUIRESSL?.startsWith('1')) values.set('sslmode', 'require');
}

/**
 * Settles `sslmode` where `ssl` or other options have a say in it.
 *
 * @param {object} result the options so far
 * @param {object|boolean|undefined} ssl the option `ssl`
 * @param {string|undefined} given the sslmode that the config itself names
 * @returns {string|undefined} the mode; undefined leaves it to each host
 * @throws {TypeError} when the config contradicts itself
 */
function sslMode({ sslmode, sslrootcert, sslcert, channel_binding: binding }, ssl, given) {
  const system = sslrootcert === 'system' ? 'verify-full' : undefined;
  if (ssl === false) {
    if (ENCRYPTED.includes(given)) throw new TypeError(`ssl is false, but sslmode is "${given}"`);
    return 'disable';
  }
  if (ssl) {
    if (given === 'disable') throw new TypeError('ssl is given, but sslmode is "disable"');
    return given ?? (VERIFIED.includes(sslmode) ? sslmode : system ?? 'require');
  }
  // Without TLS these would have no effect, or none but an error: whoever gives one has a server with TLS.
  const prefer = sslrootcert || sslcert || binding === 'require' ? 'prefer' : undefined;
  return sslmode ?? system ?? prefer;
}

/**
 * @param {object} result the options, with the final sslmode
 * @throws {TypeError} when the options for TLS do not go together
 */
function checkTls({ sslmode, sslrootcert, sslnegotiation, sslkey, ...range }) {
  const weak = `a weak sslmode (${sslmode ?? 'prefer'}) may not be used with`;
  if (sslrootcert === 'system' && sslmode !== 'verify-full') {
    throw new TypeError(`${weak} sslrootcert=system: use verify-full`);
  }
  if (sslnegotiation === 'direct' && !ENCRYPTED.includes(sslmode)) {
    throw new TypeError(`${weak} sslnegotiation=direct: use require, verify-ca or verify-full`);
  }
  if (sslkey?.includes('-----BEGIN')) {
    throw new TypeError('sslkey must be the name of a file; a key itself goes in ssl.key');
  }
  const { ssl_min_protocol_version: min, ssl_max_protocol_version: max } = range;
  if (min && max && min > max) {
    throw new TypeError('ssl_min_protocol_version must not be greater than ssl_max_protocol_version');
  }
}

/**
 * @param {Map<string, string>} values the options
 * @param {Object<string, string>} extra the parameters that an object names
 * @param {Object<string, string>} env the environment
 * @returns {Object<string, string>} what StartupMessage names besides user and database
 * @throws {TypeError} when a value has a NUL character
 */
function startupParameters(values, extra, env) {
  const parameters = Object.create(null);
  const named = Object.keys(extra).map(name => name.toLowerCase());
  for (const [variable, name] of Object.entries(SESSION_VARIABLES)) {
    const value = env[variable];
    if (!value || value.toLowerCase() === 'default' || named.includes(name)) continue;
    parameters[name] = value;
  }
  Object.assign(parameters, extra, {
    client_encoding: 'UTF8',
    options: values.get('options'),
    application_name: values.get('application_name') ?? values.get('fallback_application_name'),
    replication: values.get('replication')
  });
  for (const name in parameters) {
    if (!parameters[name]) delete parameters[name];
    else if (parameters[name].includes('\0')) throw new TypeError(`${name} must not contain a NUL character`);
  }
  return parameters;
}

/**
 * @param {*} ssl the option or argument `ssl`
 * @returns {object|boolean|undefined} it, undefined for null
 * @throws {TypeError} when it is something else than an object or a boolean
 */
function checkSsl(ssl) {
  if (ssl === undefined || ssl === null) return undefined;
  if (typeof ssl !== 'object' && typeof ssl !== 'boolean') {
    throw new TypeError(`ssl must be an object for tls.connect or a boolean, not ${aTypeOf(ssl)}`);
  }
  return ssl;
}

/** @param {*} value a value @returns {string} the name of its type, for an error that must not show it */
function aTypeOf(value) {
  return Array.isArray(value) ? 'an array' : typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/**
 * Gives an object a property that neither inspecting nor serializing the object shows.
 *
 * @param {object} object the object
 * @param {string} name the property
 * @param {*} value its value
 */
function hide(object, name, value) {
  Object.defineProperty(object, name, { get: () => value, enumerable: false });
}

/**
 * @returns {string} the name of the operating system's user
 * @throws {TypeError} when it has none
 */
function userName() {
  try {
    return os.userInfo().username;
  } catch {
    throw new TypeError('user must be given, as the operating system has no name for this one');
  }
}

/**
 * @param {Object<string, string>} env the environment
 * @returns {string} where the password file is unless something says otherwise
 */
function defaultPassfile(env) {
  if (process.platform === 'win32') return path.join(env.APPDATA ?? '', 'postgresql', 'pgpass.conf');
  return path.join(env.HOME || os.homedir(), '.pgpass');
}

module.exports = { resolve, socketPath, isLoopback };
