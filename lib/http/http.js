'use strict';

const { Buffer, zlib } = require('#platform');
const { pipeline } = require('#platform').stream;
const { cachedToSink } = require('../cache/cached-query');
const { queryToSink } = require('../stream/query-to');
const { Sink } = require('../stream/target');
const { validate } = require('./validators');

const TYPES = { protocol: 'application/x-postgresql', values: 'application/json; charset=utf-8' };

/** A smaller body, where it is known from the start, is not worth compressing. */
const SMALL = 1024;

const { BROTLI_OPERATION_FLUSH, BROTLI_PARAM_QUALITY, Z_SYNC_FLUSH } = zlib.constants;

/** Brotli's default is for files that are compressed once: fifty times slower, for a tenth of the size. */
const BROTLI = { params: { [BROTLI_PARAM_QUALITY]: 4 }, flush: BROTLI_OPERATION_FLUSH };

/** By the names of HTTP, the best first. All give at once what they got: rows may come slowly. It costs them 2 % in size. */
const COMPRESSORS = {
  br: () => zlib.createBrotliCompress(BROTLI),
  gzip: () => zlib.createGzip({ flush: Z_SYNC_FLUSH }),
  deflate: () => zlib.createDeflate({ flush: Z_SYNC_FLUSH })
};

/**
 * The compression to use for a reader.
 * @param {string} [accepted] the Accept-Encoding header
 * @returns {string|undefined} 'br', 'gzip' or 'deflate'; undefined for none
 * @see https://www.rfc-editor.org/rfc/rfc9110#name-accept-encoding
 */
function negotiate(accepted = '') {
  const weights = new Map();
  for (const item of accepted.toLowerCase().split(',')) {
    const [name, ...parameters] = item.split(';').map(part => part.trim());
    const q = parameters.find(parameter => parameter.startsWith('q='));
    const weight = q === undefined ? 1 : Number(q.slice(2));
    weights.set(name === 'x-gzip' ? 'gzip' : name, weight >= 0 ? Math.min(weight, 1) : 0);
  }
  let best;
  let most = 0;
  for (const name in COMPRESSORS) {
    const weight = weights.get(name) ?? weights.get('*') ?? 0;
    if (weight > most) [best, most] = [name, weight];
  }
  return most > 0 && most >= (weights.get('identity') ?? 0) ? best : undefined;
}

/** An HTTP response, whose headers are decided when it is known what comes. */
class ResponseSink extends Sink {
  /**
   * @param {ServerResponse|Http2ServerResponse} response
   * @param {object} options
   * @param {string} options.type
   * @param {number} options.status
   * @param {number} options.emptyStatus
   * @param {string} [options.encoding]
   */
  constructor(response, { type, status, emptyStatus, encoding }) {
    super(response);
    const flush = this._begin;
    this._bodiless = false;
    /** Whether the reader has the answer already. */
    this.unchanged = false;
    this._begin = (whole, rowCount) => {
      response.statusCode = this.unchanged ? 304 : rowCount === 0 ? emptyStatus : status;
      this._bodiless = response.statusCode === 204 || response.statusCode === 304;
      if (!this._bodiless) {
        if (!response.hasHeader('content-type')) response.setHeader('content-type', type);
        const plain = encoding === undefined || response.hasHeader('content-encoding') ||
          /no-transform/.test(response.getHeader('cache-control')) || (whole !== undefined && whole.length < SMALL);
        if (!plain) this._compress(encoding);
        else if (whole !== undefined) response.setHeader('content-length', whole.length);
      }
      if (flush !== undefined) flush();
    };
  }

  _compress(encoding) {
    this.target.setHeader('content-encoding', encoding);
    const compressor = COMPRESSORS[encoding]();
    pipeline(compressor, this.stream, () => {});
    this.stream = compressor;
    this.returns = true;
  }

  end(piece = Buffer.alloc(0), rowCount) {
    if (!this.gone) this._start(piece, rowCount);
    return super.end(this._bodiless ? undefined : piece);
  }
}

/** Adds a field to the Vary header. */
function vary(response, field) {
  const before = response.getHeader('vary');
  if (before === undefined) response.setHeader('vary', field);
  else if (!/\*|accept-encoding/i.test(before)) response.setHeader('vary', `${before}, ${field}`);
}

/**
 * Answers an HTTP request with the result of a query, see Session.respond.
 * @param {Session} session
 * @param {IncomingMessage|Http2ServerRequest} request
 * @param {ServerResponse|Http2ServerResponse} response
 */
function respond(session, request, response, text, values, options) {
  const { as = 'protocol', status = response?.statusCode, emptyStatus = status, compress = true } = options;
  if (typeof response?.setHeader !== 'function') throw new TypeError('response must be one of an HTTP server');
  const type = TYPES[as];
  if (compress) vary(response, 'Accept-Encoding');
  if (request.method === 'HEAD') {
    response.statusCode = status;
    if (!response.hasHeader('content-type') && type !== undefined) response.setHeader('content-type', type);
    response.end();
    return Promise.resolve({ cmd: undefined, rowCount: 0, bytes: 0 });
  }
  const encoding = compress ? negotiate(request.headers['accept-encoding']) : undefined;
  const sink = new ResponseSink(response, { type, status, emptyStatus, encoding });
  options = { ...options, status, emptyStatus, end: true };
  if (options.response_cache === undefined) return queryToSink(session, sink, text, values, options);
  sink.onanswer = answer => (sink.unchanged = validate(request, response, answer, options));
  return cachedToSink(session, sink, text, values, options);
}

module.exports = { respond, negotiate };
