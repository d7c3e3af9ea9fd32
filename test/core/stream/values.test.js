'use strict';

const assert = require('node:assert/strict');
const { Values } = require('../../../lib/core/stream/values');
const { dataRow, hex, message } = require('../../support');

/** What an encoder writes to, as StreamReceiver is. */
class Out {
  block = { bytes: Buffer.alloc(10000), used: 0 };
  reserve() {
    return this.block;
  }
  append(buf, start, end) {
    this.block.used += buf.copy(this.block.bytes, this.block.used, start, end);
  }
  adopt(bytes, sent, used) {
    return (this.adopted = { bytes, sent, used });
  }
  toString() {
    return this.block.bytes.toString('utf8', 0, this.block.used);
  }
}

/** The values of a result with so many columns. */
function begin(columns, separator = '') {
  const values = new Values(Buffer.from(separator));
  values.start(new Out(), columns === 0 ? null : { columns: new Array(columns) });
  return values;
}

/** What is taken out of messages. */
function take(columns, separator, ...messages) {
  const bytes = Buffer.concat(messages);
  const out = new Out();
  begin(columns, separator).messages(out, bytes, 0, bytes.length, messages.length);
  assert.ok(bytes.equals(Buffer.concat(messages)));
  return String(out);
}

describe('Values', () => {
  it('takes the values out of rows', () => {
    assert.equal(take(1, '', dataRow('abc')), 'abc');
    assert.equal(take(1, '', dataRow('a'), dataRow('bc'), dataRow(''), dataRow(null), dataRow('d')), 'abcd');
    assert.equal(take(3, '', dataRow('a', null, 'b'), dataRow('', 'cé', 'x'.repeat(100))), `abcé${'x'.repeat(100)}`);
    assert.equal(take(0, '', dataRow(), dataRow()), '');
  });

  it('puts separators between rows, of any length', () => {
    for (const separator of ['\n', ', ', '-'.repeat(7), '-'.repeat(8), '-'.repeat(50)]) {
      const expected = ['', 'ab', '', 'c', ''].join(separator);
      assert.equal(
        take(
          2,
          separator,
          dataRow(null, null),
          dataRow('a', 'b'),
          dataRow('', ''),
          dataRow(null, 'c'),
          dataRow('', null)
        ),
        expected
      );
    }
  });

  it('puts separators between runs of rows, and none before the first of a result', () => {
    const values = begin(1, ',');
    const run = rows => {
      const bytes = Buffer.concat(rows.map(row => dataRow(row)));
      const out = new Out();
      values.messages(out, bytes, 0, bytes.length, rows.length);
      return String(out);
    };
    assert.deepEqual([run(['a']), run(['b']), run(['c', 'd'])], ['a', ',b', ',c,d']);
    values.start(new Out(), { columns: [{}] });
    assert.equal(run(['b']), 'b');
  });

  it('takes the data out of CopyData', () => {
    assert.equal(take(0, '', message('d', 'a\tb\n')), 'a\tb\n');
    assert.equal(take(0, '|', message('d', 'a'), message('d', ''), message('d', 'bc')), 'abc');
  });

  it('takes values and data out of a message in memory of its own, without a copy', () => {
    const own = (values, bytes) => {
      const out = new Out();
      values.messages(out, bytes, 0, bytes.length, 1, true);
      return out.adopted.bytes === bytes && `${out}${out.adopted.bytes.subarray(out.adopted.sent, out.adopted.used)}`;
    };
    assert.equal(own(begin(0), message('d', 'some data')), 'some data');
    const values = begin(1, ', ');
    assert.deepEqual(
      [own(values, dataRow('first')), own(values, dataRow('')), own(values, dataRow('last'))],
      ['first', ', ', ', last']
    );
    assert.equal(own(begin(2, '|'), dataRow('a', 'bc')), 'abc');
    assert.throws(() => own(begin(1), hex('44 0000000b 0001 00000002 61')), { code: '08P01' });
  });

  it('refuses rows that are not what they say', () => {
    for (const digits of [
      '44 00000004',
      '44 00000006 0002',
      '44 00000006 0001',
      '44 0000000a 0001 00000001',
      '44 0000000b 0001 00000002 61',
      '44 0000000a 0001 fffffffe',
      '44 0000000a 0001 7fffffff',
      '44 00000006 0000',
      '44 00000010 0002 00000001 61 00000001 62'
    ]) {
      const bytes = hex(digits);
      for (const messages of [[bytes], [dataRow('a'), bytes]]) {
        const all = Buffer.concat(messages);
        assert.throws(
          () => begin(1).messages(new Out(), all, 0, all.length, messages.length),
          { code: '08P01' },
          digits
        );
      }
    }
  });
});
