'use strict';

const net = require('node:net');
const { promisify } = require('node:util');
const { Attempt, STEP, failed } = require('./attempt');
const { late } = require('../late');
const { isLoopback, socketPath } = require('../config');

const later = late({ dns: () => require('node:dns') });

/** Cloudflare's Workers connect to names, and cannot look them up. */
const isWorkerd = globalThis.navigator?.userAgent === 'Cloudflare-Workers';

/** Puts a list into the order of the attempts: random with load_balance_hosts=random. */
function inOrder({ load_balance_hosts: balance }, list) {
  if (balance !== 'random') return list;
  return list
    .map(item => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

/**
 * Looks up a host: there may be a server at each of its addresses.
 * @param {number|undefined} seconds for the lookup
 * @returns {Promise<object[]>} the entry with `address` for net.connect (null for the caller's own socket), `where` for
 *   messages, and `local` (the way is on this machine); `{ error }` for a name without address
 */
async function serversOf(config, entry, seconds, signal) {
  const { host, hostaddr, port } = entry;
  const name = host ?? hostaddr;
  const path = config.socket || hostaddr !== undefined ? undefined : socketPath(name, port);
  if (path !== undefined) return [{ ...entry, address: { path }, where: path.replace('\0', '@'), local: true }];
  // net.isIPv6 takes milliseconds to compile its expression.
  const where = `${name.includes(':') ? `[${name}]` : name}:${port}`;
  if (config.socket) return [{ ...entry, address: null, where, local: false }];
  const serverAt = address => ({
    ...entry,
    address: { host: address, port },
    where: address === name ? where : `${where} (${address})`,
    local: isLoopback(address)
  });
  if (hostaddr !== undefined || isWorkerd || net.isIPv4(name) || name.includes(':'))
    return [serverAt(hostaddr ?? name)];
  const attempt = new Attempt(where, { seconds, signal });
  attempt.doing = STEP.LOOKUP;
  try {
    const found = (await attempt.wait(promisify(later.dns.lookup)(name, { all: true }))) ?? [];
    if (!found.some(({ address }) => address)) throw failed('the name has no address');
    return inOrder(config, [...new Set(found.map(({ address }) => address))]).map(serverAt);
  } catch (failure) {
    const error = attempt.fail(failure);
    if (signal?.aborted) throw error;
    return [{ error }];
  } finally {
    attempt.release();
  }
}

module.exports = { inOrder, serversOf };
