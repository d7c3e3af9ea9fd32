'use strict';

const { createHash } = require('node:crypto');

/** Whole seconds of milliseconds; what is longer than a cache can count is that. */
const seconds = time => Math.min(Math.max(0, Math.floor(time / 1000)), 2 ** 31);

/**
 * The entity tag of an answer of a ResponseCache; a weak one, since the answer may be compressed or not.
 * @param {object} answer keeps it
 * @returns {string}
 */
function etagOf(answer) {
  answer.etag ??= `W/"${createHash('sha256').update(answer.body).digest('base64url').slice(0, 22)}"`;
  return answer.etag;
}

/**
 * How long caches between here and the reader may keep an answer: not longer than it would be given here. One
 * with tags can be invalidated, of which they would not hear.
 * @param {object} answer of a ResponseCache
 * @param {number} age milliseconds
 * @returns {string} a Cache-Control header
 */
function cacheControl({ tags, maxAge, stale }, age) {
  if (tags.length > 0) return 'private, no-cache';
  const left = maxAge - age;
  return `private, max-age=${seconds(left)}, stale-while-revalidate=${seconds(Math.min(stale, left + stale))}`;
}

/**
 * Sets ETag and Cache-Control of a response, unless the handler has set its own.
 * @param {IncomingMessage|Http2ServerRequest} request
 * @param {ServerResponse|Http2ServerResponse} response
 * @param {object} answer of a ResponseCache
 * @param {number} age milliseconds
 * @param {{status: number, emptyStatus: number}} options
 * @returns {boolean} whether the reader has the answer already
 * @see https://www.rfc-editor.org/rfc/rfc9110#name-conditional-requests
 */
function validate(request, response, answer, age, { status, emptyStatus }) {
  if (!answer.kept || Math.floor((answer.rowCount === 0 ? emptyStatus : status) / 100) !== 2) return false;
  if (!response.hasHeader('cache-control')) response.setHeader('cache-control', cacheControl(answer, age));
  if (response.hasHeader('etag')) return false;
  const etag = etagOf(answer);
  response.setHeader('etag', etag);
  const known = request.headers['if-none-match'];
  if (known === undefined || request.method !== 'GET') return false;
  return known.trim() === '*' || (known.match(/"[^"]*"/g) ?? []).includes(etag.slice(2));
}

module.exports = { validate, etagOf, cacheControl };
