'use strict';

const assert = require('node:assert/strict');
const { PassThrough } = require('node:stream');
const { inspect } = require('node:util');
const { Client } = require('../../..');
const { rowClass } = require('../../../client-parser/datarow.js');
const { RowParser, RowReader, int32, toCamel } = require('../../../lib/core/rows');
const { Piece } = require('../../../lib/core/protocol');
const { Pool } = require('../../../lib/pool');
const { sql } = require('../../../lib/sql');
const { connected, dataRow, hex, rowDescription, sharedServer } = require('../../support');
const { endAfterTest } = require('../../support/hooks');

/** Two columns: id (int4, from a table) and name (varchar(30)). */
const DESCRIPTION = hex(`54 00000032 0002
  'id'   00  00004001 0001 00000017 0004 ffffffff 0000
  'name' 00  00004001 fffe 00000413 ffff 00000022 0000`);
const SECRET = hex("44 00000010 0001 00000006 'secret'");

/** A row of text columns c0, c1, … that has other rows before and behind it in memory. */
function textRow(...values) {
  const parser = new RowParser(rowDescription(...values.map((value, index) => `c${index}`)));
  return new parser[0](Buffer.concat([SECRET, dataRow(...values), SECRET]), SECRET.length);
}

describe('RowParser', () => {
  it('reads a RowDescription', () => {
    const parser = new RowParser(DESCRIPTION);
    assert.deepEqual(parser.columns, [
      { name: 'id', tableOid: 0x4001, tableColumnIndex: 1, typeOid: 23, typeLen: 4, typeModifier: -1, binary: 0 },
      {
        name: 'name',
        tableOid: 0x4001,
        tableColumnIndex: -2,
        typeOid: 1043,
        typeLen: -1,
        typeModifier: 34,
        binary: 0
      }
    ]);
    assert.deepEqual(parser.columnNames, ['id', 'name']);
    assert.deepEqual(parser.buffer, DESCRIPTION);
  });

  it('reads it anywhere in memory, and keeps a copy', () => {
    const memory = Buffer.concat([SECRET, DESCRIPTION, SECRET]);
    const parser = new RowParser(memory, SECRET.length);
    memory.fill(0);
    assert.deepEqual(parser.buffer, DESCRIPTION);
    assert.deepEqual(parser.columnNames, ['id', 'name']);
  });

  it('reads OIDs above 2^31, and names in UTF-8', () => {
    const bytes = hex('54 0000001b 0001 c3a9 00  ffffffff 7fff fffffffe 0001 80000000 0001');
    const [column] = new RowParser(bytes).columns;
    assert.deepEqual(column, {
      name: 'é',
      tableOid: 0xffffffff,
      tableColumnIndex: 0x7fff,
      typeOid: 0xfffffffe,
      typeLen: 1,
      typeModifier: -0x80000000,
      binary: 1
    });
  });

  it('reads a description of no columns and of 1,664 columns', () => {
    assert.deepEqual(new RowParser(hex('54 00000006 0000')).columns, []);
    const names = Array.from({ length: 1664 }, (_, index) => `c${index}`);
    assert.deepEqual(new RowParser(rowDescription(...names)).columnNames, names);
  });

  it('refuses a description that is cut short anywhere, whatever follows it', () => {
    for (let length = 0; length < DESCRIPTION.length; length++) {
      const cut = Buffer.from(DESCRIPTION.subarray(0, length));
      const error = { name: 'ConnectionError', code: '08P01', message: /RowDescription (cut short|of a wrong length)/ };
      assert.throws(() => new RowParser(cut), error, `${length} bytes`);
      if (length < 5) continue;
      cut.writeUInt32BE(length - 1, 1);
      assert.throws(() => new RowParser(Buffer.concat([cut, Buffer.alloc(100)])), error, `${length} bytes, measured`);
    }
  });

  it('refuses more bytes than its columns take, and more columns than there are', () => {
    for (const bytes of [
      '54 00000007 0000 00',
      '54 00000006 0001',
      '54 00000006 ffff',
      "54 0000001b 0001 'a' 00 00000000 0000 00000019 ffff ffffffff 0000 00"
    ])
      assert.throws(() => new RowParser(hex(bytes)), { code: '08P01' }, bytes);
  });

  it('gives the description with the format that the rows have', () => {
    const parser = new RowParser(DESCRIPTION);
    assert.equal(parser.description(0), parser.buffer);
    assert.deepEqual(
      parser.description(1),
      hex(`54 00000032 0002
      'id'   00  00004001 0001 00000017 0004 ffffffff 0001
      'name' 00  00004001 fffe 00000413 ffff 00000022 0001`)
    );
    assert.equal(parser.description(1), parser.description(1), 'made once');
    assert.equal(
      new RowParser(new RowParser(rowDescription('', 'a')).description(1)).columns[0].binary,
      1,
      'without a name'
    );
    assert.deepEqual(parser.buffer, DESCRIPTION, 'left as it was');
  });

  it('makes one class of rows for each format', () => {
    const parser = new RowParser(DESCRIPTION);
    assert.equal(parser[0], parser[0]);
    assert.equal(parser[1], parser[1]);
    assert.notEqual(parser[0], parser[1]);
  });

  it('makes one class of rows for each map of decoders and each format', () => {
    const parser = new RowParser(DESCRIPTION);
    const decode = { 23: [(buf, start, end) => Number(buf.latin1Slice(start, end)), undefined] };
    const classOf = (...type) => rowClass(parser.type(...type));
    const Row = classOf(0, decode);
    assert.equal(classOf(0, decode), Row);
    assert.notEqual(classOf(1, decode), Row);
    assert.notEqual(classOf(0, { ...decode }), Row);
    assert.notEqual(parser[0], Row);
    assert.deepEqual(new Row(dataRow('7', 'x')).toArray(), [7, 'x']);
    assert.deepEqual(new Row(dataRow(null, null)).toArray(), [null, null], 'NULL is not decoded');
    assert.deepEqual(new (classOf(1, decode))(dataRow('7', 'x')).toArray(), [Buffer.from('7'), Buffer.from('x')]);
  });

  it('is the same one for the same description, as long as it is remembered', () => {
    const parser = RowParser.of(rowDescription('the', 'same'));
    assert.equal(RowParser.of(Buffer.concat([SECRET, rowDescription('the', 'same')]), SECRET.length), parser);
    assert.notEqual(RowParser.of(rowDescription('an', 'other')), parser);
    for (let i = 0; i < 100; i++) RowParser.of(rowDescription(`c${i}`));
    assert.notEqual(RowParser.of(rowDescription('the', 'same')), parser, 'not for ever');
  });

  it('makes rows of binary columns where the description says so, of each column by itself', () => {
    const mixed = hex(`54 00000030 0002
      'a' 00  00000000 0000 00000017 0004 ffffffff 0001
      'b' 00  00000000 0000 00000019 ffff ffffffff 0000`);
    mixed.writeUInt32BE(mixed.length - 1, 1);
    const row = new new RowParser(mixed)[0](dataRow(hex('00000007'), 'x'));
    assert.deepEqual(row.toArray(), [hex('00000007'), 'x']);
    assert.equal(row.dataFormat, 0);
    const binary = new RowParser(new RowParser(DESCRIPTION).description(1));
    assert.equal(new binary[0](dataRow('7', 'x')).dataFormat, 1);
  });
});

describe('A row', () => {
  it('has its columns by name and by index: strings in text format', () => {
    const parser = new RowParser(DESCRIPTION);
    const row = new parser[0](hex("44 00000014 0002 00000001 '7' 00000005 'J' c3b6 'rg'"));
    assert.equal(row.id, '7');
    assert.equal(row.name, 'Jörg');
    assert.equal(row[0], '7');
    assert.equal(row[1], 'Jörg');
    assert.equal(row[2], undefined);
    assert.equal(row.other, undefined);
    assert.equal(row.dataFormat, 0);
    assert.equal(row.columnCount, 2);
    assert.equal(row.rowColumns, parser.columns);
    assert.equal(row.rowParser, parser);
  });

  it('has Buffers in binary format, views of its own bytes', () => {
    const parser = new RowParser(DESCRIPTION);
    const bytes = hex('44 00000012 0002 00000004 00000007 00000000');
    const row = new parser[1](bytes);
    assert.deepEqual(row.id, hex('00000007'));
    assert.equal(row.id.buffer, bytes.buffer);
    assert.deepEqual(row.name, Buffer.alloc(0));
    assert.equal(row.dataFormat, 1);
  });

  it('tells NULL from an empty value', () => {
    const row = textRow(null, '', null);
    assert.deepEqual([row.c0, row.c1, row.c2], [null, '', null]);
    assert.deepEqual(row.toArray(), [null, '', null]);
  });

  it('turns into an object and an array', () => {
    const row = textRow('1', null, 'x');
    assert.deepEqual(row.toObject(), { c0: '1', c1: null, c2: 'x' });
    assert.deepEqual(row.toArray(), ['1', null, 'x']);
  });

  it('gives a column by name or index, undefined where there is none', () => {
    const row = textRow('a', 'b');
    assert.deepEqual(
      ['c0', 'c1', 0, 1].map(column => row.get(column)),
      ['a', 'b', 'a', 'b']
    );
    for (const column of ['c2', 'toObject', '0', '', 2, -1, 0.5, NaN, Infinity, undefined, null]) {
      assert.equal(row.get(column), undefined, String(column));
    }
  });

  it('is iterable over its values', () => {
    const [first, second] = textRow('a', null);
    assert.deepEqual([first, second, ...textRow('x', 'y')], ['a', null, 'x', 'y']);
  });

  it('is its object for JSON.stringify', () => {
    assert.equal(JSON.stringify([textRow('a', null)]), '[{"c0":"a","c1":null}]');
  });

  it('is readable when logged', () => {
    assert.equal(inspect(textRow('a', null)), "{ c0: 'a', c1: null }");
    assert.equal(inspect({ rows: [textRow('a')] }), "{ rows: [ { c0: 'a' } ] }");
    assert.match(inspect({ ...textRow('a') }), /^\{ \S*: \[Function.*\], \S*: 17 \}$/); // not the bytes around it
  });

  it('gives its DataRow message as it came', () => {
    const row = textRow('a', null);
    assert.deepEqual(row.rowBuffer, hex("44 0000000f 0002 00000001 'a' ffffffff"));
  });

  it('without columns is empty', () => {
    const row = textRow();
    assert.deepEqual([row.toObject(), row.toArray(), [...row]], [{}, [], []]);
    assert.deepEqual([row[0], row.get(0)], [undefined, undefined]);
  });

  it('of many columns gives each of them, in any order of asking, NULL or not', () => {
    for (const count of [11, 12, 13, 1600]) {
      const values = Array.from({ length: count }, (_, i) => (i % 3 === 0 ? null : i % 5 === 0 ? '' : `value ${i}`));
      for (const order of [1, -1]) {
        const row = textRow(...values);
        for (let i = order === 1 ? 0 : count - 1; i >= 0 && i < count; i += order) {
          assert.equal(row[i], values[i]);
          assert.equal(row[`c${i}`], values[i]);
        }
      }
      assert.deepEqual(textRow(...values).toArray(), values);
      assert.deepEqual(Object.values(textRow(...values).toObject()), values);
    }
  });

  it('has the last of several columns of one name; the others are reached by index', () => {
    const parser = new RowParser(rowDescription('a', 'b', 'a'));
    const row = new parser[0](dataRow('1', '2', '3'));
    assert.equal(row.a, '3');
    assert.equal(row.get('a'), '3');
    assert.deepEqual(row.toObject(), { a: '3', b: '2' });
    assert.deepEqual(row.toArray(), ['1', '2', '3']);
  });

  it('reaches columns that are called like its own members by index and get', () => {
    const names = [
      'toObject',
      'toArray',
      'get',
      'toJSON',
      'rowBuffer',
      'rowColumns',
      'rowParser',
      'columnCount',
      'dataFormat',
      'parseColumn'
    ];
    const parser = new RowParser(rowDescription(...names));
    const row = new parser[0](dataRow(...names.map(name => `a ${name}`)));
    names.forEach((name, index) => {
      assert.equal(row[index], `a ${name}`);
      assert.equal(row.get(name), `a ${name}`);
      assert.equal(row.toObject()[name], `a ${name}`);
    });
    assert.deepEqual(
      row.toArray(),
      names.map(name => `a ${name}`)
    );
    assert.equal(row.columnCount, names.length);
    assert.equal(JSON.parse(JSON.stringify(row)).toJSON, 'a toJSON');
    assert.match(inspect(row), /toObject: 'a toObject'/);
  });

  it('has columns that are called like members of every object', () => {
    const names = [
      '__proto__',
      'constructor',
      'hasOwnProperty',
      'toString',
      'valueOf',
      'rows',
      'then',
      'length',
      '__defineGetter__'
    ];
    const parser = new RowParser(rowDescription(...names));
    const row = new parser[0](dataRow(...names.map(name => `a ${name}`)));
    for (const name of names) {
      assert.equal(row[name], `a ${name}`);
      assert.equal(row.get(name), `a ${name}`);
      assert.deepEqual(Object.getOwnPropertyDescriptor(row.toObject(), name), {
        value: `a ${name}`,
        writable: true,
        enumerable: true,
        configurable: true
      });
    }
    assert.equal(Object.getPrototypeOf(row.toObject()), Object.prototype);
    assert.equal({}.polluted, undefined);
    assert.match(JSON.stringify(row), /"__proto__":"a __proto__"/);
    assert.match(inspect(row), /\['__proto__'\]: 'a __proto__'/);
  });

  it('has its first column at 0 whatever a column is called', () => {
    const parser = new RowParser(rowDescription('1', '0', ''));
    const row = new parser[0](dataRow('first', 'second', 'third'));
    assert.deepEqual([row[0], row[1], row[2], row['']], ['first', 'second', 'third', 'third']);
    assert.equal(row.get('1'), 'first');
    assert.equal(row.get('0'), 'second');
    assert.deepEqual(row.toObject(), { 1: 'first', 0: 'second', '': 'third' });
  });
});

describe('A malformed row', () => {
  /** Every way to look at the columns of a row of two. */
  const LOOKS = [
    row => row[1],
    row => row.c1,
    row => row.get(1),
    row => row.toArray(),
    row => row.toObject(),
    row => [...row],
    row => JSON.stringify(row),
    row => inspect(row)
  ];

  /** Checks that nothing is to be seen in the row, and nothing of the bytes behind it. */
  function shows(bytes, looks, message, columns = 2) {
    const names = Array.from({ length: columns }, (_, index) => `c${index}`);
    for (const format of [0, 1]) {
      for (const look of looks) {
        const Row = new RowParser(rowDescription(...names))[format];
        const memory = Buffer.concat([SECRET, hex(bytes), SECRET, SECRET]);
        assert.throws(
          () => look(new Row(memory, SECRET.length)),
          { name: 'ConnectionError', code: '08P01', message },
          String(look)
        );
      }
    }
  }

  it('whose column is longer than the message shows nothing of what follows', () => {
    for (const length of ['00000002', '0000000b', '00000011', '7fffffff']) {
      shows(`44 0000000f 0002 00000000 ${length} 'a'`, LOOKS, /DataRow of a wrong length/);
      shows(`44 0000000f 0002 ${length} 'a' 00000000`, LOOKS.slice(3), /DataRow (?:with|of a wrong length)/);
    }
  });

  it("whose column has a negative length that is not NULL's shows nothing", () => {
    for (const length of ['fffffffe', '80000000', 'fffffff0']) {
      shows(`44 0000000e 0002 00000000 ${length}`, LOOKS, /DataRow of a wrong length/);
    }
  });

  it('with fewer columns than described shows nothing of what follows', () => {
    shows("44 0000000b 0002 00000001 'a'", LOOKS, /DataRow of a wrong length/);
    shows("44 0000000d 0002 00000001 'a' 0000", LOOKS, /DataRow of a wrong length/);
    shows('44 00000006 0002', LOOKS, /DataRow of a wrong length/);
  });

  it('of many columns shows nothing either', () => {
    const twenty = 'ffffffff'.repeat(19);
    const looks = [row => row[19], row => row.c0, row => row.toArray(), row => row.toObject()];
    shows(`44 00000056 0014 ${twenty} 00000001`, looks, /DataRow of a wrong length/, 20);
    shows(`44 00000052 0014 ${twenty}`, looks, /DataRow of a wrong length/, 20);
  });

  it('too short for its count of columns, or longer than the memory, shows nothing', () => {
    const looks = [...LOOKS, row => row.rowBuffer];
    shows('44 00000005 00', looks, /DataRow of a wrong length/);
    shows('44 00000004', looks, /DataRow of a wrong length/);
    shows('44 00000001', looks, /DataRow of a wrong length/);
    shows('44 7fffffff 0002', looks, /DataRow of a wrong length/);
    shows('44 ffffffff 0002', looks, /DataRow of a wrong length/);
  });
});

describe('Text', () => {
  it('of every length and script is what the platform makes of it, alone and among many', () => {
    const parser = new RowParser(rowDescription('a'));
    const values = [];
    const text = 'a\x7fbcdefghijklmnopqrstuvwxyz';
    for (let length = 0; length <= text.length; length++) {
      values.push(Buffer.from(text.slice(0, length)));
      for (let at = 0; at < length; at++) {
        for (const other of ['é', '€', '😀', '\x80']) {
          values.push(Buffer.from(text.slice(0, at) + other + text.slice(at, length)));
        }
        const broken = Buffer.from(text.slice(0, length));
        broken[at] = 0xff;
        values.push(broken);
      }
    }
    const reader = new RowReader();
    reader.start(parser, 0);
    for (const value of values) {
      const message = hex(`44 00000000 0001 00000000 ${value.toString('hex')}`);
      message.writeUInt32BE(message.length - 1, 1);
      message.writeUInt32BE(value.length, 7);
      assert.equal(new parser[0](message).a, value.toString());
      reader.receiveData(message, 0, message.length, 1, false);
    }
    const expected = values.map(String);
    assert.deepEqual(
      reader.objects.map(({ a }) => a),
      expected
    );
    assert.deepEqual(
      reader.rows.map(row => row.a),
      expected
    );
  });

  it('that is remembered is not given for other bytes', () => {
    // The same text in ASCII and, a bit added to each byte, not in ASCII: what is compared must be bytes.
    const ascii = Buffer.from('remember me');
    const other = Buffer.from(ascii.map(byte => byte | 128));
    const rows = Array.from({ length: 2000 }, (_, i) => (i % 2 === 0 || i < 200 ? ascii : other));
    const messages = rows.map(value => {
      const message = hex(`44 00000000 0001 0000000b ${value.toString('hex')}`);
      message.writeUInt32BE(message.length - 1, 1);
      return message;
    });
    const all = Buffer.concat(messages);
    for (const read of [reader => reader.objects, reader => reader.rows]) {
      const reader = new RowReader();
      reader.start(new RowParser(rowDescription('a')), 0);
      reader.receiveData(all, 0, all.length, messages.length, true);
      assert.deepEqual(
        read(reader).map(row => row.a),
        rows.map(String)
      );
    }
  });
});

describe('Rows that a caller makes of a Buffer of his own', () => {
  /** Many rows in one Buffer, so many that a string of all of it would pay. */
  const fill = (buffer, salt) => {
    const rows = Array.from({ length: 400 }, (_, i) => dataRow(`text ${salt} of ${i}`.padEnd(30, '.'), `${i}`));
    const offsets = [];
    let off = 0;
    for (const row of rows) {
      offsets.push(off);
      off += row.copy(buffer, off);
    }
    return offsets;
  };

  it('show the new bytes when the Buffer is filled again', () => {
    const buffer = Buffer.alloc(65536);
    const parser = new RowParser(rowDescription('a', 'b'));
    const rows = fill(buffer, 1).map(off => new parser[0](buffer, off));
    const looks = [row => row.a, row => row.get('a'), row => row.toObject().a, row => row.toArray()[0]];
    for (const salt of [1, 2, 3]) {
      fill(buffer, salt);
      for (const look of looks) {
        rows.forEach((row, i) => assert.equal(look(row), `text ${salt} of ${i}`.padEnd(30, '.')));
        for (let times = 0; times < 100; times++) look(rows[7]);
      }
    }
  });

  it('show the new bytes of a packet that was written to a reader', () => {
    const reader = new RowReader();
    const packet = dataRow('a'.repeat(30), 'b'.repeat(3000));
    reader.write(rowDescription('a', 'b'));
    reader.write(packet);
    for (let times = 0; times < 100; times++) assert.equal(reader.rows[0].a, 'a'.repeat(30));
    dataRow('c'.repeat(30), 'd'.repeat(3000)).copy(packet);
    assert.equal(reader.rows[0].a, 'c'.repeat(30));
  });

  it('show the new bytes where these have other lengths, and many columns', () => {
    const buffer = Buffer.alloc(1000);
    const names = Array.from({ length: 20 }, (_, i) => `c${i}`);
    dataRow(...names).copy(buffer);
    const row = new new RowParser(rowDescription(...names))[0](buffer);
    assert.equal(row.c19, 'c19');
    dataRow(...names.map(name => `longer ${name}`)).copy(buffer);
    assert.equal(row.c19, 'longer c19');
    const reader = new RowReader();
    reader.write(rowDescription(...names));
    const packet = dataRow(...names);
    reader.write(packet);
    assert.equal(reader.rows[0].c19, 'c19');
    dataRow(...names.reverse()).copy(packet); // as long, in columns of other lengths
    assert.equal(reader.rows[0].c19, 'c0');
    assert.equal(reader.rows[0].c0, 'c19');
  });
});

describe('for … in over a row', () => {
  it('gives the names of its columns and nothing else', () => {
    const names = [];
    for (const name in textRow('x', 'y')) names.push(name);
    assert.deepEqual(names, ['c0', 'c1']);
  });
});

describe('int32', () => {
  it('reads a signed number in network order', () => {
    assert.equal(int32(hex('ff 00000102'), 1), 258);
    assert.equal(int32(hex('ffffffff'), 0), -1);
    assert.equal(int32(hex('80000000'), 0), -0x80000000);
  });
});

describe('A column whose texts repeat', () => {
  it('gives each row its own, whatever came before', () => {
    const parser = new RowParser(rowDescription('few', 'many', 'odd'));
    const odd = [
      '',
      'x',
      'ä',
      'äö',
      'short',
      '日本',
      'a'.repeat(24),
      'a'.repeat(25),
      'b'.repeat(200),
      '\u007f\u007f',
      'Aa',
      'BB'
    ];
    const values = Array.from({ length: 5000 }, (_, i) => [
      `value ${i % 90}`,
      `${i * 7919} of many`,
      odd[(i * 31) % odd.length]
    ]);
    const messages = values.map(row => dataRow(...row));
    const all = Buffer.concat(messages);
    let off = 0;
    values.forEach((row, i) => {
      assert.deepEqual(new parser[0](messages[i]).toArray(), row);
      assert.deepEqual(new parser[0](all, off).toArray(), row);
      off += messages[i].length;
    });
    for (const read of [reader => reader.rows.map(row => row.toArray()), reader => reader.arrays]) {
      const reader = new RowReader();
      reader.start(parser, 0);
      reader.receiveData(all, 0, all.length, values.length, true);
      assert.deepEqual(read(reader), values);
    }
  });
});

describe("With names: 'camel'", () => {
  const ROW = { userId: 7, a_1: 1, _id: 2, _X: 3, a_B: 4, größeIn: 5, userName: 'x', Big_Size: 6, a_: 8 };
  const TEXT =
    'SELECT 7 AS user_id, 1 AS a_1, 2 AS _id, 3 AS __x, 4 AS a__b, 5 AS größe_in, \'x\' AS user_name, 6 AS "Big_Size", 8 AS a_';

  const json = async (session, as, ...query) => {
    const target = new PassThrough();
    const [chunks] = await Promise.all([target.toArray(), session.queryTo(target, ...query, { as })]);
    return Buffer.concat(chunks);
  };

  it('rows of every method have them, and JSON, and a page that reads messages', async () => {
    const { config } = await sharedServer();
    for (const session of [
      await connected({ names: 'camel' }),
      endAfterTest(new Pool({ ...config, names: 'camel' }))
    ]) {
      const objectsOf = [
        (await session.query(TEXT)).objects,
        (await session.query(TEXT, [], { format: 1, cache: false })).objects,
        (await session.batch([TEXT]))[0].objects,
        (await session.simpleQuery(TEXT))[0].objects,
        (await session.transaction(tx => tx.query(TEXT))).objects,
        JSON.parse(await json(session, 'json', TEXT, []))
      ];
      for (const objects of objectsOf) assert.deepEqual(objects, [ROW]);
      const message = await json(session, 'protocol', TEXT, []);
      assert.equal(new RowParser(message).columnNames[0], 'userId');
      const { value } = await session.cursor(TEXT).next();
      assert.equal(value.userId, 7);
      const { structs, rowParser } = await session.query(TEXT);
      assert.deepEqual([structs[0].userId, structs[0].get('userName'), rowParser.columnNames[0]], [7, 'x', 'userId']);
      assert.deepEqual((await session.describe(TEXT)).columns[0].name, 'user_id');
    }
    assert.equal((await (await connected()).query(TEXT)).rows[0].user_id, 7);
  });

  it('describes each result once: the same parser, the same class of rows', async () => {
    const client = await connected({ names: 'camel' });
    const [first, second] = [await client.query(TEXT), await client.query(TEXT, [], { cache: false })];
    assert.equal(first.rowParser, second.rowParser);
    assert.equal(first.structs[0].constructor, second.structs[0].constructor);
  });

  it('are written back by sql.values and sql.set, if they have no capital letter', async () => {
    const client = await connected({ names: 'camel' });
    for (let i = 0; i < 2000; i++) {
      const name = Array.from(
        { length: 1 + (i % 7) },
        (_, at) => '_a1bé_z'[(i * 7 + at * at * 3 + (i >> at)) % 7]
      ).join('');
      assert.deepEqual(Piece.statement(sql.set({ [toCamel(name)]: i }), true), [`"${name}" = $1`, [i]]);
    }
    const values = sql.values([{ userId: 1, userName: 'x' }], ['userName', 'userId']);
    assert.equal(values[0], '("userName", "userId") VALUES ($1, $2)');
    await client.query('CREATE TEMP TABLE written (user_id int, user_name text)');
    const insert = sql`INSERT INTO written ${values} RETURNING user_id`;
    const update = sql`UPDATE written SET ${sql.set({ userId: 2 })} WHERE ${sql.and([sql`user_name = ${'x'}`])}`;
    assert.equal((await client.query(insert)).rows[0].userId, 1);
    await client.batch([update, [update, { cache: false }]]);
    await client.transaction(tx => tx.query(insert, { decode: false }));
    const ids = sql`SELECT user_id FROM written ORDER BY 1 ${sql.empty}`;
    assert.deepEqual((await client.query(ids)).objects, [{ userId: 1 }, { userId: 2 }]);
    assert.match((await json(client, 'json', insert)).toString(), /"userId":1/);
    await assert.rejects(client.query(...insert), { code: '42703' }); // spread, it is a text
    await assert.rejects((await connected()).query(sql`SELECT 1 WHERE ${sql.set({ userId: 2 })}`), { code: '42703' });
  });

  it('may be those of one query, batch, cursor or simpleQuery', async () => {
    const client = await connected();
    const names = 'camel';
    for (const format of [0, 1])
      assert.deepEqual((await client.query(TEXT, [], { names, format, decode: true })).objects, [ROW]);
    assert.equal((await client.query(TEXT)).rows[0].user_id, 7);
    const [camel, plain] = await client.batch([[TEXT, [], { names }], TEXT]);
    assert.deepEqual([camel.rows[0].userId, plain.rows[0].user_id], [7, 7]);
    assert.equal((await client.simpleQuery(TEXT, { names }))[0].rows[0].userId, 7);
    assert.equal((await client.cursor(TEXT, [], { names }).next()).value.userId, 7);
    assert.equal(
      (await client.query('INSERT INTO pg_temp.none SELECT', [], { names }).catch(error => error)).code,
      '42P01'
    );
    const stream = new PassThrough();
    for (const options of [{ names: 'snake' }, { names: null }, { names, stream }])
      await assert.rejects(client.query(TEXT, [], options), { name: 'TypeError', message: /^names / });
  });

  it('is the only value', () =>
    assert.rejects(new Client({ names: 'snake' }).connect(), { name: 'TypeError', message: /names must be 'camel'/ }));
});
