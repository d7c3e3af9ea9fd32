'use strict';

const { crypto, dns, net, isWorkerd } = require('#platform');
const { STEP } = require('./attempt');
const { isLoopback, socketPath } = require('../config');

/**
 * Puts things into the order they are to be tried in: as listed, or with load_balance_hosts=random any.
 * @template T
 * @param {{load_balance_hosts: string}} config
 * @param {T[]} list
 * @returns {T[]}
 */
function inOrder({ load_balance_hosts: balance }, list) {
  const order = [...list];
  if (balance !== 'random') return order;
  for (let i = order.length - 1; i > 0; i--) {
    const other = crypto.randomInt(i + 1);
    [order[i], order[other]] = [order[other], order[i]];
  }
  return order;
}

/**
 * Finds where a host can be reached: every address of its name.
 * @param {object} config resolved
 * @param {object} entry one of its hosts: `{ host, hostaddr, port, sslmode }`
 * @param {import('./attempt').Attempt} attempt
 * @returns {Promise<object[]>} targets `{ host, hostaddr, port, sslmode, address, where, local }`: `address` for
 *   net.connect, null for the caller's own socket; `where` for messages; `local` when nobody can listen
 *   between here and there
 * @throws {Error} why the name has none
 */
async function targets(config, entry, attempt) {
  const { host, hostaddr, port } = entry;
  const name = host ?? hostaddr;
  const where = nameOf(entry);
  if (config.socket) return [{ ...entry, address: null, where, local: false }];
  const path = hostaddr === undefined ? socketPath(name, port) : undefined;
  if (path !== undefined) return [{ ...entry, address: { path }, where: path.replace('\0', '@'), local: true }];
  attempt.doing = STEP.LOOKUP;
  const addresses = hostaddr !== undefined || isWorkerd || net.isIP(name)
    ? [hostaddr ?? name]
    : inOrder(config, await attempt.wait(resolve => lookup(name, attempt, resolve)));
  return addresses.map(address => ({
    ...entry,
    address: { host: address, port },
    where: address === name ? where : `${where} (${address})`,
    local: isLoopback(address)
  }));
}

/** Looks up every address of a name, in the order the system prefers. */
function lookup(name, attempt, resolve) {
  dns.lookup(name, { all: true }, (error, found) => {
    if (error) attempt.fail(error);
    else resolve([...new Set(found.map(({ address }) => address))]);
  });
}

/**
 * @param {{host: string|undefined, hostaddr: string|undefined, port: number}} entry
 * @returns {string} what the host is called in messages
 */
function nameOf({ host, hostaddr, port }) {
  const name = host ?? hostaddr;
  return `${net.isIPv6(name) ? `[${name}]` : name}:${port}`;
}

module.exports = { targets, inOrder, nameOf };
