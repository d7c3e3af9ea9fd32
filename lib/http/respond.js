'use strict';

const { pipeline } = require('node:stream');
const { checkText, checkValues, isPiece, kindOf } = require('../core/protocol');
const { NAMES, NO_OPTIONS, checkOptions, checkNumber } = require('../core/options');
const { handOut, promised, throwIfAborted, watchSignal } = require('../core/pipeline');
const { Target } = require('../core/stream');
const { Csv } = require('./csv');
const { COMPRESSORS, TYPES, encodingFor, representationFor } = require('./negotiate');
const { validate } = require('./validators');
const { WebResponse } = require('./web-response');

/**
 * What Accept chooses from, the best first. Protocol bytes also tell the OIDs of tables, so they are sent only if
 * Accept names them.
 */
const REPRESENTATIONS = ['protocol', 'json', 'ndjson', 'csv'];

/** All options. A session without a cache rejects the last ones itself. */
const OPTIONS = new Set([
  'as',
  'status',
  'emptyStatus',
  'compress',
  'formulas',
  ...NAMES.queryTo,
  'tags',
  'max_age',
  'stale_while_revalidate'
]);
OPTIONS.delete('end');

/** A body that is known to be smaller is not worth compressing. */
const SMALL = 1024;

/** Fields of the Vary header: plus 1 if Accept chooses, plus 2 if Accept-Encoding does. */
const VARYING = [[], ['Accept'], ['Accept-Encoding'], ['Accept', 'Accept-Encoding']];

const BODILESS = new Set([204, 205, 304]);

/**
 * @returns {object} the entity tag that the handler has set, weak: other bytes need another strong one
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-8.8.3.3
 */
function weakened(response) {
  const etag = String(response.getHeader('etag'));
  return etag.startsWith('"') ? { etag: `W/${etag}` } : {};
}

/** Headers that hold for the body's bytes alone as they are. */
const OF_BYTES = ['content-encoding', 'content-digest', 'repr-digest', 'digest', 'content-md5'];

/** Whether the handler has set a header that would be wrong beside compressed bytes, or forbids them. */
const keepsBytes = response =>
  OF_BYTES.some(name => response.hasHeader(name)) ||
  /^bytes\b/i.test(response.getHeader('content-range')) ||
  /\bno-transform\b/i.test(response.getHeader('cache-control'));

/** An HTTP response, whose headers are decided right before the first byte. */
class ResponseTarget extends Target {
  #options;
  #request;
  #sent; // the response, also behind a compressor
  #unchanged = false; // the HTTP client has the answer already

  constructor(request, response, options) {
    super(response, options.stallTimeout);
    this.#request = request;
    this.#sent = this.stream;
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
    const { type, encoding, varying } = this.#options;
    const status = this.#statusOf(rowCount);
    const isBodiless = BODILESS.has(status);
    const headers = headersOf(response, varying, isBodiless);
    let isCompressed = false;
    if (!isBodiless) {
      if (!response.hasHeader('content-type')) headers['content-type'] = type;
      const length = whole === undefined ? Infinity : (whole?.length ?? 0);
      isCompressed = encoding !== undefined && length >= SMALL && !keepsBytes(response);
      if (isCompressed) Object.assign(headers, { 'content-encoding': encoding, ...weakened(response) });
      else if (length < Infinity && !CHUNKED.some(name => response.hasHeader(name))) headers['content-length'] = length;
    }
    response.writeHead(status, headers);
    if (isCompressed) this.#compress(encoding);
  }

  #isBodiless(rowCount) {
    return !this.begun && BODILESS.has(this.#statusOf(rowCount));
  }

  write(piece) {
    return this.#isBodiless() || super.write(piece);
  }

  end(piece, rowCount) {
    return super.end(this.#isBodiless(rowCount) ? undefined : piece, rowCount);
  }

  /**
   * Destroys the response behind a compressor at once, so that the handler cannot take it for one that has not begun.
   */
  destroy(error) {
    // Where no head was sent, Bun would send that of an empty answer.
    if (process.versions?.bun) this.given.flushHeaders?.();
    super.destroy(error);
    this.#sent.destroy(error);
  }

  #compress(encoding) {
    const compressor = COMPRESSORS[encoding]();
    pipeline(compressor, this.#sent, () => {});
    this.stream = compressor;
  }
}

const isStatus = value => Number.isInteger(value) && value >= 200 && value < 600;
const checkIsStatus = checkNumber('an integer from 200 to 599', isStatus);

function checkStatus(options, name) {
  if (options[name] !== undefined) checkIsStatus(options[name], name);
}

/** Checks everything before a header is set or a query is sent. */
function check(response, options) {
  if (response.headersSent || response.writableEnded) throw new TypeError('the response was already sent');
  if (options?.end !== undefined) throw new TypeError('respond has no option end: it always ends the response');
  checkOptions(options, OPTIONS);
  checkStatus(options, 'status');
  checkStatus(options, 'emptyStatus');
  if (options.compress !== undefined && typeof options.compress !== 'boolean')
    throw new TypeError(`compress must be a boolean, not ${kindOf(options.compress)}`);
  if (![undefined, 'keep', 'escape'].includes(options.formulas))
    throw new TypeError("formulas must be 'keep' or 'escape'");
}

/** Headers of a body in chunks. */
const CHUNKED = ['transfer-encoding', 'trailer'];

/**
 * Removes Content-Length, which the handler has set for another body, and where nothing comes in chunks, what tells of
 * them: Node.js would throw.
 * @returns {object} the Vary header with the fields added
 */
function headersOf(response, fields, isBodiless) {
  const isWhole = isBodiless || response.useChunkedEncodingByDefault === false; // by HTTP/1.0
  const removed = ['content-length', ...(isWhole ? CHUNKED : [])];
  for (const name of removed) if (response.hasHeader(name)) response.removeHeader(name);
  const before = String(response.getHeader('vary') ?? '')
    .split(',')
    .map(field => field.trim())
    .filter(Boolean);
  const known = new Set(before.map(field => field.toLowerCase()));
  const missing = known.has('*') ? [] : fields.filter(field => !known.has(field.toLowerCase()));
  const vary = [...before, ...missing].join(', ');
  return vary === '' ? {} : { vary };
}

/** The options that queryTo does not have. */
const OWN_OPTIONS = ['status', 'emptyStatus', 'compress', 'formulas'];

function answerAlone(response, varying, status, type, body) {
  const headers = headersOf(response, varying, body === undefined);
  if (type !== undefined) headers['content-type'] = type;
  response.writeHead(status, headers);
  response.end(body);
  return { cmd: undefined, rowCount: 0, bytes: 0 };
}

function checkOffered(offered) {
  if (offered.length > 0 && offered.every(name => Object.hasOwn(TYPES, name))) return;
  throw new TypeError(`as must be one of ${Object.keys(TYPES).join(', ')}, or an array of these`);
}

/** The part that both kinds of `respond` share; `response` is like those of Node's servers. */
function answer(session, request, response, ...query) {
  const statement = isPiece(query[0]) ? query.slice(0, 1) : [query[0], query[1]];
  const { [statement.length]: options = NO_OPTIONS } = query;
  check(response, options);
  if (statement.length > 1) {
    checkText(statement[0], 'text');
    if (statement[1] !== undefined) checkValues(statement[1]);
  }
  const typed = response.hasHeader('content-type');
  const { as = options.format === 1 ? 'protocol' : typed ? 'json' : REPRESENTATIONS, compress = true } = options;
  const { status = response.statusCode, emptyStatus = status } = options;
  const isChosen = typeof as === 'string';
  if (as !== REPRESENTATIONS && !(isChosen && Object.hasOwn(TYPES, as))) checkOffered([as].flat());
  const { method, headers } = request;
  const { otherwise = session } = session; // what quickgres/live asks if Accept does not name it
  const isLive = otherwise !== session && representationFor(headers.accept, ['live'], 'live') !== undefined;
  const isCompressed = compress && !isLive; // live pieces are sent as they come
  const varying = VARYING[(isChosen && otherwise === session ? 0 : 1) + (isCompressed ? 2 : 0)];
  const named = isChosen ? as : representationFor(headers.accept, as, as === REPRESENTATIONS ? 'protocol' : '');
  const chosen = isLive ? 'live' : named;
  const type = TYPES[chosen];
  if (chosen === undefined) {
    const list = method === 'HEAD' ? undefined : as.map(name => `${TYPES[name]}\n`).join('');
    return answerAlone(response, varying, 406, 'text/plain; charset=utf-8', list);
  }
  if (method === 'HEAD') return answerAlone(response, varying, status, typed ? undefined : type);
  const encoding = isCompressed ? encodingFor(headers['accept-encoding']) : undefined;
  const own = { type, status, emptyStatus, encoding, stallTimeout: options.stall_timeout, varying };
  const plain = { ...options, as: chosen === 'csv' ? new Csv(options.formulas === 'escape') : chosen };
  for (const name of OWN_OPTIONS) delete plain[name];
  const asked = isLive ? session : otherwise;
  return asked.queryTo(new ResponseTarget(request, response, own), ...statement, plain);
}

function answerWeb(session, request, ...query) {
  if (typeof request?.headers?.get !== 'function') {
    throw new TypeError('request must be a Request, or be followed by a response of node:http');
  }
  const { method, headers, signal } = request;
  throwIfAborted({ signal });
  const response = new WebResponse();
  response.req = request; // in Node.js, its signal does not abort once it was collected
  const written = Promise.resolve(
    answer(session, { method, headers: Object.fromEntries(headers) }, response, ...query)
  );
  const unwatch = signal && watchSignal(signal, error => response.destroy(error));
  written.catch(() => {}).finally(unwatch);
  // A live result only resolves if its reader leaves before the first byte.
  const unbegun = written.then(() => Promise.reject(response.errored));
  return Promise.race([response.begun, unbegun]);
}

/** Chooses the kind of response. */
function choose(session, request, response, query) {
  if (typeof session?.queryTo !== 'function') {
    throw new TypeError('session must be a Client, a Pool, a transaction or a ResponseCache');
  }
  if (typeof response === 'string' || isPiece(response)) return answerWeb(session, request, response, ...query);
  if (response === undefined) return answerWeb(session, request, ...query);
  if (typeof response?.setHeader !== 'function') throw new TypeError('response must be one of node:http or node:http2');
  return answer(session, request, response, ...query);
}

/**
 * Answers an HTTP request with the result of a query: see index.d.ts.
 * @param {ServerResponse|Http2ServerResponse} [response] omitted for a WHATWG Request
 * @param {...*} query text, values, options
 */
function respond(session, request, response, ...query) {
  return promised(() => handOut(choose(session, request, response, query)));
}

module.exports = { respond };
