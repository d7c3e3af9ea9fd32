'use strict';

const { isPort } = require('./hosts');
const { isOption } = require('./options');

/**
 * Connection strings as libpq reads them: `postgresql://` URLs and `key=value` lists.
 * Both become a Map of option name to text; the meaning of an option is the business of `config.js`.
 * Errors name the option, never the text around it: a malformed string often has the password in the
 * place of something else.
 *
 * @see https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING
 */

/** `user:password@`, hosts, path and query of a URL. It matches any text. */
const URL_PARTS = /^(?:([^@/:]*)(?::([^@/]*))?@)?((?:\[[^\]]*\]?|[^/?[])*)(?:\/([^?]*))?(?:\?([^]*))?$/;

/** Parameters that providers put into URLs for other clients, and what says the same here. */
const FOREIGN = {
  connection_limit: ', and write new Pool(config, { size })', pgbouncer: ', and set statement_cache to 0',
  pool_timeout: ', and write new Pool(config, { acquire_timeout })', schema: ", and set search_path in the config's object",
  sslaccept: ', and set sslmode', statement_cache_size: ', and set statement_cache', supa: '', uselibpqcompat: '', workaround: ''
};

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
 * @returns {Map|false} false when there is no such option
 */
function store(options, name, value) {
  if (name === 'requiressl') return options.set('sslmode', value.startsWith('1') ? 'require' : 'prefer');
  return isOption(name) && options.set(name, value);
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
  const [, user, password, authority, path, query] = URL_PARTS.exec(rest);
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
  for (const [name, text, what] of [
    ['user', user, 'the user name'], ['password', password, 'the password'], ['host', hosts.join(), 'the host'],
    ['port', ports.join(), 'the port'], ['dbname', path, 'the database name']
  ]) {
    if (text) options.set(name, decode(text, what));
  }
  // It is not shown: nothing but an "@" makes a password of what stands there.
  if (!(options.get('port') ?? '').split(',').every(port => port === '' || isPort(port))) {
    throw badUrl('a port that is no number from 1 to 65535; a "/" in the password is written %2F');
  }
  // user:12/34@host/… has a password with a "/" in it, and anything after it may be the rest of that.
  let torn = user === undefined && ports.join('') !== '' && rest.includes('@');
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
    else if (!store(options, name, value)) {
      const remedy = shown !== '' && Object.hasOwn(FOREIGN, name) ? `: remove it${FOREIGN[name]}` : '';
      throw badUrl(`an unknown query parameter${shown}${remedy}`);
    }
  }
  return options;
}

/**
 * Decodes a percent-encoded part of a URL. A plus sign is a plus sign; spaces around the text are dropped.
 *
 * @param {string} text the part as it stands in the URL
 * @param {string} what the name of the part, for the error
 * @returns {string} the decoded text
 * @throws {TypeError} for a bad escape, one that gives no UTF-8, or a blank inside
 */
function decode(text, what) {
  const [, trimmed] = /^ *((?:[^]*[^ ])?) *$/.exec(text);
  if (/[ \t-\r]/.test(trimmed)) throw badUrl(`a blank in ${what}; write %20 for it`);
  try {
    return decodeURIComponent(trimmed);
  } catch {
    throw badUrl(`an invalid percent-encoding in ${what}`);
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
