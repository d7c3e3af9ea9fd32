'use strict';

// What pg-copy-streams needs of a connection: it writes the messages of a COPY to the stream of it, and reads them
// there.

const { EventEmitter } = require('node:events');

const [DATA, DONE] = Buffer.from('dc');

const NOTHING = Buffer.alloc(0);

/** The header of a message with so many bytes. */
function headerOf(type, length) {
  const header = Buffer.from([type, 0, 0, 0, 0]);
  header.writeUInt32BE(length + 4, 1);
  return header;
}

/** The stream of a connection during a COPY. */
class CopyStream extends EventEmitter {
  #copy;
  #header = NOTHING; // a part of it was written
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
    let isReady = true;
    for (let at = 0; at < bytes.length;) {
      const piece = bytes.subarray(at, at + (this.#left || 5 - this.#header.length));
      at += piece.length;
      if (this.#left > 0) {
        this.#left -= piece.length;
        isReady = this.#copy.write(piece);
      } else {
        const header = (this.#header = Buffer.concat([this.#header, piece]));
        if (header.length < 5) break;
        this.#header = NOTHING;
        if (header[0] === DATA) this.#left = header.readUInt32BE(1) - 4;
        else if (header[0] === DONE) this.#copy.end();
      }
    }
    return isReady;
  }

  read() {
    const data = this.#unread.length === 0 ? this.#copy?.read() : undefined;
    if (data) this.#unread.push(headerOf(DATA, data.length), data);
    return this.#unread.shift() ?? null;
  }

  /** All data was read. */
  end() {
    this.#unread.push(headerOf(DONE, 0));
    this.emit('readable');
  }

  pause() {}
  resume() {}
  fail(message) {
    this.#copy.destroy(new Error(`COPY from stdin failed: ${message}`));
  }
}

module.exports = { CopyStream };
