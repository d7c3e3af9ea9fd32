'use strict';

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const path = require('node:path');
const { PassThrough } = require('node:stream');
const vm = require('node:vm');
const { array } = require('../..');
const { ResponseCache } = require('../../lib/cache');
const { respond } = require('../../lib/http');
const { Pool } = require('../../lib/pool');
const { isList, listText } = require('../../lib/core/protocol');
const { sql, withoutLiterals } = require('../../lib/sql');
const { endAfterTest } = require('../support/hooks');
const { connected, sharedServer } = require('../support');
const { seeded } = require('../support/kit');

/** What programs try to get into the text of a query. */
const ATTACKS = [
  'a" = 1; DROP TABLE x; --',
  "a' OR true --",
  '"',
  "'",
  '""',
  "''",
  '\\',
  "\\'",
  '\\"',
  '$1',
  '$$',
  '$a$',
  '/*',
  '*/',
  '--',
  ';',
  '?',
  '${1}',
  ' ',
  '\t\n',
  '%',
  ',',
  ')',
  '(',
  "E'\\''",
  '\u2028',
  'é',
  '𐍈',
  '__proto__',
  'constructor',
  'toString',
  'DROP TABLE x'
];

const plain = ([text, values]) => [text, values.map(each => (isList(each) ? listText(each, false) : each))];

describe('sql', () => {
  it('is text and values: a frozen list, to be spread', async () => {
    const piece = sql`SELECT ${1}::int AS a, ${'b'}::text AS b`;
    assert.deepEqual(piece, ['SELECT $1::int AS a, $2::text AS b', [1, 'b']]);
    assert.ok(Array.isArray(piece) && Object.isFrozen(piece) && Object.isFrozen(piece[1]));
    const client = await connected();
    const {
      objects: [row]
    } = await client.query(...piece);
    assert.deepEqual(row, { a: 1, b: 'b' });
    const results = await client.batch([piece, sql`SELECT 2 AS a`]);
    assert.deepEqual(
      results.map(({ objects: [{ a }] }) => a),
      [1, 2]
    );
    const rows = [];
    for await (const row of client.cursor(...piece)) rows.push(row.b);
    client.startQuery(...piece);
    rows.push((await client.getResults()).objects[0].b);
    assert.deepEqual(rows, ['b', 'b']);
  });

  it('numbers the parameters of pieces anew, at any depth, and leaves no number that grows by what follows', () => {
    const name = sql`name = ${'n'}`;
    assert.deepEqual(plain(sql`SELECT ${0} WHERE ${name} OR ${sql`(${name} AND ${1} = ${name})`}`), [
      'SELECT $1 WHERE name = $2 OR (name = $3 AND $4 = name = $5)',
      [0, 'n', 'n', 1, 'n']
    ]);
    assert.deepEqual(plain(sql`${1}0 ${sql`${2}`}${sql``}${sql`1`}`), ['$1 0 $2 1', [1, 2]]);
    let deep = sql.empty;
    for (let i = 0; i < 10000; i++) deep = sql`(${deep}${i})`;
    assert.equal(deep[0].length, 10000 * 2 + Array.from({ length: 10000 }, (_, i) => `$${i + 1}`).join('').length);
    assert.deepEqual(
      deep[1],
      Array.from({ length: 10000 }, (_, i) => i)
    );
    assert.deepEqual(Object.keys(deep), ['0', '1']);
    assert.equal([...deep].length, 2);
  });

  it('gives the same text for the same template with the same pieces', () => {
    const query = (name, limit) =>
      sql`SELECT 1 ${name ? sql`WHERE ${sql.and([sql`name = ${name}`])}` : sql.empty} LIMIT ${limit}`;
    assert.equal(query('a', 1)[0], query('b', 2)[0]);
    assert.equal(query(null, 1)[0], 'SELECT 1  LIMIT $1');
  });

  it('takes lists as arrays, objects as JSON, a URL as its href, and everything else as it is', () => {
    const date = new Date(0);
    const foreign = vm.runInNewContext('new Date(5)'); // of another realm
    const bytes = new Uint8Array([1]);
    const url = 'https://example.com/?a=1';
    const taken = [
      null,
      'a',
      1,
      2n,
      true,
      date,
      foreign,
      bytes,
      [1, [2]].slice(0, 1),
      [
        ['a', null],
        [null, '"']
      ],
      { a: [1] },
      Object.create(null),
      vm.runInNewContext('({ b: null })'),
      new URL(url),
      [new URL(url)],
      [{ a: 1 }],
      [date],
      []
    ];
    const given = [
      null,
      'a',
      1,
      2n,
      true,
      date,
      new Date(foreign.getTime()),
      Buffer.from(bytes),
      '{1}',
      '{{"a",NULL},{NULL,"\\""}}',
      '{"a":[1]}',
      '{}',
      '{"b":null}',
      url,
      `{"${url}"}`,
      '{"{\\"a\\":1}"}',
      array([date]),
      '{}'
    ];
    taken.forEach((value, index) => assert.deepEqual(plain(sql`${value}`), ['$1', [given[index]]]));
  });

  it('refuses what is no value, names its placeholder and what to write', () => {
    const cyclic = {};
    cyclic.self = cyclic;
    const list = [];
    list.push(list);
    for (const [value, message] of [
      [undefined, /^placeholder 2 \(behind "AND b ="\) is undefined: pass null for NULL/],
      [() => 1, /^placeholder 2 .* is a function: call it/],
      [Symbol('a'), /^placeholder 2 .* is a symbol/],
      [new Map(), /^placeholder 2 .* is an object of class Map: pass Object\.fromEntries\(map\) as JSON, or/],
      [new Set(), /^placeholder 2 .* is an object of class Set: pass \[\.\.\.set\] as an array/],
      [Promise.resolve(1), /^placeholder 2 .* is an object of class Promise: await it/],
      [
        new (class Money {})(),
        /^placeholder 2 .* is an object of class Money: pass String\(value\) as text, or \{ \.\.\.value \} as JSON/
      ],
      [new Number(1), /class Number/],
      [/a/, /class RegExp/],
      [new Error('a'), /class Error/],
      [cyclic, /^placeholder 2 .* is an object: .*(?:circular|cyclic)/i],
      [{ toJSON() {} }, /^placeholder 2 .* is an object/],
      [{ a: 1n }, /^placeholder 2 .*BigInt/],
      [list, /^placeholder 2 .*\[0\] is nested deeper than 1000 lists/],
      [[1, sql`a`], /^placeholder 2 .*\[1\] is a piece of SQL: put it into sql/],
      [[[new Map()]], /^placeholder 2 .*\[0\]\[0\] is an object of class Map/]
    ])
      assert.throws(() => sql`a = ${1} AND b = ${value}`, { name: 'TypeError', message });
  });

  it('refuses a list where it would be one value of IN, and names ANY', () => {
    const list = [1, 2];
    const message = /^placeholder 1 \(behind "[^"]*"\) is an array: write = ANY\(\$\{list\}\) in place of IN, <> ALL/;
    for (const wrong of [
      () => sql`SELECT 1 WHERE id IN (${list})`,
      () => sql`SELECT 1 WHERE id not in\n ( ${list} ) AND ${1}`,
      () => sql`SELECT 1 WHERE id IN ${[]}`
    ])
      assert.throws(wrong, { name: 'TypeError', message });
    for (const right of [
      sql`SELECT 1 WHERE tags IN (${list}, ${list})`,
      sql`SELECT 1 WHERE id IN (${1})`,
      sql`SELECT 1 WHERE id IN (${sql.join([sql`${1}`])})`,
      sql`SELECT 1 WHERE n = ANY(${list})`,
      sql`SELECT begin(${list})`
    ])
      assert.equal(typeof right[0], 'string');
  });

  it('gives pieces that refuse to become part of a string', () => {
    const message = 'what is put into a string is a piece of SQL: put it into sql`…`, and that into query(sql`…`)';
    for (const make of [
      () => `a ${sql`b`}`,
      () => 'a ' + sql`b ${1}`,
      () => String(sql.join(Array(300).fill(sql`c`)))
    ]) {
      assert.throws(make, { name: 'TypeError', message });
    }
  });

  it('is a tag, and nothing else', () => {
    const forged = Object.assign(['SELECT 1'], { raw: ['SELECT 1'] });
    const frozen = Object.assign(['SELECT 1'], { raw: Object.freeze(['SELECT 1']) });
    const half = Object.freeze(Object.assign(['SELECT 1'], { raw: ['SELECT 1'] }));
    for (const strings of [undefined, null, 'SELECT 1', ['SELECT 1'], {}, forged, frozen, half, sql`SELECT 1`]) {
      assert.throws(() => sql(strings), {
        name: 'TypeError',
        message: /^sql is a template tag: write sql`…`, or sql.raw/
      });
    }
    assert.throws(
      () => sql(['a']),
      /sql\.values\(\[object\]\) or sql\.set\(object\) for columns, = ANY\(\$\{list\}\) for a list$/
    );
    assert.throws(() => sql`\u`, { name: 'TypeError', message: /"\\u" has an invalid escape/ });
    assert.throws(() => sql`a ${1} \u`, { name: 'TypeError', message: /"\\u" has an invalid escape/ });
    assert.ok(Object.isFrozen(sql));
  });

  it('takes for text only what it has made', () => {
    const copied = [...sql`DROP TABLE x`];
    for (const forged of [
      'DROP TABLE x',
      copied,
      Object.freeze(copied),
      { 0: 'a', 1: [], length: 2 },
      { ...sql`a` },
      JSON.parse(JSON.stringify([...sql`a`])),
      Object.create(sql`a`),
      new Proxy(sql`a`, {}),
      null,
      undefined,
      1,
      ['a', 'b']
    ]) {
      for (const call of [
        () => sql.join([forged]),
        () => sql.join([], forged === undefined ? null : forged),
        () => sql.and([sql`a`, forged]),
        () => sql.or([forged])
      ]) {
        assert.throws(call, { name: 'TypeError', message: /it must be a piece/ });
      }
    }
    assert.deepEqual(plain(sql`${['DROP TABLE x', '1']}`), ['$1', ['{"DROP TABLE x","1"}']]);
    assert.throws(() => sql`${Object.create(sql`a`)}`, TypeError);
    // A list that changes once it was checked changes nothing.
    let reads = 0;
    const changing = new Proxy([sql`a`], {
      get: (target, name) => (name === '0' && ++reads > 1 ? '; DROP TABLE x' : target[name])
    });
    assert.equal(sql.join(changing)[0], 'a');
  });

  describe('has helpers:', () => {
    it('id', () => {
      assert.deepEqual(plain(sql.id('shop', 'us"ers')), ['"shop"."us""ers"', []]);
      for (const names of [[], [''], ['a', ''], ['a\0'], [1], [undefined], [['a']], [sql`a`]]) {
        assert.throws(() => sql.id(...names), { name: 'TypeError', message: /sql\.id/ });
      }
    });

    it('values', () => {
      const rows = [
        { a: 1, b: { c: 1 } },
        { b: sql`now()`, a: [1] }
      ];
      assert.deepEqual(plain(sql.values(rows)), ['("a", "b") VALUES ($1, $2), ($3, now())', [1, '{"c":1}', '{1}']]);
      assert.deepEqual(plain(sql.values(rows, ['b'])), ['("b") VALUES ($1), (now())', ['{"c":1}']]);
      for (const [given, message] of [
        [[[]], /^rows is an empty list, for which there is no SQL: check its length first$/],
        [[{}], /^rows is an object: it must be a list/],
        [[sql`a`], /^rows is a piece/],
        [[[1]], /^rows\[0\] is a number/],
        [[[null]], /^rows\[0\] is null/],
        [[[[1]]], /^rows\[0\] is an array/],
        [[[{}]], /^rows\[0\] has no properties, whose names would be the columns$/],
        [[[{ a: 1 }], []], /^columns is an empty list/],
        [[[{ a: 1 }], 'a'], /^columns is a string/],
        [[[{ a: 1 }, { b: 1 }]], /^column "b" of rows\[1\] is not in rows\[0\]/],
        [[[{ a: 1 }, {}]], /^column "a" of rows\[1\] is undefined/],
        [[[{ a: 1 }, { a: 1, '': 2 }]], /^column "" of rows\[1\]/],
        [
          [
            [
              { a: 1, b: 2 },
              { a: undefined, b: 1 }
            ]
          ],
          /^column "a" of rows\[1\] is undefined/
        ],
        [[[{ a: 1 }], ['a', 'toString']], /^column "toString" of rows\[0\] is undefined/],
        [[[{ 1: 1 }], [1]], /^columns\[0\] must be a string/],
        [[[{ a: 1 }], ['a', '']], /^columns\[1\] is a string: a name cannot be empty/],
        [[[{ '': 1 }]], /^columns\[0\]/],
        [[[{ a: 1 }, , { a: 1 }]], /^rows\[1\] is undefined/],
        [[[{ a: new Map() }]], /^column "a" of rows\[0\] is an object of class Map/]
      ])
        assert.throws(() => sql.values(...given), { name: 'TypeError', message });
      const many = Array(32768).fill({ a: 1, b: 2 });
      assert.throws(() => sql.values(many), { name: 'RangeError', message: /^65536 parameters: .*copyFrom.*unnest/ });
      assert.equal(sql.values(many.slice(1))[1].length, 65534);
      assert.equal(sql.values([{ a: 1, b: sql`DEFAULT` }, ...many.slice(1)])[1].length, 65535);
      const half = sql.values(many.slice(1), ['a']);
      assert.throws(() => sql`${half} ${half} ${1} ${1}`, { name: 'RangeError', message: /copyFrom/ });
    });

    it('set', () => {
      assert.deepEqual(plain(sql.set({ a: 1, 'b"': null })), ['"a" = $1, "b""" = $2', [1, null]]);
      assert.deepEqual(plain(sql.set({ a: 1, b: sql`b + ${1}`, c: 2 }, ['b', 'a'])), [
        '"b" = b + $1, "a" = $2',
        [1, 1]
      ]);
      assert.deepEqual(plain(sql.set(JSON.parse('{"__proto__":1}'))), ['"__proto__" = $1', [1]]);
      for (const [given, message] of [
        [[{}], /^the object has no properties, whose names would be the columns$/],
        [[{ a: 1 }, []], /^columns is an empty list/],
        [[null], /^the object is null/],
        [[[1]], /^the object is an array/],
        [[sql`a`], /^the object is a piece/],
        [['text', ['length']], /^the object is a string/],
        [[{ a: undefined }], /^column "a" of the object is undefined/],
        [[{ a: 1 }, ['b']], /^column "b" of the object is undefined/],
        [[{ a: 1 }, ['constructor']], /^column "constructor"/],
        [[Object.create({ a: 1 }), ['a']], /^column "a"/],
        [[{ a: 1 }, [Symbol.iterator]], /^columns\[0\] must be a string, not a symbol/],
        [[{ a: 1 }, [['a']]], /^columns\[0\] must be a string/],
        [[{ a: 1 }, [, 'a']], TypeError]
      ])
        assert.throws(() => sql.set(...given), message instanceof RegExp ? { name: 'TypeError', message } : message);
    });

    it('and, or', () => {
      const [a, b] = [sql`a = ${1}`, sql`b OR c`];
      assert.deepEqual(plain(sql.and([a, b])), ['((a = $1) AND (b OR c))', [1]]);
      assert.deepEqual(plain(sql.or([b])), ['((b OR c))', []]);
      assert.deepEqual([...plain(sql.and([])), ...plain(sql.or([sql.empty]))], ['TRUE', [], 'FALSE', []]);
      assert.equal(sql`${sql.or([a, b])} AND tenant = ${1}`[0], '((a = $1) OR (b OR c)) AND tenant = $2');
      for (const wrong of [undefined, a, 'a', {}, [false]])
        assert.throws(() => sql.and(wrong), { name: 'TypeError', message: /sql\.and/ });
    });

    it('join', () => {
      assert.deepEqual(plain(sql.join([sql`a`, sql`${1}`, sql`${2}`])), ['a, $1, $2', [1, 2]]);
      assert.deepEqual(plain(sql.join([sql`a`, sql`b`], sql` + ${1} + `)), ['a + $1 + b', [1]]);
      assert.deepEqual(
        [plain(sql.join([])), plain(sql.join([sql`a`]))],
        [
          ['', []],
          ['a', []]
        ]
      );
    });

    it('json', () => {
      assert.deepEqual(plain(sql`${sql.json([1, { a: null }])}, ${sql.json(null)}, ${sql.json('a')}`), [
        '$1, $2, $3',
        ['[1,{"a":null}]', 'null', '"a"']
      ]);
      assert.deepEqual(plain(sql.set({ a: sql.json([]) })), ['"a" = $1', ['[]']]);
      for (const wrong of [undefined, () => 1, Symbol('a'), 1n, new Map(), new Set(), { a: 1n }]) {
        assert.throws(() => sql.json(wrong), { name: 'TypeError', message: /^the value of sql\.json is/ });
      }
    });

    it('raw, empty', () => {
      assert.deepEqual(
        [plain(sql`a ${sql.raw('DESC')}`), plain(sql.empty)],
        [
          ['a DESC', []],
          ['', []]
        ]
      );
      for (const wrong of [undefined, 1, ['a'], sql`a`, 'a\0'])
        assert.throws(() => sql.raw(wrong), { name: 'TypeError', message: /^the text of sql\.raw/ });
    });
  });

  it('lets no name, key or value become SQL', async () => {
    const client = await connected();
    await client.simpleQuery('CREATE TEMP TABLE x (n int); INSERT INTO x VALUES (1)');
    for (const attack of ATTACKS) {
      const id = sql.id(attack);
      const {
        objects: [row]
      } = await client.query(
        ...sql`SELECT ${attack} AS ${id}, ${[attack, [attack]].slice(0, 1)}::text[] = ARRAY[${attack}] AS list,
        ${{ [attack]: attack }}::json ->> ${attack} AS json, ${sql.json([attack])}::json ->> 0 AS item`
      );
      assert.deepEqual(row, { [attack]: attack, list: true, json: attack, item: attack });
      await client.query(...sql`CREATE TEMP TABLE t (${id} text, id int)`);
      await client.query(
        ...sql`INSERT INTO t ${sql.values([
          { [attack]: attack, id: 1 },
          { [attack]: null, id: 2 }
        ])}`
      );
      await client.query(
        ...sql`UPDATE t SET ${sql.set({ [attack]: `${attack}${attack}` }, [attack])}
        WHERE ${sql.and([sql`${sql.id('t', attack)} = ${attack}`, sql.or([sql`id = ${1}`])])}`
      );
      const { arrays } = await client.query(...sql`SELECT ${sql.join([id, sql`id`])} FROM t ORDER BY id`);
      assert.deepEqual(arrays, [
        [attack + attack, 1],
        [null, 2]
      ]);
      await client.query('DROP TABLE t', [], { cache: false });
    }
    assert.equal((await client.query('SELECT n FROM x')).rows[0].n, 1);
  });

  it('gives for thousands of random compositions what JavaScript gives', async function () {
    const seed = Number(process.env.SQL_SEED ?? Math.floor(Math.random() * 2 ** 31));
    const next = seeded(seed);
    const { below } = next;
    const some = make => Array.from({ length: below(4) }, make);
    const pick = choices => choices[below(choices.length)]();
    const leaf = {
      number: () => {
        const value = below(100);
        return [sql`${value}::int`, value];
      },
      text: () => {
        const value = ATTACKS[below(ATTACKS.length)];
        return [sql`${value}::text`, value];
      }
    };
    const number = depth =>
      depth === 0
        ? leaf.number()
        : pick([
            leaf.number,
            () => {
              const [a, b] = [number(depth - 1), number(depth - 1)];
              return [sql`(${a[0]} + ${b[0]})`, a[1] + b[1]];
            },
            () => {
              const list = [number(depth - 1), ...some(() => number(depth - 1))];
              return [
                sql`greatest(${sql.join(list.map(([piece]) => piece))})`,
                Math.max(...list.map(([, value]) => value))
              ];
            },
            () => {
              const list = some(() => below(1000));
              return [sql`coalesce(cardinality(${list}::int[]), 0)`, list.length];
            },
            () => {
              const [[test, yes], a, b] = [truth(depth - 1), number(depth - 1), number(depth - 1)];
              return [sql`CASE WHEN ${test} THEN ${a[0]} ELSE ${b[0]} END`, yes ? a[1] : b[1]];
            },
            () => {
              const name = sql.id(`${ATTACKS[below(ATTACKS.length)]}${below(9)}`);
              const [piece, value] = number(depth - 1);
              return [sql`(SELECT ${name} FROM (SELECT ${piece} AS ${name}) AS ${name})`, value];
            },
            () => {
              const [piece, value] = text(depth - 1);
              return [sql`length(${piece})`, [...value].length];
            }
          ]);
    const text = depth =>
      depth === 0
        ? leaf.text()
        : pick([
            leaf.text,
            () => {
              const [a, b] = [text(depth - 1), text(depth - 1)];
              return [sql`(${a[0]} || ${b[0]})`, a[1] + b[1]];
            },
            () => {
              const [key, value] = [leaf.text()[1], leaf.text()[1]];
              return [sql`(${{ [key]: value }}::json ->> ${key})`, value];
            },
            () => {
              const list = [
                [leaf.text()[1], leaf.text()[1]],
                [leaf.text()[1], leaf.text()[1]]
              ];
              return [sql`(${list}::text[])[2][1]`, list[1][0]];
            }
          ]);
    const truth = depth =>
      depth === 0
        ? [sql`TRUE`, true]
        : pick([
            () => {
              const list = some(() => truth(depth - 1));
              return [sql.and(list.map(([piece]) => piece)), list.every(([, value]) => value)];
            },
            () => {
              const list = some(() => truth(depth - 1));
              return [sql.or(list.map(([piece]) => piece)), list.some(([, value]) => value)];
            },
            () => {
              const [a, b] = [number(depth - 1), number(depth - 1)];
              return [sql`${a[0]} < ${b[0]}`, a[1] < b[1]];
            },
            () => {
              const [a, list] = [number(depth - 1), some(() => below(100))];
              return [sql`${a[0]} = ANY(${list})`, list.includes(a[1])];
            },
            () => {
              const [a, b] = [text(depth - 1), text(depth - 1)];
              return [sql`(${a[0]} = ${b[0]})`, a[1] === b[1]];
            }
          ]);
    const client = await connected({ decode: true });
    const cases = Array.from({ length: 3000 }, () => pick([() => number(3), () => text(3), () => truth(3)]));
    await Promise.all(
      cases.map(async ([piece, value]) => {
        const [query, values] = sql`SELECT ${piece} AS value`;
        const {
          objects: [row]
        } = await client.query(query, values, { cache: false });
        assert.deepEqual(row, { value }, `SQL_SEED=${seed}: ${query} ${JSON.stringify(values)}`);
      })
    );
  });

  it('takes time in proportion to its input', () => {
    const list = count => Array.from({ length: count }, (_, i) => i);
    const MAKERS = {
      join: count => sql.join(list(count).map(i => sql`${i}`)),
      and: count => sql.and(list(count).map(i => sql`a = ${i}`)),
      values: count => sql.values(list(count / 4).map(i => ({ a: i, b: i, c: i, d: i }))),
      set: count => sql.set(Object.fromEntries(list(count).map(i => [`c${i}`, i]))),
      list: count => sql`${list(count)}`,
      left: count => list(count).reduce((piece, i) => sql`${piece} AND ${i}`, sql.empty),
      right: count => list(count).reduce((piece, i) => sql`${i} AND ${piece}`, sql.empty)
    };
    const least = work =>
      Math.min(
        ...list(3).map(() => {
          const before = process.cpuUsage();
          const [text] = work();
          assert.ok(text.length > 0);
          const { user, system } = process.cpuUsage(before);
          return user + system;
        })
      );
    for (const [name, make] of Object.entries(MAKERS)) {
      const [small, large] = [least(() => make(1000)), least(() => make(8000))];
      assert.ok(large < 8 * 6 * Math.max(small, 500), `${name}: ${small} µs for 1,000, ${large} µs for 8,000`);
    }
  });

  it('is what an error leads to where query is used as a tag, or is given an object', async () => {
    const client = await connected();
    const tag = {
      name: 'TypeError',
      message: /no template tag; write query\(text, values\), or query\(sql`…`\) with sql of quickgres\/sql/
    };
    await assert.rejects(client.query`SELECT ${1}`, tag);
    await assert.rejects(client.simpleQuery`SELECT 1`, tag);
    await assert.rejects(
      client.transaction(tx => tx.query`SELECT 1`),
      tag
    );
    await assert.rejects(client.query({ text: 'SELECT 1', values: [] }), {
      name: 'TypeError',
      message: /write query\(text, values\)/
    });
    await assert.rejects(client.query(['SELECT 1', []]), { name: 'TypeError', message: /write query\(text, values\)/ });
  });

  it('stands where a text is: in query, cursor, queryTo, respond, batch and a cache, with options behind it', async () => {
    const client = await connected();
    const pool = endAfterTest(new Pool((await sharedServer()).config));
    const cache = new ResponseCache(endAfterTest(new Pool((await sharedServer()).config)));
    const large = sql.join(
      Array.from({ length: 300 }, (_, i) => sql`${i}::int`),
      sql` + `
    );
    const collected = async run => {
      const target = new PassThrough();
      const [chunks] = await Promise.all([target.toArray(), run(target)]);
      return Buffer.concat(chunks).toString();
    };
    for (const piece of [sql`SELECT ${44850}::int AS n`, sql`SELECT ${large} AS n`]) {
      const objects = '[{"n":44850}]';
      const inTransactions = [client, pool].map(session => work => session.transaction(work));
      for (const run of [...[client, pool, cache].map(session => work => work(session)), ...inTransactions]) {
        await run(async on => {
          assert.deepEqual((await on.query(piece)).objects, [{ n: 44850 }]);
          assert.equal(await collected(target => on.queryTo(target, piece, { as: 'json' })), objects);
          assert.equal(await (await respond(on, new Request('http://a/'), piece, { as: 'json' })).text(), objects);
          assert.equal(
            await (
              await respond(on, new Request('http://a/', { headers: { accept: 'application/json' } }), piece)
            ).text(),
            objects
          );
          if (on === cache) return assert.equal(on.keyOf(piece), on.keyOf(...piece));
          assert.deepEqual((await on.query(...piece, { cache: false })).objects, [{ n: 44850 }]);
          for await (const row of on.cursor(piece, { batchSize: 5 })) assert.equal(row.n, 44850);
          const results = await on.batch([piece, [piece, { cache: false }], 'SELECT 1 AS n', [...piece]]);
          assert.deepEqual(
            results.map(({ rows: [{ n }] }) => Number(n)),
            [44850, 44850, 1, 44850]
          );
        });
      }
    }
    assert.equal((await client.query(sql`SELECT ${1}::int AS n`)).rows[0].n, 1);
    const tooMany = { name: 'TypeError', message: /options must be an object, not an array/ };
    await assert.rejects(client.query(sql`SELECT 1`, []), tooMany);
    await assert.rejects(client.query(sql`SELECT 1`, { nonsense: 1 }), /there is no option nonsense/);
    assert.throws(() => client.cursor(sql`SELECT 1`, [1]), tooMany);
    await assert.rejects(client.batch(sql`SELECT 1`), /not one query: write batch\(\[query\]\)/);
    await assert.rejects(client.query('SELECT $1', [sql`a`]), {
      name: 'TypeError',
      message: /^values\[0\] is a piece of SQL: put it into sql/
    });
  });

  it('rejects where it is awaited or returned by an async function, and says how to send it', async () => {
    const message = /^a piece of SQL was awaited, which does not send it: write await client\.query\(sql`…`\)/;
    const large = () => sql.join(Array(300).fill(sql`c`));
    for (const wait of [
      async () => await sql`DELETE FROM users`,
      async () => sql`SELECT 1`,
      () => Promise.resolve(large()),
      () => Promise.all([sql.empty])
    ]) {
      await assert.rejects(wait, { name: 'TypeError', message });
    }
    const { piece } = await (async () => ({ piece: sql`SELECT 1` }))();
    assert.equal(piece[0], 'SELECT 1');
  });

  it('is refused by JSON.stringify, so no piece gets into a JSON parameter or an HTTP answer', async () => {
    const client = await connected();
    const message = /what is made JSON is a piece of SQL: put it into sql`…`, and that into query\(sql`…`\)$/;
    const large = sql.join(Array(300).fill(sql`c`));
    for (const piece of [sql`SELECT ${1}`, large, sql.empty]) {
      assert.throws(() => JSON.stringify({ list: [piece] }), { name: 'TypeError', message });
      assert.throws(() => sql`SELECT ${{ piece }}`, { name: 'TypeError', message });
      assert.throws(() => sql.json([piece]), { name: 'TypeError', message });
      await assert.rejects(client.query('SELECT $1::json', [{ piece }]), { name: 'TypeError', message });
    }
  });

  it('is refused by methods that take a text alone, with what to write', async () => {
    const client = await connected();
    const piece = sql`COPY users TO STDOUT`;
    const refused = {
      name: 'TypeError',
      message:
        'text must be a string, not a piece of SQL: pass its text, piece[0], and its values, piece[1], if the method takes any'
    };
    await assert.rejects(client.simpleQuery(piece), refused);
    for (const method of ['copyTo', 'copyFrom']) assert.throws(() => client[method](piece), refused);
    assert.equal((await client.simpleQuery(sql`SELECT 1 AS n`[0]))[0].rows[0].n, 1);
  });

  it('loads neither Client nor Pool', () => {
    const program = "require('./lib/sql'); console.log(JSON.stringify(Object.keys(require.cache)))";
    const files = JSON.parse(execFileSync(process.execPath, ['-e', program], { cwd: path.join(__dirname, '../..') }));
    const units = new Set(
      files.map(file => path.relative(path.join(__dirname, '../..'), file).split(path.sep).slice(0, -1).join('/'))
    );
    for (const unit of units) assert.match(unit, /^(?:lib\/(?:sql|core\/protocol)|client-parser)$/);
  });
});

describe('withoutLiterals', () => {
  it('gives SQL for logs', () => {
    const text = "SELECT a FROM t WHERE b = 'it''s' AND c > 4.2 AND d = $1 -- it's 1";
    assert.equal(withoutLiterals(text), "SELECT a FROM t WHERE b = ? AND c > ? AND d = $1 -- it's 1");
    assert.equal(withoutLiterals(text, '_'), "SELECT a FROM t WHERE b = _ AND c > _ AND d = $1 -- it's 1");
    assert.equal(withoutLiterals(text, "'…'", '0'), "SELECT a FROM t WHERE b = '…' AND c > 0 AND d = $1 -- it's 1");
  });

  it('takes strings alone', () => {
    assert.throws(() => withoutLiterals(), { name: 'TypeError', message: /^text is undefined: / });
    assert.throws(() => withoutLiterals(['SELECT 1']), { name: 'TypeError', message: /^text is an array: / });
    assert.throws(() => withoutLiterals('SELECT 1', 1), { name: 'TypeError', message: /^string is a number: / });
    assert.throws(() => withoutLiterals('SELECT 1', '?', {}), { name: 'TypeError', message: /^number is / });
  });
});
