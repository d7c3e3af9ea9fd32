'use strict';

const assert = require('node:assert/strict');
const { beginningOf } = require('../../lib/core/pipeline');
const { tokensOf, withoutHidden, withoutLiterals } = require('../../lib/core/scanner');
const { connected } = require('../support');
const { seeded } = require('../support/kit');

/** Literals of each kind; each string has SECRET in it, each number 42. */
const LITERALS = {
  string: [
    "'SECRET'",
    "'it''s SECRET'",
    "'SECRET\\'",
    "'\\SECRET'",
    "'-- SECRET'",
    "'/* SECRET'",
    "'$$ SECRET'",
    `'" SECRET'`,
    "'SECRET; $1'",
    "'SECRET''''\n'",
    "'SECRET ünï \u2028 𐍈'",
    "E'it\\'s SECRET'",
    "e'SECRET\\\\'",
    "E'\\''' SECRET'",
    "E'SECRET\\\n\\''",
    "U&'SECRET \\0041\\'",
    "u&'''SECRET'",
    "N'SECRET'",
    "n'\\SECRET'",
    "B'SECRET'",
    "b'SECRET'",
    "X'SECRET'",
    "x'SECRET'",
    '$$SECRET$$',
    '$$it\'s SECRET " /* -- $1$$',
    '$a$ SECRET $$ $b$ $A$ $a$',
    '$_1$ SECRET $1$ $_1$',
    '$é$ SECRET $é$'
  ],
  number: [
    '42',
    '0',
    '4_242',
    '4242e0',
    '4242E-42',
    '42e+4_2',
    '.4242',
    '42.',
    '42.42',
    '42.e4',
    '.42e42',
    '0x4242',
    '0X_42aF',
    '0o42',
    '0b1_01',
    '4242424242424242424242424242'
  ]
};

/** What stays as it is, though it looks as if it were a literal or had one in it. */
const VISIBLE = [
  '"it\'s"',
  '"a""b"',
  '"--"',
  '"/*"',
  '"$$"',
  '"E\'"',
  'U&"d\\0061t\'"',
  '"42"',
  'a42',
  't.a42',
  '_42',
  'é42',
  'a$b$',
  'a$42$',
  'name_e',
  '$1',
  '$42',
  "-- it's\n",
  '-- $$ 42 "\r',
  "/* it's */",
  '/* 42 */',
  '/* a /* nested \' */ " $$ */',
  '/**/',
  '/*/**/ 42 */',
  '::int8[]',
  'IS NULL AND true',
  '->>',
  '#>>',
  '@>',
  '||',
  '?|',
  '*',
  ';',
  '$'
];

/** Random texts with literals of every kind, and the tokens that they are made of. */
function* texts(count) {
  const random = seeded(4242);
  const kinds = Object.keys(LITERALS);
  for (let i = 0; i < count; i++) {
    const tokens = [{ kind: 'word', text: 'SELECT' }];
    for (let left = 1 + random.below(12); left > 0; left--) {
      const kind = i < 100 ? kinds[i % 2] : random.pick([...kinds, 'visible']);
      const list = LITERALS[kind] ?? VISIBLE;
      tokens.push({ kind, text: i < 100 ? list[(i >> 1) % list.length] : random.pick(list) });
      if (i < 100) tokens.push({ kind: 'visible', text: random.pick(VISIBLE) });
    }
    yield tokens;
  }
}

const joined = (tokens, textOf) => tokens.map(textOf).join(' ');

describe('The scanner', () => {
  it('leaves no literal of 200 texts with literals of every kind, and all else as it is', () => {
    const seen = new Set();
    for (const tokens of texts(200)) {
      const text = joined(tokens, each => each.text);
      for (const each of tokens) seen.add(each.text);
      const expected = joined(tokens, ({ kind, text: own }) => ({ string: 'S', number: 'N' })[kind] ?? own);
      assert.equal(withoutLiterals(text, 'S', 'N'), expected, text);
      const shown = joined(tokens, ({ kind, text: own }) => ({ string: "'…'", number: '…' })[kind] ?? own);
      if (text.length > 100) assert.doesNotMatch(beginningOf(text), /SECRE/, text);
      else assert.equal(beginningOf(text), shown.length > 100 ? `${shown.slice(0, 100)}…` : shown, text);
    }
    for (const literal of [...LITERALS.string, ...LITERALS.number, ...VISIBLE]) assert.ok(seen.has(literal), literal);
  });

  it('shows no part of a literal whose end is cut off', () => {
    for (const literal of [...LITERALS.string, ...LITERALS.number])
      for (let end = 1; end < literal.length; end++) {
        const text = `SELECT ${literal.slice(0, end)}`;
        assert.doesNotMatch(withoutLiterals(text).slice(7), /SECRET|SE|42/, text);
      }
  });

  it('needs no space between tokens', () => {
    for (const [text, expected] of [
      ["a=1AND b='x'OR c=.5", 'a=?AND b=?OR c=?'],
      ["'a'-'b'--'c'", "?-?--'c'"],
      ['1-1/*1*/+1', '?-?/*1*/+?'],
      ['$1$$a$$', '$1?'],
      ['1$$a$$', '??'],
      ['a$$b$$', 'a$$b$$'],
      ["name'\\'", 'name?'],
      ['1..10', '?..?'],
      ['a[1:2]', 'a[?:?]'],
      ['numeric(10,2)', 'numeric(?,?)'],
      ["*/*it's*/'a'", "*/*it's*/?"],
      ["1e'x'", '??'],
      ["'a'''", '?'],
      ["''''", '?'],
      ["''", '?']
    ])
      assert.equal(withoutLiterals(text), expected, text);
  });

  it("continues E'…' on a later line, by the server's rules", async () => {
    const client = await connected({ decode: false });
    for (const [text, expected, value] of [
      ["E'a'\n'\\'b'", '?\n?', "a'b"],
      ["E'a' -- it's\n -- x\n '\\'b'", "? -- it's\n -- x\n ?", "a'b"],
      ["E'a'\r'b'\n'\\'c'", '?\r?\n?', "ab'c"],
      ["'a'\n'b\\'", '?\n?', 'ab\\'],
      ["E'a' || '\\'", '? || ?', 'a\\'],
      ["E'a'\n|| '\\'", '?\n|| ?', 'a\\'],
      ["E'a' -- x\n|| /* y */ '\\' ", '? -- x\n|| /* y */ ? ', 'a\\']
    ]) {
      assert.equal(withoutLiterals(text), expected, text);
      assert.equal((await client.query(`SELECT ${text}`)).rows[0][0], value, text);
    }
  });

  it('reads literals as the server does', async () => {
    const client = await connected({ decode: false });
    for (const literal of LITERALS.string) {
      if (/^[bx]/i.test(literal)) continue; // SECRET has other digits
      const { rows } = await client.query(`SELECT ${literal.replace('\\0041\\', '\\0041')}, 'end'`);
      assert.match(rows[0][0], /SECRET/, literal);
      assert.equal(rows[0][1], 'end', literal);
    }
  });

  it('tells the kinds of tokens, which together are the text', () => {
    for (const tokens of texts(200)) {
      const text = joined(tokens, each => each.text);
      let at = 0;
      for (const { start, end } of tokensOf(text)) {
        assert.equal(start, at, text);
        assert.ok(end > start, text);
        at = end;
      }
      assert.equal(at, text.length, text);
    }
    const kinds = [...tokensOf('SELECT $1, "a" /* */ + 1 -- x\n\'\'')].map(({ kind }) => kind);
    assert.deepEqual(
      kinds.filter(kind => kind !== 'space'),
      ['word', 'parameter', 'mark', 'quoted', 'comment', 'mark', 'number', 'comment', 'string']
    );
  });

  it('hides what hides words', () => {
    assert.equal(withoutHidden(`a /* ; */ "b;" ';' $$;$$ -- ;\n1`), 'a   ""      \n1');
  });

  it('takes time that is linear in the text, whatever it is made of', () => {
    const pieces = [...LITERALS.string, ...LITERALS.number, ...VISIBLE].flatMap(each => [each, each.slice(0, -1)]);
    for (const piece of [
      ...pieces,
      "'",
      "E'",
      '"',
      '$a$',
      '$a',
      '/*',
      '--',
      '1',
      '1_',
      '_',
      '.',
      '1.',
      'e',
      '0x',
      '\n'
    ]) {
      const hostile = piece.repeat(3e4 / (piece.length || 1));
      const begun = process.cpuUsage();
      for (const before of ['', "E'", '1', '$a$']) withoutLiterals(before + hostile);
      const { user, system } = process.cpuUsage(begun);
      assert.ok(user + system < 2e5, `${JSON.stringify(piece)}: ${(user + system) / 1000} ms`);
    }
  });
});
