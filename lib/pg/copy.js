'use strict';

// What pg-copy-streams needs of a connection: it writes the messages of a COPY to the stream of it, and reads them there.

const { EventEmitter } = require('node:events');

/** CopyDone, and the first byte of CopyData. */
const DONE = Buffer.from('c\0\0\0\x04', 'latin1');
const DATA = 100;

/** The stream of a connection during a COPY. Each message begins a piece of its own. */
class CopyStream extends EventEmitter {
  #copy;
  #left = 0; // bytes of the CopyData that is being written
  #unread = [];

  constructor() {
    super();
    this.on('data', () => {}); // pg-copy-streams expects one listener, which it takes away
  }

  /** @param {CopyFrom|CopyTo} copy of the client */
  open(copy) {
    this.#copy = copy;
    for (const event of ['drain', 'readable']) copy.on(event, () => this.emit(event));
  }

  write(bytes) {
    if (this.#left > 0) {
      this.#left -= bytes.length;
      return this.#copy.write(bytes);
    }
    if (bytes[0] === DATA) this.#left = bytes.readUInt32BE(1) - 4;
    else if (bytes.equals(DONE)) this.#copy.end();
    return true;
  }

  read() {
    const data = this.#unread.length === 0 ? this.#copy?.read() : undefined;
    if (data) {
      const header = Buffer.from([DATA, 0, 0, 0, 0]);
      header.writeUInt32BE(data.length + 4, 1);
      this.#unread.push(header, data);
    }
    return this.#unread.shift() ?? null;
  }

  /** All data was read. */
  end() {
    this.#unread.push(DONE);
    this.emit('readable');
  }

  pause() {}
  resume() {}
  fail(message) { this.#copy.destroy(new Error(`COPY from stdin failed: ${message}`)); }
}

module.exports = { CopyStream };
