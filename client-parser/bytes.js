// Reading numbers and strings out of bytes; nothing in here knows messages or types.

/** @returns {number} the signed 32-bit integer at `off`, most significant byte first */
export function int32(bytes, off) {
  return uint16(bytes, off) << 16 | uint16(bytes, off + 2);
}

/** @returns {number} the signed 16-bit integer at `off` */
export function int16(bytes, off) {
  return uint16(bytes, off) << 16 >> 16;
}

/** @returns {number} the unsigned 16-bit integer at `off` */
export function uint16(bytes, off) {
  return bytes[off] << 8 | bytes[off + 1];
}

// A byte order mark is data like any other character.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const fromCharCode = String.fromCharCode;

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
  const length = end - start;
  if (length <= SHORT) {
    const chars = codes[length];
    let all = 0;
    for (let i = 0; i < length; i++) all |= chars[i] = bytes[start + i];
    if (all < 128) return fromCharCode.apply(null, chars);
  }
  return decoder.decode(bytes.subarray(start, end));
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
