'use strict';

const fs = require('node:fs');
const net = require('node:net');
const { check, isPort, wrongPort } = require('./options');

/** The servers of a config, and which of them are on this machine. */

/**
 * Pairs the lists of hosts, addresses and ports.
 * @param {Map<string, string>} values the options
 * @param {object} result with `sslmode` and `socket`
 * @param {string} [fallback] the default host; by default the default socket directory
 */
function hostList(values, { sslmode, socket }, fallback) {
  const list = name => (values.get(name) || undefined)?.split(',');
  const hosts = list('host');
  const addresses = list('hostaddr');
  const ports = list('port') ?? [''];
  const places = addresses ?? hosts ?? [''];
  const { length } = places;
  if (hosts && hosts.length !== length)
    throw new TypeError(`host and hostaddr must be as many, not ${hosts.length} and ${length}`);
  if (ports.length !== 1 && ports.length !== length)
    throw new TypeError(`port must list one, or as many as there are hosts: it lists ${ports.length} for ${length}`);
  const unnamed = hosts?.every(Boolean) ? undefined : (fallback ?? defaultHost());
  return places.map((_, i) => {
    const hostaddr = addresses?.[i] || undefined;
    const host = hosts?.[i] || (hostaddr ? undefined : unnamed);
    if (hostaddr && !net.isIP(hostaddr)) throw new TypeError(`hostaddr must be an IP address, not "${hostaddr}"`);
    check(
      !host?.includes('://') && (!host?.includes('@') || isSocket(host)),
      'host must be a host name; a URL is a whole config: new Client(url)'
    );
    if (/^[^/@:]+:\d+$/.test(host)) throw new TypeError(`host must be without a port, not "${host}": write port`);
    const text = ports[ports.length === 1 ? 0 : i] || '5432';
    const port = Number(text);
    if (!isPort(text)) throw wrongPort(text);
    const where = hostaddr ?? host;
    const local = socket === undefined && isLoopback(where);
    // As in libpq, a Unix socket has no TLS, whatever sslmode says.
    const mode = local && isSocket(where) ? 'disable' : (sslmode ?? socket?.sslmode ?? (local ? 'disable' : 'prefer'));
    return { host, hostaddr, port, sslmode: mode };
  });
}

/** @returns {string} the default host: the default socket directory, else localhost */
function defaultHost() {
  return ['/var/run/postgresql', '/tmp'].find(directory => fs.existsSync(directory)) ?? 'localhost';
}

/** @returns {boolean} whether a host means a Unix socket */
const isSocket = host => host[0] === '/' || host[0] === '@';

/** The directory of the last socket: the system need not be asked for it again. */
let directory;

/**
 * @param {string} host a socket directory (`/tmp`), an abstract one (`@name`), or the socket itself
 * @param {number} port a part of the socket's name
 * @returns {string|undefined} the path for `net.connect`; undefined if the host is not in this machine's file system
 */
function socketPath(host, port) {
  if (!isSocket(host)) return undefined;
  const inside = `${host}/.s.PGSQL.${port}`;
  if (host !== directory && fs.existsSync(inside)) directory = host;
  const itself =
    host.includes('.s.PGSQL.') || (host !== directory && fs.statSync(host, { throwIfNoEntry: false })?.isSocket());
  const name = itself ? host : inside;
  const limit = process.platform === 'linux' ? 107 : 103;
  check(Buffer.byteLength(name) <= limit, `socket path must be at most ${limit} bytes long, not "${name}"`);
  return name.replace(/^@/, '\0');
}

/** @returns {boolean} whether a host is this machine: `localhost`, 127.x.x.x, ::1 and every Unix socket */
function isLoopback(host) {
  return (
    isSocket(host) ||
    host === '::1' ||
    (host.startsWith('127.') && net.isIPv4(host)) ||
    host.toLowerCase() === 'localhost'
  );
}

module.exports = { hostList, defaultHost, socketPath, isLoopback };
