'use strict';

const { createHash } = require('node:crypto');

/** Whole seconds, at most as many as a cache can count. */
const seconds = time => Math.min(Math.max(0, Math.floor(time / 1000)), 2 ** 31);

/** The entity tag of an answer. It is weak, since the response may be compressed. */
function etagOf(answer) {
  answer.etag ??= `W/"${createHash('sha256').update(answer.body).digest('base64url').slice(0, 22)}"`;
  return answer.etag;
}

/**
 * Limits HTTP caches to the time in which this cache would give the answer. An answer with tags must be revalidated,
 * since HTTP caches do not hear of invalidations; so must one that depends on values or settings, since the next user
 * of a browser may have others at the same URL.
 * @param {number} age milliseconds
 * @returns {string} the Cache-Control header
 */
function cacheControl({ tags, isPersonal, maxAge, stale }, age) {
  if (tags.length > 0 || isPersonal) return 'private, no-cache';
  const fresh = maxAge - age;
  return `private, max-age=${seconds(fresh)}, stale-while-revalidate=${seconds(Math.min(stale, fresh + stale))}`;
}

/**
 * Sets ETag and Cache-Control, unless the handler has set its own.
 * @returns {boolean} whether the HTTP client has the answer already
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
