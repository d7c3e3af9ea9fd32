'use strict';

const IPV4 = /^(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/;

/** @returns {number} 4, 6 or 0, as net.isIP */
function isIP(text) {
  if (IPV4.test(text)) return 4;
  const [address] = String(text).split('%');
  return address.includes(':') && URL.canParse(`http://[${address}]`) ? 6 : 0;
}

/** As much of net.BlockList as loopback addresses need. */
class BlockList {
  #starts = [];
  #addresses = [];

  /** @param {string} network an IPv4 one @param {number} bits 8, 16 or 24 */
  addSubnet(network, bits) { this.#starts.push(`${network.split('.').slice(0, bits / 8).join('.')}.`); }

  addAddress(address) { this.#addresses.push(address); }

  check(address, family) {
    if (family === 'ipv4') return this.#starts.some(start => address.startsWith(start));
    const { hostname } = new URL(`http://[${address}]`); // the shortest of its forms
    return this.#addresses.some(known => hostname === `[${known}]`);
  }
}

module.exports = { isIP, BlockList };
