// What a platform does for strings and bytes: here a browser, by TextDecoder.

// A byte order mark is data like any other character.
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
const latin1 = new TextDecoder('latin1');

/** Up to this many bytes, characters put together here are faster than a call into the runtime. */
const SHORT = 24;
const codes = Array.from({ length: SHORT + 1 }, (_, length) => new Array(length).fill(0));

/**
 * Decodes UTF-8; what is no UTF-8 becomes U+FFFD.
 * @param {Uint8Array} bytes
 * @param {number} start
 * @param {number} end
 * @returns {string}
 */
export function text(bytes, start, end) {
  if (bytes.utf8Slice) return bytes.utf8Slice(start, end); // of Node's Buffers
  const length = end - start;
  if (length <= SHORT) {
    const chars = codes[length];
    let all = 0;
    for (let i = 0; i < length; i++) all |= chars[i] = bytes[start + i];
    if (all < 128) return String.fromCharCode.apply(null, chars);
  }
  return utf8.decode(bytes.subarray(start, end));
}

/** Where it is the decoder of a column, that is read as a column without one is: from the text of its chunk. */
text.plain = true;

/** @returns {string} of one character a byte; the same as `text` where all are ASCII */
export const characters = (bytes, start, end) => latin1.decode(bytes.subarray(start, end));

/** A longer value is not looked at byte by byte to see whether it is ASCII. */
const LONG = 64;
/** The string of a larger chunk is not made: it would stay in memory with each part of it. */
const LARGEST = 1 << 20;

/**
 * A value in text format. A part of a string costs a fraction of a string made from bytes; so all bytes of a chunk are
 * made one when a value for each 64 of them has been read.
 */
export function textAt(chunk, start, end) {
  const { bytes } = chunk;
  if (end - start < LONG) {
    const size = chunk.end - chunk.start;
    if (chunk.text === null && ++chunk.reads * 64 > size && size < LARGEST) {
      chunk.text = characters(bytes, chunk.start, chunk.end);
    }
    if (chunk.text) {
      let all = 0;
      for (let i = start; i < end; i++) all |= bytes[i];
      if (all < 128) return chunk.text.substring(start - chunk.start, end - chunk.start);
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
