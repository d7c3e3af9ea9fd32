'use strict';

const assert = require('node:assert/strict');
const { inspect } = require('node:util');
require('../../lib/core/rows'); // it says how Node.js prints a row
const { rowDescription, dataRow, commandComplete } = require('./query');

describe('client-parser, rows', () => {
  let parser;

  before(async () => {
    parser = await import('../../client-parser/index.js');
  });

  /** The only row of a result. */
  function rowOf(columns, values, binary = 0, options) {
    const client = new parser.Client(binary, options);
    client.onData(rowDescription(...columns));
    client.onData(dataRow(...values));
    client.onData(commandComplete('SELECT 1'));
    client.end();
    return client.stream.structs[0];
  }

  it('have their columns by name and by index', () => {
    const row = rowOf([['id'], ['name'], ['nothing']], ['1', 'Ä', null]);
    assert.deepEqual([row.id, row.name, row.nothing], ['1', 'Ä', null]);
    assert.deepEqual([row[2], row[0], row[1], row[3]], [null, '1', 'Ä', undefined]);
    assert.deepEqual(
      [row.get('name'), row.get(0), row.get('none'), row.get(3), row.get(-1)],
      ['Ä', '1', undefined, undefined, undefined]
    );
  });

  it('become objects, arrays and JSON', () => {
    const row = rowOf([['id'], ['name']], ['1', null]);
    assert.deepEqual(row.toObject(), { id: '1', name: null });
    assert.deepEqual(row.toArray(), ['1', null]);
    assert.deepEqual([...row], ['1', null]);
    assert.equal(JSON.stringify([row]), '[{"id":"1","name":null}]');
    assert.equal(inspect(row), "{ id: '1', name: null }");
  });

  it('show their columns to for … in, and nothing else', () => {
    const names = [];
    for (const name in rowOf([['id'], ['name']], ['1', null])) names.push(name);
    assert.deepEqual(names, ['id', 'name']);
  });

  it('of the same description are of the same class, also in another result', () => {
    const { constructor } = rowOf([['one'], ['two']], ['1', '2']);
    assert.equal(rowOf([['one'], ['two']], ['3', '4']).constructor, constructor);
    assert.notEqual(rowOf([['one'], ['three']], ['1', '2']).constructor, constructor);
    assert.notEqual(rowOf([['one'], ['two']], ['1', '2'], 0, { decode: true }).constructor, constructor);
    for (let i = 0; i < 100; i++) rowOf([[`column ${i}`]], ['1']);
    assert.notEqual(rowOf([['one'], ['two']], ['1', '2']).constructor, constructor, 'not for ever');
  });

  it('made of a buffer that the caller fills again show the new bytes', () => {
    const rowParser = new parser.RowParser(rowDescription(['a'], ['b']));
    const bytes = Uint8Array.from(dataRow('first text', 'x'));
    const row = new rowParser[0](bytes);
    assert.deepEqual([row.a, row.toObject()], ['first text', { a: 'first text', b: 'x' }]);
    bytes.set(dataRow('other', 'longer'));
    assert.deepEqual([row.a, row.b, row.toArray()], ['other', 'longer', ['other', 'longer']]);
  });

  it('have texts of any script, short and long', () => {
    const texts = [
      '',
      'a',
      'ä',
      'text',
      '日本語',
      '😀',
      '\x80',
      'ascii and ä',
      'x'.repeat(63),
      'x'.repeat(64),
      `${'x'.repeat(70)}é`
    ];
    const client = new parser.Client();
    client.onData(
      Uint8Array.from(
        Buffer.concat([rowDescription(['a']), ...texts.map(text => dataRow(text)), dataRow([97, 0xff, 98])])
      )
    );
    const expected = [...texts, 'a\ufffdb'];
    assert.deepEqual(
      client.stream.arrays.map(([text]) => text),
      expected
    );
    assert.deepEqual(
      client.stream.objects.map(({ a }) => a),
      expected
    );
    assert.deepEqual(
      client.stream.rows.map(row => row.a),
      expected
    );
  });

  it('know their bytes, format and description', () => {
    const row = rowOf([['id'], ['name']], ['1', 'x']);
    assert.deepEqual(Buffer.from(row.rowBuffer), dataRow('1', 'x'));
    assert.deepEqual([row.dataFormat, row.columnCount], [0, 2]);
    assert.equal(row.rowColumns, row.rowParser.columns);
    assert.equal(rowOf([['id', 23, 1]], [[0, 0, 0, 1]]).dataFormat, 1);
    assert.equal(rowOf([], []).dataFormat, 0);
    assert.equal(rowOf([], [], 1).dataFormat, 1);
  });

  it('keep columns named like a member reachable by index and get()', () => {
    const members = [
      'toObject',
      'toArray',
      'toJSON',
      'get',
      'rowBuffer',
      'rowParser',
      'rowColumns',
      'columnCount',
      'dataFormat'
    ];
    const others = ['constructor', '__proto__', 'hasOwnProperty', 'toString', 'rows', 'length', 'then'];
    const names = [...members, ...others];
    const row = rowOf(
      names.map(name => [name]),
      names.map(name => `value of ${name}`)
    );
    names.forEach((name, i) => {
      assert.equal(row[i], `value of ${name}`);
      assert.equal(row.get(name), `value of ${name}`);
    });
    for (const name of others) assert.equal(row[name], `value of ${name}`);
    const object = row.toObject();
    assert.deepEqual(Object.keys(object), names);
    assert.deepEqual(
      Object.values(object),
      names.map(name => `value of ${name}`)
    );
    assert.equal(Object.getPrototypeOf(object), Object.prototype);
    assert.deepEqual(JSON.parse(JSON.stringify(row)), JSON.parse(JSON.stringify(object)));
    assert.equal({}.polluted, undefined);
  });

  it('find a column by its index where another has that as its name', () => {
    const row = rowOf([['1'], ['0'], ['5']], ['a', 'b', 'c']);
    assert.deepEqual([row[0], row[1], row[2], row[5]], ['a', 'b', 'c', 'c']);
    assert.deepEqual([row.get('0'), row.get(0)], ['b', 'a']);
  });

  it('give the last of several columns with one name', () => {
    const row = rowOf([['a'], ['a'], ['b'], ['a']], ['1', '2', '3', '4']);
    assert.deepEqual([row.a, row.get('a'), row.toObject()], ['4', '4', { a: '4', b: '3' }]);
    assert.deepEqual(row.toArray(), ['1', '2', '3', '4']);
  });

  it('have any number of columns', () => {
    assert.deepEqual(rowOf([], []).toObject(), {});
    const values = Array.from({ length: 1600 }, (_, i) => (i % 3 ? `value ${i}` : null));
    const row = rowOf(
      values.map((_, i) => [`column ${i}`]),
      values
    );
    assert.deepEqual(row.toArray(), values);
    for (const i of [1599, 0, 800, 801, 799, 1, 1598]) assert.equal(row[i], values[i]);
    assert.equal(row['column 1000'], 'value 1000');
  });

  it('can be read in turns with others of their class', () => {
    const client = new parser.Client();
    client.onData(Buffer.concat([rowDescription(['a'], ['b']), dataRow('1', 'x'), dataRow('long', 'y')]));
    const [one, two] = client.stream.rows;
    assert.deepEqual([one.b, two.b, one.a, two.a, two.b, one.b], ['x', 'y', '1', 'long', 'y', 'x']);
  });

  it('are made of a message by their parser', () => {
    const rowParser = new parser.RowParser(Buffer.concat([Buffer.alloc(3), rowDescription(['a', 23])]), 3);
    const bytes = Buffer.concat([Buffer.alloc(2), dataRow([0, 0, 1, 0])]);
    assert.equal(new rowParser[1](bytes, 2).a, 256);
    assert.deepEqual(new rowParser[0](dataRow('7')).toObject(), { a: '7' });
    assert.equal(rowParser[0], rowParser[0]);
    assert.throws(() => new rowParser[0](bytes), { name: 'ProtocolError' });
  });

  describe('decode', () => {
    const INT4 = [0, 0, 1, 0];
    const columns = [
      ['i', 23, 1],
      ['t', 25, 0],
      ['n', 1700, 0],
      ['p', 600, 1]
    ];
    const values = [INT4, 'x', '1.50', [1, 2]];

    it('binary values alone by TypeParser when nothing is said, as kig/quickgres 0.4', () => {
      const types = [['i', 23], ['at', 1184], ['c', 18], ['t'], ['p', 600], ['zoned', 1185], ['unzoned', 1115]];
      const second = [0, 0, 0, 0, 0, 0x0f, 0x42, 0x40];
      const list = oid => [
        0,
        0,
        0,
        1,
        0,
        0,
        0,
        0,
        0,
        0,
        oid >> 8,
        oid & 255,
        0,
        0,
        0,
        1,
        0,
        0,
        0,
        1,
        0,
        0,
        0,
        8,
        ...second
      ];
      const row = rowOf(types, [INT4, second, 'a', 'ä', [1, 2], list(1184), list(1114)], 1);
      assert.deepEqual([row.zoned, row.unzoned], [[row.at], [row.at]]);
      assert.deepEqual([row.i, row.dataFormat], [256, 1]);
      assert.deepEqual(row.at, new Date('2000-01-01T00:00:01Z'));
      assert.equal(row.c, 97);
      assert.equal(row.t, 'ä');
      assert.deepEqual(row.p, Uint8Array.of(1, 2));
      assert.deepEqual(rowOf(columns, values).toArray(), [256, 'x', '1.50', Uint8Array.of(1, 2)]);
    });

    it('by TypeParser what was added to it', () => {
      parser.TypeParser[600] = (bytes, start, end) => end - start;
      try {
        assert.equal(rowOf(columns, values).p, 2);
      } finally {
        delete parser.TypeParser[600];
      }
    });

    it('nothing when told not to', () => {
      assert.deepEqual(rowOf(columns, values, 0, { decode: false }).toArray(), [
        Uint8Array.from(INT4),
        'x',
        '1.50',
        Uint8Array.of(1, 2)
      ]);
    });

    it('both formats by the built-in decoders', () => {
      const row = rowOf(
        [
          ['i', 23, 1],
          ['j', 23, 0]
        ],
        [INT4, '-5'],
        0,
        { decode: true }
      );
      assert.deepEqual(row.toArray(), [256, -5]);
    });

    it('by a map of functions of the string or bytes, and of pairs', () => {
      const seen = [];
      const decode = {
        ...parser.decoders,
        600: (value, column) => {
          seen.push(value, column.name);
          return 'point';
        },
        1700: Number
      };
      assert.deepEqual(rowOf(columns, values, 0, { decode }).toArray(), [256, 'x', 1.5, 'point']);
      assert.deepEqual(seen, [Uint8Array.of(1, 2), 'p']);
    });

    it('by a Map', () => {
      const decode = new Map([
        [1700, Number],
        [600, () => 'point']
      ]);
      const [, , number, point] = rowOf(columns, values, 0, { decode }).toArray();
      assert.deepEqual([number, point], [1.5, 'point']);
    });

    it('when they are read, and not before, in each form of a row', () => {
      const made = [];
      const client = new parser.Client(0, { decode: { 23: text => made.push(text) && Number(text) } });
      client.onData(Buffer.concat([rowDescription(['a', 23], ['b']), dataRow('1', 'x'), dataRow('2', null)]));
      const { stream } = client;
      assert.deepEqual(made, []);
      const { rows } = stream;
      assert.deepEqual(
        rows.map(row => row.toObject()),
        [
          { a: 1, b: 'x' },
          { a: 2, b: null }
        ]
      );
      client.onData(Buffer.concat([dataRow('3', 'ä'), commandComplete('SELECT 3')]));
      assert.equal(stream.rows, rows);
      assert.deepEqual(
        stream.rows.map(({ a }) => a),
        [1, 2, 3]
      );
      assert.deepEqual(structuredClone(stream.objects[2]), { a: 3, b: 'ä' });
      assert.deepEqual(
        stream.structs.map(row => [row.a, row[1]]),
        [
          [1, 'x'],
          [2, null],
          [3, 'ä']
        ]
      );
      assert.deepEqual(
        [stream.objects, stream.arrays],
        [
          rows.map(row => row.toObject()),
          [
            [1, 'x'],
            [2, null],
            [3, 'ä']
          ]
        ]
      );
      stream.rows = [];
      assert.deepEqual([stream.rows, stream.structs], [[], []]);
    });

    it('to structs with any', () => {
      for (const decode of [undefined, false, {}]) {
        const client = new parser.Client(0, { decode });
        client.onData(Buffer.concat([rowDescription(['a', 23]), dataRow('1')]));
        assert.equal(client.stream.rows, client.stream.structs);
        assert.deepEqual(
          client.stream.rows.map(row => row.toArray()),
          [['1']]
        );
      }
    });

    it('needs the decoders for true', async () => {
      const { defaults } = await import('../../client-parser/type-parser.js');
      const { decoders } = defaults;
      defaults.decoders = undefined;
      try {
        assert.throws(() => new parser.RowReader({ decode: true }), TypeError);
      } finally {
        defaults.decoders = decoders;
      }
    });
  });

  it('are serialized by TypeParser as kig/quickgres 0.4 does', () => {
    const { serialize } = parser.TypeParser;
    assert.deepEqual(serialize(true), Uint8Array.of(1));
    assert.deepEqual(serialize(false), Uint8Array.of(0));
    assert.deepEqual(serialize(-2), Uint8Array.of(255, 255, 255, 254));
    assert.deepEqual(serialize(0.5), Uint8Array.of(0x3f, 0, 0, 0));
    assert.deepEqual(serialize(2 ** 32), Uint8Array.of(0x4f, 0x80, 0, 0));
    assert.deepEqual(serialize(-2n), Uint8Array.of(255, 255, 255, 255, 255, 255, 255, 254));
    assert.deepEqual(serialize('ä'), Uint8Array.of(0xc3, 0xa4));
    const bytes = Buffer.of(1, 2);
    const copy = serialize(bytes);
    bytes[0] = 9;
    assert.deepEqual(copy, Uint8Array.of(1, 2));
    assert.equal(Buffer.from(serialize({ a: [1] })).toString(), '{"a":[1]}');
    assert.equal(serialize(null), null);
    assert.equal(serialize(undefined), undefined);
  });
});
