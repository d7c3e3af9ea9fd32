'use strict';

const zlib = require('node:zlib');

const { BROTLI_OPERATION_FLUSH, BROTLI_PARAM_QUALITY, Z_SYNC_FLUSH } = zlib.constants;

/** Brotli's default is for files that are compressed once: fifty times slower, for a tenth of the size. */
const BROTLI = { params: { [BROTLI_PARAM_QUALITY]: 4 }, flush: BROTLI_OPERATION_FLUSH };

/** By the names of HTTP, the best first. All give at once what they got: rows may come slowly. It costs 2 % in size. */
const COMPRESSORS = {
  br: () => zlib.createBrotliCompress(BROTLI),
  gzip: () => zlib.createGzip({ flush: Z_SYNC_FLUSH }),
  deflate: () => zlib.createDeflate({ flush: Z_SYNC_FLUSH })
};

/** Content types by the option `as`. */
const TYPES = {
  protocol: 'application/x-postgresql',
  json: 'application/json; charset=utf-8',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8',
  values: 'application/json; charset=utf-8'
};

/** Headers that are remembered with their weights, since most requests have one of a few; longer ones are not. */
const known = new Map();
const MOST = 100;
const LONGEST = 256;

/**
 * What a header such as Accept names, each with its weight, 0 where that is no number; of no other parameter is
 * anything read.
 * @param {string} header
 * @returns {Map<string, number>}
 * @see https://www.rfc-editor.org/rfc/rfc9110#name-quality-values
 */
function weightsOf(header) {
  const before = known.get(header);
  if (before !== undefined) return before;
  const weights = new Map();
  for (const item of header.toLowerCase().split(',')) {
    const [name, ...parameters] = item.split(';').map(part => part.trim());
    const q = parameters.find(parameter => parameter.startsWith('q='));
    const weight = q === undefined ? 1 : Number(q.slice(2));
    weights.set(name, Math.max(weights.get(name) ?? 0, weight || 0));
  }
  if (known.size < MOST && header.length <= LONGEST) known.set(header, weights);
  return weights;
}

/** @returns {string|undefined} the first of those that weigh most; undefined where nothing weighs more than 0 */
function heaviest(names, weightOf) {
  let best;
  let most = 0;
  for (const name of names) {
    const weight = weightOf(name) ?? 0;
    if (weight > most) [best, most] = [name, weight];
  }
  return best;
}

/**
 * The compression to use for a reader.
 * @param {string} [accepted] the Accept-Encoding header
 * @returns {string|undefined} 'br', 'gzip' or 'deflate'; undefined for none
 * @see https://www.rfc-editor.org/rfc/rfc9110#name-accept-encoding
 */
function encodingFor(accepted) {
  if (!accepted) return undefined;
  const weights = weightsOf(accepted);
  const weightOf = name => weights.get(name) ?? weights.get(`x-${name}`) ?? weights.get('*');
  const best = heaviest(Object.keys(COMPRESSORS), weightOf);
  return weightOf(best) >= (weights.get('identity') ?? 0) ? best : undefined;
}

/**
 * The representation to send a reader.
 * @param {string} [accepted] the Accept header; without one, or with an empty one, the reader takes anything
 * @param {string[]} offered names of TYPES, the best first
 * @returns {string|undefined} one of them; undefined where the reader takes none
 * @see https://www.rfc-editor.org/rfc/rfc9110#name-accept
 */
function representationFor(accepted, offered) {
  const weights = weightsOf(accepted?.trim() || '*/*');
  return heaviest(offered, name => {
    const [type] = TYPES[name].split(';');
    return weights.get(type) ?? weights.get(`${type.split('/')[0]}/*`) ?? weights.get('*/*');
  });
}

module.exports = { COMPRESSORS, TYPES, encodingFor, representationFor };
