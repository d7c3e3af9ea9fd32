// What a platform does for strings and bytes: here a browser, by TextDecoder.

// A byte order mark is data like any other character.
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Decodes UTF-8; what is no UTF-8 becomes U+FFFD.
 * @param {Uint8Array} bytes
 * @param {number} start
 * @param {number} end
 * @returns {string}
 */
export const text = (bytes, start, end) =>
  bytes.utf8Slice?.(start, end) ?? utf8.decode(bytes.subarray(start, end)); // the former of Node's Buffers

/** As a column's decoder it says that the column is read as one without a decoder is. */
text.plain = true;

/** Memory for a number: a DataView for each value would cost more than the value. */
export const octets = new Uint8Array(8);
export const scratch = new DataView(octets.buffer);

/** Whether it is an ArrayBuffer or a view of one; `instanceof` does not know those of another frame. */
export const isBytes = data => data?.byteLength >= 0;

/**
 * @param {ArrayBuffer|SharedArrayBuffer|ArrayBufferView} data
 * @returns {Uint8Array} over the same memory
 * @throws {TypeError} if it is something else
 */
export function view(data) {
  if (!isBytes(data)) throw new TypeError('expected an ArrayBuffer or a view of one');
  return new Uint8Array(data.buffer ?? data, data.byteOffset, data.byteLength);
}
