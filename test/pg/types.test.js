'use strict';

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { TypeOverrides, types } = require('../../lib/pg/types');

const text = (oid, value) => types.getTypeParser(oid)(value);
const binary = (oid, hex) => types.getTypeParser(oid, 'binary')(Buffer.from(hex, 'hex'));

describe('Types of quickgres/pg', () => {
  it('are read from text', () => {
    for (const [oid, value, expected] of [
      [20, '9007199254740993', '9007199254740993'],
      [23, '-5', -5],
      [701, 'NaN', NaN],
      [16, 't', true],
      [16, 'f', false],
      [1700, '1.10', '1.10'],
      [17, '\\x0102', Buffer.from([1, 2])],
      [114, '{"a":[1]}', { a: [1] }],
      [3802, 'null', null],
      [23, null, null],
      [1186, null, null],
      [600, '(1.5,-2)', { x: 1.5, y: -2 }],
      [718, '<(1,2),3.5>', { x: 1, y: 2, radius: 3.5 }],
      [25, 'x', 'x'],
      [99999, 'y', 'y']
    ])
      assert.deepEqual(text(oid, value), expected, `${oid}`);
  });

  it('are arrays of these', () => {
    for (const [oid, value, expected] of [
      [1007, '{1,NULL,3}', [1, null, 3]],
      [
        1005,
        '{{1,2},{3,4}}',
        [
          [1, 2],
          [3, 4]
        ]
      ],
      [1016, '{1}', ['1']],
      [1231, '{1.5}', [1.5]],
      [1000, '{t,f}', [true, false]],
      [1009, '{a,"b,\\"c"}', ['a', 'b,"c']],
      [1007, '[0:1]={1,2}', [1, 2]],
      [1001, '{"\\\\x01"}', [Buffer.from([1])]],
      [1017, '{"(1,2)"}', [{ x: 1, y: 2 }]],
      [199, '{"{\\"a\\":1}"}', [{ a: 1 }]],
      [2951, '{}', []]
    ])
      assert.deepEqual(text(oid, value), expected, `${oid}`);
    assert.deepEqual(types.arrayParser.create('{1,{2,3}}'.replace('1,', ''), Number).parse(), [[2, 3]]);
  });

  it('are Dates: in local time where there is no time zone', () => {
    assert.deepEqual(text(1184, '2020-02-29 12:00:00.123456+05:30'), new Date('2020-02-29T06:30:00.123Z'));
    for (const each of [
      '2020-02-29 12:00:00+00',
      '2020-02-29 07:00:00-05',
      '2020-02-29 12:00:00.0009+00',
      '2020-02-29 17:30:00+05:30'
    ]) {
      assert.deepEqual(text(1184, each), new Date('2020-02-29T12:00:00Z'), each);
    }
    assert.deepEqual(text(1184, '9999-12-31 23:59:59.999999-11'), new Date('+010000-01-01T10:59:59.999Z'));
    assert.deepEqual(text(1184, '0099-01-02 03:04:05+00'), new Date('0099-01-02T03:04:05Z'));
    assert.deepEqual(text(1184, '12345-01-02 03:04:05.5+00'), new Date('+012345-01-02T03:04:05.500Z'));
    assert.deepEqual(text(1184, '0044-03-15 12:00:00+00 BC'), new Date('-000043-03-15T12:00:00Z'));
    assert.deepEqual(text(1114, '2020-02-29 12:00:00.5'), new Date(2020, 1, 29, 12, 0, 0, 500));
    assert.deepEqual(text(1082, '2020-02-29'), new Date(2020, 1, 29));
    const early = new Date(2000, 0, 2);
    early.setFullYear(99);
    assert.deepEqual(text(1082, '0099-01-02'), early);
    assert.deepEqual(text(1182, '{2020-02-29,NULL}'), [new Date(2020, 1, 29), null]);
    assert.equal(text(1184, 'infinity'), Infinity);
    assert.deepEqual(text(1184, '"2020-02-29 12:00:00+00"'), new Date('2020-02-29T12:00:00Z')); // in a range
    assert.equal(text(1114, '-infinity'), -Infinity);
    assert.equal(text(1114, '290000-01-01 00:00:00').getTime(), NaN); // later than any Date
  });

  it('are intervals by their parts, which PostgreSQL reads, too', () => {
    const interval = text(1186, '1 year 2 mons -3 days -04:05:06.789');
    assert.deepEqual(
      { ...interval },
      { years: 1, months: 2, days: -3, hours: -4, minutes: -5, seconds: -6, milliseconds: -789 }
    );
    assert.equal(interval.toISOString(), 'P1Y2M-3DT-4H-5M-6.789S');
    assert.equal(interval.toPostgres(), interval.toISOString());
    assert.equal(interval.toISO(), interval.toISOString());
    assert.deepEqual({ ...text(1186, '00:00:00') }, {});
    assert.equal(text(1186, '00:00:00').toPostgres(), 'P0Y0M0DT0H0M0S');
    assert.equal(text(1186, '00:00:00.000001').toPostgres(), 'P0Y0M0DT0H0M0.000001S');
    assert.deepEqual(
      text(1187, '{"1 day",NULL}').map(each => each && { ...each }),
      [{ days: 1 }, null]
    );
  });

  it('are read from binary', () => {
    for (const [oid, hex, expected] of [
      [20, '0020000000000001', '9007199254740993'],
      [21, 'fffe', -2],
      [23, '00000007', 7],
      [16, '01', true],
      [700, '3dcccccd', 0.10000000149011612],
      [701, '3ff8000000000000', 1.5],
      [25, 'c3a9', 'é'],
      [17, '0102', '\u0001\u0002'],
      [1184, '0000000000000000', new Date('2000-01-01T00:00:00Z')],
      [1114, '0000000000000000', new Date(2000, 0, 1)],
      [1007, '00000001000000000000001700000001000000010000000400000005', [5]],
      [1700, '0002000000000001' + '00011388', 1.5]
    ])
      assert.deepEqual(binary(oid, hex), expected, `${oid}`);
  });

  it('may be read by other parsers, for all or for some', () => {
    const mine = new TypeOverrides();
    mine.setTypeParser(23, value => `<${value}>`);
    mine.setTypeParser(23, 'binary', value => value.length);
    assert.equal(mine.getTypeParser(23)('1'), '<1>');
    assert.equal(mine.getTypeParser(23, 'binary')(Buffer.alloc(4)), 4);
    assert.equal(types.getTypeParser(23)('1'), 1);
    assert.equal(mine.getTypeParser(16)('t'), true);
    const theirs = new TypeOverrides({ getTypeParser: oid => value => `${oid}:${value}` });
    assert.equal(theirs.getTypeParser(5)('x'), '5:x');
    const [ofText, ofBytes] = new TypeOverrides({ getTypeParser: () => value => value }).decode.get(5);
    assert.deepEqual(
      [ofText, ofBytes].map(read => read(Buffer.from('(7)'), 1, 2)),
      ['7', Buffer.from('7')]
    );
    assert.equal(types.builtins.TIMESTAMPTZ, 1184);
  });

  it('are decoded by another map when parsers have been set, here or for all', () => {
    const mine = new TypeOverrides();
    const before = mine.decode;
    assert.equal(mine.decode, before);
    mine.setTypeParser(1, String);
    const after = mine.decode;
    assert.notEqual(after, before);
    types.setTypeParser(99998, Number);
    assert.notEqual(mine.decode, after);
  });

  it('are read by what a program has set by the module pg-types, for types that are known and others', () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pg-types-'));
    try {
      const parsers = '{ init(register) { register(20, String); register(114, JSON.parse.bind(JSON)); } }';
      for (const [name, text] of Object.entries({
        'lib/textParsers.js': `module.exports = ${parsers};`,
        'lib/binaryParsers.js': 'module.exports = { init() {} };',
        'index.js': `const own = { text: {}, binary: {} };
          for (const format in own) require('./lib/' + format + 'Parsers').init((oid, parse) => { own[format][oid] = parse; });
          exports.setTypeParser = (oid, parse) => { own.text[oid] = parse; };
          const noParse = value => String(value);
          exports.getTypeParser = (oid, format = 'text') => own[format][oid] || noParse;`,
        'program.js': `const foreign = require('pg-types');
          require('./pg-types'); // a folder of the program
          foreign.setTypeParser(20, Number);
          foreign.setTypeParser(99999, text => 'mine ' + text);
          const { Client, types } = require(process.argv[2]);
          const before = types.getTypeParser(114);
          new Client();
          const read = (oid, text) => types.getTypeParser(oid)(text);
          console.log(JSON.stringify([read(20, '5'), read(99999, '5'), read(88888, '5'), types.getTypeParser(114) === before]));`
      })) {
        const file = path.join(folder, name === 'program.js' ? '.' : 'node_modules/pg-types', name);
        fs.mkdirSync(path.dirname(file), { recursive: true });
        fs.writeFileSync(file, text);
      }
      fs.mkdirSync(path.join(folder, 'pg-types'));
      fs.writeFileSync(path.join(folder, 'pg-types/index.js'), 'exports.mine = true;');
      const printed = execFileSync(
        process.execPath,
        [path.join(folder, 'program.js'), require.resolve('../../lib/pg')],
        { encoding: 'utf8' }
      );
      assert.deepEqual(JSON.parse(printed), [5, 'mine 5', '5', true]);
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  });

  it('are those of this module in a bundle, where `require` has no cache or is not there', () => {
    const file = require.resolve('../../lib/pg/types');
    const withCache = getter =>
      Object.defineProperty(name => require(name.startsWith('.') ? path.join(file, '..', name) : name), 'cache', {
        get: getter
      });
    for (const getter of [
      () => undefined,
      () => {
        throw new ReferenceError('require is not defined');
      }
    ]) {
      const module = {};
      new Function('require', 'module', fs.readFileSync(file, 'utf8'))(withCache(getter), module);
      module.exports.adoptTypes();
      assert.equal(module.exports.types.getTypeParser(23)('5'), 5);
    }
  });
});
