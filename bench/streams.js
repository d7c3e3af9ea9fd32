'use strict';

// Where rows are passed on to, and where COPY data comes from.

const fs = require('node:fs');
const os = require('node:os');
const { Writable } = require('node:stream');

const CHUNK = 65536;

/** Takes everything at once and counts the bytes. */
class NullWritable extends Writable {
  constructor() {
    super();
    this.bytesTaken = 0;
  }

  _write(chunk, encoding, callback) {
    this.bytesTaken += chunk.length;
    callback();
  }
}

const nullWritable = () => new NullWritable();

/** Writes to no file that stays, in the thread pool as to any file. */
function nullFile() {
  const stream = fs.createWriteStream(os.devNull);
  return Object.defineProperty(stream, 'bytesTaken', { get: () => stream.bytesWritten });
}

/** A row of a COPY in text format, from 1 on. */
function copyLine(n) {
  const day = String(1 + (n % 28)).padStart(2, '0');
  return (
    `${n}\t${n * 7919}\tUser ${n}\t${n}@example.com\t${n % 100}\t${n % 2 === 0}\t` +
    `${(n / 7).toFixed(2)}\t2024-01-${day} 12:00:00+00\tnote ${n % 1000}\t` +
    `00000000000000000000${String(n).padStart(12, '0')}\n`
  );
}

/** The rows of a COPY, each by itself. */
function copyLines(rows) {
  return Array.from({ length: rows }, (_, index) => Buffer.from(copyLine(index + 1)));
}

/** The same, cut into pieces as they would be read from a file; made without much for the collector to clear away. */
function copyChunks(rows) {
  const parts = [];
  for (let n = 1; n <= rows;) {
    let text = '';
    for (const end = Math.min(rows, n + 999); n <= end; n++) text += copyLine(n);
    parts.push(Buffer.from(text));
  }
  const bytes = Buffer.concat(parts);
  const chunks = [];
  for (let off = 0; off < bytes.length; off += CHUNK) chunks.push(bytes.subarray(off, off + CHUNK));
  return chunks;
}

module.exports = { nullFile, nullWritable, copyChunks, copyLines };
