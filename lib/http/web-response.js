'use strict';

const { Writable } = require('node:stream');

/** Bytes that may wait in a body for its reader. */
const AHEAD = 65536;

/** A target that becomes a WHATWG Response, with as much of ServerResponse as `respond` uses. */
class WebResponse extends Writable {
  #begin;
  #controller; // of the body
  #headers = new Headers();
  #taken; // the callback of a write that waits for the reader

  constructor() {
    super();
    this.statusCode = 200;
    /** @type {Promise<Response>} resolves at the first byte, or at the end if there is none */
    this.begun = new Promise(resolve => {
      this.#begin = resolve;
    });
  }

  hasHeader(name) {
    return this.#headers.has(name);
  }
  getHeader(name) {
    return this.#headers.get(name) ?? undefined;
  }
  setHeader(name, value) {
    this.#headers.set(name, value);
  }

  writeHead(status, headers) {
    this.statusCode = status;
    for (const name in headers) this.#headers.set(name, headers[name]);
  }

  #respond(body) {
    // Workers would compress a body with a content encoding again.
    this.#begin(new Response(body, { status: this.statusCode, headers: this.#headers, encodeBody: 'manual' }));
  }

  #stream() {
    return new ReadableStream(
      {
        start: controller => {
          this.#controller = controller;
        },
        pull: () => this.#taken?.(),
        cancel: () => {
          this.destroy();
        }
      },
      new ByteLengthQueuingStrategy({ highWaterMark: AHEAD })
    );
  }

  _write(chunk, encoding, callback) {
    if (this.#controller === undefined) this.#respond(this.#stream());
    this.#taken = () => {
      this.#taken = undefined;
      callback();
    };
    this.#controller.enqueue(new Uint8Array(chunk)); // a copy: the reader may transfer its memory
  }

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
