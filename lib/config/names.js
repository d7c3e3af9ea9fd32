'use strict';

const { OPTIONS } = require('./options');

/*
 * The keys of a config object that are no options of a connection string. They go to the server as parameters of
 * StartupMessage, and the server refuses a name that it does not know, but only once it is reached. What cannot be
 * meant for it is refused here, and needs no list of PostgreSQL's parameters: they are written in lower case with
 * underscores (but for three), those of extensions have a dot, and none is one slip away from an option.
 */

/** What only an object can have beside the options of a connection string: values that have no text. */
const CLIENT_OPTIONS = ['decode', 'socket', 'ssl'];

/** PostgreSQL's parameters that have capital letters. */
const CAPITALS = ['datestyle', 'intervalstyle', 'timezone'];

const POOL = 'a client has one connection; a pool takes it';

/** What other clients call it, or have and this one does not. */
const ELSEWHERE = {
  connectionString: 'give the string as the whole config',
  connectionTimeoutMillis: 'connect_timeout is, in seconds',
  db: 'database is',
  hostname: 'host is',
  idle_timeout: POOL,
  max: POOL,
  max_lifetime: POOL,
  min: POOL,
  pass: 'password is',
  path: 'host is, for the directory of a socket too',
  prepare: 'statement_cache is, 0 for none',
  query_timeout: 'statement_timeout is',
  stream: 'socket is',
  types: 'decode is',
  uri: 'give the URL as the whole config',
  url: 'give the URL as the whole config',
  username: 'user is',
  websocket: 'socket is, with what quickgres/websocket gives'
};

/**
 * Checks the key of a config object that is no option.
 *
 * @param {string} name the key
 * @throws {TypeError} when it can be no parameter of the server's; it names the option that is nearest
 */
function checkParameterName(name) {
  if (Object.hasOwn(ELSEWHERE, name)) throw new TypeError(`${name} is not an option: ${ELSEWHERE[name]}`);
  if (name.startsWith('_pq_.') || !/^[a-z_][\w$.]*$/i.test(name)) {
    throw new TypeError(`${JSON.stringify(name)} cannot be the name of a parameter for the server`);
  }
  if (name.includes('.') || CAPITALS.includes(name.toLowerCase())) return;
  const letters = plain(name);
  const near = [...Object.keys(OPTIONS), ...CLIENT_OPTIONS, 'database'].find(option => isSlip(letters, plain(option)));
  if (near) throw new TypeError(`${name} is not an option: ${near} is`);
  if (/[A-Z]/.test(name)) {
    throw new TypeError(`${name} is neither an option nor a parameter for the server: those are in lower case`);
  }
}

/** @returns {string} a name without what is easily mistaken: capitals and underscores */
const plain = name => name.toLowerCase().replaceAll('_', '');

/** Whether two names differ by at most one letter, or by two that changed places. */
function isSlip(a, b) {
  if (Math.abs(a.length - b.length) > 1) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const [rest, other] = [a, b].map(text => text.slice(start, text.length - end));
  return Math.max(rest.length, other.length) < 2 || (rest.length === 2 && rest === other[1] + other[0]);
}

module.exports = { checkParameterName };
