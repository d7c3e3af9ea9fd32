'use strict';

const assert = require('node:assert/strict');
const net = require('node:net');
const { Client, RowReader } = require('../..');
const { sharedServer, connected, proxied, faked, hex, ANSWER } = require('../support');

const EXECUTE_SYNC = '45 00000009 00 00000000  53 00000004';

/** Watches what goes over the wire from now on: bytes to the server as hex, and flights to it. */
function watch(wire) {
  const from = wire.recorded.toServer.length;
  const { flights } = wire.stats;
  return {
    get sent() {
      return wire.recorded.toServer.subarray(from);
    },
    get flights() {
      return wire.stats.flights.toServer - flights.toServer;
    }
  };
}

/** A connected client, and the writes to its socket. */
async function watched(config) {
  const server = await sharedServer();
  const writes = [];
  const client = await connected({
    ...config,
    socket() {
      const socket = net.connect(server.port, server.host);
      const { write } = socket;
      socket.write = function (chunk, ...rest) {
        writes.push(Buffer.from(chunk));
        return write.call(this, chunk, ...rest);
      };
      return socket;
    }
  });
  writes.length = 0;
  return { client, writes };
}

describe('query on the wire', () => {
  it('sends Parse and Describe with its first Bind, Execute and Sync, in one flight, and not again', async () => {
    const { client, wire } = await proxied();
    const first = watch(wire);
    const {
      rows: [row]
    } = await client.query('SELECT $1::text AS a', ['x']);
    assert.equal(row.a, 'x');
    const bind = "42 00000015 00 's1' 00 0000 0001 00000001 '$' 0001 0000";
    assert.deepEqual(
      first.sent,
      hex(`
      50 0000001e 's1' 00 'SELECT $1::text AS a' 00 0000  44 00000008 53 's1' 00
      ${bind.replace('$', 'x')} ${EXECUTE_SYNC}`)
    );
    assert.equal(first.flights, 1);
    const second = watch(wire);
    await client.query('SELECT $1::text AS a', ['y']);
    assert.deepEqual(second.sent, hex(`${bind.replace('$', 'y')} ${EXECUTE_SYNC}`));
    assert.equal(second.flights, 1);
  });

  it('uses the unnamed statement each time, in one flight, where it is not to be cached', async () => {
    for (const ask of [
      client => client.query('SELECT 1', [], Client.STRING, false),
      client => client.query('SELECT 1', [], { cache: false })
    ]) {
      const { client, wire } = await proxied();
      for (let i = 0; i < 2; i++) {
        const wired = watch(wire);
        assert.equal((await ask(client)).rows[0][0], 1);
        assert.deepEqual(
          wired.sent,
          hex(`50 00000010 00 'SELECT 1' 00 0000  44 00000006 53 00
          42 0000000e 00 00 0000 0000 0001 0000 ${EXECUTE_SYNC}`)
        );
        assert.equal(wired.flights, 1);
      }
    }
  });

  it('uses only unnamed statements where statement_cache is 0', async () => {
    const { client, wire } = await proxied({ statement_cache: 0 });
    const wired = watch(wire);
    await client.query('SELECT 1');
    assert.deepEqual(wired.sent.subarray(0, 17), hex("50 00000010 00 'SELECT 1' 00 0000"));
    await client.query('SELECT 1');
    assert.equal((await client.simpleQuery('SELECT * FROM pg_prepared_statements'))[0].rows.length, 0);
  });

  it('sends the types of parameters with Parse', async () => {
    const { client, wire } = await proxied();
    const wired = watch(wire);
    const {
      rows: [row]
    } = await client.query('SELECT $1 AS a, pg_typeof($1)', ['7'], { paramTypes: [20] });
    assert.deepEqual(row.toArray(), [7, 'bigint']);
    assert.ok(wired.sent.includes(hex("'SELECT $1 AS a, pg_typeof($1)' 00 0001 00000014  44")));
    // Without types it is another statement.
    await assert.rejects(client.query('SELECT $1 AS a, pg_typeof($1)', ['7']), { code: '42P08' });
  });

  it("names statements as no other client does, which may share a pooler's session", async () => {
    const names = await Promise.all(
      [1, 2].map(async () => {
        const client = new Client((await sharedServer()).config);
        await client.connect();
        await client.query('SELECT 1');
        const [
          {
            rows: [{ name }]
          }
        ] = await client.simpleQuery('SELECT name FROM pg_prepared_statements');
        await client.end();
        return name;
      })
    );
    assert.match(names[0], /^s1_\w+$/);
    assert.notEqual(names[0], names[1]);
  });

  it('asks for text or binary with each Bind of the same statement', async () => {
    const { client, wire } = await proxied();
    await client.query('SELECT 1');
    const wired = watch(wire);
    const {
      rows: [row],
      rowParser
    } = await client.query('SELECT 1', [], Client.BINARY);
    assert.equal(row[0], 1);
    assert.deepEqual(wired.sent, hex(`42 00000010 00 's1' 00 0000 0000 0001 0001 ${EXECUTE_SYNC}`));
    assert.equal(rowParser.columns[0].binary, 1);
    const text = await client.query('SELECT 1');
    assert.deepEqual([text.rows[0][0], text.rowParser.columns[0].binary], [1, 0]);
  });

  it('sends all messages of one tick in one write', async () => {
    const { client, writes } = await watched();
    await Promise.all([
      client.query('SELECT 1'),
      client.query('SELECT 1'),
      client.query('SELECT $1::int', ['2'], { cache: false }),
      client.simpleQuery('SELECT 3; SELECT 4'),
      client.batch([['SELECT 5'], ['SELECT 6']]),
      client.sync(),
      client.close('P', '')
    ]);
    assert.equal(writes.length, 1);
    await client.query('SELECT 1');
    assert.equal(writes.length, 2);
  });

  it('sends what is more than 64 KiB in a tick as it grows, in large writes', async () => {
    const { client, writes } = await watched();
    const value = 'x'.repeat(1000);
    await Promise.all(Array.from({ length: 1000 }, () => client.query('SELECT length($1)', [value])));
    const bytes = writes.reduce((sum, { length }) => sum + length, 0);
    assert.ok(writes.length <= bytes / 65536 + 1, `${writes.length} writes for ${bytes} bytes`);
    assert.ok(bytes / writes.length > 60000);
  });

  it('closes the least recently used statement in front of the one that is one too many', async () => {
    const { client, wire } = await proxied({ statement_cache: 2 });
    for (const text of ['SELECT 1', 'SELECT 2', 'SELECT 1']) await client.query(text);
    const wired = watch(wire);
    await client.query('SELECT 3');
    assert.equal(wired.flights, 1);
    assert.deepEqual(wired.sent.subarray(0, 10), hex("43 00000008 53 's2' 00  50"), 'Close of SELECT 2, Parse');
    const [{ rows }] = await client.simpleQuery('SELECT statement FROM pg_prepared_statements ORDER BY 1');
    assert.deepEqual(
      rows.map(row => row[0]),
      ['SELECT 1', 'SELECT 3']
    );
  });

  it('leaves no statement on the server that it does not know, whatever fails', async () => {
    const client = await connected({ statement_cache: 3 });
    await client.query('SELECT $1::int', ['1']);
    for (let i = 0; i < 10; i++) {
      await assert.rejects(client.query('SELECT $1::int', [new Map()]), TypeError);
      await assert.rejects(client.query('SELECT $1::int', ['x']), { code: '22P02' });
      await assert.rejects(client.query('SELECT $1::int', ['1', '2']), { code: '08P01' });
      await assert.rejects(client.query('SELECT nothing'), { code: '42703' });
      await assert.rejects(client.query(`SELECT ${i} + $1::int`, [new Map()]), TypeError);
      await assert.rejects(
        client.batch([
          ['SELECT $1::int', ['1']],
          ['SELECT $1::int', [new Map()]]
        ]),
        TypeError
      );
      await assert.rejects(client.batch([[`SELECT ${i}`], ['SELECT 1/0'], [`SELECT -${i}`]]), { code: '22012' });
    }
    const [{ rows }] = await client.simpleQuery('SELECT count(*) FROM pg_prepared_statements');
    assert.ok(rows[0][0] <= 3, `${rows[0][0]} statements`);
  });
});

describe('query', () => {
  it('resolves to rows, row count and command', async () => {
    const client = await connected();
    const { rows, rowCount, cmd, oid, rowParser } = await client.query(
      'SELECT name, email FROM users WHERE email::int < $1 ORDER BY email::int',
      ['3']
    );
    assert.deepEqual(
      rows.map(row => row.toArray()),
      [
        ['User 0', '0'],
        ['User 1', '1'],
        ['User 2', '2']
      ]
    );
    assert.deepEqual([rowCount, cmd, oid], [3, 'SELECT', undefined]);
    assert.deepEqual(rowParser.columnNames, ['name', 'email']);
    assert.equal(rowParser.columns[0].typeOid, 25);
  });

  it('resolves for commands that return no rows, and for those that do both', async () => {
    const client = await connected();
    const create = await client.query('CREATE TEMP TABLE t (a int)');
    assert.deepEqual([create.cmd, create.rowCount, create.rows, create.rowParser], ['CREATE TABLE', 0, [], undefined]);
    const insert = await client.query('INSERT INTO t SELECT generate_series(1, 5)');
    assert.deepEqual([insert.cmd, insert.oid, insert.rowCount, insert.rows], ['INSERT', '0', 5, []]);
    const update = await client.query('UPDATE t SET a = a + 1 WHERE a > $1 RETURNING a', [3]);
    assert.deepEqual([update.cmd, update.rowCount, update.rows.map(row => row.a)], ['UPDATE', 2, [5, 6]]);
    assert.deepEqual((await client.query('DELETE FROM t')).rowCount, 5);
    assert.deepEqual((await client.query('BEGIN')).cmd, 'BEGIN');
    assert.deepEqual((await client.query('ROLLBACK')).cmd, 'ROLLBACK');
  });

  it('resolves for an empty text and for a comment', async () => {
    const client = await connected();
    for (const text of ['', ';', '-- nothing', '/* nothing */']) {
      const { cmd, rows, rowCount } = await client.query(text);
      assert.deepEqual([cmd, rows, rowCount], ['EMPTY', [], 0]);
    }
  });

  it('tells NULL from an empty string, in text and in binary', async () => {
    const client = await connected();
    const text = await client.query("SELECT NULL AS n, '' AS e, $1::text AS p, $2::text AS q", [null, '']);
    assert.deepEqual(text.rows[0].toArray(), [null, '', null, '']);
    const binary = await client.query("SELECT NULL::int, ''::text", [], Client.BINARY);
    assert.deepEqual(binary.rows[0].toArray(), [null, '']);
  });

  it('gives rows without columns', async () => {
    const client = await connected();
    const { rows, rowCount } = await client.query('SELECT FROM generate_series(1, 3)');
    assert.equal(rowCount, 3);
    assert.deepEqual(
      rows.map(row => row.toObject()),
      [{}, {}, {}]
    );
  });

  it('gives all of 1,600 columns', async () => {
    const client = await connected();
    const list = Array.from({ length: 1600 }, (_, index) =>
      index % 7 === 0 ? `NULL AS c${index}` : `${index} AS c${index}`
    );
    const {
      rows: [row]
    } = await client.query(`SELECT ${list}`);
    for (let i = 1599; i >= 0; i--) {
      assert.equal(row[i], i % 7 === 0 ? null : i);
      assert.equal(row[`c${i}`], row[i]);
    }
    assert.equal(Object.keys(row.toObject()).length, 1600);
  });

  it('gives columns whatever their names are', async () => {
    const client = await connected();
    const names = [
      '__proto__',
      'constructor',
      'toObject',
      'rows',
      '0',
      'then',
      'length',
      'a "b" c',
      'größe',
      '?column?'
    ];
    const {
      rows: [row]
    } = await client.query(`SELECT ${names.map((name, index) => `'v${index}' AS "${name.replace(/"/g, '""')}"`)}`);
    names.forEach((name, index) => {
      assert.equal(row.get(name), `v${index}`);
      assert.equal(row[index], `v${index}`);
      assert.equal(row.toObject()[name], `v${index}`);
      if (name !== 'toObject' && name !== '0') assert.equal(row[name], `v${index}`);
    });
    assert.equal(await (async () => row)(), row, 'a row may be returned by an async function');
    const twice = await client.query('SELECT 1 AS a, 2 AS a');
    assert.deepEqual([twice.rows[0].toArray(), twice.rows[0].a], [[1, 2], 2]);
  });

  it('gives many rows in order', async () => {
    const client = await connected();
    const text = "SELECT i, repeat('x', i % 100) AS x FROM generate_series(0, 99999) i";
    const { rows } = await client.query(text);
    assert.equal(rows.length, 100_000);
    rows.forEach((row, index) => {
      if (row.i !== index || row.x.length !== index % 100) assert.fail(`row ${index}: ${row.i}`);
    });
  });

  it('takes its options as one object in place of the format', async () => {
    const client = await connected();
    const stream = new RowReader();
    const result = await client.query('SELECT $1 AS a', ['7'], {
      format: Client.BINARY,
      cache: false,
      stream,
      paramTypes: [23]
    });
    assert.equal(result, stream);
    assert.equal(result.rows[0].a, 7);
    assert.equal((await client.query('SELECT 1', [], {})).rows[0][0], 1);
    assert.equal((await client.query('SELECT 1', undefined, undefined, undefined, stream)).rows.at(-1)[0], 1);
  });

  it('collects several results in one reader, if it is given one', async () => {
    const client = await connected();
    const stream = new RowReader();
    await Promise.all(['1', '2', '3'].map(value => client.query('SELECT $1::int AS a', [value], { stream })));
    assert.deepEqual(
      stream.rows.map(row => row.a),
      [1, 2, 3]
    );
  });
});

describe('Values', () => {
  it('are strings, numbers, bigints, booleans, NULL and bytes', async () => {
    const client = await connected();
    const {
      rows: [row]
    } = await client.query(
      `SELECT $1::text, $2::int, $3::float8, $4::int8, $5::bool, $6::text, $7::text, encode($8::bytea, 'hex'),
        encode($9::bytea, 'hex'), $10::float8, $11::text, $12::jsonb`,
      [
        'ä€😀',
        7,
        -1.5e-7,
        9007199254740993n,
        false,
        null,
        null,
        Buffer.from([0, 255]),
        new Uint8Array([1, 2]),
        Infinity,
        '',
        '{"a": 1}'
      ]
    );
    assert.deepEqual(row.toArray(), [
      'ä€😀',
      7,
      -1.5e-7,
      '9007199254740993',
      false,
      null,
      null,
      '00ff',
      '0102',
      Infinity,
      '',
      { a: 1 }
    ]);
  });

  it('may be a row of an earlier result, in text and in binary', async () => {
    const client = await connected();
    for (const format of [Client.STRING, Client.BINARY]) {
      const first = "SELECT 7::int8 AS a, NULL::text AS b, 'ä'::text AS c, now() AS d";
      const second = 'SELECT $1::int8 AS a, $2::text AS b, $3::text AS c, $4::timestamptz AS d';
      const {
        rows: [source]
      } = await client.query(first, [], format);
      const {
        rows: [copy]
      } = await client.query(second, source, format);
      assert.deepEqual(copy.toArray(), source.toArray());
      assert.deepEqual(copy.rowBuffer, source.rowBuffer);
    }
    const {
      rows: [empty]
    } = await client.query('SELECT');
    assert.equal((await client.query('SELECT 1', empty)).rows[0][0], 1);
  });

  it('are taken as they are when query is called, also when the query has to wait', async () => {
    const client = new Client((await sharedServer()).config);
    const connecting = client.connect();
    const ask = () => {
      const bytes = Buffer.from('before');
      const values = ['before', bytes];
      const promise = client.query('SELECT $1::text AS a, $2::text AS b', values);
      values[0] = 'after';
      bytes.fill('x');
      return promise;
    };
    const waiting = ask();
    await connecting;
    for (const promise of [waiting, ask(), ask()]) {
      assert.deepEqual((await promise).rows[0].toArray(), ['before', 'before']);
    }
    await client.end();
  });

  it('are 65,535 at most', async () => {
    const { client, wire } = await proxied();
    const values = Array.from({ length: 65535 }, (_, index) => index);
    const paramTypes = new Array(65535).fill(23);
    const {
      rows: [row]
    } = await client.query('SELECT $1 + $65535 AS a', values, { paramTypes });
    assert.equal(row.a, 65534);
    const wired = watch(wire);
    await assert.rejects(client.query('SELECT 1', new Array(65536)), { name: 'RangeError', message: /65536 values/ });
    await client.sync();
    assert.deepEqual(wired.sent, hex('53 00000004'), 'nothing but Sync');
  });
});

describe('Bad input', () => {
  it('rejects with a TypeError or RangeError, nothing is sent, and the connection goes on', async () => {
    const { client, wire } = await proxied();
    await client.query('SELECT $1::text', ['known']);
    const wired = watch(wire);
    const parameters = [new Date(NaN), new Map(), Symbol('s'), () => {}, new Float64Array(1), 'a\0b', new String('x')];
    for (const value of parameters) {
      for (const text of ['SELECT $1::text', 'SELECT $1']) {
        await assert.rejects(client.query(text, [value]), { name: 'TypeError', message: /^values\[0\] / });
        await assert.rejects(client.query(text, ['ok', value], { cache: false }), {
          name: 'TypeError',
          message: /^values\[1\] /
        });
        await assert.rejects(client.batch([['SELECT 1'], [text, [value]]]), {
          name: 'TypeError',
          message: /^queries\[1\]: values\[0\] /,
          index: 1
        });
        assert.throws(() => client.startQuery(text, [value]), { name: 'TypeError', message: /^values\[0\] / });
      }
    }
    const lists = [null, 'text', 5, {}, new Map(), Buffer.from('x'), new Set(['a']), { rowBuffer: Buffer.alloc(6) }];
    for (const values of lists) {
      await assert.rejects(client.query('SELECT $1::text', values), {
        name: 'TypeError',
        message: /^values must be an array or a row/
      });
      assert.throws(() => client.startQuery('SELECT $1::text', values), {
        name: 'TypeError',
        message: /^values must be/
      });
    }
    for (const text of [undefined, null, 5, {}, Buffer.from('SELECT 1'), ['SELECT 1'], Symbol('s')]) {
      const error = { name: 'TypeError', message: /text must be a string, not / };
      await assert.rejects(client.query(text), error);
      await assert.rejects(client.simpleQuery(text), error);
      await assert.rejects(client.batch([[text]]), error);
      assert.throws(() => client.startQuery(text), error);
    }
    for (const ask of ['query', 'simpleQuery']) {
      await assert.rejects(client[ask]('SELECT 1\0; DROP TABLE users'), {
        name: 'TypeError',
        message: /null byte at 8/
      });
    }
    for (const format of [2, -1, '1', null, true, NaN, 1n, () => {}]) {
      await assert.rejects(client.query('SELECT 1', [], format), { name: 'TypeError', message: /format must be/ });
      await assert.rejects(client.query('SELECT 1', [], { format }), { name: 'TypeError', message: /format must be/ });
      assert.throws(() => client.startQuery('SELECT 1', [], format), { name: 'TypeError', message: /format must be/ });
    }
    for (const paramTypes of [25, 'text', ['text'], [-1], [1.5], [2 ** 32], new Array(65536).fill(25), null]) {
      await assert.rejects(client.query('SELECT $1', ['x'], { paramTypes }), {
        name: 'TypeError',
        message: /paramTypes must be/
      });
    }
    for (const decode of ['yes', 1, null, () => {}]) {
      await assert.rejects(client.query('SELECT 1', [], { decode }), { name: 'TypeError', message: /decode must be/ });
    }
    for (const stream of [null, {}, 5, 'x', { write: true }]) {
      await assert.rejects(client.query('SELECT 1', [], { stream }), { name: 'TypeError', message: /stream must be/ });
      await assert.rejects(client.query('SELECT 1', [], 0, true, stream), {
        name: 'TypeError',
        message: /stream must be/
      });
    }
    await assert.rejects(client.close('X', 's1'), { name: 'TypeError', message: /type must be/ });
    await assert.rejects(client.close('S', 5), { name: 'TypeError', message: /name must be a string/ });
    assert.equal((await client.query('SELECT $1::text', ['goes on'])).rows[0][0], 'goes on');
    assert.deepEqual(
      wired.sent,
      hex(`42 0000001b 00 's1' 00 0000 0001 00000007 'goes on' 0001 0000 ${EXECUTE_SYNC}`),
      'nothing but the last one'
    );
    assert.equal(client.pending, 0);
  });

  it('of one query in a tick harms no other', async () => {
    const client = await connected();
    const results = await Promise.allSettled([
      client.query('SELECT 1'),
      client.query('SELECT $1::int', [new Map()]),
      client.query('SELECT 2'),
      client.query('SELECT $1::int', ['3']),
      client.query('SELECT 4\0'),
      client.query('SELECT $1::int', ['5'])
    ]);
    assert.deepEqual(
      results.map(({ value, reason }) => (value ? value.rows[0][0] : reason.name)),
      [1, 'TypeError', 2, 3, 'TypeError', 5]
    );
  });

  it('that only the server can find rejects with its error, and the connection goes on', async () => {
    const client = await connected();
    await assert.rejects(client.query('SELECT $1::int', []), {
      code: '08P01',
      message: /takes 1 parameter, but was given 0 values/
    });
    await assert.rejects(client.query('SELECT $1::int', ['1', '2']), {
      code: '08P01',
      message: /takes 1 parameter, but was given 2 values/
    });
    await assert.rejects(client.query('SELECT $1::int', [Buffer.from('x')]), {
      code: '08P01',
      message: /insufficient data/
    });
    await assert.rejects(client.query('SELECT 1; SELECT 2'), { code: '42601' });
    await client.close('S', 'no such statement');
    assert.equal((await client.query('SELECT 1')).rows[0][0], 1);
  });
});

describe('Pipelined queries', () => {
  it('fail or succeed each on its own: 10,000 of which every seventh fails in another way', async function () {
    this.timeout(30_000);
    const client = await connected();
    await client.query('CREATE TEMP TABLE numbers (n int PRIMARY KEY CHECK (n >= 0))');
    await client.query('INSERT INTO numbers VALUES (0)');
    const failing = [
      [i => client.query(`SELEC ${i}`), '42601'],
      [() => client.query('INSERT INTO numbers VALUES ($1)', [0]), '23505'],
      [() => client.query('INSERT INTO numbers VALUES ($1)', [-1]), '23514'],
      [i => client.query('SELECT $1::int / 0', [i]), '22012'],
      [i => client.query('SELECT $1::int AS n', [i, i]), '08P01'],
      [() => client.query('SELECT $1::int AS n', ['x']), '22P02'],
      [i => client.query(`SELECT * FROM no_such_table_${i}`, [], Client.STRING, false), '42P01'],
      [() => client.query('SELECT $1::int AS n', [new Map()]), undefined]
    ];
    const order = [];
    const promises = [];
    for (let i = 0; i < 10_000; i++) {
      const [fail] = failing[((i - (i % 7)) / 7) % failing.length];
      const promise =
        i % 7 === 6
          ? fail(i)
          : i % 5 === 0
            ? client.query('INSERT INTO numbers VALUES ($1) RETURNING n', [i + 1])
            : i % 3 === 0
              ? client.query('SELECT $1::int AS n', [i + 1], i % 2, false)
              : client.query('SELECT $1::int AS n', [i + 1]);
      promise.then(
        () => order.push(i),
        () => {}
      );
      promises.push(promise);
    }
    const results = await Promise.allSettled(promises);
    let inserted = 1;
    results.forEach(({ value, reason }, i) => {
      if (i % 7 === 6) {
        const [, code] = failing[((i - (i % 7)) / 7) % failing.length];
        if (code === undefined) assert.ok(reason instanceof TypeError, `${i}`);
        else assert.equal(reason.code, code, `${i}: ${reason}`);
        return;
      }
      const { n } = value.rows[0];
      assert.equal(n, i + 1);
      if (i % 5 === 0) inserted++;
    });
    assert.deepEqual(
      order,
      [...order].sort((a, b) => a - b),
      'in order'
    );
    assert.equal((await client.query('SELECT count(*) FROM numbers')).rows[0][0], inserted);
  });
});

describe('A prepared statement', () => {
  it('that must change its result type is prepared again', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE changing (a int)');
    await client.query('INSERT INTO changing VALUES (1)');
    const ask = value => client.query('SELECT * FROM changing WHERE a > $1', [value]);
    assert.deepEqual((await ask(0)).rows[0].toObject(), { a: 1 });
    await client.query('ALTER TABLE changing ADD b text DEFAULT $$x$$');
    const results = await Promise.all([ask(0), ask(0), ask(5)]);
    assert.deepEqual(
      results.map(({ rows }) => rows.map(row => row.toObject())),
      [[{ a: 1, b: 'x' }], [{ a: 1, b: 'x' }], []]
    );
  });

  it('that the server has lost is prepared again', async () => {
    let client; // one that has lost a statement prepares no more
    const ask = () => client.query('SELECT $1::text AS a', ['x']);
    const name = "(SELECT name FROM pg_prepared_statements WHERE statement = 'SELECT $1::text AS a')";
    for (const forget of [
      () => client.simpleQuery(`DO $$ BEGIN EXECUTE 'DEALLOCATE ' || ${name}; END $$`),
      () => client.query('DEALLOCATE ALL'),
      () => client.query('/* all of it */ DISCARD ALL'),
      () => client.simpleQuery('SELECT 1; DEALLOCATE ALL; SELECT 2'),
      () => client.query("DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$", [], { cache: false })
    ]) {
      client = await connected();
      await ask();
      await forget();
      assert.equal((await ask()).rows[0].a, 'x', String(forget));
      client = await connected();
      await ask();
      const results = await Promise.all([forget(), ask(), ask()]);
      assert.deepEqual(
        results.slice(1).map(({ rows }) => rows[0].a),
        ['x', 'x'],
        `pipelined ${forget}`
      );
      const [, other] = await Promise.allSettled([ask(), client.query('SELECT $1::text', ['y'])]);
      assert.equal(other.value.rows[0][0], 'y', `what is behind it, pipelined ${forget}`);
    }
  });

  it('that is stale inside a transaction block is reported, and works after it', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE changing (a int)');
    await client.query('SELECT * FROM changing');
    await client.query('BEGIN');
    await client.query('ALTER TABLE changing ADD b int');
    await assert.rejects(client.query('SELECT * FROM changing'), { code: '0A000', message: /cached plan/ });
    await assert.rejects(client.query('SELECT 1'), { code: '25P02' });
    await assert.rejects(client.query('SELEC 1'), { code: '42601' }, 'only of a lost statement is that the reason');
    await client.query('ROLLBACK');
    assert.deepEqual((await client.query('SELECT * FROM changing')).rowParser.columnNames, ['a']);
  });

  it('that failed to be parsed is parsed again by the next use of its text', async () => {
    const client = await connected();
    await assert.rejects(client.query('SELECT * FROM not_yet'), { code: '42P01' });
    await client.query('CREATE TEMP TABLE not_yet (a int)');
    assert.deepEqual((await client.query('SELECT * FROM not_yet')).rows, []);
  });

  it('is not kept of FETCH and EXECUTE, whose columns are those of what they name', async () => {
    const client = await connected();
    for (const [columns, expected] of [
      ['1 AS a', { a: 1 }],
      ["'x' AS b, 2 AS c", { b: 'x', c: 2 }],
      ['3 AS c', { c: 3 }]
    ]) {
      await client.query(`PREPARE named AS SELECT ${columns}`);
      await client.query('BEGIN');
      await client.query(`DECLARE named CURSOR FOR SELECT ${columns}`);
      for (const text of ['FETCH ALL FROM named', '/* x */ execute named']) {
        assert.deepEqual((await client.query(text)).rows[0].toObject(), expected);
      }
      await client.query('COMMIT');
      await client.query('DEALLOCATE named');
    }
  });

  it('fails for all uses of its text that were sent with it', async () => {
    const client = await connected();
    const results = await Promise.allSettled(Array.from({ length: 100 }, () => client.query('SELECT nothing')));
    for (const { reason } of results) {
      assert.deepEqual([reason.code, reason.message, reason.position], ['42703', 'column "nothing" does not exist', 8]);
    }
    const batches = await Promise.allSettled(
      Array.from({ length: 5 }, () => client.batch([['SELECT 1'], ['SELECT 1 + no']]))
    );
    for (const { reason } of batches) assert.deepEqual([reason.code, reason.index], ['42703', 1]);
    const ask = () => client.query('SELECT never, $1::bytea', [Buffer.alloc(1)]);
    const bytes = await Promise.allSettled([ask(), ask(), ask()]);
    for (const { reason } of bytes) assert.equal(reason.code, '42703');
  });
});

describe('A server that does not end what it announced', () => {
  it('costs no memory: a DataRow of a gibibyte', async () => {
    const client = await faked(async conversation => {
      await conversation.request();
      conversation.say(ANSWER.described('a'), hex('44 40000000 0001 3ffffff6'), Buffer.alloc(100_000));
      await conversation.request();
    });
    const before = process.memoryUsage().arrayBuffers;
    const promise = client.query('SELECT a');
    promise.catch(() => {});
    await new Promise(resolve => setTimeout(resolve, 100));
    const taken = process.memoryUsage().arrayBuffers - before;
    assert.ok(taken < 2_000_000, `${taken} bytes`);
    assert.equal(client.pending, 1);
    client.destroy();
    await assert.rejects(promise, { code: '08003', sent: true });
  });
});
