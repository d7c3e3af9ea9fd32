'use strict';

const { kindOf } = require('../core/protocol');

/** PostgreSQL's epoch, in milliseconds of Unix time. */
const EPOCH = Date.UTC(2000, 0, 1);

/** Reads a log sequence number (LSN), a position in the write-ahead log, such as 16/B374D848. */
function parseLsn(text) {
  const match = typeof text === 'string' && /^([0-9a-f]{1,8})\/([0-9a-f]{1,8})$/i.exec(text);
  if (!match) throw new TypeError(`${String(text)} is not a log sequence number, such as '16/B374D848'`);
  return (BigInt(`0x${match[1]}`) << 32n) | BigInt(`0x${match[2]}`);
}

function formatLsn(lsn) {
  if (typeof lsn !== 'bigint') throw new TypeError(`a log sequence number is a bigint, not ${kindOf(lsn)}`);
  if (lsn < 0n || lsn >> 64n > 0n) throw new RangeError(`${lsn} is not a log sequence number, which has 64 bits`);
  return `${(lsn >> 32n).toString(16)}/${(lsn & 0xffffffffn).toString(16)}`.toUpperCase();
}

function readTime(buf, off) {
  return new Date(EPOCH + Number(buf.readBigInt64BE(off) / 1000n));
}

function writeNow(buf, off) {
  buf.writeBigInt64BE(BigInt(Date.now() - EPOCH) * 1000n, off);
}

module.exports = { parseLsn, formatLsn, readTime, writeNow };
