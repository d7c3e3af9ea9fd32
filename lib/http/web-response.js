'use strict';

const { Writable } = require('node:stream');

/** Bytes that may wait in a body for its reader. */
const AHEAD = 65536;

/** What a result is written to where a WHATWG Response is wanted: as much of a ServerResponse as `respond` uses. */
class WebResponse extends Writable {
  #begin;
  #controller; // of the body
  #headers = new Headers();
  #taken; // the callback of a write that the reader has not asked for yet

  constructor() {
    super();
    this.statusCode = 200;
    /** @type {Promise<Response>} resolves when the first byte is written, or it is ended without one */
    this.begun = new Promise(resolve => { this.#begin = resolve; });
  }

  hasHeader(name) { return this.#headers.has(name); }
  getHeader(name) { return this.#headers.get(name) ?? undefined; }
  setHeader(name, value) { this.#headers.set(name, value); }

  writeHead(status, headers) {
    this.statusCode = status;
    for (const name in headers) this.#headers.set(name, headers[name]);
  }

  #respond(body) {
    // Workers compress what has a content encoding, unless they are told that it is done.
    this.#begin(new Response(body, { status: this.statusCode, headers: this.#headers, encodeBody: 'manual' }));
  }

  #stream() {
    return new ReadableStream({
      start: controller => { this.#controller = controller; },
      pull: () => this.#taken?.(),
      cancel: () => { this.destroy(); }
    }, new ByteLengthQueuingStrategy({ highWaterMark: AHEAD }));
  }

  _write(chunk, encoding, callback) {
    if (this.#controller === undefined) this.#respond(this.#stream());
    this.#taken = () => {
      this.#taken = undefined;
      callback();
    };
    this.#controller.enqueue(new Uint8Array(chunk)); // a copy: the reader may give its memory away
  }

  /** A body that is whole needs no stream. */
  end(piece) {
    if (this.#controller !== undefined) return super.end(piece);
    this.#respond(piece);
    return super.end();
  }

  _final(callback) {
    this.#controller?.close();
    callback();
  }

  _destroy(error, callback) {
    if (error) this.#controller?.error(error);
    callback(error);
  }
}

module.exports = { WebResponse };
