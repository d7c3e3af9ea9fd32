'use strict';

const assert = require('node:assert/strict');
const { saslprep } = require('../../../lib/core/connection/saslprep');

describe('SASLprep', () => {
  it('does what the examples of RFC 4013, section 3, say', () => {
    assert.equal(saslprep('I\u00adX'), 'IX');
    assert.equal(saslprep('user'), 'user');
    assert.equal(saslprep('USER'), 'USER');
    assert.equal(saslprep('\u00aa'), 'a');
    assert.equal(saslprep('\u2168'), 'IX');
    assert.equal(saslprep('\u0007'), null);
    assert.equal(saslprep('\u06271'), null);
  });

  it('maps every other space to the ASCII one and drops what is commonly mapped to nothing', () => {
    assert.equal(saslprep('a\u00a0b\u1680c\u3000d\u2003e'), 'a b c d e');
    assert.equal(saslprep('a\u200db\ufe0fc\ufeffd'), 'abcd');
  });

  it('maps U+200B, which is in both tables, to a space, as PostgreSQL does', () => {
    assert.equal(saslprep('a\u200bb'), 'a b');
  });

  it('composes and decomposes to NFKC', () => {
    assert.equal(saslprep('e\u0301'), '\u00e9');
    assert.equal(saslprep('\ufb01'), 'fi');
    assert.equal(saslprep('пароль'), 'пароль');
    assert.equal(saslprep('密码\u{1d54a}'), '密码S');
  });

  it('prohibits controls, private use, non-characters, surrogates, tags and unassigned code points', () => {
    for (const code of [
      0, 0x1f, 0x7f, 0x80, 0x340, 0x6dd, 0x2028, 0x2ff0, 0xe000, 0xfdd0, 0xfffd, 0x1d173, 0x1fffe, 0xe0001, 0xe0041,
      0x10ffff, 0x378, 0x1d800, 0x1f600, 0x3097, 0xeffff
    ]) {
      assert.equal(saslprep(`a${String.fromCodePoint(code)}b`), null, code.toString(16));
    }
    assert.equal(saslprep('a\ud800b'), null);
    assert.equal(saslprep('a\udc00'), null);
  });

  it('prohibits emoji, which PostgreSQL does not know, also where they are joined by what is mapped to nothing', () => {
    assert.equal(saslprep('\u{1f468}\u200d\u{1f469}'), null);
  });

  it('takes letters that are newer than Unicode 3.2, other than PostgreSQL', () => {
    assert.equal(saslprep('\u0221\u0234'), '\u0221\u0234');
  });

  it('accepts the neighbours of those', () => {
    for (const code of [0x20, 0x7e, 0xa1, 0x220, 0x222, 0x233, 0x3096, 0x3099, 0x1d172, 0x20000]) {
      assert.notEqual(saslprep(`a${String.fromCodePoint(code)}b`), null, code.toString(16));
    }
  });

  it('lets text of right-to-left scripts have no left-to-right letters and no other ends', () => {
    assert.equal(saslprep('\u0627\u0628'), '\u0627\u0628');
    assert.equal(saslprep('\u06271\u0628'), '\u06271\u0628');
    assert.equal(saslprep('\u0627a\u0628'), null);
    assert.equal(saslprep('1\u0627'), null);
    assert.equal(saslprep('\u05d01'), null);
    assert.equal(saslprep('a\u0661'), 'a\u0661'); // digits have no direction of their own
  });

  it('prohibits what is nothing after the mapping', () => {
    assert.equal(saslprep('\u00ad'), null);
  });
});
