'use strict';

const { PassThrough, Readable } = require('#platform').stream;

/** What a result is written to where a WHATWG Response is wanted: as much of a ServerResponse as `respond` uses. */
class WebResponse extends PassThrough {
  #begin;
  #headers = new Headers();

  constructor() {
    super();
    this.statusCode = 200;
    /** @type {Promise<Response>} resolves when the first byte is written, or it is ended without one */
    this.begun = new Promise(resolve => { this.#begin = resolve; });
  }

  hasHeader(name) { return this.#headers.has(name); }
  getHeader(name) { return this.#headers.get(name) ?? undefined; }
  setHeader(name, value) { this.#headers.set(name, value); }

  /** Makes the Response, once. @returns {boolean} whether it is made of this body */
  #respond(body) {
    const begin = this.#begin;
    this.#begin = undefined;
    // Workers compress what has a content encoding, unless they are told that it is done.
    begin?.(new Response(body(), { status: this.statusCode, headers: this.#headers, encodeBody: 'manual' }));
    return begin !== undefined;
  }

  write(...args) {
    this.#respond(() => Readable.toWeb(this));
    return super.write(...args);
  }

  /** A body that is whole needs no stream. */
  end(piece) { return super.end(this.#respond(() => piece) ? undefined : piece); }
}

module.exports = { WebResponse };
