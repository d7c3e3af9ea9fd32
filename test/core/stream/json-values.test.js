'use strict';

const assert = require('node:assert/strict');
const { Kind, resolve, writeString } = require('../../../lib/core/stream/json-values');

const viewOf = buf => new DataView(buf.buffer, buf.byteOffset, buf.length);

describe('A JSON string', () => {
  it('has every character that JSON.stringify escapes escaped, wherever it is', () => {
    for (let code = 0; code < 160; code++) {
      for (const before of ['', 'a', 'ab', 'abc', 'abcd', 'äbcde"']) {
        const text = `${before}${String.fromCodePoint(code)}after it, \u2028 ✓`;
        const bytes = Buffer.from(text);
        const to = Buffer.alloc(6 * bytes.length);
        const end = writeString(viewOf(bytes), 0, bytes.length, viewOf(to), 0);
        assert.equal(`"${to.toString('utf8', 0, end)}"`, JSON.stringify(text));
      }
    }
  });
});

describe('A value without a byte', () => {
  it("is refused where its type has none: what lies behind it is another's", () => {
    for (const kind of [Kind.BOOL, Kind.FLOAT, Kind.INT8, Kind.VERBATIM]) {
      assert.throws(() => resolve(kind, viewOf(Buffer.from('true')), 0, 0), { name: 'ConnectionError', code: '08P01' });
    }
    assert.equal(resolve(Kind.STRING, viewOf(Buffer.from('true')), 0, 0), Kind.STRING);
  });
});
