'use strict';

const { isChosen, isOption, isPort } = require('./options');

/**
 * Connection strings as libpq reads them: `postgresql://` URLs and `key=value` lists. Both become a Map of option name
 * to text, which `config.js` interprets. Errors name the option and never show the text around it, which may be a
 * misplaced password.
 * @see https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING
 */

/** `user:password@`, hosts, path and query of a URL. */
// eslint-disable-next-line regexp/no-super-linear-backtracking -- it matches any text
const URL_PARTS = /^(?:([^@/:]*)(?::([^@/]*))?@)?((?:\[[^\]]*\]?|[^/?[])*)(?:\/([^?]*))?(?:\?([^]*))?$/;

/** Parameters in providers' URLs that are for other clients, and their equivalents. */
const HINTS = {
  oauth_token: "set it in the config's object",
  connection_limit: 'write new Pool(config, { size })',
  pgbouncer: 'set statement_cache to 0',
  pool_timeout: 'write new Pool(config, { acquire_timeout })',
  schema: "set search_path in the config's object",
  ssl: 'set sslmode',
  sslaccept: 'set sslmode',
  statement_cache_size: 'set statement_cache',
  supa: '',
  uselibpqcompat: '',
  workaround: ''
};

/** Options whose value is never shown. */
const SECRETS = /password|_secret|_token|_key$/;

const badUrl = what => new TypeError(`connection URL has ${what}`);

/**
 * A URL may end with blanks, such as the newline of a file, and an empty parameter counts as omitted if it is no free
 * text. In a list it counts, as in libpq.
 * @returns {Map<string, string>} the options in a connection string of either kind
 */
function parse(text) {
  const prefix = /^postgres(?:ql)?:\/\//.exec(text);
  return prefix ? parseUrl(text.slice(prefix[0].length).trimEnd()) : parsePairs(text);
}

/**
 * Stores one option; `requiressl` is libpq's old name for two values of sslmode.
 * @returns {Map|false} false for an unknown option
 */
function store(options, name, value) {
  if (name === 'requiressl') return options.set('sslmode', value.startsWith('1') ? 'require' : 'prefer');
  return isOption(name) && options.set(name, value);
}

/** Parses `[user[:password]@][host[:port],…][/dbname][?name=value&…]`, which follows `postgresql://`. */
function parseUrl(rest) {
  const options = new Map();
  const [, user, password, authority, path, query] = URL_PARTS.exec(rest);
  // Host names contain no "@", so this one belongs to a password.
  if (authority.includes('@')) throw badUrl('two "@" before the path; write %40 for one in a password');
  const hosts = [];
  const ports = [];
  for (const address of authority.split(',')) {
    const parts = /^(?:\[([^\]]+)\]|([^:[\]]*))(?::([^]*))?$/.exec(address);
    if (!parts) throw badUrl('a malformed host; write an IPv6 address in "[" and "]"');
    hosts.push(parts[1] ?? parts[2]);
    ports.push(parts[3] ?? '');
  }
  for (const [name, text, what] of [
    ['user', user, 'the user name'],
    ['password', password, 'the password'],
    ['host', hosts.join(), 'the host'],
    ['port', ports.join(), 'the port'],
    ['dbname', path, 'the database name']
  ]) {
    if (text) options.set(name, decode(text, what));
  }
  // The port is not shown, since it may be a part of a password.
  if (!(options.get('port') ?? '').split(',').every(port => port === '' || isPort(port))) {
    throw badUrl(
      'a port that is not a number from 1 to 65535; write %2F for a "/" in the password, ' +
        'and an IPv6 address in "[" and "]"'
    );
  }
  // In user:12/34@host/… the password contains a "/", and everything behind it may belong to the password.
  let torn = user === undefined && ports.join('') !== '' && rest.includes('@');
  for (const pair of query ? query.replace(/&$/, '').split('&') : []) {
    const parts = pair.split('=');
    // The text behind a password may belong to one that contains an "&".
    const shown = torn || !/^\w+$/.test(parts[0]) ? '' : ` "${parts[0]}"`;
    if (parts.length !== 2) {
      throw badUrl(`${parts.length < 2 ? 'no "="' : 'more than one "="'} in the query parameter${shown}`);
    }
    const name = decode(parts[0], 'the name of a query parameter');
    torn ||= SECRETS.test(name);
    const value = decode(parts[1], `the query parameter${shown}`);
    // JDBC's spelling, the only foreign name that libpq accepts.
    if (name === 'ssl' && value === 'true') options.set('sslmode', 'require');
    else if (!(value === '' && isChosen(name)) && !store(options, name, value)) {
      const hint = Object.hasOwn(HINTS, name)
        ? `: remove it${HINTS[name] && `, and ${HINTS[name]}`}`
        : "; a server setting belongs in the config's object";
      throw badUrl(`an unknown query parameter${shown}${shown && hint}`);
    }
  }
  return options;
}

/** Decodes a percent-encoded part of a URL, and trims it. A plus sign stays a plus sign. */
function decode(text, what) {
  // eslint-disable-next-line regexp/no-super-linear-backtracking -- it matches any text
  const [, trimmed] = /^ *((?:[^]*[^ ])?) *$/.exec(text);
  if (/[ \t-\r]/.test(trimmed)) throw badUrl(`a blank in ${what}; write %20 for it`);
  try {
    return decodeURIComponent(trimmed);
  } catch {
    throw badUrl(`an invalid percent-encoding in ${what}`);
  }
}

/** Parses a list of `name = value`. A value with blanks is in single quotes; a backslash escapes. */
function parsePairs(text) {
  const options = new Map();
  // A name, an equals sign, and a value, quoted or up to a blank. It matches any text, so it never backtracks.
  const pair = /([^= \t-\r]*)[ \t-\r]*(=)?[ \t-\r]*(?:'((?:[^'\\]|\\[^])*)(')?|((?:[^ \t-\r\\]|\\[^]?)*))[ \t-\r]*/y;
  pair.lastIndex = /^[ \t-\r]*/.exec(text)[0].length;
  let previous;
  while (pair.lastIndex < text.length) {
    const [, name, equals, quoted, closing, plain] = pair.exec(text);
    // The rest of an unquoted password with a blank looks like a name, so it is not shown.
    const place = previous === undefined ? 'at the start (a URL begins with postgresql://)' : `after "${previous}"`;
    const shown = SECRETS.test(previous) || !/^\w+$/.test(name) ? place : `"${name}"`;
    const bad = what => new TypeError(`connection string has ${what}, ${shown}`);
    if (!equals) throw bad('no "=" after the name of an option');
    if (quoted !== undefined && !closing) throw bad('no closing quote');
    if (!store(options, name, (quoted ?? plain).replace(/\\([^]?)/g, '$1'))) throw bad('an unknown option');
    previous = name;
  }
  return options;
}

module.exports = { parse };
