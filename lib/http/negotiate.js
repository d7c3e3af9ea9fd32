'use strict';

const { zlib } = require('#platform');

const { BROTLI_OPERATION_FLUSH, BROTLI_PARAM_QUALITY, Z_SYNC_FLUSH } = zlib.constants;

/** Brotli's default is for files that are compressed once: fifty times slower, for a tenth of the size. */
const BROTLI = { params: { [BROTLI_PARAM_QUALITY]: 4 }, flush: BROTLI_OPERATION_FLUSH };

/** By the names of HTTP, the best first. All give at once what they got: rows may come slowly. It costs 2 % in size. */
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

module.exports = { COMPRESSORS, negotiate };
