'use strict';

// What pg-copy-streams needs of a connection: it writes the messages of a COPY to the stream of it, and reads them
// there.

const { EventEmitter } = require('node:events');
const { Duplex } = require('node:stream');

const { PostgresError, frontend } = require('../core/protocol');

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
  fail(reason) {
    // What the server says; of several statements it is asked.
    const message = `COPY from stdin failed: ${reason}`;
    const isScript = this.#copy instanceof ScriptCopy;
    this.#copy.destroy(isScript ? new Error(reason) : new PostgresError({ severity: 'ERROR', code: '57014', message }));
  }
}

/**
 * The data of the first COPY of a text with several statements, which goes as a simple query: written for FROM STDIN,
 * read for TO STDOUT. See COPY of lib/core/requests/simple-query.js.
 */
class ScriptCopy extends Duplex {
  #isOut;
  #pipeline; // while the server takes data, or gives it
  #sent; // called when it takes data
  #state = 'waiting'; // for the COPY; 'copying', 'over'

  constructor(direction) {
    super();
    this.#isOut = direction === 'out';
    if (this.#isOut) this.end();
    else this.push(null);
  }

  takes(pipeline) {
    if (this.#isOut || this.#pipeline !== undefined) return false;
    this.#pipeline = pipeline;
    this.#state = 'copying';
    if (this.destroyed) this.#fail();
    else this.#sent?.();
    return true;
  }

  _write(chunk, encoding, callback) {
    if (this.#state !== 'copying') return void (this.#sent = () => this._write(chunk, encoding, callback));
    const { writer, socket } = this.#pipeline;
    writer.message(frontend.CopyData, chunk);
    this.#pipeline.flush();
    const { stream } = socket;
    if (stream.writableNeedDrain) stream.once('drain', callback);
    else callback();
  }

  _final(callback) {
    if (this.#isOut) return callback();
    if (this.#state !== 'copying') return void (this.#sent = () => this._final(callback));
    this.#end(writer => writer.copyDone());
    callback();
  }

  #end(write) {
    this.#state = 'over';
    write(this.#pipeline.writer);
    this.#pipeline.flush();
  }

  #fail() {
    this.#end(writer => writer.copyFail(String(this.errored?.message ?? 'the stream was destroyed')));
  }

  give(pipeline, buf, start, end) {
    if (!this.#isOut || this.#state === 'over') return;
    this.#pipeline = pipeline;
    let hasRoom = true;
    for (let at = start; at < end;) {
      const next = at + 1 + buf.readUInt32BE(at + 1);
      hasRoom = this.push(Buffer.from(buf.subarray(at + 5, next)));
      at = next;
    }
    if (!hasRoom) pipeline.socket.pause(this);
  }

  _read() {
    this.#pipeline?.socket?.resume(this);
  }

  /** All data was sent, or has come. */
  finish() {
    if (this.#isOut) this.push(null);
  }

  _destroy(error, callback) {
    if (!this.#isOut && this.#state === 'copying' && this.#pipeline.socket !== null) this.#fail();
    this.#state = 'over';
    this.#pipeline?.socket?.resume(this);
    callback(error);
  }
}

module.exports = { CopyStream, ScriptCopy };
