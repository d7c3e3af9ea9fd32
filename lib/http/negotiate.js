'use strict';

const zlib = require('node:zlib');

const { BROTLI_OPERATION_FLUSH, BROTLI_PARAM_QUALITY, Z_SYNC_FLUSH } = zlib.constants;

/** Brotli's default quality suits files that are compressed once: it is fifty times slower, for a tenth of the size. */
const BROTLI = { params: { [BROTLI_PARAM_QUALITY]: 4 }, flush: BROTLI_OPERATION_FLUSH };

/**
 * Compressors by their names in HTTP, the best first. Each flushes what it got, since rows may arrive slowly. That
 * costs 2 % in size.
 */
const COMPRESSORS = {
  br: () => zlib.createBrotliCompress(BROTLI),
  gzip: () => zlib.createGzip({ flush: Z_SYNC_FLUSH }),
  deflate: () => zlib.createDeflate({ flush: Z_SYNC_FLUSH })
};

const TYPES = {
  protocol: 'application/x-postgresql',
  json: 'application/json; charset=utf-8',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8',
  values: 'application/json; charset=utf-8'
};
// Only quickgres/live has this one.
Object.defineProperty(TYPES, 'live', { value: 'application/x-postgresql-live' });

/** Parsed headers, since most requests have one of a few. Long headers are not remembered. */
const known = new Map();
const MOST = 100;
const LONGEST = 256;

/** A text in quotes, whose commas and semicolons divide nothing; without its last quote it reaches to the end. */
const QUOTED = /"(?:[^"\\]|\\.)*(?:"|\\?$)/gs;

/**
 * The names in a header such as Accept, each with its weight, which is 0 if it is not a number. Other parameters are
 * ignored.
 * @see https://www.rfc-editor.org/rfc/rfc9110#name-quality-values
 */
function weightsOf(header) {
  const before = known.get(header);
  if (before !== undefined) return before;
  const weights = new Map();
  for (const item of header.toLowerCase().replace(QUOTED, '').split(',')) {
    const [name, ...parameters] = item.split(';').map(part => part.trim());
    const q = parameters.find(parameter => parameter.startsWith('q='));
    const weight = q === undefined ? 1 : Number(q.slice(2));
    weights.set(name, Math.max(weights.get(name) ?? 0, weight || 0));
  }
  if (known.size < MOST && header.length <= LONGEST) known.set(header, weights);
  return weights;
}

/** @returns {string|undefined} the first name with the greatest weight above 0 */
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
 * @param {string} [accepted] the Accept-Encoding header
 * @returns {string|undefined} 'br', 'gzip' or 'deflate'; undefined for no compression
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
 * @param {string} [accepted] the Accept header; without one, or with an empty one, all are acceptable
 * @param {string[]} offered names of TYPES, the best first
 * @param {string} [byName] one that a wildcard does not mean
 * @returns {string|undefined} one of them; undefined if none is acceptable
 * @see https://www.rfc-editor.org/rfc/rfc9110#name-accept
 */
function representationFor(accepted, offered, byName) {
  const weights = weightsOf(accepted?.trim() || '*/*');
  return heaviest(offered, name => {
    const [type] = TYPES[name].split(';');
    if (weights.has(type) || name === byName) return weights.get(type);
    return weights.get(`${type.split('/')[0]}/*`) ?? weights.get('*/*');
  });
}

module.exports = { COMPRESSORS, TYPES, encodingFor, representationFor };
