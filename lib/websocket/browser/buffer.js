'use strict';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Longest run of characters that is made at once: arguments of a call are limited. */
const RUN = 8192;

const view = bytes => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function latin1(bytes) {
  let text = '';
  for (let off = 0; off < bytes.length; off += RUN) text += String.fromCharCode(...bytes.subarray(off, off + RUN));
  return text;
}

const codes = text => Uint8Array.from(text, character => character.charCodeAt(0));

/** Both ways of each encoding that lib/ uses. */
const ENCODINGS = {
  utf8: { read: bytes => decoder.decode(bytes), write: text => encoder.encode(text) },
  latin1: { read: latin1, write: codes },
  hex: {
    read: bytes => Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join(''),
    write: text => Uint8Array.from(text.match(/[0-9a-f]{2}/gi) ?? [], digits => parseInt(digits, 16))
  },
  base64: { read: bytes => btoa(latin1(bytes)), write: text => codes(atob(text)) }
};

function encoding(name) {
  if (Object.hasOwn(ENCODINGS, name)) return ENCODINGS[name];
  throw new TypeError(`unknown encoding: ${name}`);
}

/** As much of Node's Buffer as lib/ uses. */
class Buffer extends Uint8Array {
  static alloc(length, fill = 0) {
    const buffer = new Buffer(length);
    return fill === 0 ? buffer : buffer.fill(fill);
  }

  static allocUnsafe(length) { return new Buffer(length); }
  static allocUnsafeSlow(length) { return new Buffer(length); }
  static isBuffer(value) { return value instanceof Buffer; }
  static byteLength(value) { return typeof value === 'string' ? encoder.encode(value).length : value.byteLength; }

  static from(value, second, length) {
    if (typeof value === 'string') {
      const { buffer, byteOffset, byteLength } = encoding(second ?? 'utf8').write(value);
      return new Buffer(buffer, byteOffset, byteLength);
    }
    // A view of a buffer, a copy of anything else.
    return value instanceof ArrayBuffer ? new Buffer(value, second, length) : new Buffer(value);
  }

  static concat(list) {
    const all = new Buffer(list.reduce((sum, { length }) => sum + length, 0));
    let off = 0;
    for (const part of list) {
      all.set(part, off);
      off += part.length;
    }
    return all;
  }

  toString(name = 'utf8', start = 0, end = this.length) { return encoding(name).read(this.subarray(start, end)); }
  latin1Slice(start, end) { return latin1(this.subarray(start, end)); }
  utf8Slice(start, end) { return decoder.decode(this.subarray(start, end)); }
  utf8Write(text, start = 0) { return encoder.encodeInto(text, this.subarray(start)).written; }

  write(text, start = 0, name = 'utf8') {
    const bytes = encoding(name).write(text);
    this.set(bytes, start);
    return bytes.length;
  }

  copy(target, at = 0, start = 0, end = this.length) {
    const bytes = this.subarray(start, Math.min(end, start + target.length - at));
    target.set(bytes, at);
    return bytes.length;
  }
}

// readInt32BE(off) and writeInt32BE(value, off), and so on.
const NUMBERS = { UInt16: 'Uint16', Int16: 'Int16', UInt32: 'Uint32', Int32: 'Int32' };
for (const [name, type] of Object.entries(NUMBERS)) {
  const bytes = Number(/\d+/.exec(type)[0]) / 8;
  Object.defineProperty(Buffer.prototype, `read${name}BE`, {
    value(off = 0) { return view(this)[`get${type}`](off); }
  });
  Object.defineProperty(Buffer.prototype, `write${name}BE`, {
    value(number, off = 0) {
      view(this)[`set${type}`](off, number);
      return off + bytes;
    }
  });
}

module.exports = { Buffer };
