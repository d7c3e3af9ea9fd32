// The platform's functions for strings and bytes, here a browser's.

let utf8;

/** Decodes UTF-8; invalid bytes become U+FFFD, and a byte order mark is an ordinary character. */
// Node's Buffers have `utf8Slice`; Jest's jsdom has no TextDecoder.
export const text = (bytes, start, end) =>
  bytes.utf8Slice?.(start, end) ??
  (utf8 ||= new TextDecoder('utf8', { ignoreBOM: true })).decode(bytes.subarray(start, end));

/** A column with this decoder is read like one without. */
text.plain = true;

/** Memory for one number, since a DataView for each value would cost more than the value. */
export const octets = new Uint8Array(8);
export const scratch = new DataView(octets.buffer);

/** `instanceof` does not recognize an ArrayBuffer of another frame. */
export const isBytes = data => data?.byteLength >= 0;

/** The class of an object of any realm, where `instanceof` fails. JSON makes no tag. */
export const tagOf = value => Object.prototype.toString.call(value).slice(8, -1);

/**
 * @returns {Uint8Array} over the same memory
 * @throws {TypeError} for anything but an ArrayBuffer or a view
 */
export function view(data) {
  if (!isBytes(data)) throw new TypeError('expected bytes');
  return new Uint8Array(data.buffer ?? data, data.byteOffset, data.byteLength);
}
