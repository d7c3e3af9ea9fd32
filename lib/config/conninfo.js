'use strict';

const { isOption } = require('./options');

/**
 * Connection strings as libpq reads them: `postgresql://` URLs and `key=value` lists.
 * Both become a Map of option name to text; the meaning of an option is the business of `config.js`.
 * Errors name the option, never the text around it: a malformed string often has the password in the
 * place of something else.
 *
 * @see https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING
 */

/** The options whose value is never shown. */
const SECRETS = ['password', 'sslpassword', 'oauth_client_secret', 'scram_client_key', 'scram_server_key'];

/**
 * Parses a connection string of either kind.
 *
 * @param {string} text the URL or `key=value` list; an empty string sets nothing
 * @returns {Map<string, string>} the options that the string sets, in its order
 * @throws {TypeError} when the string is malformed or names an unknown option
 */
function parse(text) {
  const prefix = /^postgres(ql)?:\/\//.exec(text);
  return prefix ? parseUrl(text.slice(prefix[0].length)) : parsePairs(text);
}

/**
 * Stores one option; `requiressl` is libpq's old name for two values of sslmode.
 * @returns {boolean} false when there is no such option
 */
function store(options, name, value) {
  if (name === 'requiressl') options.set('sslmode', value.startsWith('1') ? 'require' : 'prefer');
  else if (isOption(name)) options.set(name, value);
  else return false;
  return true;
}

/**
 * Parses what follows `postgresql://`: `[user[:password]@][host[:port],…][/dbname][?name=value&…]`.
 *
 * @param {string} rest the URL without its prefix
 * @returns {Map<string, string>} the options that the URL sets
 * @throws {TypeError} when the URL is malformed or names an unknown parameter
 */
function parseUrl(rest) {
  const options = new Map();
  const credentials = /^([^@/:]*)(?::([^@/]*))?@/.exec(rest);
  if (credentials) {
    const [whole, user, password] = credentials;
    if (user) options.set('user', decode(user, 'the user name'));
    if (password) options.set('password', decode(password, 'the password'));
    rest = rest.slice(whole.length);
  }
  const [, authority, path, query] = /^((?:\[[^\]]*\]?|[^/?[])*)(?:\/([^?]*))?(?:\?([^]*))?$/.exec(rest);
  // No name of a host has one, so what stands before it is the end of a password.
  if (authority.includes('@')) throw badUrl('two "@" before the path; one in a password is written %40');
  const hosts = [];
  const ports = [];
  for (const address of authority.split(',')) {
    const parts = /^(?:\[([^\]]+)\]|([^:[\]]*))(?::([^]*))?$/.exec(address);
    if (!parts) throw badUrl('a malformed host; an IPv6 address is written in "[" and "]"');
    hosts.push(parts[1] ?? parts[2]);
    ports.push(parts[3] ?? '');
  }
  const host = decode(hosts.join(), 'the host');
  const port = decode(ports.join(), 'the port');
  // It may be a password, so it is not shown: nothing but an "@" makes one of user:password.
  if (!port.split(',').every(number => /^[-+]?\d*$/.test(number.trim()) && number < 65536)) {
    throw badUrl('a port that is not a number up to 65535; a "/" in a password is written %2F');
  }
  if (host) options.set('host', host);
  if (port) options.set('port', port);
  if (path) options.set('dbname', decode(path, 'the database name'));

  // user:12/34@host/… has a password with a "/" in it, and anything after it may be the rest of that.
  let torn = !credentials && ports.join('') !== '' && rest.includes('@');
  for (const pair of query ? query.replace(/&$/, '').split('&') : []) {
    const parts = pair.split('=');
    // What follows a password may be the rest of one with an "&" in it.
    const shown = torn || !/^\w+$/.test(parts[0]) ? '' : ` "${parts[0]}"`;
    if (parts.length !== 2) {
      throw badUrl(`${parts.length < 2 ? 'no "="' : 'more than one "="'} in the query parameter${shown}`);
    }
    const name = decode(parts[0], 'the name of a query parameter');
    torn ||= SECRETS.includes(name);
    const value = decode(parts[1], `the query parameter${shown}`);
    // JDBC's spelling, the one foreign name that libpq takes.
    if (name === 'ssl' && value === 'true') options.set('sslmode', 'require');
    else if (!store(options, name, value)) throw badUrl(`an unknown query parameter${shown}`);
  }
  return options;
}

/**
 * Decodes a percent-encoded part of a URL. A plus sign is a plus sign; spaces around the text are dropped.
 *
 * @param {string} text the part as it stands in the URL
 * @param {string} what the name of the part, for the error
 * @returns {string} the decoded text
 * @throws {TypeError} for a bad escape, %00, or a blank inside
 */
function decode(text, what) {
  let start = 0;
  let end = text.length;
  while (text[start] === ' ') start++;
  while (end > start && text[end - 1] === ' ') end--;
  const trimmed = text.slice(start, end);
  if (/[ \t-\r]/.test(trimmed)) throw badUrl(`a blank in ${what}; write %20 for it`);
  if (/%(?![0-9a-f]{2})/i.test(trimmed)) throw badUrl(`an invalid percent-encoding in ${what}`);
  if (trimmed.includes('%00')) throw badUrl(`a forbidden %00 in ${what}`);
  try {
    return decodeURIComponent(trimmed);
  } catch {
    throw badUrl(`${what} that is not UTF-8 once decoded`);
  }
}

/**
 * Parses a list of `name = value`; a value with blanks stands in single quotes, a backslash escapes.
 *
 * @param {string} text the list
 * @returns {Map<string, string>} the options that the list sets
 * @throws {TypeError} when the list is malformed or names an unknown option
 */
function parsePairs(text) {
  const options = new Map();
  // A name, an equals sign, and a value, quoted or up to a blank. It matches any text, so it never backtracks.
  const pair = /([^= \t-\r]*)[ \t-\r]*(=)?[ \t-\r]*(?:'((?:[^'\\]|\\[^])*)(')?|((?:[^ \t-\r\\]|\\[^]?)*))[ \t-\r]*/y;
  pair.lastIndex = /^[ \t-\r]*/.exec(text)[0].length;
  let previous;
  while (pair.lastIndex < text.length) {
    const [, name, equals, quoted, closing, plain] = pair.exec(text);
    // The text after an unquoted password with a blank in it looks like a name: never show that.
    const place = previous === undefined ? 'at the start (a URL begins with postgresql://)' : `after "${previous}"`;
    const shown = SECRETS.includes(previous) || !/^\w+$/.test(name) ? place : `"${name}"`;
    const bad = what => new TypeError(`connection string has ${what}, ${shown}`);
    if (!equals) throw bad('no "=" after the name of an option');
    if (quoted !== undefined && !closing) throw bad('no closing quote');
    if (!store(options, name, (quoted ?? plain).replace(/\\([^]?)/g, '$1'))) throw bad('an unknown option');
    previous = name;
  }
  return options;
}

/** @returns {TypeError} what to throw for a URL, from what it has that it must not have */
function badUrl(what) {
  return new TypeError(`connection URL has ${what}`);
}

module.exports = { parse };
