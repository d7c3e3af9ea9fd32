'use strict';

/**
 * The options of a connection string: their names, variables, defaults and parsers.
 * @see https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS
 */

const { VERSION_3_0 } = require('../protocol');

const MAX_INT = 2147483647;
// A longer timer of Node.js would fire at once.
const MAX_SECONDS = 2147483;

const METHODS = ['none', 'password', 'md5', 'scram-sha-256', 'oauth'];
const ALL_METHODS = [...METHODS, 'gss', 'sspi'];
const TLS_VERSIONS = /^(?:TLSv1(?:\.[123])?)?$/i;
const PROTOCOLS = { '3.0': VERSION_3_0, 3.2: 0x30002, latest: 0x30002 };
const SESSIONS = ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'];
const VERIFIED = ['verify-ca', 'verify-full'];
const ENCRYPTED = ['require', ...VERIFIED];
const MODES = ['disable', 'allow', 'prefer', ...ENCRYPTED];

function check(isSo, message) {
  if (!isSo) throw new TypeError(message);
}

/** @returns {Function} a parser of texts that pass a test; its error says what is expected */
const checked =
  (test, expected, convert = value => value) =>
  (value, name) => {
    if (!test(value)) throw new TypeError(`${name} must be ${expected}, not "${value}"`);
    return convert(value);
  };

/** @returns {Function} a parser that takes one of these words */
const oneOf = words => (value, name) => {
  if (words.includes(value)) return value;
  throw new TypeError(`${name} must be one of ${words.join(', ')}, not "${value}"`);
};

/** @returns {boolean} whether a text is a port number, as libpq reads it */
const isPort = text => /^\s*\+?\d+\s*$/.test(text) && Number(text) >= 1 && Number(text) <= 65535;

const wrongPort = text => new TypeError(`port must be a number from 1 to 65535, not "${text}"`);

/** Checks a list of ports, of which an empty one is the default. */
function ports(value) {
  if (isPort(value)) return;
  for (const text of value.split(',')) if (text !== '' && !isPort(text)) throw wrongPort(text);
}

/** Parses an option for which only an empty text is allowed. */
const unsupported = (value, name) => check(value === '', `${name} is not supported`);

/** Parses an option that names a service, or its file. */
const noService = value =>
  check(value === '', 'service (PGSERVICE) is not supported: write its settings in the config');

/** For a text that the resolved config does not have under its own name. */
const raw = () => undefined;

/** Parses a text; an empty one means none. */
const text = value => value || undefined;

const inRange = value => Math.abs(Number(value)) <= MAX_INT;

/** Parses an integer in the range of C's int as libpq does, with blanks around it. */
const integer = checked(value => /^\s*[-+]?\d+\s*$/.test(value) && inRange(value), 'an integer', Number);

/** Parses an integer; a negative one means 0. */
const positive = (value, name) => Math.max(0, integer(value, name));

const count = checked(value => /^\s*\+?\d+\s*$/.test(value) && inRange(value), '0 or more', Number);

/** Parses seconds with an optional fraction; 0 and less mean no limit, which is 0. */
const seconds = checked(
  value => /^\s*[-+]?(?:\d+(?:\.\d*)?|\.\d+)\s*$/.test(value) && inRange(value),
  'a number of seconds',
  value => Math.min(Math.max(0, value), MAX_SECONDS)
);

/** Parses the encoding: column values are decoded as UTF-8, so the server must send that. */
const isUtf8 = value => /^(?:auto|utf8|unicode)?$/.test(value.toLowerCase().replace(/[^a-z0-9]/g, ''));
const utf8 = checked(isUtf8, 'UTF8, as values are decoded from that', raw);

/** Parses a TLS version in any case; an empty text sets no bound. */
const tlsVersion = checked(
  value => TLS_VERSIONS.test(value),
  'one of TLSv1, TLSv1.1, TLSv1.2, TLSv1.3',
  value => (value === '' ? undefined : value.replace(/^tlsv/i, 'TLSv'))
);

/** Parses a protocol version to its number in StartupMessage. */
const protocolVersion = checked(
  value => Object.hasOwn(PROTOCOLS, value),
  '3.0, 3.2 or latest',
  value => PROTOCOLS[value]
);

/*
 * Each option: [parser, environment variable, default]. A parser takes (text, name), throws a TypeError, and returns
 * the value for the resolved config, undefined for none. `raw` is for texts that are needed together.
 */
const OPTIONS = {
  host: [raw, 'PGHOST'],
  hostaddr: [raw, 'PGHOSTADDR'],
  port: [ports, 'PGPORT'],
  dbname: [raw, 'PGDATABASE'],
  user: [text, 'PGUSER'],
  password: [raw, 'PGPASSWORD'],
  passfile: [text, 'PGPASSFILE'],
  require_auth: [requireAuth, 'PGREQUIREAUTH', ''],
  channel_binding: [oneOf(['disable', 'prefer', 'require']), 'PGCHANNELBINDING', 'prefer'],
  connect_timeout: [seconds, 'PGCONNECT_TIMEOUT', '0'],
  client_encoding: [utf8],
  options: [raw, 'PGOPTIONS'],
  application_name: [raw, 'PGAPPNAME'],
  keepalives: [(value, name) => integer(value, name) !== 0, undefined, '1'],
  sslmode: [oneOf(MODES), 'PGSSLMODE'],
  sslnegotiation: [oneOf(['postgres', 'direct']), 'PGSSLNEGOTIATION', 'postgres'],
  sslrootcert: [text, 'PGSSLROOTCERT'],
  sslcert: [text, 'PGSSLCERT'],
  sslkey: [text, 'PGSSLKEY'],
  sslcertmode: [oneOf(['disable', 'allow']), 'PGSSLCERTMODE', 'allow'],
  sslsni: [value => value !== '0', 'PGSSLSNI', '1'],
  ssl_min_protocol_version: [tlsVersion, 'PGSSLMINPROTOCOLVERSION', 'TLSv1.2'],
  ssl_max_protocol_version: [tlsVersion, 'PGSSLMAXPROTOCOLVERSION'],
  min_protocol_version: [protocolVersion, 'PGMINPROTOCOLVERSION', '3.0'],
  max_protocol_version: [protocolVersion, 'PGMAXPROTOCOLVERSION', '3.0'],
  target_session_attrs: [oneOf(SESSIONS), 'PGTARGETSESSIONATTRS', 'any'],
  load_balance_hosts: [oneOf(['disable', 'random']), 'PGLOADBALANCEHOSTS', 'disable'],
  statement_cache: [count, undefined, '256'],
  max_pipeline: [count],
  max_buffer_bytes: [count, undefined, '67108864'],
  gssencmode: [oneOf(['disable', 'prefer']), 'PGGSSENCMODE'],
  service: [noService, 'PGSERVICE'],
  servicefile: [noService]
};

for (const name of [
  'fallback_application_name',
  'replication',
  'sslpassword',
  // Without these a connection is neither less safe nor less compatible.
  'sslcompression',
  'krbsrvname',
  'gsslib',
  'gssdelegation'
])
  OPTIONS[name] = [raw];

for (const name of ['keepalives_idle', 'keepalives_interval', 'keepalives_count', 'tcp_user_timeout']) {
  OPTIONS[name] = [positive, undefined, '0'];
}

// Ignoring these would break a promise.
for (const name of [
  'scram_client_key',
  'scram_server_key',
  'sslkeylogfile',
  'oauth_issuer',
  'oauth_client_id',
  'oauth_client_secret',
  'oauth_scope'
])
  OPTIONS[name] = [unsupported];
for (const name of ['requirepeer', 'sslcrl', 'sslcrldir']) OPTIONS[name] = [unsupported, `PG${name.toUpperCase()}`];

/** @returns {boolean} whether it is an option whose value is no free text, but one of several words or a number */
const isChosen = name => isOption(name) && (name === 'port' || ![raw, text].includes(OPTIONS[name][0]));

/** @returns {boolean} whether a value is a bearer token (RFC 6750, section 2.1) */
const isToken = value => typeof value === 'string' && /^[\w.~+/-]+=*$/.test(value);

/** @returns {boolean} whether it is an option of connection strings */
const isOption = name => Object.hasOwn(OPTIONS, name);

/**
 * Parses `require_auth`: a list of allowed methods or, each with "!", of forbidden ones; an empty one allows all.
 * @returns {{allowed: Set<string>, named: Set<string>, single: string|null}} the allowed methods that this client
 *   has; those that were named; the one named method, if there is one
 */
function requireAuth(value, name) {
  const items = value === '' ? [] : value.split(',');
  const negative = !items[0] || items[0].startsWith('!');
  const methods = items.map(item => item.replace('!', ''));
  methods.forEach((method, index) => {
    if (!ALL_METHODS.includes(method))
      throw new TypeError(`${name} must be a list of ${ALL_METHODS.join(', ')}, not "${value}"`);
    check(
      items[index].startsWith('!') === negative,
      `${name} must not mix methods with "!" and without, as in "${value}"`
    );
    check(methods.indexOf(method) === index, `${name} has "${method}" more than once`);
  });
  const allowed = new Set(METHODS.filter(method => methods.includes(method) !== negative));
  check(allowed.size > 0, `${name} allows no method that is supported: "${value}"`);
  return { allowed, named: new Set(negative ? [] : allowed), single: negative || items[1] ? null : methods[0] };
}

module.exports = { OPTIONS, ENCRYPTED, MODES, VERIFIED, check, isChosen, isOption, isPort, isToken, isUtf8, wrongPort };
