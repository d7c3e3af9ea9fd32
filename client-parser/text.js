// What a platform does for strings and bytes: here a browser, by TextDecoder.

// A byte order mark is data like any other character.
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
const latin1 = new TextDecoder('latin1');

/**
 * Decodes UTF-8; what is no UTF-8 becomes U+FFFD.
 * @param {Uint8Array} bytes
 * @param {number} start
 * @param {number} end
 * @returns {string}
 */
export const text = (bytes, start, end) => bytes.utf8Slice
  ? bytes.utf8Slice(start, end) // of Node's Buffers, in a third of the time
  : utf8.decode(bytes.subarray(start, end));

/** @returns {string} of one character a byte; the same as `text` where all are ASCII */
export const characters = (bytes, start, end) => latin1.decode(bytes.subarray(start, end));

/** A longer value is not looked at byte by byte to see whether it is ASCII. */
const LONG = 64;
/** The string of a larger chunk is not made: it would stay in memory with each part of it. */
const LARGEST = 1 << 20;

/**
 * A value in text format. A part of a string costs a fraction of a string made from bytes, so all bytes of a chunk are
 * made one.
 */
export function textAt(chunk, start, end) {
  const { bytes } = chunk;
  if (end - start < LONG && chunk.text !== undefined && chunk.end - chunk.start < LARGEST) {
    let all = 0;
    for (let i = start; i < end; i++) all |= bytes[i];
    if (all < 128) {
      chunk.text ??= characters(bytes, chunk.start, chunk.end);
      return chunk.text.substring(start - chunk.start, end - chunk.start);
    }
  }
  return text(bytes, start, end);
}

/** Whether it is an ArrayBuffer or a view of one; `instanceof` does not know those of another frame. */
export const isBytes = data => data?.byteLength >= 0;

/**
 * @param {ArrayBuffer|SharedArrayBuffer|ArrayBufferView} data
 * @returns {Uint8Array} over the same memory
 * @throws {TypeError} if it is something else
 */
export function view(data) {
  if (!isBytes(data)) throw new TypeError('expected bytes');
  return data.buffer ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data);
}
