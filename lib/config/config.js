'use strict';

const { process, os, path } = require('#platform');
const { homeFile } = require('./home');
const { hostList } = require('./hosts');
const { OPTIONS, ENCRYPTED, VERIFIED, isOption, kindOf } = require('./options');

/**
 * What a client is to connect to and how, from everything that may say so: an object, a connection
 * string, a service file and the environment. Names, meanings and precedence are libpq's.
 *
 * @see https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS
 */

/** Environment variables that set a parameter of the session, as in libpq's startup packet. */
const SESSION_VARIABLES = { PGDATESTYLE: 'datestyle', PGTZ: 'timezone', PGGEQO: 'geqo' };

/** Why the config, or a host or a database in it, cannot be what was given. */
const NOT_A_PART = 'a URL is the whole config, not a part of it';

/**
 * Gathers what says where and how to connect into one checked object. First comes what `overrides` says,
 * then the config, the service file that it or PGSERVICE names, the environment, libpq's defaults.
 *
 * @param {object|string|URL} [config] options by name, or a connection string. In an object a name that is no
 *   option is a parameter for the server, and an option that is undefined, null or '' counts as not given
 * @param {object} [overrides] `{ port, host, ssl }`, the arguments of `connect()`: as in net.connect, a port
 *   that is no number is the path of a socket, and a port without any host is one of localhost
 * @param {Object<string, string>} [env=process.env] the environment
 * @returns {object} the options by libpq's names; secrets are readable but not enumerable
 * @throws {TypeError} when something does not make sense: it names the option and, unless secret, the value
 */
function resolve(config, overrides = {}, env = process.env) {
  const { values, parameters, own } = typeof config === 'string' || config instanceof URL
    ? { values: require('./conninfo').parse(String(config)), parameters: {}, own: {} }
    : fromObject(config ?? {});
  const onlyPort = override(values, own, overrides);
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
  result.user ??= userName();
  result.database = values.get('dbname') || result.user;
  if (/^postgres(ql)?:\/\//.test(result.database)) {
    throw new TypeError(`database must be the name of one; ${NOT_A_PART}`);
  }
  result.passfile ??= homeFile(env, '.pgpass', 'pgpass.conf');
  if (own.socket) result.socket = own.socket;
  if (own.decode !== undefined) result.decode = own.decode;
  result.sslmode = sslMode(result, own.ssl, sslmodeGiven);
  checkTogether(result);
  result.hosts = hostList(values, result, onlyPort || own.socket ? 'localhost' : undefined);
  result.parameters = startupParameters(values, parameters, env);
  hide(result, 'password', own.password ?? (values.get('password') || undefined));
  hide(result, 'sslpassword', values.get('sslpassword') || undefined);
  hide(result, 'ssl', own.ssl === true ? {} : own.ssl || undefined);
  return result;
}

/**
 * Checks of the options that only an object can have, as they have no text; `decode` is for the client to check.
 */
const CLIENT_OPTIONS = {
  ssl: checkSsl,
  socket(value) {
    if (typeof value !== 'function' && typeof value.write !== 'function') {
      throw new TypeError(`socket must be a Duplex stream or a function that gives one, not ${kindOf(value)}`);
    }
  },
  password(value) {
    if (typeof value === 'function') return;
    throw new TypeError(`password must be a string or a function, not ${kindOf(value)}`);
  },
  decode() {}
};

/**
 * Sorts the keys of a config object into libpq's options, the client's own, and parameters for the server.
 *
 * @param {object} config the object
 * @returns {{values: Map<string, string>, parameters: Object<string, string>, own: object}}
 * @throws {TypeError} for a name or a type of value that makes no sense
 */
function fromObject(config) {
  if (typeof config !== 'object' || Array.isArray(config)) {
    throw new TypeError(`config must be an object or a connection string, not ${kindOf(config)}`);
  }
  const values = new Map();
  const parameters = Object.create(null);
  const own = {};
  for (const [key, value] of Object.entries(config)) {
    if (value === undefined || value === null || value === '') continue;
    // The server knows names of parameters in any case, and this one must not get past us.
    const name = key === 'database' ? 'dbname' : /^client_encoding$/i.test(key) ? 'client_encoding' : key;
    if (Object.hasOwn(CLIENT_OPTIONS, name) && !(name === 'password' && typeof value === 'string')) {
      CLIENT_OPTIONS[name](value);
      own[name] = value;
      continue;
    }
    if (!isOption(name)) require('./names').checkParameterName(name);
    if (!['string', 'number', 'bigint', 'boolean'].includes(typeof value)) {
      throw new TypeError(`${key} must be a string, a number or a boolean, not ${kindOf(value)}`);
    }
    if (!isOption(name)) {
      if (String(value).includes('\0')) throw new TypeError(`${key} must not contain a NUL character`);
      parameters[name] = String(value);
    } else if (values.has(name) && values.get(name) !== String(value)) {
      throw new TypeError(`${key} is given twice, with different values`);
    } else {
      values.set(name, typeof value === 'boolean' ? String(+value) : String(value));
    }
  }
  return { values, parameters, own };
}

/**
 * Lays the arguments of `connect()` over the options.
 *
 * @param {Map<string, string>} values the options, changed in place
 * @param {object} own the client's own options, changed in place
 * @param {object} overrides `{ port, host, ssl }`
 * @returns {boolean} whether a port was named alone
 */
function override(values, own, { port, host, ssl }) {
  if (typeof port === 'string' && !/^\d+$/.test(port)) {
    if (host !== undefined) throw new TypeError('connect takes (port, host, ssl) or (socketPath), not a host first');
    host = port.startsWith('@') ? port : path.resolve(port);
    port = undefined;
  }
  if (host !== undefined) {
    if (typeof host !== 'string') throw new TypeError(`host must be a string, not ${kindOf(host)}`);
    values.set('host', host);
    // An address of the host that is no longer meant, from wherever it would come.
    values.set('hostaddr', '');
  }
  if (port !== undefined) values.set('port', String(port));
  if (ssl !== undefined && ssl !== null) {
    checkSsl(ssl);
    own.ssl = ssl;
  }
  return port !== undefined && host === undefined;
}

/**
 * Fills in what the config left open from the service file and the environment.
 *
 * @param {Map<string, string>} values the options, changed in place
 * @param {Object<string, string>} env the environment
 */
function addDefaults(values, env) {
  const add = (name, value) => {
    if (!values.has(name) && value !== undefined) values.set(name, value);
  };
  const service = values.get('service') ?? env.PGSERVICE;
  if (service !== undefined) {
    const settings = require('./servicefile').readService(service, values.get('servicefile'), env);
    for (const [name, value] of settings) add(name, value);
  }
  for (const name in OPTIONS) {
    const variable = OPTIONS[name][1];
    if (variable !== undefined && !values.has(name)) add(name, env[variable]);
  }
  if (env.PGREQUIRESSL?.startsWith('1')) add('sslmode', 'require');
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
  return sslmode ?? system ?? (sslrootcert || sslcert || binding === 'require' ? 'prefer' : undefined);
}

/**
 * @param {object} result the options, with the final sslmode
 * @throws {TypeError} when options do not go together
 */
function checkTogether(result) {
  const { sslmode = 'prefer', sslrootcert, sslnegotiation, sslkey } = result;
  const weak = (option, modes) =>
    new TypeError(`a weak sslmode (${sslmode}) may not be used with ${option}: use ${modes}`);
  if (sslrootcert === 'system' && sslmode !== 'verify-full') throw weak('sslrootcert=system', 'verify-full');
  if (sslnegotiation === 'direct' && !ENCRYPTED.includes(sslmode)) {
    throw weak('sslnegotiation=direct', 'require, verify-ca or verify-full');
  }
  if (sslkey?.includes('-----BEGIN')) {
    throw new TypeError('sslkey must be the name of a file; a key itself goes in ssl.key');
  }
  for (const prefix of ['', 'ssl_']) {
    const [min, max] = ['min', 'max'].map(bound => `${prefix}${bound}_protocol_version`);
    if (result[min] > result[max]) throw new TypeError(`${min} must not be greater than ${max}`);
  }
}

/**
 * @param {Map<string, string>} values the options
 * @param {Object<string, string>} extra the parameters that an object names
 * @param {Object<string, string>} env the environment
 * @returns {Object<string, string>} what StartupMessage names besides user and database
 */
function startupParameters(values, extra, env) {
  const named = Object.keys(extra).map(name => name.toLowerCase());
  const parameters = Object.create(null);
  for (const [variable, name] of Object.entries(SESSION_VARIABLES)) {
    const value = env[variable];
    if (value && value.toLowerCase() !== 'default' && !named.includes(name)) parameters[name] = value;
  }
  Object.assign(parameters, extra, {
    client_encoding: 'UTF8',
    options: values.get('options'),
    application_name: values.get('application_name') ?? values.get('fallback_application_name'),
    replication: values.get('replication')
  });
  for (const name in parameters) if (!parameters[name]) delete parameters[name];
  return parameters;
}

/** @throws {TypeError} when the option or argument `ssl` is neither an object nor a boolean */
function checkSsl(ssl) {
  if (typeof ssl === 'object' || typeof ssl === 'boolean') return;
  throw new TypeError(`ssl must be an object for tls.connect or a boolean, not ${kindOf(ssl)}`);
}

/** Gives an object a property that neither inspecting nor serializing the object shows. */
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

module.exports = { resolve };
