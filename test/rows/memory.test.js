'use strict';

const assert = require('node:assert/strict');
const { randomBytes } = require('node:crypto');
const { reading, keep, Runs } = require('../../lib/rows/memory');

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
    const memory = randomBytes(4000); // a slab is not cleared: what is looked for must not be in it
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

describe('The runs of a large result', () => {
  /** Fills runs with `count` of them, of random lengths, out of memory that is used again. */
  function fill(count, longest, salt) {
    const runs = new Runs();
    const memory = Buffer.alloc(longest);
    const all = [];
    for (let i = 0; i < count; i++) {
      const bytes = chunk(1 + (salt = (salt * 16807) % 2147483647) % longest, salt);
      const owned = salt % 7 === 0;
      if (!owned) bytes.copy(memory);
      runs.add(owned ? bytes : memory, 0, bytes.length, 1 + i % 3, owned);
      memory.fill(255);
      all.push(bytes);
    }
    return { list: runs.list, all };
  }

  it('are all there, in their order, few after one another in the same memory', () => {
    for (const longest of [10, 300, 9000, 65536]) {
      const { list, all } = fill(500, longest, longest);
      let next = 0;
      for (let i = 0; i < list.length; i += 3) {
        for (let off = list[i + 1], left = list[i + 2]; left > 0; next++) {
          const bytes = all[next];
          assert.ok(list[i].subarray(off, off + bytes.length).equals(bytes));
          off += bytes.length;
          left -= 1 + next % 3;
        }
      }
      assert.equal(next, 500);
      if (longest < 1000) assert.ok(list.length < 3 * 400);
    }
  });

  it('hold at most twice their bytes, however they come', () => {
    for (let longest = 1; longest < 80000; longest = longest * 3 + 1) {
      for (let count = 1; count < 100; count++) {
        const { list, all } = fill(count, longest, count * longest);
        const held = new Set(list.filter((_, i) => i % 3 === 0));
        const bytes = all.reduce((sum, { length }) => sum + length, 0);
        assert.ok([...held].reduce((sum, { length }) => sum + length, 0) <= 2 * bytes);
      }
    }
  });

  it('take what may be kept as it is, and copy the rest once', () => {
    const runs = new Runs();
    const own = chunk(5000, 1);
    runs.add(own, 0, 5000, 1, true);
    runs.add(chunk(100, 2), 0, 100, 1, false);
    runs.add(chunk(100, 3), 0, 100, 2, false);
    assert.equal(runs.list[0], own);
    assert.deepEqual(runs.list.filter((_, i) => i % 3 > 0), [0, 1, 0, 3]);
  });
});
