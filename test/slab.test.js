'use strict';

const assert = require('node:assert/strict');
const { reading, keep } = require('../lib/slab');

/** Bytes that tell where they were. */
const chunk = (length, salt) => Buffer.from(Uint8Array.from({ length }, (_, i) => (i * 7 + salt) & 255));

describe('A slab', () => {
  it('keeps what lay in memory that is used again', () => {
    const memory = Buffer.alloc(65536);
    const kept = [];
    let salt = 1;
    for (let read = 0; read < 300; read++) {
      const length = 1 + (salt = (salt * 16807) % 2147483647) % (read % 10 === 0 ? 65536 : 6000);
      const bytes = chunk(length, salt);
      bytes.copy(memory);
      reading(memory, length);
      for (let off = 0; off < length;) {
        const end = Math.min(length, off + 1 + (salt = (salt * 16807) % 2147483647) % (salt % 9 === 0 ? 5000 : 200));
        if (salt % 5 !== 0) {
          const { buf, start } = keep(memory, off, end);
          kept.push([buf, start, bytes.subarray(off, end)]);
        }
        off = end;
      }
      memory.fill(255);
    }
    assert.ok(kept.length > 3000);
    for (const [buf, start, bytes] of kept) assert.ok(buf.subarray(start, start + bytes.length).equals(bytes));
  });

  it('keeps what is in other memory than the chunk', () => {
    const memory = chunk(100, 1);
    reading(memory, 100);
    const one = { ...keep(memory, 10, 20) };
    const other = chunk(100, 2);
    const two = { ...keep(other, 10, 20) };
    const three = { ...keep(memory, 10, 20) };
    for (const [{ buf, start }, bytes] of [[one, memory], [two, other], [three, memory]]) {
      assert.ok(buf.subarray(start, start + 10).equals(bytes.subarray(10, 20)));
    }
  });

  it('copies no further than the chunk goes', () => {
    const memory = chunk(4000, 3);
    reading(memory, 50);
    const { buf, start } = keep(memory, 0, 40);
    assert.ok(buf.subarray(start, start + 50).equals(memory.subarray(0, 50)));
    assert.ok(!buf.subarray(start).includes(memory.subarray(60, 90)));
  });

  it('holds little: a long result has memory of its own', () => {
    const memory = chunk(10000, 4);
    reading(memory, 10000);
    for (const [length, most] of [[1, 4096], [1024, 4096], [1025, 1025], [9000, 9000]]) {
      const { buf, start } = keep(memory, 100, 100 + length);
      assert.ok(buf.buffer.byteLength <= most);
      assert.ok(buf.subarray(start, start + length).equals(memory.subarray(100, 100 + length)));
    }
  });
});
