// Decoders of network addresses: strings, as the server prints them.

import { uint16 } from './datarow.js';
import { hex, malformed, size } from './scalars.js';

/** IPv6 in its short form: the longest run of zeros left out, IPv4 at the end of it in its own notation. */
function ipv6(bytes, start) {
  const words = [];
  for (let i = 0; i < 16; i += 2) words.push(uint16(bytes, start + i));
  let base = -1;
  let length = 1;
  for (let i = 0; i < 8; i++) {
    let run = 0;
    while (words[i + run] === 0) run++;
    if (run > length) [base, length] = [i, run];
  }
  const parts = words.map(word => word.toString(16));
  if (base === 0 && (length === 6 || (length === 5 && words[5] === 0xffff))) {
    parts.splice(6, 2, bytes.subarray(start + 12, start + 16).join('.'));
  }
  if (base < 0) return parts.join(':');
  return `${parts.slice(0, base).join(':')}::${parts.slice(base + length).join(':')}`;
}

/** inet and cidr: family, bits of the mask, whether it is a cidr, length of the address, address. */
export function inet(bytes, start, end) {
  const length = bytes[start] === 2 ? 4 : 16;
  if (end - start < 4 || bytes[start + 3] !== length) throw malformed();
  size(start, end, 4 + length);
  const address = length === 4 ? bytes.subarray(start + 4, end).join('.') : ipv6(bytes, start + 4);
  const mask = bytes[start + 1];
  return bytes[start + 2] || mask !== length * 8 ? `${address}/${mask}` : address;
}

export function macaddr(bytes, start, end) {
  size(start, end, end - start === 6 ? 6 : 8);
  return hex(bytes, start, end, ':');
}
