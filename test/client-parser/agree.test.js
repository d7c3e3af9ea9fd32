'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { launchBrowser, skipUnless } = require('pg-test-fixtures');
const { Client, decoders, exact } = require('../..');
const { STRINGS, NUMBERS, OTHERS, RECORDS } = require('./values');
const { sharedServer } = require('../support');

const FOLDER = path.join(__dirname, '../../client-parser');
const SETTINGS = { TimeZone: 'UTC', DateStyle: 'ISO', IntervalStyle: 'postgres', bytea_output: 'hex' };
const literals = values => `ARRAY[${values.map(text => `'${text.replaceAll('\'', '\'\'')}'`)}]::text[]`;

/** The type table: of each type its values as one writes them, and how what psql prints becomes what is decoded. */
const TYPES = [
  ...Object.entries(STRINGS).map(([type, values]) => ({ type, values, make: text => text })),
  ...Object.entries(NUMBERS).map(([type, [make, values]]) => ({ type, values, make })),
  ...Object.entries(OTHERS).map(([type, pairs]) => {
    let next = 0;
    return { type, values: pairs.map(([text]) => text), make: () => pairs[next++ % pairs.length][1] };
  })
];
/** One column, a row for each value; and for what is no array itself, one array of all values and NULL, and one of two of it. */
const COLUMNS = TYPES.map(({ type, values }) =>
  `SELECT x::${type} FROM unnest(${literals(values)}) WITH ORDINALITY AS _(x, i) ORDER BY i`);
const SCALARS = TYPES.filter(({ type }) => !type.endsWith('[]'));
const ARRAYS = SCALARS.map(({ type, values }) =>
  `SELECT a, ARRAY[a, a] FROM (SELECT array_agg(x::${type} ORDER BY i) || NULL::${type} AS a
    FROM unnest(${literals(values)}) WITH ORDINALITY AS _(x, i)) AS _`);
const TEXTS = [...COLUMNS, ...ARRAYS, ...RECORDS.map(text => `SELECT ${text}`)];

/** Values as text that keeps them all apart. */
function show(value) {
  if (value instanceof Uint8Array) return `bytes ${value.join()}`;
  if (Array.isArray(value)) return value.map(show);
  if (typeof value === 'object') return JSON.stringify(value);
  return Object.is(value, -0) ? '-0' : `${typeof value} ${value}`;
}

/** What runs in the page. */
const SCRIPT = `
  import { decoders, exact, rows } from '/client-parser/index.js';
  ${show}
  export const read = async source => {
    const values = [];
    const decode = { ...decoders, ...exact };
    for await (const row of rows(source, { decode })) values.push(row.toArray?.() ?? Object.values(row));
    return show(values);
  };`;

describe('The type table', () => {
  let server, client, web, bytes, decoded;

  before(async function () {
    this.timeout(120000);
    server = await sharedServer();
    client = new Client({ ...server.config, ...SETTINGS });
    await client.connect();
    // What Node's client makes of it, from text and from binary, and the bytes that a browser gets.
    decoded = await Promise.all([Client.STRING, Client.BINARY].map(format => Promise.all(TEXTS.map(async text =>
      (await client.query(text, [], { format, decode: { ...decoders, ...exact } })).arrays))));
    bytes = await Promise.all([Client.STRING, Client.BINARY].map(format => Promise.all(TEXTS.map(async text => {
      const chunks = [];
      await client.queryTo(new WritableStream({ write(chunk) { chunks.push(Buffer.from(chunk)); } }), text, [], { format });
      return Buffer.concat(chunks);
    }))));
    web = http.createServer((request, response) => {
      const { pathname } = new URL(request.url, 'http://localhost');
      const [, format, index] = /^\/result\/([01])\/(\d+)$/.exec(pathname) ?? [];
      const body = format ? bytes[format][index]
        : pathname === '/read.js' ? SCRIPT
        : /^\/client-parser\/[\w-]+\.js$/.test(pathname) ? fs.readFileSync(path.join(FOLDER, path.basename(pathname)))
        : '<!doctype html><title>test</title>';
      const type = format ? 'application/x-postgresql' : pathname.endsWith('.js') ? 'text/javascript' : 'text/html';
      response.writeHead(200, { 'content-type': type }).end(body);
    }).listen(0, '127.0.0.1');
    await once(web, 'listening');
  });

  after(async () => {
    await client?.end();
    web?.close();
    web?.closeAllConnections();
  });

  it('is the same from text and from binary', () => {
    TEXTS.slice(0, -RECORDS.length).forEach((text, i) => { // a record is bytes from binary
      assert.ok(decoded[0][i].length > 0);
      assert.deepEqual(show(decoded[1][i]), show(decoded[0][i]), text.slice(0, 200));
    });
  });

  it('is what psql prints', async function () {
    await skipUnless(this, 'psql');
    const settings = Object.entries(SETTINGS).map(([name, value]) => `SET ${name} = '${value}';\n`);
    const queries = [...COLUMNS, ...RECORDS.map(text => `SELECT ${text}`)];
    // So many values are too long for a command line.
    const file = path.join(os.tmpdir(), `type-table-${process.pid}.sql`);
    fs.writeFileSync(file, [...settings, ...queries.map(text => `${text};\n\\echo <END>\n`)].join(''));
    const printed = await server.psql('SELECT', { args: ['-A', '-t', '-R', '\x1e', '-f', file] }).finally(() => fs.rmSync(file));
    const results = printed.split('\n<END>\n').slice(0, -1).map(text => text.split('\x1e'));
    assert.equal(results.length, queries.length);
    const plain = await Promise.all(queries.map(text => client.query(text)));
    const makers = [...TYPES.map(({ make }) => make), ...RECORDS.map(() => text => text)];
    queries.forEach((text, i) => {
      assert.deepEqual(plain[i].rows.map(row => row[0]), results[i], text.slice(0, 200));
      const made = results[i].map(value => [makers[i](value)]);
      const index = i < COLUMNS.length ? i : i + ARRAYS.length;
      for (const format of i < COLUMNS.length ? [0, 1] : [0]) assert.deepEqual(show(decoded[format][index]), show(made), text.slice(0, 200));
    });
  });

  it('has arrays of the same values, nested ones and NULL among them', () => {
    for (const [format, name] of ['text', 'binary'].entries()) {
      SCALARS.forEach(({ type }, i) => {
        const values = [...decoded[format][TYPES.findIndex(each => each.type === type)].map(([value]) => value), null];
        assert.deepEqual(decoded[format][COLUMNS.length + i], [[values, [values, values]]], `${type}, ${name}`);
      });
    }
  });

  it('is the same in a browser', async function () {
    await skipUnless(this, 'chromium');
    this.timeout(120000);
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage();
      await page.goto(`http://127.0.0.1:${web.address().port}/`);
      for (const format of [0, 1]) {
        const seen = await page.evaluate(async ({ format, count }) => {
          const { read } = await import('/read.js');
          const results = [];
          for (let i = 0; i < count; i++) results.push(await read(fetch(`/result/${format}/${i}`)));
          return results;
        }, { format, count: TEXTS.length });
        TEXTS.forEach((text, i) => assert.deepEqual(seen[i], show(decoded[format][i]), text.slice(0, 200)));
      }
    } finally {
      await browser.close();
    }
  });
});
