'use strict';

const { pipeline } = require('#platform').stream;
const { Target } = require('../stream');
const { COMPRESSORS, negotiate } = require('./negotiate');
const { validate } = require('./validators');

const TYPES = { protocol: 'application/x-postgresql', values: 'application/json; charset=utf-8' };

/** A smaller body, where it is known from the start, is not worth compressing. */
const SMALL = 1024;

/** Statuses of answers without a body. */
const BODILESS = new Set([204, 304]);

/** An HTTP response, whose headers are decided when it is known what comes. */
class ResponseTarget extends Target {
  #begun = false;
  #options;
  #request;
  #unchanged = false; // the reader has the answer already

  /**
   * @param {IncomingMessage|Http2ServerRequest} request
   * @param {ServerResponse|Http2ServerResponse} response
   * @param {object} options `{ type, status, emptyStatus, encoding, stallTimeout }`
   */
  constructor(request, response, options) {
    super(response, options.stallTimeout);
    this.#request = request;
    this.#options = options;
  }

  /** See ResponseCache.queryTo. */
  fromCache(answer, age) {
    this.#unchanged = validate(this.#request, this.given, answer, age, this.#options);
    return this.#unchanged;
  }

  #statusOf(rowCount) {
    const { status, emptyStatus } = this.#options;
    return this.#unchanged ? 304 : rowCount === 0 ? emptyStatus : status;
  }

  begin(whole, rowCount) {
    const { given: response } = this;
    const { type, encoding } = this.#options;
    this.#begun = true;
    response.statusCode = this.#statusOf(rowCount);
    if (!BODILESS.has(response.statusCode)) {
      if (!response.hasHeader('content-type')) response.setHeader('content-type', type);
      const length = whole === undefined ? Infinity : whole?.length ?? 0;
      const plain = encoding === undefined || length < SMALL || response.hasHeader('content-encoding') ||
        /no-transform/.test(response.getHeader('cache-control'));
      if (!plain) this.#compress(encoding);
      else if (length < Infinity) response.setHeader('content-length', length);
    }
    super.begin();
  }

  end(piece, rowCount) {
    const bodiless = !this.#begun && BODILESS.has(this.#statusOf(rowCount));
    return super.end(bodiless ? undefined : piece, rowCount);
  }

  #compress(encoding) {
    this.given.setHeader('content-encoding', encoding);
    const compressor = COMPRESSORS[encoding]();
    pipeline(compressor, this.stream, () => {});
    this.stream = compressor;
  }
}

/** Adds a field to the Vary header. */
function vary(response, field) {
  const before = response.getHeader('vary');
  if (before === undefined) response.setHeader('vary', field);
  else if (!/\*|accept-encoding/i.test(before)) response.setHeader('vary', `${before}, ${field}`);
}

/**
 * Answers an HTTP request with the result of a query: `queryTo` with the headers that belong to it. Sets the content
 * type (application/x-postgresql; with `as: 'values'` application/json) unless it is set already, and compresses with
 * Brotli, gzip or deflate as the request allows. Of a ResponseCache, it sets ETag and Cache-Control, and says 304 to
 * a reader that has the answer. It answers to HEAD without running the query. A query that fails before anything is
 * written rejects, and the response is the handler's to answer with.
 * @param {Client|Session|Pool|ResponseCache} session what has `queryTo`
 * @param {IncomingMessage|Http2ServerRequest} request
 * @param {ServerResponse|Http2ServerResponse} response
 * @param {string} text
 * @param {Array|Row} [values=[]]
 * @param {object} [options] those of `queryTo` but `end`, and:
 * @param {number} [options.status=response.statusCode]
 * @param {number} [options.emptyStatus=options.status] where the command reports no rows, such as 404
 * @param {boolean} [options.compress=true]
 * @returns {Promise<{cmd: string, rowCount: number, bytes: number}>} as of `queryTo`; bytes before compression
 */
async function respond(session, request, response, text, values = [], options = {}) {
  if (typeof session?.queryTo !== 'function') throw new TypeError('session must have a method queryTo');
  if (typeof response?.setHeader !== 'function') throw new TypeError('response must be one of an HTTP server');
  const { status = response.statusCode, emptyStatus = status, compress = true, end, ...plain } = options;
  if (end !== undefined) throw new TypeError('there is no option end here: a response is ended');
  const type = TYPES[plain.as ?? 'protocol'];
  if (compress) vary(response, 'Accept-Encoding');
  if (request.method === 'HEAD') {
    response.statusCode = status;
    if (!response.hasHeader('content-type') && type !== undefined) response.setHeader('content-type', type);
    response.end();
    return { cmd: undefined, rowCount: 0, bytes: 0 };
  }
  const encoding = compress ? negotiate(request.headers['accept-encoding']) : undefined;
  const stallTimeout = plain.stall_timeout;
  const target = new ResponseTarget(request, response, { type, status, emptyStatus, encoding, stallTimeout });
  return session.queryTo(target, text, values, plain);
}

module.exports = { respond };
