'use strict';

const assert = require('node:assert/strict');
const { Memory } = require('../../../lib/core/rows');

/** Bytes that tell where they were. */
const chunk = (length, salt) =>
  Buffer.alloc(
    length,
    Uint8Array.from({ length: 256 }, (_, i) => i * 7 + salt)
  );

const next = salt => (salt * 16807) % 2147483647;

describe('The memory of a connection', () => {
  it('keeps what lay in memory that is used again', () => {
    const memory = new Memory();
    const received = Buffer.alloc(6000);
    const kept = [];
    for (let i = 0, salt = 1; i < 3000; i++) {
      salt = next(salt);
      const bytes = chunk(1 + (salt % (i % 10 === 0 ? 6000 : 200)), salt);
      bytes.copy(received, 0);
      kept.push([memory.keep(received, 0, bytes.length, null, 0), bytes]);
      received.fill(255);
    }
    for (const [{ bytes, start, end }, expected] of kept) assert.ok(bytes.subarray(start, end).equals(expected));
  });

  it('copies what follows as well, and holds at most 64 bytes of it for each small result', () => {
    const memory = new Memory();
    const received = Buffer.alloc(65536);
    const kept = [];
    let most = 0;
    for (let i = 0, salt = 1; i < 300; i++) {
      const length = 1 + ((salt = next(salt)) % 65536);
      chunk(length, salt).copy(received);
      Object.assign(memory, { read: received, length, to: 0 });
      for (let start = 0, end; start < length; start = end + ((salt = next(salt)) % (salt % 3 === 0 ? 2000 : 80))) {
        salt = next(salt);
        end = Math.min(length, start + 1 + (salt % (salt % 10 === 0 ? 3000 : 200)));
        kept.push([memory.keep(received, start, end, null, 0), Buffer.from(received.subarray(start, end))]);
        most += end - start > 1024 ? end - start : ((end - start + 64) * 4096) / 3072;
      }
      received.fill(255);
    }
    for (const [{ bytes, start, end }, expected] of kept) assert.ok(bytes.subarray(start, end).equals(expected));
    const held = new Set(kept.map(([{ bytes }]) => bytes.buffer));
    const bytes = [...held].reduce((sum, { byteLength }) => sum + byteLength, 0);
    assert.ok(bytes < most + 4096, `${bytes} of ${most}`);
  });

  it('holds little: small results share 4,096 bytes, a longer one has memory of its own', () => {
    const memory = new Memory();
    const received = chunk(10000, 4);
    for (const [length, most] of [
      [1, 4096],
      [1024, 4096],
      [1025, 1025],
      [9000, 9000]
    ]) {
      const { bytes, start, end } = memory.keep(received, 100, 100 + length, null, 0);
      assert.equal(bytes.buffer.byteLength, most);
      assert.ok(bytes.subarray(start, end).equals(received.subarray(100, 100 + length)));
    }
  });

  it('does not keep a small result where a large one has left something', () => {
    const memory = new Memory();
    const large = memory.keep(chunk(10000, 1), 0, 10000, null, 1e6);
    assert.equal(large.bytes.length, 65536);
    assert.equal(memory.keep(chunk(10, 1), 0, 10, null, 0).bytes.length, 4096);
    const received = chunk(60000, 2);
    Object.assign(memory, { read: received, length: received.length, to: 0 });
    assert.equal(memory.keep(received, 0, 10000, null, 1e6).bytes.length, 65536);
    assert.equal(
      memory.keep(received, 10000, 10010, null, 0).bytes.length,
      4096,
      'behind the large one in what was read'
    );
  });

  it('is another one for each connection', () => {
    const [one, other] = [new Memory(), new Memory()].map(memory => memory.keep(chunk(10, 1), 0, 10, null, 0));
    assert.notEqual(one.bytes.buffer, other.bytes.buffer);
  });
});

describe('A large result', () => {
  /** What is kept of a result that comes in `count` pieces of at most `longest` bytes. */
  function receive(count, longest, salt) {
    const memory = new Memory();
    const received = Buffer.alloc(longest);
    const chunks = [];
    const all = [];
    let size = 0;
    for (let i = 0; i < count; i++) {
      salt = next(salt);
      const bytes = chunk(1 + (salt % longest), salt);
      bytes.copy(received);
      chunks.push(memory.keep(received, 0, bytes.length, null, size));
      received.fill(255);
      size += bytes.length;
      all.push(bytes);
    }
    return { chunks, all: Buffer.concat(all) };
  }

  it('is all there, in its order, in few pieces of memory', () => {
    for (const longest of [10, 300, 9000, 65536]) {
      const { chunks, all } = receive(500, longest, longest);
      assert.ok(Buffer.concat(chunks.map(({ bytes, start, end }) => bytes.subarray(start, end))).equals(all));
      if (longest < 1000) assert.ok(new Set(chunks.map(({ bytes }) => bytes)).size < 100);
    }
  });

  it('holds at most twice its bytes, and 4,096 more, however they come', () => {
    for (let longest = 1; longest < 80000; longest = longest * 3 + 1) {
      for (let count = 1; count < 100; count += longest < 1000 ? 3 : 14) {
        const { chunks, all } = receive(count, longest, count * longest);
        const held = new Set(chunks.map(({ bytes }) => bytes));
        assert.ok(
          [...held].reduce((sum, { length }) => sum + length, 0) <= 2 * all.length + 4096,
          `${count} of ${longest}`
        );
      }
    }
  });
});
