'use strict';

const IPV4 = /^(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/;

/** @returns {number} 4, 6 or 0, as net.isIP */
function isIP(text) {
  if (IPV4.test(text)) return 4;
  const [address] = String(text).split('%');
  return address.includes(':') && URL.canParse(`http://[${address}]`) ? 6 : 0;
}

module.exports = { isIP };
