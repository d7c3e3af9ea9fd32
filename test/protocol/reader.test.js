'use strict';

const assert = require('node:assert/strict');
const { FrameReader, lengthAt } = require('../../lib/protocol/reader');
const { hex } = require('../support');

/** A reader, and what it has delivered: `[type, bytes as hex, count]`. */
function collect() {
  const messages = [];
  const reader = new FrameReader({
    message(type, buf, start, end, count) {
      messages.push([type, buf.toString('hex', start, end), count]);
    }
  });
  return { reader, messages };
}

/** Three messages: ReadyForQuery, NoData, CommandComplete. */
const STREAM = hex('5a 00000005 49  6e 00000004  43 0000000d 53454c4543542031 00');
const MESSAGES = [
  [0x5a, '5a0000000549', 1],
  [0x6e, '6e00000004', 1],
  [0x43, '430000000d53454c454354203100', 1]
];

describe('FrameReader', () => {
  it('delivers a whole message in the memory it came in, without a copy', () => {
    const chunk = hex('5a 00000005 49');
    let seen;
    new FrameReader({ message: (...args) => { seen = args; } }).push(chunk);
    assert.equal(seen[1], chunk);
    assert.deepEqual(seen, [0x5a, chunk, 0, 6, 1]);
  });

  it('delivers all messages of a chunk in order', () => {
    const { reader, messages } = collect();
    reader.push(STREAM);
    assert.deepEqual(messages, MESSAGES);
  });

  it('puts messages together wherever the stream is cut in two or in three', () => {
    for (let i = 0; i <= STREAM.length; i++) {
      for (let j = i; j <= STREAM.length; j++) {
        const { reader, messages } = collect();
        reader.push(STREAM.subarray(0, i));
        reader.push(STREAM.subarray(i, j));
        reader.push(STREAM.subarray(j));
        assert.deepEqual(messages, MESSAGES, `cut at ${i} and ${j}`);
      }
    }
  });

  it('puts messages together from single bytes', () => {
    const { reader, messages } = collect();
    for (const byte of STREAM) reader.push(Buffer.from([byte]));
    assert.deepEqual(messages, MESSAGES);
  });

  it('reads the chunk only as far as it is said to be filled', () => {
    const { reader, messages } = collect();
    const memory = Buffer.concat([STREAM, hex('5a 00000000')]);
    reader.push(memory, STREAM.length - 2);
    assert.deepEqual(messages, MESSAGES.slice(0, 2));
    reader.push(hex('31 00 ff'), 2);
    assert.deepEqual(messages, MESSAGES);
  });

  it('keeps the beginning of a message when the memory it came in is used again', () => {
    const { reader, messages } = collect();
    const memory = Buffer.alloc(8);
    hex('43 0000000d 53 45 4c').copy(memory);
    reader.push(memory);
    hex('45 43 54 20 31 00').copy(memory.fill(0xff));
    reader.push(memory, 6);
    assert.deepEqual(messages, MESSAGES.slice(2));
  });

  it('delivers rows, or COPY data, that follow each other as one run with their count', () => {
    const { reader, messages } = collect();
    const rows = '44 00000006 0000  44 0000000a 0001 ffffffff';
    reader.push(hex(`${rows} 5a 00000005 49 64 00000005 61 64 00000005 62 44 00000006 0000`));
    assert.deepEqual(messages, [
      [0x44, '440000000600004400' + '00000a0001ffffffff', 2],
      [0x5a, '5a0000000549', 1],
      [0x64, '64000000056164' + '0000000562', 2],
      [0x44, '44000000060000', 1]
    ]);
  });

  it('ends a run before a row that has not arrived whole', () => {
    const run = hex('44 00000006 0000  44 00000006 0000');
    for (let cut = 7; cut < 14; cut++) {
      const { reader, messages } = collect();
      reader.push(run.subarray(0, cut));
      assert.deepEqual(messages, [[0x44, '44000000060000', 1]]);
      reader.push(run.subarray(cut));
      assert.equal(messages.length, 2);
    }
  });

  it('does not make one run of other messages of one type', () => {
    const { reader, messages } = collect();
    reader.push(hex('32 00000004 32 00000004'));
    assert.deepEqual(messages, [[0x32, '3200000004', 1], [0x32, '3200000004', 1]]);
  });

  it('gives the next message to the handler that has been put in place inside a call', () => {
    const second = collect();
    const types = [];
    const reader = new FrameReader({
      message(type) {
        types.push(type);
        reader.handler = second.reader.handler;
      }
    });
    reader.push(STREAM);
    assert.deepEqual(types, [0x5a]);
    assert.deepEqual(second.messages, MESSAGES.slice(1));
  });

  it('refuses a length below 4, in one piece or in many, and names type and length', () => {
    for (const [bytes, pattern] of [
      ['44 00000001', /message of type 0x44 announces 1 bytes/],
      ['44 00000003', /announces 3 bytes/],
      ['00 00000000', /message of type 0x00 announces 0 bytes/]
    ]) {
      const error = { name: 'ConnectionError', code: '08P01', message: pattern };
      assert.throws(() => collect().reader.push(hex(bytes)), error);
      const { reader } = collect();
      assert.throws(() => { for (const byte of hex(`${bytes} ff`)) reader.push(Buffer.from([byte])); },
        error);
    }
  });

  it('refuses a wrong length inside a run, and delivers what came before the run', () => {
    const { reader, messages } = collect();
    assert.throws(() => reader.push(hex('32 00000004  44 00000006 0000  44 00000001 0000')),
      { code: '08P01' });
    assert.deepEqual(messages, [[0x32, '3200000004', 1]]);
  });

  it('refuses a length above the limit, also with its highest bit set', () => {
    const error = { code: '08P01', message: /announces 4294967295 bytes/ };
    assert.throws(() => collect().reader.push(hex('44 ffffffff')), error);
    assert.throws(() => collect().reader.push(hex('44 40000001')), { code: '08P01' });
    assert.equal(lengthAt(hex('00 44 00000006 0000'), 1, 6), 6);
    assert.throws(() => lengthAt(hex('44 00000007 00'), 0, 6), { code: '08P01', message: /announces 7 bytes/ });
  });

  it('takes no memory for bytes that are announced and have not come', () => {
    const { reader, messages } = collect();
    const chunk = Buffer.alloc(65536);
    hex('44 40000000 0001 3ffffff6').copy(chunk);
    global.gc?.();
    const before = process.memoryUsage().arrayBuffers;
    reader.push(chunk);
    for (let i = 0; i < 15; i++) reader.push(chunk);
    const taken = process.memoryUsage().arrayBuffers - before;
    assert.ok(taken < 4 * 16 * 65536, `${taken} bytes for ${16 * 65536}`);
    assert.deepEqual(messages, []);
  });

  it('puts a large message together from many chunks', () => {
    const length = 5_000_000;
    const message = Buffer.alloc(1 + length, 'abcdefg');
    message[0] = 0x44;
    message.writeUInt32BE(length, 1);
    let delivered;
    const reader = new FrameReader({
      message: (type, buf, start, end) => { delivered = Buffer.compare(buf.subarray(start, end), message); }
    });
    for (let off = 0; off < message.length; off += 10007) {
      assert.equal(delivered, undefined);
      reader.push(message.subarray(off, off + 10007));
    }
    assert.equal(delivered, 0);
  });

  it('says that the memory may be kept exactly when it holds nothing but the message', () => {
    const owned = [];
    const reader = new FrameReader({
      message: (type, buf, start, end) => {
        owned.push(reader.owned);
        if (reader.owned) assert.deepEqual([start, end], [0, buf.length]);
      }
    });
    const large = Buffer.alloc(5001);
    hex('44 00001388').copy(large);
    reader.push(large.subarray(0, 4500));
    reader.push(Buffer.concat([large.subarray(4500), hex('32 00000004')])); // complete, and one in the chunk
    reader.push(hex('32 000000'));
    reader.push(hex('04')); // without a length until now: it is put before the chunk
    const whole = Buffer.alloc(4096);
    hex('44 00000fff').copy(whole);
    reader.push(whole.subarray(0, 100));
    reader.push(whole.subarray(100));
    assert.deepEqual(owned, [true, false, false, true]);
  });

  it('delivers nothing any more once it is stopped, not even from the chunk being read', () => {
    const types = [];
    const reader = new FrameReader({
      message(type) {
        types.push(type);
        reader.stop();
      }
    });
    reader.push(Buffer.concat([STREAM, hex('44 00000001')]));
    reader.push(STREAM);
    assert.deepEqual(types, [0x5a]);
  });

  it('delivers nothing any more once it is stopped while a message was incomplete', () => {
    const { reader, messages } = collect();
    reader.push(STREAM.subarray(0, 3));
    reader.stop();
    reader.push(STREAM.subarray(3));
    assert.deepEqual(messages, []);
  });

  describe('with a handler that takes long messages in parts', () => {
    const SMALL = hex('32 00000004  44 00000006 0000');
    const READY = hex('5a 00000005 49');

    /** A DataRow of one column, whose length word says so. */
    function row(length) {
      const bytes = Buffer.alloc(1 + length, 'abc');
      bytes[0] = 0x44;
      bytes.writeUInt32BE(length, 1);
      return bytes;
    }

    /**
     * What is delivered of chunks whose memory is overwritten after each.
     * @returns {{bytes: Buffer, kinds: string}} all of it; 'm' a message, 'p' a part, '.' the last one
     */
    function deliver(chunks, takesParts = () => true) {
      const pieces = [];
      let kinds = '';
      const reader = new FrameReader({
        takesParts,
        message(type, buf, start, end) {
          pieces.push(Buffer.from(buf.subarray(start, end)));
          kinds += 'm';
        },
        part(type, buf, start, end, left) {
          assert.equal(type, 0x44);
          assert.ok(end > start);
          pieces.push(Buffer.from(buf.subarray(start, end)));
          kinds += left > 0 ? 'p' : '.';
        }
      });
      for (const chunk of chunks) {
        const memory = Buffer.from(chunk);
        reader.push(memory);
        memory.fill(0xff);
      }
      return { bytes: Buffer.concat(pieces), kinds };
    }

    it('gives them as they come, wherever the stream is cut', () => {
      const stream = Buffer.concat([SMALL, row(131_072), READY]);
      for (let cut = 0; cut < 30; cut++) {
        const { bytes, kinds } = deliver([stream.subarray(0, cut), stream.subarray(cut, cut + 10),
          stream.subarray(cut + 10)]);
        assert.equal(Buffer.compare(bytes, stream), 0, `cut at ${cut}`);
        // Where the whole of it is in one chunk, it is not divided.
        assert.match(kinds, cut <= 2 || cut === 12 || cut === 22 ? /^mmp*\.?m?m$/ : /^mmp+\.m$/,
          `cut at ${cut}`);
      }
      for (const size of [1, 4, 5, 6, 1000, 65536]) {
        const chunks = [];
        for (let off = 0; off < stream.length; off += size) chunks.push(stream.subarray(off, off + size));
        const { bytes, kinds } = deliver(chunks);
        assert.equal(Buffer.compare(bytes, stream), 0, `pieces of ${size}`);
        assert.match(kinds, /^mmp+\.m$/);
      }
    });

    it('gathers shorter ones, and those that it does not want in parts', () => {
      const cut = stream => [stream.subarray(0, 100), stream.subarray(100)];
      assert.equal(deliver(cut(Buffer.concat([SMALL, row(131_071), READY]))).kinds, 'mmmm');
      assert.equal(deliver(cut(Buffer.concat([SMALL, row(131_072), READY])), () => false).kinds, 'mmmm');
      const description = row(200_000);
      description[0] = 0x54;
      assert.equal(deliver(cut(Buffer.concat([description, READY]))).kinds, 'mm');
    });

    it('refuses a length above the limit before any part of it', () => {
      const parts = [];
      const reader = new FrameReader({ message() {}, takesParts: () => true,
        part: (...args) => parts.push(args) });
      for (const pieces of [['44 40000001 00'], ['44 4000', '0001 00']]) {
        assert.throws(() => pieces.forEach(piece => reader.push(hex(piece))), { code: '08P01' });
      }
      assert.deepEqual(parts, []);
    });

    it('delivers nothing any more once it is stopped inside of a part', () => {
      let calls = 0;
      const reader = new FrameReader({
        message() { calls++; },
        takesParts: () => true,
        part() {
          calls++;
          reader.stop();
        }
      });
      const bytes = row(200_000);
      reader.push(bytes.subarray(0, 1000));
      reader.push(bytes.subarray(1000));
      reader.push(READY);
      assert.equal(calls, 1);
    });
  });
});
