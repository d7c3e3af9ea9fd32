'use strict';

/*
 * Values in text format, as strings. A part of a string costs a fraction of a string made from bytes. So a chunk of
 * enough bytes, from which enough values have been read, is made a string once, of which they are parts.
 */
const SMALLEST = 2048;
const LARGEST = 1 << 20;
const READS = 32;

/** A string of fewer bytes is put together here: it costs less than a call into the runtime. */
const SHORT = 7;
/** A longer value is not looked at byte by byte to see whether it is ASCII. */
const LONG = 64;

// Many columns have few different values: the last texts of each are remembered, for a string that is found need not
// be collected as garbage. That ends for a column with so many more misses than hits.
const PLACES = 256;
const REPEATED = 24;
const MISSES = 512;

/** A value in text format. */
function textAt(chunk, start, end, index) {
  const { bytes, text } = chunk;
  const length = end - start;
  if (length < (text ? LONG : SHORT)) {
    if (text && length <= REPEATED) {
      const memory = (chunk.type.memory[index] ??= { texts: [], misses: 0 });
      if (memory.misses < MISSES) return remembered(memory, chunk, start, end);
    }
    let all = 0;
    for (let i = start; i < end; i++) all |= bytes[i];
    if (all < 128) return text ? text.substring(start - chunk.start, end - chunk.start) : short(bytes, start, length);
  } else if (length < LONG && ++chunk.reads === READS && text === null) {
    const size = chunk.end - chunk.start;
    if (size >= SMALLEST && size <= LARGEST) chunk.text = bytes.latin1Slice(chunk.start, chunk.end);
  }
  return bytes.utf8Slice(start, end);
}

/** A value of a column that may have few different ones. */
function remembered(memory, { bytes, text, start: first }, start, end) {
  let all = 0;
  let hash = end - start;
  for (let i = start; i < end; i++) {
    all |= bytes[i];
    hash = (Math.imul(hash, 31) + bytes[i]) | 0;
  }
  if (all > 127) return bytes.utf8Slice(start, end);
  const part = text.substring(start - first, end - first);
  const place = (hash ^ (hash >>> 8)) & (PLACES - 1);
  const known = memory.texts[place];
  if (known === part) {
    memory.misses--;
    return known;
  }
  memory.misses++;
  // The engine copies shorter parts; a longer one would keep the whole text in memory.
  return (memory.texts[place] = end - start < 13 ? part : bytes.latin1Slice(start, end));
}

/** A string of a few ASCII characters; a loop would cost twice as much. */
function short(bytes, at, length) {
  const code = String.fromCharCode;
  switch (length) {
    case 0: return '';
    case 1: return code(bytes[at]);
    case 2: return code(bytes[at], bytes[at + 1]);
    case 3: return code(bytes[at], bytes[at + 1], bytes[at + 2]);
    case 4: return code(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]);
    case 5: return code(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3], bytes[at + 4]);
    default: return code(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3], bytes[at + 4], bytes[at + 5]);
  }
}

module.exports = { textAt };
