'use strict';

const assert = require('node:assert/strict');
const { literalsOf } = require('../../lib/types/literals');

const BACKTICK = '`';
/** @returns {string[]} the texts in a source, with ` in the place of ´ */
const textsOf = (source, ...others) => {
  const sources = [source, ...others].map((each, index) => [`${index}.tsx`, each.replaceAll('´', BACKTICK)]);
  return literalsOf(new Map(sources)).texts.map(({ text }) => text);
};
const othersOf = source =>
  literalsOf(new Map([['a.ts', source.replaceAll('´', BACKTICK)]])).others.map(({ why }) => why);

describe('The literals of a program', () => {
  it('are strings and templates, given to a method that takes SQL', () => {
    assert.deepEqual(
      textsOf(String.raw`
      pool.query('SELECT 1'); pool?.query<{ a: () => Map<string, number> }>("SELECT '\u0041\x42\u{00000043}\
'"); db.x.query?.(´SELECT 3´, []);
      for await (const row of tx.cursor('SELECT 4')) await client.queryTo(response, 'SELECT 5', [1]);
      client.startQuery('SELECT 6'); cache.keyOf('SELECT 7'); pool.copyTo('COPY t TO STDOUT'); pool.query('SELECT 8' as const);
      ´${'$'}{pool.query('SELECT 9')}´; pool.query(a ? 'SELECT 10' : b); await tx.commit('SELECT 11', [1]);`),
      [
        'SELECT 1',
        "SELECT 'ABC'",
        'SELECT 3',
        'SELECT 4',
        'SELECT 5',
        'SELECT 6',
        'SELECT 7',
        'COPY t TO STDOUT',
        'SELECT 8',
        'SELECT 9',
        'SELECT 11'
      ]
    );
  });

  it('are the queries of a batch, and the text of respond, wherever it is', () => {
    assert.deepEqual(
      textsOf(`
      pool.batch(['SELECT 1', ['SELECT 2', [1, 'x']], TEXT, [TEXT]]); pool.batch(list.map(id => ['SELECT 3', [id]]));
      const TEXT = 'SELECT 4';
      respond(pool, request, response, 'SELECT 5', [f(1, 2)]); respond(pool, request, 'SELECT 6');
      live.respond(request, response, 'SELECT 7', [], {}); function respond(pool, request, x = 'no') {}`),
      ['SELECT 1', 'SELECT 2', 'SELECT 4', 'SELECT 5', 'SELECT 6', 'SELECT 7']
    );
  });

  it('are constants, the last one above, or of another file', () => {
    assert.deepEqual(
      textsOf(
        `
      const text = 'SELECT 1'; pool.query(text);
      function f() { const text = 'SELECT 2'; return pool.query(text); }
      const unused = 'SELECT 3', later = 1, not: string = 'SELECT 4', sum = 'SELECT ' + 5; let variable = 'SELECT 6';
      pool.query(FAR); pool.query(not); pool.query(sum); pool.query(variable); pool.query(FAR.x)`,
        "export const FAR = 'SELECT 7'"
      ),
      ['SELECT 1', 'SELECT 2', 'SELECT 7']
    );
  });

  it('end with a comment that does not end, and are no longer than 1,000,000 characters', () => {
    const twice = Array.from({ length: 20 }, (_, i) => `const A${i + 1} = ´\${A${i}}\${A${i}}´ as const;`).join(' ');
    const source = `const A0 = 'SELECT 1'; pool.query(A0); ${twice} pool.query(A20); /* no end pool.query('SELECT 2')`;
    assert.deepEqual(textsOf(source), ['SELECT 1']);
    const longest = 'x'.repeat(1e6);
    assert.deepEqual(textsOf(`const X = '${longest}'; pool.query(´\${X}´); pool.query(´\${X}x´)`), [longest]);
  });

  it('are not hidden by a slash that divides what ++, -- or ! is behind, nor by one of JSX, but by that of a regular expression', () => {
    const element = "<p><A b={c} /> {(await pool.query('SELECT 1')).rows.map(row => <li key={row.a}>it</li>)}</p>";
    assert.deepEqual(textsOf(`return ${element};`), ['SELECT 1']);
    const behind = " 2; pool.query('SELECT 1'); // it's";
    for (const divided of ['i++', 'i --', 'a.b!', 'a[0]!', 'f()!', 'i']) {
      assert.deepEqual(textsOf(`x = ${divided} /${behind}`), ['SELECT 1'], divided);
    }
    for (const before of ['if (a) !', 'return !', 'a && !', 'x = 1 + +', 'x = - -', '!', 'f(!', '{ !', 'a\n!']) {
      assert.deepEqual(textsOf(`${before} /'/.test(b); pool.query('SELECT 1'); // it's`), ['SELECT 1'], before);
    }
  });

  it('end with a string, a template or a regular expression that does not end', () => {
    for (const end of ['"', "'", '´', '´${', '/[', "'\\\\"])
      assert.deepEqual(textsOf(`pool.query('SELECT 1'); x = ${end}pool.query( SELECT 2 )`), ['SELECT 1'], end);
  });

  it('are templates whose expressions are constants, which have a literal type as well', () => {
    const other =
      'export const BY_ID = ´SELECT ${COLUMNS} FROM t WHERE id = $1´ as const; const STRING = ´SELECT ${COLUMNS}´; pool.query(STRING)';
    assert.deepEqual(
      textsOf(
        'pool.query(BY_ID); pool.query(´SELECT ${COLUMNS}, ${ONE} FROM u´); pool.query(´${f(COLUMNS)}´); pool.query(´${COLUMNS, ONE}´)',
        other,
        "const COLUMNS = 'id, name', ONE = '1'; const ONE = '1'"
      ),
      ['SELECT id, name FROM t WHERE id = $1', 'SELECT id, name, 1 FROM u']
    );
  });

  it('are pieces of SQL with a name, numbered as sql does', () => {
    const { texts, others } = literalsOf(
      new Map([['a.ts', "pool.query(sql<'by id'>`SELECT ${a}1, ${f(b)} FROM \\`t\\``); pool.query(...piece)"]])
    );
    assert.deepEqual(
      texts.map(({ text, name }) => [name, text]),
      [['by id', 'SELECT $1 1, $2 FROM `t`']]
    );
    assert.deepEqual(others, []);
  });

  it('are told from what looks like them', () => {
    assert.deepEqual(
      textsOf(String.raw`
      const a = /["'\x60[/'"]/.test(b) / 2; // pool.query('no')
      const jsx = <p title="it's">don't
        {pool.query('SELECT 1')}</p>; /* pool.query('no') */ query('no'); async query(x = 'no') {}
      const s = "pool.query('no')"; x = { '}': '{', [´${'$'}{{ a: '}' }.a}´]: 1 }; return /'/.test(x) ? pool.query('SELECT 2') : 0;
      ´${'$'}{{ a: 1 }.a, pool.query('SELECT 3')}´`),
      ['SELECT 1', 'SELECT 2', 'SELECT 3']
    );
    assert.deepEqual(
      textsOf(String.raw`
      if (x) /'/.test(x) && pool.query('SELECT 1'); while ((x)) /["]/.exec(pool.query('SELECT 2'));
      for await (const x of y) /[´'/]/.test(x), pool.query('SELECT 3');
      (a) / b, pool.query('SELECT 4') / 2; x.if(1) / 2 + pool.query('SELECT 5') / 3; f(/'/, pool.query('SELECT 6'))`),
      ['SELECT 1', 'SELECT 2', 'SELECT 3', 'SELECT 4', 'SELECT 5', 'SELECT 6']
    );
  });

  it('have the line and column of their quotes', () => {
    const { texts } = literalsOf(new Map([['a.ts', "\n\n  pool.query(\n    'SELECT 1'); pool.query(`\n`)"]]));
    assert.deepEqual(
      texts.map(({ file, token }) => [file, token.line, token.column]),
      [
        ['a.ts', 4, 5],
        ['a.ts', 4, 29]
      ]
    );
  });

  it('are ignored behind a comment on the line above, or their own', () => {
    assert.deepEqual(
      textsOf(`
      // quickgres-ignore
      url.query('a'); url.query(b);
      pool.query('SELECT 1'); pool.query(/* quickgres-ignore: of another library */ 'b');
      url.query('c')
      pool.query('SELECT 2')`),
      ['SELECT 1', 'SELECT 2']
    );
  });

  it('are counted where their text is not known, each with a reason', () => {
    assert.deepEqual(
      othersOf(
        "pool.query(text); pool.query('a' + b); pool.query(sql´SELECT 1´); pool.query(´SELECT ${x}´); pool.query(f('x'))"
      ),
      ['not a literal', 'not a literal', 'sql`…`', 'a template with ${…}', 'not a literal']
    );
  });

  it('are counted where quotes hide a call, as apostrophes of JSX may', () => {
    assert.deepEqual(othersOf("<p>it's {pool.query('SELECT 1')} Ann's</p>; x = 'not a .query'"), ['in quotes']);
    // quickgres-ignore is for them as well
    assert.deepEqual(othersOf("// quickgres-ignore\nx = 'pool.query (1)'"), []);
  });
});
