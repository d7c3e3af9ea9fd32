// DataRow messages: numbers and values in their bytes, and what is made of all of a row.

/** @returns {number} the signed 32-bit integer at `off`, most significant byte first */
export function int32(bytes, off) {
  return bytes[off] << 24 | bytes[off + 1] << 16 | bytes[off + 2] << 8 | bytes[off + 3];
}

/** @returns {number} the signed 16-bit integer at `off` */
export function int16(bytes, off) {
  return uint16(bytes, off) << 16 >> 16;
}

/** @returns {number} the unsigned 16-bit integer at `off` */
export function uint16(bytes, off) {
  return bytes[off] << 8 | bytes[off + 1];
}

/** A run of DataRow or CopyData messages that follow one another in memory; rows point to it. */
export class Chunk {
  /**
   * @param {Uint8Array} bytes
   * @param {number} start where the first message begins in them
   * @param {number} end of the last message
   * @param {object|null} type of the rows, as RowDescription.type gives it; null for CopyData
   * @param {boolean} [fixed=true] whether the bytes never change
   */
  constructor(bytes, start, end, type, fixed = true) {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.type = type;
    /** @type {string|null|undefined} the bytes as characters; undefined where they may change: never made */
    this.text = fixed ? null : undefined;
    /** Values in text format that have been read, for the platform. */
    this.reads = 0;
    /** @type {Chunk|null} the next one of the result */
    this.next = null;
  }
}

/** Offset after the DataRow message that starts at `off`. */
export function messageEnd(bytes, off, platform) {
  const end = off + 1 + int32(bytes, off + 1);
  if (end < off + 7 || end > bytes.length) throw platform.error('DataRow of a wrong length');
  return end;
}

/** The length of the column whose length word is at `off`; never past the end of its message. */
export function columnLength(bytes, off, end, platform) {
  if (off + 4 > end) throw platform.error('DataRow with too few columns');
  const length = int32(bytes, off);
  if (length < -1 || off + 4 + length > end) throw platform.error('DataRow with a column longer than itself');
  return length;
}

/** Offset after so many columns of the row at `off`. */
export function skip(bytes, off, columns, end, platform) {
  off += 7;
  for (let i = 0; i < columns; i++) {
    const length = columnLength(bytes, off, end, platform);
    off += length < 0 ? 4 : 4 + length;
  }
  return off;
}

function checkCount(bytes, off, { count, platform }) {
  if (uint16(bytes, off + 5) !== count) throw platform.error('DataRow whose column count is not as described');
}

/**
 * Checks a whole DataRow.
 * @throws {Error} the platform's
 */
export function checkRow(bytes, off, type) {
  const { count, platform } = type;
  const end = messageEnd(bytes, off, platform);
  checkCount(bytes, off, type);
  if (skip(bytes, off, count, end, platform) !== end) throw platform.error('DataRow of a wrong length');
}

/** The value whose bytes are there. */
export function valueAt(chunk, start, end, index) {
  const { decoders, platform } = chunk.type;
  const decoder = decoders === null ? undefined : decoders[index];
  return decoder === undefined ? platform.textAt(chunk, start, end, index) : decoder(chunk.bytes, start, end);
}

/** @returns {Array} of a row's values */
export function arrayAt(chunk, offset) {
  const { bytes, type: { count, platform } } = chunk;
  const array = [];
  const end = messageEnd(bytes, offset, platform);
  let off = offset + 7;
  for (let i = 0; i < count; i++) {
    const length = columnLength(bytes, off, end, platform);
    off += 4;
    array.push(length < 0 ? null : valueAt(chunk, off, off + length, i));
    if (length > 0) off += length;
  }
  return array;
}

/** @returns {object} of a row's columns */
export function objectAt(chunk, offset) {
  const { bytes, type: { names, hasProto, Shape, platform } } = chunk;
  const object = new Shape();
  const end = messageEnd(bytes, offset, platform);
  let off = offset + 7;
  for (let i = 0; i < names.length; i++) {
    const length = columnLength(bytes, off, end, platform);
    off += 4;
    const value = length < 0 ? null : valueAt(chunk, off, off + length, i);
    if (length > 0) off += length;
    if (hasProto && names[i] === '__proto__') {
      Object.defineProperty(object, '__proto__', { value, writable: true, enumerable: true, configurable: true });
    } else object[names[i]] = value;
  }
  return object;
}

/** Adds to a list what `make` makes of each row of a chunk, or the data of each CopyData. */
export function addAll(chunk, list, make) {
  const { bytes, type } = chunk;
  for (let off = chunk.start; off < chunk.end;) {
    const end = off + 1 + int32(bytes, off + 1);
    if (type === null) list.push(bytes.subarray(off + 5, end)); // CopyData
    else {
      checkCount(bytes, off, type);
      list.push(make(chunk, off));
    }
    off = end;
  }
}
