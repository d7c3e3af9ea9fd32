'use strict';

const fs = require('node:fs');
const net = require('node:net');
const { check } = require('./options');

/** Where the servers are that a config names, and which of those are on this machine. */

const DEFAULT_PORT = '5432';

/**
 * Pairs the lists of hosts, addresses and ports.
 *
 * @param {Map<string, string>} values the options: `host`, `hostaddr` and `port` are of interest
 * @param {object} result what they were parsed to: `sslmode` and `socket` are of interest
 * @param {string} [fallback] the host where none is named; the default socket directory unless given
 * @returns {Array<{host: string|undefined, hostaddr: string|undefined, port: number, sslmode: string}>}
 * @throws {TypeError} when the lists do not match, or an element is malformed
 */
function hostList(values, { sslmode, socket }, fallback) {
  const list = name => (values.get(name) || undefined)?.split(',');
  const hosts = list('host');
  const addresses = list('hostaddr');
  const ports = list('port') ?? [''];
  const places = addresses ?? hosts ?? [''];
  const { length } = places;
  check(!hosts || hosts.length === length, `host and hostaddr must be as many, not ${hosts?.length} and ${length}`);
  check(ports.length === 1 || ports.length === length,
    `port must list one, or as many as there are hosts: it lists ${ports.length} for ${length}`);
  const unnamed = hosts?.every(Boolean) ? undefined : fallback ?? defaultHost();
  return places.map((_, i) => {
    const hostaddr = addresses?.[i] || undefined;
    const host = hosts?.[i] || (hostaddr ? undefined : unnamed);
    check(!hostaddr || net.isIP(hostaddr), `hostaddr must be an IP address, not "${hostaddr}"`);
    check(!host?.includes('://') && (!host?.includes('@') || isSocket(host)),
      'host must be a host name; a URL is a whole config: new Client(url)');
    check(!/^[^/@:]+:\d+$/.test(host), `host must be without a port, not "${host}": write port`);
    const text = ports[ports.length === 1 ? 0 : i] || DEFAULT_PORT;
    const port = Number(text);
    check(isPort(text), `port must be a number from 1 to 65535, not "${text}"`);
    const where = hostaddr ?? host;
    const local = socket === undefined && isLoopback(where);
    // As in libpq, a Unix socket has no TLS whatever sslmode says.
    const mode = local && isSocket(where) ? 'disable' : sslmode ?? socket?.sslmode ?? (local ? 'disable' : 'prefer');
    return { host, hostaddr, port, sslmode: mode };
  });
}

/** @returns {boolean} whether a text is the number of a port, as libpq reads it */
const isPort = text => /^\s*\+?\d+\s*$/.test(text) && Number(text) >= 1 && Number(text) <= 65535;

/** @returns {string} the host where none is named: the default socket directory, else localhost */
function defaultHost() {
  return ['/var/run/postgresql', '/tmp'].find(directory => fs.existsSync(directory)) ?? 'localhost';
}

/** @returns {boolean} whether a host means a Unix socket */
const isSocket = host => /^[/@]/.test(host);

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
  const inside = `${host}/.s.PGSQL.${port}`;
  const itself = host.includes('.s.PGSQL.') ||
    (!fs.existsSync(inside) && fs.statSync(host, { throwIfNoEntry: false })?.isSocket());
  const name = itself ? host : inside;
  const limit = process.platform === 'linux' ? 107 : 103;
  check(Buffer.byteLength(name) <= limit, `socket path must be at most ${limit} bytes long, not "${name}"`);
  return name.replace(/^@/, '\0');
}

/**
 * Whether what is sent to a host stays on this machine.
 *
 * @param {string} host a name, an address or a socket directory
 * @returns {boolean} true for `localhost`, 127.x.x.x, ::1 and every Unix socket
 */
function isLoopback(host) {
  return isSocket(host) || host.toLowerCase() === 'localhost' || host === '::1' ||
    (net.isIPv4(host) && host.startsWith('127.'));
}

module.exports = { hostList, isPort, defaultHost, socketPath, isLoopback };
