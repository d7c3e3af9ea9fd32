'use strict';

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const { pathToFileURL } = require('node:url');
const { message, rowDescription, dataRow, commandComplete, hex } = require('./query');

const malformed = { name: 'ProtocolError', code: '08P01' };
const truncated = { name: 'ProtocolError', code: '08006' };
const description = rowDescription(['a']);
const SELECT_1 = Buffer.concat([description, dataRow('x'), commandComplete('SELECT 1')]);
const ERROR = message('E', 'SFEHLER\0VERROR\0C22012\0Mdivision by zero\0\0');

describe('client-parser, Client', () => {
  let Client;
  let RowReader;
  let FrameReader;

  before(async () => {
    ({ Client, RowReader } = await import('../../client-parser/index.js'));
    ({ FrameReader } = await import('../../client-parser/reader.js'));
  });

  /** A client that has got these bytes. */
  function read(...parts) {
    const client = new Client(0);
    for (const part of parts) client.onData(part);
    return client;
  }

  it('reads a result of literal bytes', () => {
    const client = read(
      hex(`
      54 0000002f 0002
        6964 00 00004001 0001 00000017 0004 ffffffff 0000
        6e 00 00000000 0000 00000019 ffff 00000007 0000
      44 00000011 0002 00000003 343432 ffffffff
      43 0000000d 53454c4543542031 00
      5a 00000005 49`)
    );
    const { stream } = client;
    assert.deepEqual(stream.rowParser.columns, [
      { name: 'id', tableOid: 16385, tableColumnIndex: 1, typeOid: 23, typeLen: 4, typeModifier: -1, binary: 0 },
      { name: 'n', tableOid: 0, tableColumnIndex: 0, typeOid: 25, typeLen: -1, typeModifier: 7, binary: 0 }
    ]);
    assert.deepEqual(
      stream.rows.map(row => row.toObject()),
      [{ id: '442', n: null }]
    );
    assert.equal(stream.cmd, 'SELECT');
    assert.equal(stream.rowCount, 1);
    client.end();
  });

  it('takes an ArrayBuffer, any view of one, and nothing else', () => {
    const padded = new Uint8Array([0, 0, 0, ...SELECT_1, 0]);
    const buffer = Uint8Array.from(SELECT_1).buffer;
    for (const data of [buffer, new DataView(buffer), padded.subarray(3, -1), SELECT_1]) {
      assert.equal(read(data).stream.rows[0].a, 'x');
    }
    for (const data of ['abc', [68, 0], null, undefined, 5, {}]) assert.throws(() => read(data), TypeError);
  });

  it('adds rows to the same array while they arrive', () => {
    const client = read(description, dataRow('1'));
    const { rows } = client.stream;
    client.onData(dataRow('2').subarray(0, 9));
    assert.equal(rows.length, 1);
    client.onData(dataRow('2').subarray(9));
    assert.deepEqual(
      rows.map(row => row.a),
      ['1', '2']
    );
    assert.equal(client.stream.rows, rows);
  });

  it('has the rows so far as plain objects and arrays, too', () => {
    for (const rowsFirst of [false, true]) {
      const client = read(rowDescription(['b'], ['__proto__'], ['b']), dataRow('1', null, '3'));
      const { stream } = client;
      if (rowsFirst) assert.equal(stream.rows.length, 1);
      assert.deepEqual(stream.objects.map(Object.entries), [
        [
          ['b', '3'],
          ['__proto__', null]
        ]
      ]);
      assert.equal(Object.getPrototypeOf(stream.objects[0]), Object.prototype);
      client.onData(Buffer.concat([dataRow('4', '5', '6'), dataRow('7', '8', '9')]));
      assert.deepEqual(stream.arrays, [
        ['1', null, '3'],
        ['4', '5', '6'],
        ['7', '8', '9']
      ]);
      assert.deepEqual(
        stream.objects.map(object => object.b),
        ['3', '6', '9']
      );
      assert.deepEqual(
        stream.rows.map(row => row.toArray()),
        stream.arrays
      );
      client.onData(rowDescription(['a']));
      client.onData(dataRow('x'));
      assert.deepEqual(stream.arrays[3], ['x'], 'of another result');
    }
  });

  it('has objects that are right where they are read while a chunk is read on', () => {
    const rows = Array.from({ length: 300 }, (_, i) => dataRow(`a text of row ${i}`));
    const bytes = Uint8Array.from(Buffer.concat([description, ...rows]));
    const client = new Client();
    const { stream } = client;
    let off = description.length;
    stream.message('T', bytes, 0, off);
    rows.forEach(({ length }, i) => {
      stream.message('D', bytes, off, (off += length));
      if (i % 50 === 0) assert.equal(stream.objects[i].a, `a text of row ${i}`);
    });
    assert.deepEqual(
      stream.objects,
      rows.map((_, i) => ({ a: `a text of row ${i}` }))
    );
  });

  it('forgets the rows so far when they are replaced', () => {
    const { stream } = read(description, dataRow('1'));
    const rows = [];
    stream.rows = rows;
    assert.deepEqual([stream.objects, stream.arrays], [[], []]);
    stream.write(dataRow('2'));
    assert.equal(stream.rows, rows);
    assert.deepEqual(
      rows.map(row => row.a),
      ['2']
    );
  });

  it('does not copy rows, except those that lie across chunks', () => {
    const bytes = Uint8Array.from(Buffer.concat([SELECT_1]));
    const whole = read(bytes).stream.rows[0].rowBuffer;
    assert.equal(whole.buffer, bytes.buffer);
    assert.deepEqual(Buffer.from(whole), dataRow('x'));
    const cut = description.length + 3;
    const put = read(bytes.subarray(0, cut), bytes.subarray(cut)).stream.rows[0].rowBuffer;
    assert.notEqual(put.buffer, bytes.buffer);
    assert.deepEqual(Buffer.from(put), dataRow('x'));
    const two = Uint8Array.from(Buffer.concat([description, dataRow('1'), dataRow('2'), dataRow('3')]));
    const { rows } = read(two.subarray(0, cut), two.subarray(cut)).stream;
    assert.deepEqual(
      rows.map(row => row.rowBuffer.buffer === two.buffer),
      [false, true, true]
    );
  });

  it('reads command tags', () => {
    for (const [tag, ...expected] of [
      ['SELECT 5', 'SELECT', undefined, 5],
      ['INSERT 0 1', 'INSERT', '0', 1],
      ['INSERT 16411 1', 'INSERT', '16411', 1],
      ['CREATE TABLE', 'CREATE TABLE', undefined, 0],
      ['BEGIN', 'BEGIN', undefined, 0],
      ['COPY 12', 'COPY', undefined, 12],
      ['REFRESH MATERIALIZED VIEW 3', 'REFRESH MATERIALIZED VIEW', undefined, 3]
    ]) {
      const { cmd, oid, rowCount } = read(commandComplete(tag)).stream;
      assert.deepEqual([cmd, oid, rowCount], expected);
    }
  });

  it('reads empty queries, suspended portals and several results', () => {
    const empty = read(message('I'));
    assert.equal(empty.stream.cmd, 'EMPTY');
    empty.end();
    const suspended = read(description, dataRow('1'), message('s'));
    assert.equal(suspended.stream.cmd, 'SUSPENDED');
    suspended.end();
    suspended.onData(Buffer.concat([dataRow('2'), commandComplete('SELECT 1')]));
    suspended.onData(Buffer.concat([rowDescription(['b']), dataRow('3'), commandComplete('SELECT 1')]));
    suspended.end();
    assert.deepEqual(
      suspended.stream.rows.map(row => row.toObject()),
      [{ a: '1' }, { a: '2' }, { b: '3' }]
    );
    const together = read(Buffer.concat([SELECT_1, rowDescription(['b']), dataRow('3')]));
    assert.deepEqual(
      together.stream.rows.map(row => row.toObject()),
      [{ a: 'x' }, { b: '3' }]
    );
  });

  it('takes a map of decoders by type OID, and nothing like one', async () => {
    const { decoders, rows } = await import('../../client-parser/index.js');
    for (const decode of [decoders, {}, new Map([[23, Number]]), true, false, undefined]) {
      rows([], { decode });
      new Client(0, { decode });
    }
    for (const decode of [5, 'true', () => {}, { timestamptz: Date }, new Map([['int4', Number]])]) {
      const expected = { name: 'TypeError', message: 'decode needs OIDs, or index.js' };
      assert.throws(() => rows([], { decode }), expected);
      assert.throws(() => new Client(0, { decode }), expected);
    }
  });

  it('says where decoders are when it has none', () => {
    const program = `import { RowReader } from ${JSON.stringify(pathToFileURL(require.resolve('../../client-parser/row-reader.js')))};
      try { new RowReader({ decode: true }); } catch (error) { console.log(error.name, error.message); }
      new RowReader({ decode: false });`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8'
    });
    assert.equal(stdout, 'TypeError decode needs OIDs, or index.js\n', stderr);
  });

  it('reads COPY data', () => {
    const client = read(
      message('H', [0, 0, 2, 0, 0, 0, 0]),
      message('d', '1\t2\n'),
      message('d', ''),
      message('c'),
      commandComplete('COPY 2')
    );
    const { stream } = client;
    assert.deepEqual(stream.rows, [Uint8Array.from(Buffer.from('1\t2\n')), Uint8Array.of()]);
    assert.deepEqual([stream.format, stream.columnCount, stream.columnFormats], [0, 2, [0, 0]]);
    assert.deepEqual([stream.cmd, stream.rowCount], ['COPY', 2]);
    client.end();
  });

  it('passes over notices, parameters, notifications and acknowledgements', () => {
    const client = read(
      message('R', [0, 0, 0, 0]),
      message('S', 'TimeZone\0UTC\0'),
      message('K', [0, 0, 0, 1, 0, 0, 0, 2]),
      message('Z', 'I'),
      message('1'),
      message('t', [0, 0]),
      message('n'),
      message('2'),
      message('N', 'Mhello\0\0'),
      message('A', [0, 0, 0, 1], 'c\0p\0'),
      SELECT_1,
      message('3'),
      message('Z', 'I')
    );
    assert.equal(client.stream.rows.length, 1);
    client.end();
  });

  it('throws a PostgresError with every field', () => {
    const error = message(
      'E',
      'SFEHLER\0VERROR\0C23505\0Mm\0Dd\0Hh\0P7\0p8\0qq\0Ww\0',
      'ss\0tt\0cc\0dd\0nn\0Ff.c\0L9\0Rr\0?x\0\0'
    );
    assert.throws(
      () => read(error),
      thrown => {
        assert.equal(thrown.name, 'PostgresError');
        assert.equal(thrown.message, 'm');
        assert.deepEqual(
          { ...thrown },
          {
            severity: 'ERROR',
            code: '23505',
            detail: 'd',
            hint: 'h',
            position: 7,
            internalPosition: 8,
            internalQuery: 'q',
            where: 'w',
            schema: 's',
            table: 't',
            column: 'c',
            dataType: 'd',
            constraint: 'n',
            file: 'f.c',
            line: 9,
            routine: 'r'
          }
        );
        return true;
      }
    );
    assert.throws(() => read(message('E', [0])), { name: 'PostgresError', message: 'no message' });
  });

  it('goes on behind an ErrorResponse with the next call', () => {
    const client = new Client();
    const bytes = Buffer.concat([description, dataRow('1'), ERROR, ERROR, SELECT_1.subarray(0, -3)]);
    assert.throws(() => client.onData(bytes), { code: '22012' });
    assert.deepEqual(
      client.stream.rows.map(row => row.a),
      ['1']
    );
    assert.throws(() => client.onData(SELECT_1.subarray(-3)), { code: '22012' });
    client.end();
    assert.deepEqual(
      client.stream.rows.map(row => row.a),
      ['1', 'x']
    );
  });

  it('throws when the stream ends too early', () => {
    for (let length = 0; length < SELECT_1.length; length++) {
      const client = read(SELECT_1.subarray(0, length));
      assert.throws(() => client.end(), truncated);
    }
    read(SELECT_1).end();
    assert.throws(() => read(message('H', [0, 0, 0]), message('c')).end(), truncated);
    assert.throws(() => read(SELECT_1, Buffer.of(90)).end(), truncated);
  });

  it('takes another reader between two results', () => {
    const client = read(SELECT_1);
    client.stream = new RowReader();
    client.onData(SELECT_1);
    assert.equal(client.stream.rows.length, 1);
  });

  it('reads whole messages one by one, as kig/quickgres 0.4', () => {
    const reader = new RowReader();
    reader.write(rowDescription(['a']));
    reader.write(dataRow('1'));
    reader.write(commandComplete('SELECT 1'));
    assert.deepEqual([reader.rows[0].a, reader.cmd, reader.rowCount], ['1', 'SELECT', 1]);
  });

  describe('given malformed bytes', () => {
    const refuse = (...parts) => assert.throws(() => read(...parts), malformed);

    it('throws for lengths that cannot be, before their bytes arrive', () => {
      for (const length of ['00000000', '00000003', '40000001', '7fffffff', '80000000', 'ffffffff']) {
        refuse(hex(`44 ${length}`));
        refuse(hex('44'), hex(length.slice(0, 4)), hex(length.slice(4)));
      }
    });

    it('throws for a DataRow of length 1 and does not come back to it', () => {
      const client = read(description);
      assert.throws(() => client.onData(hex('44 00000001 0000')), malformed);
      assert.throws(() => client.onData(SELECT_1), malformed);
      assert.throws(() => client.end(), malformed);
    });

    it('throws for what no server sends', () => {
      refuse(Buffer.from('<!doctype html><html>'));
      refuse(Buffer.from('{"error":"not found"}'));
      refuse(Buffer.from('HTTP/1.1 500 Internal Server Error'));
      refuse(Buffer.from('Not Found'));
      refuse(hex('00 00000004'));
    });

    it('throws for rows without a description', () => {
      refuse(dataRow('x'));
      refuse(SELECT_1, dataRow('x'));
      refuse(message('H', [0, 0, 0]), dataRow('x'));
      refuse(message('d', 'x'));
      refuse(message('H', [0, 0, 0]), message('c'), message('d', 'x'));
    });

    it('throws for a row that does not fit its description', () => {
      for (const row of [
        '44 00000004',
        '44 00000005 00',
        '44 00000006 0000',
        '44 00000006 0001',
        '44 00000008 0001 0000',
        '44 00000010 0002 00000001 78 00000001 79',
        '44 0000000b 0001 00000002 78',
        '44 0000000b 0001 00000000 78',
        '44 0000000b 0001 7fffffff 78',
        '44 0000000b 0001 fffffffe 78',
        '44 0000000b 0001 ffffffff 78',
        '44 0000000b 0001 80000000 78'
      ])
        refuse(description, hex(row), dataRow('secret of the next message'));
      refuse(rowDescription(), hex('44 00000007 0000 00'));
    });

    it('throws for a RowDescription that its columns do not fill', () => {
      for (let length = 0; length < description.length - 5; length++) {
        refuse(message('T', description.subarray(5, 5 + length)), description);
      }
      refuse(message('T', description.subarray(5), [0]));
      refuse(message('T', [0, 2], description.subarray(7)));
    });

    it('throws for other messages of a wrong length', () => {
      for (const bad of [
        message('C', 'SELECT 1'),
        message('C'),
        message('C', 'SELECT 1\0\0'),
        message('H', [0, 0, 1]),
        message('H'),
        message('E'),
        message('E', 'Mx'),
        message('E', 'Mx\0'),
        message('E', 'Mx\0\0\0'),
        message('E', 'M')
      ])
        refuse(bad, message('Z', 'I'), SELECT_1);
    });
  });

  describe('FrameReader', () => {
    const frames = [];
    const receiver = {
      complete: true,
      message: (type, bytes, start, end) => frames.push(bytes.subarray(start, end))
    };
    beforeEach(() => {
      frames.length = 0;
    });

    it('does not take memory for bytes that were only announced', () => {
      const reader = new FrameReader(receiver);
      const { arrayBuffers } = process.memoryUsage();
      const announced = hex('44 40000000');
      for (const part of [announced, Buffer.alloc(1000), Buffer.alloc(100000)]) reader.push(part);
      assert.ok(process.memoryUsage().arrayBuffers - arrayBuffers < 2e6);
      assert.throws(() => reader.end(), truncated);
    });

    it('puts a long message together from many chunks', () => {
      const body = Buffer.alloc(3e6, 'abcdefg');
      const bytes = message('D', body);
      const reader = new FrameReader(receiver);
      for (let at = 0; at < bytes.length; at += 1021) reader.push(bytes.subarray(at, at + 1021));
      reader.end();
      assert.equal(frames.length, 1);
      assert.ok(bytes.equals(frames[0]));
    });
  });
});
