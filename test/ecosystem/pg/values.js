'use strict';

// Values of every type, both ways, in all that a result has.

const VALUES = [
  ['int', 5],
  ['int8', '9007199254740993'],
  ['int8', 10n],
  ['numeric', '1.50'],
  ['float8', 1e300],
  ['float4', 0.1],
  ['float8', 'NaN'],
  ['bool', true],
  ['text', 'x\'"\\é'],
  ['text', ''],
  ['text', null],
  ['bytea', Buffer.from([0, 1, 255])],
  ['uuid', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'],
  ['json', { a: [1, null, 'x'] }],
  ['jsonb', { b: { c: 1.5 } }],
  ['jsonb', 'null'],
  ['json', '"text"'],
  ['timestamptz', new Date('2020-02-29T12:34:56.789Z')],
  ['timestamp', new Date('2020-02-29T12:34:56.789Z')],
  ['date', '2020-02-29'],
  ['date', new Date('2020-02-29T12:00:00Z')],
  ['timestamptz', 'infinity'],
  ['timestamp', '0099-01-02 03:04:05.678901'],
  ['time', '12:34:56.789'],
  ['timetz', '12:34:56+05:30'],
  ['interval', '1 year 2 mons -3 days 04:05:06.789'],
  ['interval', '-00:00:00.5'],
  ['interval', '0'],
  ['point', '(1.5,-2)'],
  ['circle', '<(1,2),3>'],
  ['box', '(1,2),(3,4)'],
  ['inet', '10.0.0.1/8'],
  ['cidr', '10.0.0.0/8'],
  ['macaddr', '08:00:2b:01:02:03'],
  ['bit(3)', '101'],
  ['money', '1.5'],
  ['xml', '<a/>'],
  ['tsvector', 'a b'],
  ['int4range', '[1,5)'],
  ['numrange', '(1.5,)'],
  ['int[]', [1, null, 3]],
  [
    'int[]',
    [
      [1, 2],
      [3, 4]
    ]
  ],
  ['int8[]', ['1', '9007199254740993']],
  ['text[]', ['a,b', '"', '\\', 'NULL', '', null]],
  ['bool[]', [true, false, null]],
  ['numeric[]', ['1.5', '2']],
  ['float8[]', [1.5, NaN]],
  ['uuid[]', ['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11']],
  ['timestamptz[]', [new Date('2020-02-29T12:34:56.789Z')]],
  ['date[]', ['2020-02-29', null]],
  ['jsonb[]', [{ a: 1 }, { b: '"' }]],
  ['bytea[]', [Buffer.from([1, 2])]],
  ['point[]', ['(1,2)']],
  ['interval[]', ['1 day']],
  ['text[]', []],
  ['varchar(3)[]', ['abc']],
  ['inet[]', ['10.0.0.1']],
  ['time[]', ['12:00']],
  ['oid', 4294967295],
  ['"char"', 'x'],
  ['name', 'n'],
  ['regclass', 'pg_class']
];

module.exports = async ({ pg, config, tell, errorOf }) => {
  const client = new pg.Client(config);
  await client.connect();
  for (const [type, value] of VALUES) {
    const { rows, fields, rowCount, command, oid } = await client.query(`SELECT $1::${type} AS value`, [value]);
    const [{ value: given }] = rows;
    tell(type, given, typeof given, given?.constructor?.name, String(given), fields, rowCount, command, oid);
    const back = await client.query(`SELECT $1::${type}::text AS value`, [given]).catch(errorOf);
    tell('back', back.rows ?? back.code);
  }
  // Not float and timestamp, of which node-postgres reads other values than there are.
  for (const [type, value] of [
    ['int', 5],
    ['int8', '5'],
    ['bool', true],
    ['text', 'é'],
    ['int[]', [1, 2]],
    ['text[]', ['a']],
    ['numeric', '12.5']
  ]) {
    const { rows, fields } = await client.query({ text: `SELECT $1::${type} AS value`, values: [value], binary: true });
    tell(type, rows[0].value, fields);
  }
  for (const query of [
    '',
    'SELECT 1; SELECT 2 AS b',
    'SELECT 1 AS a, 2 AS a',
    'CREATE TABLE t (a int, b text)',
    "INSERT INTO t VALUES (1, 'x')",
    'UPDATE t SET a = 2',
    'WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x',
    'SELECT',
    'BEGIN',
    'COMMIT',
    'SHOW work_mem',
    'CREATE TABLE u AS SELECT 1',
    'EXPLAIN SELECT 1',
    'FETCH 1 FROM nothing',
    'SELECT nothing',
    'SELEC',
    'VALUES (1), (2)',
    'TABLE u',
    'DROP TABLE t, u',
    'DO $$ BEGIN END $$'
  ]) {
    for (const rowMode of [undefined, 'array']) {
      const results = await client.query({ text: query, rowMode }).catch(errorOf);
      for (const { rows, rowCount, command, oid, fields, code, name, message } of [results].flat()) {
        const described = fields?.map(({ tableID, ...field }) => field);
        tell(query, rows, rowCount, command, oid, described, code, name, message);
      }
    }
  }
  await client.end();
};
