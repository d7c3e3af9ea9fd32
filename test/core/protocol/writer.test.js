'use strict';

const assert = require('node:assert/strict');
const { MessageWriter, frame } = require('../../../lib/core/protocol');
const { RowParser } = require('../../../lib/core/rows');
const { hex, rowDescription, dataRow } = require('../../support');

/** What a call writes. */
function written(write) {
  const writer = new MessageWriter();
  write(writer);
  return writer.take().toString('hex');
}

/** Bytes as `written` gives them. */
const bytes = digits => hex(digits).toString('hex');

const NAMES = hex("00 's1' 00"); // the unnamed portal, statement s1

describe('MessageWriter', () => {
  describe('writes', () => {
    it('Parse of a named statement, with the types of its parameters', () => {
      assert.equal(
        written(writer => writer.parse('s1', 'SELECT $1', [25, 4294967295])),
        bytes("50 0000001b  's1' 00  'SELECT $1' 00  0002 00000019 ffffffff")
      );
    });

    it('Parse of the unnamed statement, its text in UTF-8', () => {
      assert.equal(
        written(writer => writer.parse('', "SELECT 'ä€😀'", [])),
        bytes('50 0000001a  00  53454c4543542027 c3a4 e282ac f09f9880 27 00  0000')
      );
    });

    it('Describe and Close of statements and portals', () => {
      assert.equal(
        written(writer => writer.describe('S', 's1')),
        bytes("44 00000008 53 's1' 00")
      );
      assert.equal(
        written(writer => writer.describe('P', '')),
        bytes('44 00000006 50 00')
      );
      assert.equal(
        written(writer => writer.close('S', 's1')),
        bytes("43 00000008 53 's1' 00")
      );
      assert.equal(
        written(writer => writer.close('P', 'c1')),
        bytes("43 00000008 50 'c1' 00")
      );
    });

    it('Bind of text values without format codes', () => {
      assert.equal(
        written(writer => writer.bind(NAMES, ['ab', ''], 0)),
        bytes("42 0000001a  00 's1' 00  0000  0002  00000002 'ab'  00000000  0001 0000")
      );
    });

    it('Bind without values, asking for a binary result', () => {
      assert.equal(
        written(writer => writer.bind(NAMES, [], 1)),
        bytes("42 00000010  00 's1' 00  0000 0000 0001 0001")
      );
    });

    it('text of any length whole, however many bytes a character has and however full its memory is', () => {
      for (const text of ['é'.repeat(700), '中'.repeat(700), '中'.repeat(1024), '中'.repeat(1025), '😀'.repeat(600)]) {
        for (let before = 0; before < 9000; before += 149) {
          const writer = new MessageWriter();
          writer.bind(NAMES, ['x'.repeat(before), text], 0);
          assert.ok(writer.take().includes(text), `${text.length} characters behind ${before}`);
        }
      }
    });

    it('null as NULL', () => {
      assert.equal(
        written(writer => writer.bind(NAMES, [null, null], 0)),
        bytes("42 00000018  00 's1' 00  0000  0002  ffffffff ffffffff  0001 0000")
      );
    });

    it('numbers, bigints and booleans as text', () => {
      assert.equal(
        written(writer => writer.bind(NAMES, [1.5, -7n, true, NaN], 0)),
        bytes(`42 0000002c  00 's1' 00  0000 0004
          00000003 '1.5'  00000002 '-7'  00000004 'true'  00000003 'NaN'  0001 0000`)
      );
    });

    it('Buffers and Uint8Arrays as binary values, with a format code for each value', () => {
      const values = [Buffer.from([0, 255]), 'a', null, new Uint8Array(0)];
      assert.equal(
        written(writer => writer.bind(NAMES, values, 0)),
        bytes(`42 0000002b  00 's1' 00  0004 0001 0000 0000 0001
          0004  00000002 00ff  00000001 'a'  ffffffff  00000000  0001 0000`)
      );
    });

    it('a view of a larger array as the bytes of the view alone', () => {
      const memory = new Uint8Array([1, 2, 3, 4]);
      assert.equal(
        written(writer => writer.bind(NAMES, [memory.subarray(1, 3)], 0)),
        bytes("42 00000018  00 's1' 00  0001 0001  0001  00000002 0203  0001 0000")
      );
    });

    it('the values of a text row with one format code for all', () => {
      const parser = new RowParser(rowDescription('a', 'b'));
      assert.equal(
        written(writer => writer.bind(NAMES, new parser[0](dataRow('xy', null)), 1)),
        bytes("42 0000001c  00 's1' 00  0001 0000  0002  00000002 'xy'  ffffffff  0001 0001")
      );
    });

    it('the values of a binary row as binary, wherever it lies in memory', () => {
      const parser = new RowParser(rowDescription('a'));
      const row = dataRow(Buffer.from([1, 2]));
      const memory = Buffer.concat([dataRow('xx'), row, row]);
      assert.equal(
        written(writer => writer.bind(NAMES, new parser[1](memory, 13), 0)),
        bytes("42 00000018  00 's1' 00  0001 0001  0001  00000002 0102  0001 0000")
      );
    });

    it('Execute, Sync, Flush, Query, Terminate, CopyDone, CopyFail and CopyData', () => {
      assert.equal(
        written(writer => writer.execute('', 0)),
        bytes('45 00000009 00 00000000')
      );
      assert.equal(
        written(writer => writer.execute('c1', 0x7fffffff)),
        bytes("45 0000000b 'c1' 00 7fffffff")
      );
      assert.equal(
        written(writer => writer.sync()),
        bytes('53 00000004')
      );
      assert.equal(
        written(writer => writer.flush()),
        bytes('48 00000004')
      );
      assert.equal(
        written(writer => writer.query('é')),
        bytes('51 00000007 c3a9 00')
      );
      assert.equal(
        written(writer => writer.terminate()),
        bytes('58 00000004')
      );
      assert.equal(
        written(writer => writer.copyDone()),
        bytes('63 00000004')
      );
      assert.equal(
        written(writer => writer.copyFail('no')),
        bytes("66 00000007 'no' 00")
      );
      assert.equal(
        written(writer => writer.message(100, hex('01 02 03'))),
        bytes('64 00000007 010203')
      );
    });

    it('text of any length and script as UTF-8', () => {
      for (const text of [
        'a'.repeat(23),
        'a'.repeat(24),
        'ä',
        `${'a'.repeat(22)}ä`,
        '\x7f',
        '\x80',
        '€'.repeat(2000),
        '😀'.repeat(341),
        'a'.repeat(1024),
        'a'.repeat(1025)
      ]) {
        const utf8 = Buffer.from(text);
        const expected = Buffer.concat([hex('42 00000000'), NAMES, hex('0000 0001 00000000'), utf8, hex('0001 0000')]);
        expected.writeUInt32BE(expected.length - 1, 1);
        expected.writeUInt32BE(utf8.length, 13);
        assert.equal(
          written(writer => writer.bind(NAMES, [text], 0)),
          expected.toString('hex')
        );
      }
    });

    it('messages of any size, one after another, whatever memory it has', () => {
      const writer = new MessageWriter();
      const expected = [];
      for (let size = 1; size < 300_000; size *= 3) {
        const data = Buffer.alloc(size, `${size}`);
        writer.message(100, data);
        writer.bind(NAMES, [data, data.toString('latin1'), null], 1);
        const copyData = Buffer.concat([hex('64 00000000'), data]);
        copyData.writeUInt32BE(size + 4, 1);
        const bind = Buffer.concat([
          hex("42 00000000 00 's1' 00 0003 0001 0000 0000 0003 00000000"),
          data,
          hex('00000000'),
          data,
          hex('ffffffff 0001 0001')
        ]);
        bind.writeUInt32BE(bind.length - 1, 1);
        bind.writeUInt32BE(size, 19);
        bind.writeUInt32BE(size, 23 + size);
        expected.push(copyData, bind);
      }
      assert.equal(Buffer.compare(writer.take(), Buffer.concat(expected)), 0);
    });
  });

  describe('refuses', () => {
    const bind = values => () => new MessageWriter().bind(NAMES, values, 0);

    it('values of a kind that has no text, and names place, kind and hint', () => {
      for (const [value, kind] of [
        [Symbol('s'), 'a symbol: pass String(value)'],
        [() => {}, 'a function'],
        [class A {}, 'a function'],
        [new Map(), 'an object of class Map'],
        [new ArrayBuffer(1), 'an object of class ArrayBuffer'],
        [new String('a'), 'an object of class String'],
        [new Date(NaN), 'an invalid Date']
      ]) {
        assert.throws(
          bind(['a', value]),
          error => error.name === 'TypeError' && error.message.startsWith(`values[1] is ${kind}`)
        );
      }
    });

    it('a null byte in a value of any length, and tells where it is', () => {
      for (const [text, at] of [
        ['\0', 0],
        ['abc\0', 3],
        ['ä\0', 1],
        [`${'a'.repeat(30)}\0b`, 30],
        [`${'é'.repeat(2000)}\0`, 2000]
      ]) {
        const message = `values[0] has a null byte at ${at}, which PostgreSQL cannot take`;
        const error = { name: 'TypeError', message };
        assert.throws(bind([text]), error);
      }
    });

    it('a message that PostgreSQL would refuse for its size, and forgets it', () => {
      const writer = new MessageWriter();
      writer.sync();
      const body = { length: 0x3fffffff };
      writer.buffer = { length: 2 ** 31, set() {}, subarray: () => hex('53 00000004') }; // as if it had the memory
      assert.throws(() => writer.message(100, body), { name: 'RangeError', message: /a message of 1073741827 bytes/ });
      assert.equal(writer.length, 5);
      const large = Object.defineProperty(new Uint8Array(0), 'length', { value: 0x3fffffff });
      const other = new MessageWriter();
      other.buffer = Object.defineProperty(Buffer.alloc(64), 'length', { value: 2 ** 31 });
      assert.throws(() => other.bind(Buffer.alloc(2), [large], 0), {
        name: 'RangeError',
        message: /less than 1 GiB/
      });
    });
  });

  describe('memory', () => {
    it("is the caller's after take, until reuse gives it back", () => {
      const writer = new MessageWriter();
      writer.sync();
      const first = writer.take();
      writer.flush();
      const second = writer.take();
      assert.equal(first.toString('hex'), '5300000004');
      assert.notEqual(first.buffer, second.buffer);
      writer.reuse();
      writer.sync();
      assert.equal(writer.take().buffer, second.buffer);
    });

    it('is not written to after take when new bytes came before reuse', () => {
      const writer = new MessageWriter();
      writer.sync();
      const first = writer.take();
      writer.flush();
      writer.reuse();
      writer.flush();
      assert.equal(first.toString('hex'), '5300000004');
      assert.equal(writer.take().toString('hex'), '48000000044800000004');
    });

    it('of a very large message is not kept', () => {
      const writer = new MessageWriter();
      writer.message(100, Buffer.alloc(1 << 20));
      const large = writer.take().buffer;
      writer.reuse();
      writer.sync();
      assert.notEqual(writer.take().buffer, large);
    });

    it('written since a mark is dropped by setting the length back', () => {
      const writer = new MessageWriter();
      writer.sync();
      const mark = writer.length;
      writer.query('x'.repeat(100_000));
      writer.length = mark;
      writer.flush();
      assert.equal(writer.take().toString('hex'), '5300000004' + '4800000004');
    });
  });
});

describe('A message that is sent while connecting', () => {
  it('has its type, its length and its parts, of which a number takes four bytes', () => {
    assert.deepEqual(frame(0x70, 'ab', 3, Buffer.from('c')), Buffer.from('p\0\0\0\x0bab\0\0\0\x03c'));
  });

  it('has no type when it is the first of the connection', () => {
    assert.deepEqual(frame(null, 80877103), Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]));
  });
});
