'use strict';

const assert = require('node:assert/strict');
const { FrameReader, lengthAt } = require('../../../lib/core/protocol/reader');
const { hex } = require('../../support');

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
    new FrameReader({
      message: (...args) => {
        seen = args;
      }
    }).push(chunk);
    assert.equal(seen[1], chunk);
    assert.deepEqual(seen, [0x5a, chunk, 0, 6, 1]);
  });

  it('delivers all messages of a chunk in order', () => {
    const { reader, messages } = collect();
    reader.push(STREAM);
    assert.deepEqual(messages, MESSAGES);
  });

  it('refuses bytes that are no message at once, whatever length they announce', () => {
    for (const garbage of ['03', '03 04', '03 04050607 08090a']) {
      const { reader } = collect();
      assert.throws(() => reader.push(Buffer.concat([STREAM, hex(garbage)])), {
        code: '08P01',
        message: /unknown type 0x03/
      });
    }
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
    assert.deepEqual(messages, [
      [0x32, '3200000004', 1],
      [0x32, '3200000004', 1]
    ]);
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
      ['5a 00000000', /message of type 0x5a announces 0 bytes/]
    ]) {
      const error = { name: 'ConnectionError', code: '08P01', message: pattern };
      assert.throws(() => collect().reader.push(hex(bytes)), error);
      const { reader } = collect();
      assert.throws(() => {
        for (const byte of hex(`${bytes} ff`)) reader.push(Buffer.from([byte]));
      }, error);
    }
  });

  it('refuses a wrong length inside a run, and delivers what came before the run', () => {
    const { reader, messages } = collect();
    assert.throws(() => reader.push(hex('32 00000004  44 00000006 0000  44 00000001 0000')), { code: '08P01' });
    assert.deepEqual(messages, [[0x32, '3200000004', 1]]);
  });

  it('refuses a length above the limit, also with its highest bit set', () => {
    const error = { code: '08P01', message: /announces 4294967295 bytes/ };
    assert.throws(() => collect().reader.push(hex('44 ffffffff')), error);
    assert.throws(() => collect().reader.push(hex('44 40000001')), { code: '08P01' });
    assert.equal(lengthAt(hex('00 44 00000006 0000'), 1, 6), 6);
    assert.throws(() => lengthAt(hex('44 00000007 00'), 0, 6), { code: '08P01', message: /announces 7 bytes/ });
  });

  it('waits for a message of more than 16 MB until its end', () => {
    const { reader, messages } = collect();
    reader.push(Buffer.concat([hex('44 01000006 0000'), STREAM]));
    assert.deepEqual(messages, []);
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
      message: (type, buf, start, end) => {
        delivered = Buffer.compare(buf.subarray(start, end), message);
      }
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
    reader.push(hex('04')); // without a length until now
    const whole = Buffer.alloc(4096);
    hex('44 00000fff').copy(whole);
    reader.push(whole.subarray(0, 100));
    reader.push(whole.subarray(100)); // put together in memory that is used again
    reader.push(large.subarray(0, 100));
    reader.push(large.subarray(100));
    assert.deepEqual(owned, [true, false, false, false, true]);
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
});
