'use strict';

// Rows with `decode` in the hands of packages that programs give rows to: they do the same as with those of node-postgres.

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const { createRequire } = require('node:module');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { installed } = require('../support/folder');
const { connected, sharedServer } = require('../support');

/** Values that both read alike. */
const TEXT = `SELECT n AS id, 'name ' || n AS name, NULL AS nothing, n > 1 AS "is it", '{1,NULL}'::int[] AS list, '{"b": [1]}'::jsonb AS doc,
  timestamptz '2024-02-29 12:34:56.789+00' AS at, 1.50 AS price, n::float8 / 4 AS quarter, 'it, "quoted"' AS text
  FROM generate_series(1, 3) n`;

describe('The ecosystem, rows', () => {
  let folder, server, load, rows, theirs;
  before(async function () {
    folder = installed(this, 'ecosystem');
    server = await sharedServer();
    const require = createRequire(path.join(folder, 'package.json'));
    load = async name => require(name);
    const { Client } = require('pg');
    const client = new Client({ connectionString: server.url });
    await client.connect();
    theirs = (await client.query(TEXT)).rows;
    await client.end();
  });
  beforeEach(async () => {
    ({ objects: rows } = await (await connected()).query(TEXT));
  });

  /** Asserts that a function does the same with both, and gives that. */
  async function same(use) {
    const result = await use(rows);
    assert.deepStrictEqual(result, await use(theirs));
    return result;
  }

  it('in lodash', async () => {
    const _ = await load('lodash');
    const result = await same(rows => ({
      plain: rows.map(_.isPlainObject),
      by: _.keyBy(rows, 'id'),
      groups: _.groupBy(rows, 'is it'),
      clone: _.cloneDeep(rows),
      some: _.map(rows, row => _.pick(row, ['id', 'doc.b'])),
      others: _.omit(rows[0], 'name'),
      merged: _.merge({}, rows[0], { doc: { c: 1 } }),
      sorted: _.orderBy(rows, ['id'], ['desc']),
      unequal: _.isEqual(rows[0], rows[1]),
      equal: _.isEqual(rows[0], _.cloneDeep(rows[0])),
      mapped: _.mapValues(rows[0], String),
      found: _.find(rows, { name: 'name 2' }),
      size: _.size(rows[0]),
      pairs: _.toPairs(rows[0])
    }));
    assert.deepEqual(result.plain, [true, true, true]);
    assert.equal(result.unequal, false);
  });

  it('in Handlebars', async () => {
    const { compile } = await load('handlebars');
    const template = compile(
      '{{#each rows}}{{id}}: {{name}} {{[is it]}} {{doc.b.[0]}} {{#each list}}<{{this}}>{{/each}}{{#unless nothing}}-{{/unless}}\n{{/each}}'
    );
    assert.match(await same(rows => template({ rows })), /^1: name 1 false 1 <1><>-$/m);
  });

  it('in csv-stringify', async () => {
    const { stringify } = await load('csv-stringify/sync');
    const csv = await same(rows => stringify(rows, { header: true, cast: { date: date => date.toISOString() } }));
    assert.match(
      csv,
      /^id,name,nothing,is it,list,doc,at,price,quarter,text\n1,name 1,,,"\[1,null\]","\{""b"":\[1\]\}",2024-02-29T12:34:56.789Z,1.50,0.25,"it, ""quoted"""\n/
    );
  });

  it('in Zod', async () => {
    const { z } = await load('zod');
    const schema = z.array(
      z.strictObject({
        id: z.number().int(),
        name: z.string(),
        nothing: z.null(),
        'is it': z.boolean(),
        list: z.array(z.number().nullable()),
        doc: z.object({ b: z.array(z.number()) }),
        at: z.date(),
        price: z.coerce.number(),
        quarter: z.number(),
        text: z.string()
      })
    );
    assert.equal((await same(rows => schema.parse(rows)))[0].price, 1.5);
    // What `as: 'json'` and JSON.stringify make of a timestamptz are both what validators of ISO 8601 take.
    const at = z.array(z.object({ at: z.iso.datetime({ offset: true }) }));
    assert.equal(at.parse(JSON.parse(JSON.stringify(rows))).length, 3);
    const client = await connected();
    const { PassThrough } = require('node:stream');
    const target = new PassThrough();
    await client.queryTo(target, TEXT, [], { as: 'json' });
    const [row] = at.parse(JSON.parse(target.read()));
    assert.equal(new Date(row.at).getTime(), rows[0].at.getTime());
  });

  it('in devalue', async () => {
    const { parse, stringify, uneval } = await import(
      pathToFileURL(createRequire(path.join(folder, 'package.json')).resolve('devalue'))
    );
    assert.deepStrictEqual(await same(rows => parse(stringify(rows))), rows);
    await same(rows => uneval(rows));
  });

  /** What a test runner prints: that of each test that has to fail, by its name. */
  async function failuresOf(test, program, args) {
    const cwd = installed(test, 'everywhere');
    const env = {
      ...process.env,
      NODE_OPTIONS: '',
      FORCE_COLOR: '0',
      NO_COLOR: '1',
      CI: '',
      SERVER: JSON.stringify(server.config)
    };
    const { code, output } = await new Promise(resolve => {
      execFile(
        process.execPath,
        [path.join(cwd, 'node_modules', program), ...args],
        { cwd, env, timeout: 110000 },
        (error, stdout, stderr) => resolve({ code: error?.code, output: stdout + stderr })
      );
    });
    assert.equal(code, 1, output);
    return output;
  }

  /** Each failure is on a screen, and has the columns of the rows, and nothing of their bytes. */
  function check(output, title) {
    const failures = output.split(title).slice(1);
    assert.equal(failures.length, 4, output);
    for (const failure of failures) {
      assert.ok(failure.split('\n').length < 100, failure);
      assert.match(failure, /"?name"?: "name \d"/);
      assert.doesNotMatch(failure, /Chunk|Buffer|Uint8Array|\b6[58],/);
    }
    assert.match(failures[0], /- +"name": "expected name",\n\s*\+ +"name": "name 3",/);
    assert.match(failures[1], /- +"name": "expected name",\n\s*\+ +"name": "name 1",/);
  }

  it('in Jest, and structs', async function () {
    this.timeout(120000);
    const output = await failuresOf(this, 'jest/bin/jest.js', [
      '-c',
      'jest.config.js',
      '--roots',
      'test/everywhere/rows',
      '--runInBand',
      '--cache=false'
    ]);
    assert.match(output, /Tests: +4 failed, 1 passed/);
    check(output, /^ {2}● fails: /m);
  });

  it('in Vitest, and structs', async function () {
    this.timeout(120000);
    const output = await failuresOf(this, 'vitest/vitest.mjs', [
      'run',
      '--root',
      'rows',
      '--dir',
      '.',
      '--reporter',
      'default',
      'rows.test.mjs'
    ]);
    check(output, /^ *FAIL +rows\.test\.mjs > fails: /m);
  });

  it('beside lists for jsonb, which postgres stores as well, and pg rejects or stores as an empty object', async () => {
    const [postgres, { Client }] = [await load('postgres'), await load('pg')];
    const lists = [[], [1, 2], ['a', null], [{ b: [1] }]];
    const CREATE = 'CREATE TEMP TABLE lists (j jsonb)';
    const INSERT = 'INSERT INTO lists VALUES ($1) RETURNING j';
    const ours = await connected();
    await ours.query(CREATE);
    const sql = postgres(server.url, { max: 1 });
    await sql.unsafe(CREATE);
    const client = new Client({ connectionString: server.url });
    await client.connect();
    await client.query(CREATE);
    const stored = { ours: [], postgres: [], pg: [] };
    for (const list of lists) {
      stored.ours.push((await ours.query(INSERT, [list])).rows[0].j);
      stored.postgres.push((await sql`INSERT INTO lists VALUES (${list}) RETURNING j`)[0].j);
      const asked = client.query(INSERT, [list]);
      stored.pg.push(
        await asked.then(
          ({ rows: [{ j }] }) => j,
          error => error.code
        )
      );
    }
    await sql.end();
    await client.end();
    assert.deepEqual(stored, { ours: lists, postgres: lists, pg: [{}, '22P02', '22P02', '22P02'] });
  });
});
