'use strict';

// Where rows are passed on to, and where COPY data comes from.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { createInterface } = require('node:readline');
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

/** A file in the run's temporary directory, written anew each time. */
function fileWritable({ temporary }) {
  const stream = fs.createWriteStream(path.join(temporary, `rows-${process.pid}`));
  Object.defineProperty(stream, 'bytesTaken', { get: () => stream.bytesWritten });
  return stream;
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

/**
 * An HTTP server in this process and a program in another one that reads what it answers.
 */
class HttpReader {
  static async start(temporary) {
    const reader = new HttpReader();
    reader.server = http.createServer((request, response) => reader._arrived(response));
    const socket = path.join(temporary, `http-${process.pid}`);
    await new Promise(resolve => reader.server.listen(socket, resolve));
    // Always Node, also where this process is not, so that what reads is the same for all.
    reader.child = spawn(process.env.BENCH_NODE || process.execPath, [__filename, socket], {
      stdio: ['pipe', 'pipe', 'inherit']
    });
    reader.lines = createInterface({ input: reader.child.stdout })[Symbol.asyncIterator]();
    return reader;
  }

  /** @returns {Promise<[http.ServerResponse, Promise<number>]>} a response, and how many bytes arrive */
  async request() {
    const response = new Promise(resolve => {
      this._arrived = resolve;
    });
    this.child.stdin.write('\n');
    const bytes = this.lines.next().then(({ value }) => Number(value));
    return [await response, bytes];
  }

  stop() {
    this.child.stdin.end();
    this.server.close();
  }
}

/** The other program: a request for each line, the answer's length as a line. */
function read(socketPath) {
  const agent = new http.Agent({ keepAlive: true });
  createInterface({ input: process.stdin })
    .on('line', () => {
      http.get({ socketPath, agent }, response => {
        let bytes = 0;
        response.on('data', chunk => {
          bytes += chunk.length;
        });
        response.on('end', () => console.log(bytes));
      });
    })
    .on('close', () => process.exit(0));
}

if (require.main === module) read(process.argv[2]);

module.exports = { nullWritable, fileWritable, copyChunks, copyLines, HttpReader };
