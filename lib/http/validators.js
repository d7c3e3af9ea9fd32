'use strict';

const { Buffer } = require('#platform');
const { createHash } = require('#platform').crypto;

/** Whole seconds of milliseconds; what is longer than a cache can count is that. */
const seconds = time => Math.min(Math.max(0, Math.floor(time / 1000)), 2 ** 31);

/**
 * The entity tag of an answer in one of its forms; a weak one, since the answer may be compressed or not.
 * @param {Answer} answer
 * @param {object} options `as` and `separator` of Session.queryTo
 * @returns {string}
 */
function etagOf(answer, { as, separator = '' }) {
  if (answer.etag === undefined) {
    answer.etag = createHash('sha256').update(answer.body).digest('base64url').slice(0, 22);
  }
  return `W/"${answer.etag}${as === 'values' ? `.${Buffer.from(separator).toString('base64url')}` : ''}"`;
}

/**
 * How long caches between here and the reader may keep an answer: not longer than it would be given here. One
 * with tags can be invalidated, of which they would not hear.
 * @param {Answer} answer of a ResponseCache
 * @returns {string} a Cache-Control header
 */
function cacheControl(answer) {
  const { cache, settings: { tags, maxAge, stale } } = answer;
  if (tags.length > 0) return 'private, no-cache';
  const left = maxAge - cache.age(answer);
  const after = Math.min(stale, left + stale);
  return `private, max-age=${seconds(left)}, stale-while-revalidate=${seconds(after)}`;
}

/**
 * Sets ETag and Cache-Control of a response, unless the handler has set its own.
 * @param {IncomingMessage|Http2ServerRequest} request
 * @param {ServerResponse|Http2ServerResponse} response
 * @param {Answer} answer
 * @param {object} options those of Session.respond
 * @returns {boolean} whether the reader has the answer already
 * @see https://www.rfc-editor.org/rfc/rfc9110#name-conditional-requests
 */
function validate(request, response, answer, options) {
  const { status = response.statusCode, emptyStatus = status } = options;
  if (Math.floor((answer.rowCount === 0 ? emptyStatus : status) / 100) !== 2) return false;
  if (!response.hasHeader('cache-control')) response.setHeader('cache-control', cacheControl(answer));
  if (response.hasHeader('etag')) return false;
  const etag = etagOf(answer, options);
  response.setHeader('etag', etag);
  const known = request.headers['if-none-match'];
  if (known === undefined || request.method !== 'GET') return false;
  return known.trim() === '*' || (known.match(/"[^"]*"/g) ?? []).includes(etag.slice(2));
}

module.exports = { validate, etagOf, cacheControl };
