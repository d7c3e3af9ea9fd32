'use strict';

const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const conninfo = require('./conninfo.js');
const { readService } = require('./servicefile.js');

/**
 * What a client is to connect to and how, from everything that may say so: an object, a connection
 * string, a service file and the environment. Names, meanings and precedence are libpq's.
 *
 * @see https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS
 */

const DEFAULT_PORT = 5432;
const MAX_INT = 2147483647;
// A timer of Node.js cannot run longer; beyond it, it fires at once.
const MAX_SECONDS = 2147483;

const METHODS = ['none', 'password', 'md5', 'scram-sha-256'];
const FOREIGN_METHODS = ['gss', 'sspi', 'oauth'];
const TLS_VERSIONS = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'];
const PROTOCOLS = { '3.0': 0x30000, '3.2': 0x30002, latest: 0x30002 };
const VERIFIED = ['verify-ca', 'verify-full'];
const ENCRYPTED = ['require', ...VERIFIED];

/*
 * Each option of a connection string: [parser of its text, environment variable, default].
 * A parser takes (text, name), throws a TypeError, and returns the value for the resolved config,
 * undefined for none; `raw` is for texts that are needed together and not one by one.
 */
const OPTIONS = {
  host: [raw, 'PGHOST'],
  hostaddr: [raw, 'PGHOSTADDR'],
  port: [raw, 'PGPORT'],
  dbname: [raw, 'PGDATABASE'],
  user: [text, 'PGUSER'],
  password: [raw, 'PGPASSWORD'],
  passfile: [text, 'PGPASSFILE'],
  service: [raw, 'PGSERVICE'],
  servicefile: [raw, 'PGSERVICEFILE'],
  require_auth: [requireAuth, 'PGREQUIREAUTH', ''],
  channel_binding: [oneOf('disable', 'prefer', 'require'), 'PGCHANNELBINDING', 'prefer'],
  connect_timeout: [seconds, 'PGCONNECT_TIMEOUT', '0'],
  client_encoding: [utf8, 'PGCLIENTENCODING', 'UTF8'],
  options: [raw, 'PGOPTIONS'],
  application_name: [raw, 'PGAPPNAME'],
  fallback_application_name: [raw],
  replication: [raw],
  keepalives: [(value, name) => integer(value, name) !== 0, undefined, '1'],
  keepalives_idle: [positive, undefined, '0'],
  keepalives_interval: [positive, undefined, '0'],
  keepalives_count: [positive, undefined, '0'],
  tcp_user_timeout: [positive, undefined, '0'],
  sslmode: [oneOf('disable', 'allow', 'prefer', ...ENCRYPTED), 'PGSSLMODE'],
  sslnegotiation: [oneOf('postgres', 'direct'), 'PGSSLNEGOTIATION', 'postgres'],
  sslrootcert: [text, 'PGSSLROOTCERT'],
  sslcert: [text, 'PGSSLCERT'],
  sslkey: [text, 'PGSSLKEY'],
  sslcertmode: [except('require', oneOf('disable', 'allow')), 'PGSSLCERTMODE', 'allow'],
  sslpassword: [raw],
  sslsni: [value => value !== '0', 'PGSSLSNI', '1'],
  ssl_min_protocol_version: [tlsVersion, 'PGSSLMINPROTOCOLVERSION', 'TLSv1.2'],
  ssl_max_protocol_version: [tlsVersion, 'PGSSLMAXPROTOCOLVERSION', ''],
  min_protocol_version: [protocolVersion, 'PGMINPROTOCOLVERSION', '3.0'],
  max_protocol_version: [protocolVersion, 'PGMAXPROTOCOLVERSION', 'latest'],
  target_session_attrs: [
    oneOf('any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'), 'PGTARGETSESSIONATTRS', 'any'
  ],
  load_balance_hosts: [oneOf('disable', 'random'), 'PGLOADBALANCEHOSTS', 'disable'],
  statement_cache: [count, undefined, '256'],
  // What we do not do, and nothing is less safe or less compatible for it.
  gssencmode: [except('require', oneOf('disable', 'prefer')), 'PGGSSENCMODE', 'disable'],
  sslcompression: [raw, 'PGSSLCOMPRESSION'],
  krbsrvname: [raw, 'PGKRBSRVNAME'],
  gsslib: [raw, 'PGGSSLIB'],
  gssdelegation: [raw, 'PGGSSDELEGATION'],
  // What we do not do, and whoever asks for it has a reason.
  requirepeer: [unsupported, 'PGREQUIREPEER'],
  sslcrl: [unsupported, 'PGSSLCRL'],
  sslcrldir: [unsupported, 'PGSSLCRLDIR'],
  sslkeylogfile: [unsupported],
  scram_client_key: [unsupported],
  scram_server_key: [unsupported],
  oauth_issuer: [unsupported],
  oauth_client_id: [unsupported],
  oauth_client_secret: [unsupported],
  oauth_scope: [unsupported]
};

/** Environment variables that set a parameter of the session, as in libpq's startup packet. */
const SESSION_VARIABLES = { PGDATESTYLE: 'datestyle', PGTZ: 'timezone', PGGEQO: 'geqo' };

/** @param {string} name a name @returns {boolean} whether it is an option of a connection string */
const isOption = name => Object.hasOwn(OPTIONS, name);

/**
 * Gathers what says where and how to connect into one checked object. First comes what `overrides` says,
 * then the config, the service file that it or PGSERVICE names, the environment, libpq's defaults.
 *
 * @param {object|string|URL} [config] options by name, or a connection string. In an object an unknown
 *   name is a parameter for the server, and an option that is undefined, null or '' counts as not given
 * @param {object} [overrides] `{ host, port, ssl }`, the arguments of `connect()`
 * @param {Object<string, string>} [env=process.env] the environment
 * @returns {object} the options by libpq's names; secrets are readable but not enumerable
 * @throws {TypeError} when something does not make sense: it names the option and, unless secret, the value
 */
function resolve(config, overrides, env = process.env) {
  const { values, parameters, own } = typeof config === 'string' || config instanceof URL
    ? { values: conninfo.parse(String(config), isOption), parameters: Object.create(null), own: {} }
    : fromObject(config ?? {});
  const ssl = override(values, own, overrides ?? {});
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
  const byPort = overrides?.port !== undefined && overrides.host === undefined;
  result.hosts = hostList(values, result, byPort || own.socket ? 'localhost' : defaultHost());
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
  if (typeof config !== 'object') throw new TypeError('config must be an object or a connection string');
  const values = new Map();
  const parameters = Object.create(null);
  const own = {};
  for (const [key, value] of Object.entries(config)) {
    if (value === undefined || value === null || value === '') continue;
    const name = key === 'database' ? 'dbname' : key.toLowerCase() === 'client_encoding' ? 'client_encoding' : key;
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
    } else if (name === 'connectionString') {
      throw new TypeError('connectionString is not an option: give the string as the whole config');
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
 * @param {object} overrides `{ host, port, ssl }`
 * @returns {object|boolean|undefined} what is to be taken for `ssl`
 */
function override(values, own, { host, port, ssl }) {
  if (host !== undefined) {
    if (typeof host !== 'string') throw new TypeError(`host must be a string, not ${aTypeOf(host)}`);
    values.set('host', host);
    // An address of the host that is no longer meant, from wherever it would come.
    values.set('hostaddr', '');
  }
  if (port !== undefined) values.set('port', String(port));
  return checkSsl(ssl) ?? own.ssl;
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
 * Settles `sslmode` where `ssl` or `sslrootcert=system` has a say in it.
 *
 * @param {object} result the options so far
 * @param {object|boolean|undefined} ssl the option `ssl`
 * @param {string|undefined} given the sslmode that the config itself names
 * @returns {string|undefined} the mode; undefined leaves it to each host
 * @throws {TypeError} when the config contradicts itself
 */
function sslMode({ sslmode, sslrootcert }, ssl, given) {
  if (ssl === false) {
    if (ENCRYPTED.includes(given)) throw new TypeError(`ssl is false, but sslmode is "${given}"`);
    return 'disable';
  }
  if (ssl) {
    if (given === 'disable') throw new TypeError('ssl is given, but sslmode is "disable"');
    return given ?? (VERIFIED.includes(sslmode) ? sslmode : 'require');
  }
  return sslmode ?? (sslrootcert === 'system' ? 'verify-full' : undefined);
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
  if (sslkey?.includes('-----BEGIN')) throw new TypeError('sslkey must be a file name; a key itself goes in ssl.key');
  const { ssl_min_protocol_version: min, ssl_max_protocol_version: max } = range;
  if (min && max && min > max) {
    throw new TypeError('ssl_min_protocol_version must not be greater than ssl_max_protocol_version');
  }
}

/**
 * Pairs the lists of hosts, addresses and ports.
 *
 * @param {Map<string, string>} values the options: `host`, `hostaddr` and `port` are of interest
 * @param {object} result what they were parsed to: `sslmode` and `socket` are of interest
 * @param {string} fallback the host where none is named
 * @returns {Array<{host: string|undefined, hostaddr: string|undefined, port: number, sslmode: string}>}
 * @throws {TypeError} when the lists do not match, or an element is malformed
 */
function hostList(values, { sslmode, socket }, fallback) {
  const list = name => (values.get(name) || undefined)?.split(',');
  const hosts = list('host');
  const addresses = list('hostaddr');
  const ports = list('port') ?? [''];
  const length = (addresses ?? hosts ?? ['']).length;
  if (hosts && hosts.length !== length) {
    throw new TypeError(`host and hostaddr must match: ${hosts.length} and ${length} are given`);
  }
  if (ports.length !== 1 && ports.length !== length) {
    throw new TypeError(`port and host must match: ${ports.length} and ${length} are given`);
  }
  return Array.from({ length }, (_, i) => {
    const address = addresses?.[i] || undefined;
    const name = hosts?.[i] || (address ? undefined : fallback);
    if (address && !net.isIP(address)) throw new TypeError(`hostaddr must be an IP address, not "${address}"`);
    if (name?.includes('://') || (name?.includes('@') && !isSocket(name))) {
      throw new TypeError('host must be the name of one; a URL is the whole config, not a part of it');
    }
    const local = socket === undefined && isLoopback(address ?? name);
    return {
      host: name,
      hostaddr: address,
      port: portNumber(ports[ports.length === 1 ? 0 : i]),
      // As in libpq, a Unix socket has no TLS whatever sslmode says.
      sslmode: local && isSocket(address ?? name) ? 'disable' : sslmode ?? (local ? 'disable' : 'prefer')
    };
  });
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
    if (value !== undefined && value.toLowerCase() !== 'default' && !named.includes(name)) parameters[name] = value;
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

/** Parser of a text that the resolved config does not have under its own name. */
function raw() {}

/** Parser of a text where an empty one means none. */
function text(value) {
  return value || undefined;
}

/** @returns {Function} a parser that takes one of these words and nothing else */
function oneOf(...words) {
  return (value, name) => {
    if (!words.includes(value)) throw invalid(name, value, `one of ${words.join(', ')}`);
    return value;
  };
}

/** @returns {Function} a parser that says of a word libpq has and we do not that it is not supported */
function except(word, parser) {
  return (value, name) => {
    if (value === word) throw new TypeError(`${name}=${word} is not supported`);
    return parser(value, name);
  };
}

/** Parser of an option that nothing but an empty text may be given for. */
function unsupported(value, name) {
  if (value !== '') throw new TypeError(`${name} is not supported`);
}

/** Parser of an integer in the range of C's int, as libpq reads it: blanks around it are allowed. */
function integer(value, name) {
  const number = /^\s*[-+]?\d+\s*$/.test(value) ? Number(value) : NaN;
  if (!(Math.abs(number) <= MAX_INT)) throw invalid(name, value, 'an integer');
  return number;
}

/** Parser of an integer of which a negative one means 0. */
function positive(value, name) {
  return Math.max(0, integer(value, name));
}

/** Parser of a number of things, 0 or more. */
function count(value, name) {
  const number = integer(value, name);
  if (number < 0) throw invalid(name, value, '0 or more');
  return number;
}

/** Parser of a time in seconds, a fraction allowed; 0 and less mean no limit, which is 0. */
function seconds(value, name) {
  const number = /^\s*[-+]?(\d+\.?\d*|\.\d+)\s*$/.test(value) ? Number(value) : NaN;
  if (!(Math.abs(number) <= MAX_INT)) throw invalid(name, value, 'a number of seconds');
  return Math.min(Math.max(0, number), MAX_SECONDS);
}

/** Parser of one port; an empty one means the default. */
function portNumber(value) {
  if (value === '') return DEFAULT_PORT;
  const number = integer(value, 'port');
  if (number < 1 || number > 65535) throw invalid('port', value, 'from 1 to 65535');
  return number;
}

/** Parser of the text encoding: column values are decoded as UTF-8, so the server must send that. */
function utf8(value, name) {
  if (!['', 'auto', 'utf8', 'unicode'].includes(value.toLowerCase().replace(/[^a-z0-9]/g, ''))) {
    throw invalid(name, value, 'UTF8, as values are decoded from that');
  }
}

/** Parser of a TLS version, in any case; an empty text sets no bound. */
function tlsVersion(value, name) {
  if (value === '') return undefined;
  const version = TLS_VERSIONS.find(known => known.toLowerCase() === value.toLowerCase());
  if (!version) throw invalid(name, value, `one of ${TLS_VERSIONS.join(', ')}`);
  return version;
}

/** Parser of a version of the PostgreSQL protocol, to its number in StartupMessage. */
function protocolVersion(value, name) {
  if (!Object.hasOwn(PROTOCOLS, value)) throw invalid(name, value, `one of ${Object.keys(PROTOCOLS).join(', ')}`);
  return PROTOCOLS[value];
}

/**
 * Parser of `require_auth`: methods that may be used, or, each with a "!" before it, those that may not.
 *
 * @param {string} value a list with commas; an empty one allows every method
 * @param {string} name the option's name
 * @returns {{allowed: Set<string>, named: Set<string>, single: string|null}} the allowed methods that
 *   this client has; those among them that were named, not just left over; the one named method, if it is one
 * @throws {TypeError} for an unknown or repeated method, a mix of both kinds, or when no method is left
 */
function requireAuth(value, name) {
  const items = value === '' ? [] : value.split(',');
  const negative = items.length === 0 || items[0].startsWith('!');
  const methods = items.map(item => item.replace('!', ''));
  for (const [index, method] of methods.entries()) {
    if (!METHODS.includes(method) && !FOREIGN_METHODS.includes(method)) {
      throw invalid(name, value, `a list of ${[...METHODS, ...FOREIGN_METHODS].join(', ')}`);
    }
    if (items[index].startsWith('!') !== negative) {
      throw new TypeError(`${name} must not mix methods with "!" and without, as in "${value}"`);
    }
    if (methods.indexOf(method) !== index) throw new TypeError(`${name} has "${method}" more than once`);
  }
  const allowed = new Set(METHODS.filter(method => methods.includes(method) !== negative));
  if (allowed.size === 0) throw new TypeError(`${name} allows no method that is supported: "${value}"`);
  const named = new Set(negative ? [] : allowed);
  return { allowed, named, single: named.size === 1 && methods.length === 1 ? methods[0] : null };
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

/**
 * @param {string} name the option
 * @param {string} value its text, shown
 * @param {string} expected what it must be
 * @returns {TypeError} the error to throw
 */
function invalid(name, value, expected) {
  return new TypeError(`${name} must be ${expected}, not "${value}"`);
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

/** @returns {string} where a server is sought unless something says otherwise: a socket directory or localhost */
function defaultHost() {
  return ['/var/run/postgresql', '/tmp'].find(directory => fs.existsSync(directory)) ?? 'localhost';
}

/** @param {string} host a host @returns {boolean} whether it means a Unix socket */
function isSocket(host) {
  return host.startsWith('/') || host.startsWith('@');
}

/**
 * The path of a Unix socket, from what stands for a host.
 *
 * @param {string} host a socket directory (`/tmp`), an abstract one (`@name`), or the socket itself
 * @param {number} port the port, which is a part of the socket's name
 * @returns {string|undefined} the path for `net.connect`; undefined when the host is none on this machine's
 *   file system
 * @throws {TypeError} when the path is longer than the operating system takes
 */
function socketPath(host, port) {
  if (!isSocket(host)) return undefined;
  const itself = host.includes('.s.PGSQL.') || fs.statSync(host, { throwIfNoEntry: false })?.isSocket();
  const name = itself ? host : `${host}/.s.PGSQL.${port}`;
  const limit = process.platform === 'linux' ? 107 : 103;
  if (Buffer.byteLength(name) > limit) throw new TypeError(`socket path "${name}" is longer than ${limit} bytes`);
  return name.replace(/^@/, '\0');
}

const LOOPBACK = new net.BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8);
LOOPBACK.addAddress('::1', 'ipv6');

/**
 * Whether what is sent to a host stays on this machine.
 *
 * @param {string} host a name, an address or a socket directory
 * @returns {boolean} true for `localhost`, the loopback addresses and every Unix socket
 */
function isLoopback(host) {
  if (isSocket(host) || host.toLowerCase() === 'localhost') return true;
  const address = host.replace(/%.*/, '');
  const family = net.isIP(address);
  return family !== 0 && LOOPBACK.check(address, `ipv${family}`);
}

module.exports = { resolve, socketPath, isLoopback, defaultHost };
