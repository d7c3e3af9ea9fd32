'use strict';

const assert = require('node:assert/strict');
const { seeded } = require('../support/kit');
const { rowDescription, dataRow, commandComplete, message } = require('./query');

const LETTERS = 'abcdefghijklmnopqrstuvwxyz 0123456789';

/** Bytes of a value, or null, of a kind. */
function valueOf(kind, random) {
  const ascii = length => Array.from({ length }, () => LETTERS[Math.floor(random() * LETTERS.length)]).join('');
  switch (kind) {
    case 'null':
      return null;
    case 'empty':
      return '';
    case 'short':
      return ascii(1 + random() * 12);
    case 'text':
      return ascii(13 + random() * 60);
    case 'long':
      return ascii(120 + random() * 300);
    case 'huge':
      return ascii(4000 + random() * 300);
    case 'zeros':
      return '\0'.repeat(1 + random() * 30);
    case 'unicode':
      return ascii(random() * 30) + ['ä', '€', '😀', '\ufeff', '日本'][Math.floor(random() * 5)] + ascii(random() * 30);
    // Neither UTF-8 nor what a server sends, as from a database of SQL_ASCII.
    case 'invalid':
      return Buffer.concat([
        Buffer.from(ascii(random() * 20)),
        Buffer.from(Array.from({ length: 1 + random() * 4 }, () => 128 + Math.floor(random() * 128)))
      ]);
  }
}

/** Values as a decoder gives them that sees one column alone. */
const expectedOf = values =>
  values.map(value =>
    value === null ? null : new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.from(value))
  );

describe('client-parser, the text of rows', () => {
  let parser;

  before(async () => {
    parser = await import('../../client-parser/index.js');
  });

  /** Rows of random values of these kinds, and their messages. */
  function make(kinds, count, columns, random) {
    const rows = Array.from({ length: count }, () =>
      Array.from({ length: columns }, () => valueOf(kinds[Math.floor(random() * kinds.length)], random))
    );
    return { rows: rows.map(expectedOf), messages: rows.map(values => dataRow(...values)) };
  }

  const description = columns => rowDescription(...Array.from({ length: columns }, (_, i) => [`c${i}`]));

  /** Structs of a result that arrives in chunks of a size. */
  function read(messages, columns, size = Infinity) {
    const client = new parser.Client();
    const bytes = Uint8Array.from(Buffer.concat([description(columns), ...messages, commandComplete('SELECT 1')]));
    for (let at = 0; at < bytes.length; at += size) client.onData(bytes.subarray(at, at + size));
    client.end();
    return client.stream.structs;
  }

  const KINDS = {
    ASCII: ['null', 'empty', 'short', 'text', 'long', 'zeros'],
    'ASCII with a few other characters': [...Array(60).fill('text'), 'unicode', 'null'],
    'other characters': ['unicode', 'short', 'text', 'null'],
    'no UTF-8': ['invalid', 'unicode', 'short', 'text'],
    'rows larger than a block': ['huge', 'text', 'null', 'unicode']
  };

  for (const [name, kinds] of Object.entries(KINDS)) {
    it(`is what each column is by itself: ${name}`, () => {
      const random = seeded(name.length);
      for (let round = 0; round < 6; round++) {
        const columns = 1 + round * 2;
        const { rows, messages } = make(kinds, 150, columns, random);
        const size = [Infinity, 4096, 1000][round % 3];
        assert.deepEqual(
          read(messages, columns, size).map(row => row.toArray()),
          rows,
          'in their order'
        );
        const one = read(messages, columns, size);
        for (let i = 0; i < 600; i++) {
          const at = Math.floor(random() * rows.length);
          const column = Math.floor(random() * columns);
          if (random() < 0.2) assert.deepEqual(one[at].toArray(), rows[at]);
          else assert.equal(one[at][column], rows[at][column], 'in any order');
        }
        const last = read(messages, columns, size);
        assert.deepEqual(
          last.map(row => row[columns - 1]),
          rows.map(row => row[columns - 1]),
          'one column of each'
        );
        assert.deepEqual(
          last.reverse().map(row => row.toArray()),
          rows.toReversed(),
          'from the end'
        );
      }
    });
  }

  it('is the same in objects that rows() makes as the bytes arrive', async () => {
    for (const [name, kinds] of Object.entries(KINDS)) {
      for (let columns = 1; columns < 12; columns += 2) {
        const { rows, messages } = make(kinds, 120, columns, seeded(name.length + columns));
        const bytes = Uint8Array.from(
          Buffer.concat([description(columns), ...messages, commandComplete('SELECT 120')])
        );
        const size = [997, 4096, bytes.length][columns % 3];
        const chunks = [];
        for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.slice(at, at + size));
        const objects = [];
        for await (const row of parser.rows(chunks, { decode: {} })) objects.push(Object.values(row));
        assert.deepEqual(objects, rows, name);
      }
    }
  });

  it('is right for any number of columns and any length', () => {
    for (const columns of [0, 1, 127, 128, 129, 255, 300, 1600]) {
      const values = Array.from({ length: columns }, (_, i) => (i % 7 ? `${i}` : null));
      assert.deepEqual(
        read([dataRow(...values), dataRow(...values)], columns).map(row => row.toArray()),
        [values, values]
      );
    }
    for (const length of [
      126, 127, 128, 129, 255, 256, 4070, 4080, 4081, 4082, 4083, 4084, 4085, 4086, 4090, 4096, 5000
    ]) {
      const values = ['x'.repeat(length), 'y'];
      const rows = read(
        ['before', values[0], 'behind', 'last'].map(text => dataRow(text, 'y')),
        2
      );
      assert.deepEqual(
        rows.map(row => row.toArray()),
        [['before', 'y'], values, ['behind', 'y'], ['last', 'y']],
        `${length}`
      );
    }
  });

  it('is not made of what lies between rows and behind them', () => {
    const notice = message('N', 'SNOTICE\0VNOTICE\0C00000\0Mä\0\0');
    const { rows, messages } = make(KINDS.ASCII, 40, 3, seeded(5));
    const between = messages.flatMap((row, i) => (i % 5 ? [row] : [row, notice]));
    assert.deepEqual(
      read(between, 3).map(row => row.toArray()),
      rows
    );
    const client = new parser.Client();
    client.onData(
      Uint8Array.from(
        Buffer.concat([
          description(1),
          dataRow('one'),
          dataRow('two'),
          description(2),
          dataRow('a', 'b'),
          dataRow('c', 'd')
        ])
      )
    );
    assert.deepEqual(client.stream.arrays, [['one'], ['two'], ['a', 'b'], ['c', 'd']]);
  });

  it('ends before a row that lies about its length', () => {
    const bad = dataRow('first', 'second');
    bad.writeInt32BE(100, 7);
    const client = new parser.Client();
    const bytes = Buffer.concat([description(2), dataRow('a', 'b'), dataRow('c', 'd'), bad, dataRow('e', 'f')]);
    assert.throws(() => client.onData(Uint8Array.from(bytes)), { name: 'ProtocolError', message: /of a wrong length/ });
    assert.deepEqual(client.stream.arrays, [
      ['a', 'b'],
      ['c', 'd']
    ]);
  });

  it('keeps binary columns apart', () => {
    const client = new parser.Client(0, { decode: true });
    const types = rowDescription(['i', 23, 1], ['t'], ['b', 17, 1], ['x', 600, 1]);
    const rows = Array.from({ length: 100 }, (_, i) => [
      (i * 1000003) % 2147483648,
      `text of row ${i}`,
      Buffer.of(i, 255, i),
      Buffer.of(200, i)
    ]);
    const int32 = value => {
      const bytes = Buffer.alloc(4);
      bytes.writeInt32BE(value);
      return bytes;
    };
    client.onData(Uint8Array.from(Buffer.concat([types, ...rows.map(([i, ...rest]) => dataRow(int32(i), ...rest))])));
    assert.deepEqual(
      client.stream.arrays,
      rows.map(([i, t, b, x]) => [i, t, Uint8Array.from(b), Uint8Array.from(x)])
    );
  });

  it('is at most 4,096 characters long, which a kept column keeps alive', async () => {
    const { RowParser } = await import('../../client-parser/row-parser.js');
    const { text } = RowParser.platform;
    const decoded = [];
    RowParser.platform.text = (bytes, start, end) => {
      decoded.push(end - start);
      return text(bytes, start, end);
    };
    try {
      const { rows, messages } = make(['text', 'short'], 5000, 5, seeded(9));
      const structs = read(messages, 5, 65536);
      decoded.length = 0;
      assert.deepEqual(
        structs.map(row => row.toArray()),
        rows
      );
      assert.ok(Math.max(...decoded) <= 4096);
      assert.ok(decoded.length < 5000 / 10, `${decoded.length} calls for 5,000 rows`);
      // What is looked at here and there needs one call a row, of that row.
      decoded.length = 0;
      for (let at = 4000; at > 0; at -= 7) assert.deepEqual(structs[at].toArray(), rows[at]);
      assert.ok(decoded.length <= 4000 / 7 + 1 && Math.max(...decoded) < 500);
    } finally {
      RowParser.platform.text = text;
    }
  });

  it('is the same for the columns of ASCII if another column of each row is not', async () => {
    const { RowParser } = await import('../../client-parser/row-parser.js');
    const { text } = RowParser.platform;
    const rows = Array.from({ length: 1000 }, (_, i) => [
      `${i}`,
      `Jürgen ${i}`,
      'a text of more than 13 bytes',
      `${i}@example.com`
    ]);
    const structs = read(
      rows.map(values => dataRow(...values)),
      4
    );
    let calls = 0;
    RowParser.platform.text = (...place) => {
      calls++;
      return text(...place);
    };
    try {
      assert.deepEqual(
        structs.map(row => row.toArray()),
        rows
      );
      assert.ok(calls < 1050, `${calls} calls for 1,000 rows with a column that is not ASCII`);
    } finally {
      RowParser.platform.text = text;
    }
  });
});
