'use strict';

const { check, OPTIONS } = require('./options');

/*
 * Keys of a config object that are no options are sent as parameters in StartupMessage, in clear if there is no TLS.
 * The server rejects unknown ones, but only once it is reached. Keys that cannot be parameters are rejected here, and
 * secrets under a wrong name above all: parameters have lower case and underscores (but for a few), those of extensions
 * a dot, and none looks like a secret or is one typing error away from an option.
 */

/** Options that have no text, or another name in a connection string. */
const ONLY_IN_OBJECTS = ['connectionString', 'database', 'decode', 'names', 'oauth_token', 'socket', 'ssl'];

/** PostgreSQL's parameters with capital letters. */
const CAPITALS = ['datestyle', 'intervalstyle', 'timezone'];

/** What names of secrets are or contain, and PostgreSQL's parameters that contain it. */
const SECRET =
  /pass|pwd|secret|token|key|cred|cert|bearer|jwt|private|signature|^(?:auth(?:orization)?|ca|otp|pfx|pin|pw|sasl)$/;
const NO_SECRETS = ['md5_password_warnings', 'password_encryption'];

const STRING = 'use connectionString';

/** The hint for an option of a pool. */
const ofPool = name => `pass it as the second argument, new Pool(config, { ${name} }) of quickgres/pool`;

/** Other clients' options in lower case, and their equivalents. */
const HINTS = {
  connectionstring: STRING,
  uri: STRING,
  url: STRING,
  idletimeoutmillis: ofPool('idle_timeout'),
  max: ofPool('size'),
  maxlifetimeseconds: ofPool('max_lifetime'),
  ...Object.fromEntries(['acquire_timeout', 'idle_timeout', 'max_lifetime', 'size'].map(name => [name, ofPool(name)])),
  db: 'use database',
  hostname: 'use host',
  pass: 'use password',
  passwd: 'use password',
  username: 'use user',
  stream: 'use socket',
  tls: 'use ssl',
  types: 'use decode',
  connectiontimeoutmillis: 'use connect_timeout, in seconds',
  onnotice: "use client.on('notice', …)",
  prepare: 'use statement_cache, 0 for none',
  query_timeout: 'use statement_timeout, for the server',
  schema: 'use search_path',
  websocket: 'use socket, with what quickgres/sockets gives'
};

/** @throws {TypeError} for a key that cannot be a parameter, naming the nearest option */
function checkParameterName(name) {
  const lower = name.toLowerCase();
  check(!Object.hasOwn(HINTS, lower), `${name} is not an option: ${HINTS[lower]}`);
  check(
    !name.startsWith('_pq_.') && /^[a-z_][\w$.]*$/i.test(name),
    `${JSON.stringify(name)} cannot be the name of a parameter for the server`
  );
  if (name.includes('.') || CAPITALS.includes(lower)) return;
  const letters = plain(name);
  const near = [...Object.keys(OPTIONS), ...ONLY_IN_OBJECTS].find(option => isSlip(letters, plain(option)));
  check(near === undefined, `${name} is not an option: did you mean ${near}?`);
  const snake = name.replace(/([a-z\d])([A-Z])/g, '$1_$2').toLowerCase();
  check(!/[A-Z]/.test(name), `${name} is neither an option nor a parameter for the server: those are like ${snake}`);
  check(
    NO_SECRETS.includes(name) || !SECRET.test(name),
    `${name} is neither an option nor a parameter of PostgreSQL's, and may be a secret: secrets are options, such as ` +
      'password and oauth_token; a parameter of another server goes in options'
  );
}

/** @returns {string} a name without capitals and underscores */
const plain = name => name.toLowerCase().replaceAll('_', '');

/** Whether two names differ by at most one letter, or by two that changed places. */
function isSlip(a, b) {
  let same = 0;
  while (same < a.length && a[same] === b[same]) same++;
  const [x, y] = [a.slice(same), b.slice(same)];
  return (
    x.slice(1) === y.slice(1) ||
    x.slice(1) === y ||
    x === y.slice(1) ||
    (x[0] === y[1] && x[1] === y[0] && x.slice(2) === y.slice(2))
  );
}

module.exports = { checkParameterName };
