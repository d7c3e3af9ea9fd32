// Values in text format: how their bytes become strings.

/** A string of fewer bytes is put together here: it costs less than a call into the runtime. */
const SHORT = 13;
/** A longer value is not looked at byte by byte to see whether it is ASCII. */
const LONG = 64;
/** When so many others have been read, a chunk of a size between these becomes a string: parts of it cost little. */
export const READS = 64;
const SMALLEST = 2048;
const LARGEST = 1 << 20;
/** So many strings of a column are known at a time: a power of two. */
const KNOWN = 2048;

/**
 * Strings of a column for who keeps the values of many rows: equal values become one string. What is kept is what
 * costs, since the garbage collector copies it twice.
 */
export class Known {
  #strings = new Array(KNOWN).fill('');
  #asked = 0;
  #found = 0;
  /** Whether at least a fourth of the last ones was known: else it is not worth asking. */
  useful = true;

  /**
   * @param {string} string
   * @param {number} hash of it, an integer
   * @returns {string|undefined} an equal one
   */
  find(string, hash) {
    if (++this.#asked === KNOWN) {
      this.useful = this.#found >= KNOWN >> 2;
      this.#asked = this.#found = 0;
    }
    const known = this.#strings[(hash ^ hash >>> 11) & KNOWN - 1];
    if (known !== string) return undefined;
    this.#found++;
    return known;
  }

  /** @returns {string} the same, which `find` knows from now on */
  keep(string, hash) { return (this.#strings[(hash ^ hash >>> 11) & KNOWN - 1] = string); }
}

/** Makes the chunk's string, if it has a size for that. */
export function makeText(chunk) {
  const { bytes, start, end, type: { platform } } = chunk;
  if (end - start >= SMALLEST && end - start <= LARGEST) chunk.text = platform.characters(bytes, start, end);
}

/**
 * @param {Chunk} chunk
 * @param {number} start
 * @param {number} end
 * @param {Known} [known] for who keeps the value: then it is no part of the chunk's string, which would be kept whole
 * @returns {string} the value in text format at [start, end)
 */
export function textAt(chunk, start, end, known) {
  const { bytes, type: { platform } } = chunk;
  const length = end - start;
  if (length >= LONG) return platform.text(bytes, start, end);
  if (length >= SHORT && chunk.text === null && --chunk.left === 0) makeText(chunk);
  let bits = 0;
  let hash = 0;
  for (let i = start; i < end; i++) {
    bits |= bytes[i];
    hash = Math.imul(hash, 31) + bytes[i] | 0;
  }
  const { text } = chunk;
  if (bits > 127 || (text === null && length >= SHORT)) return platform.text(bytes, start, end);
  if (text !== null) {
    if (known?.useful === false && length >= SHORT) return platform.characters(bytes, start, end);
    const part = text.substring(start - chunk.start, end - chunk.start);
    if (known === undefined || !known.useful) return part;
    return known.find(part, hash) ?? known.keep(length < SHORT ? part : platform.characters(bytes, start, end), hash);
  }
  let string = '';
  let i = start;
  for (; i < end - 3; i += 4) string += String.fromCharCode(bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]);
  for (; i < end; i++) string += String.fromCharCode(bytes[i]);
  return string;
}
