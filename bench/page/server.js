'use strict';

// What the measured page gets: its files, the parser, and the same rows in every format.

const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { pipeline } = require('node:stream/promises');
const { Client } = require('../..');
const { respond } = require('../../lib/http');

/** Statements by kind of rows: seven text columns, as in the demo, and three narrow numbers. */
const KINDS = {
  text: `SELECT md5(i::text)::uuid AS id, 'User ' || i AS name, 'user' || i || '@example.com' AS email,
      md5('password' || i) AS password, round((i * 7919::bigint % 1000003) / 100.0, 2) AS balance, i % 3 <> 0 AS active,
      timestamptz '2026-01-01 00:00:00+00' + i * interval '1 minute' AS created
    FROM generate_series(1, $1::int) AS i`,
  numbers: 'SELECT i AS id, i * 7919::bigint % 1000 AS level, sqrt(i) AS value FROM generate_series(1, $1::int) AS i'
};

/** Arrow's IPC stream of the rows, in record batches of 2,000. Made before it is asked for: how fast is not measured. */
async function makeArrow(client, kind, limit) {
  const {
    Bool,
    Float64,
    Int32,
    RecordBatchStreamWriter,
    Table,
    TimestampMillisecond,
    Utf8,
    vectorFromArray
  } = require('apache-arrow');
  const types = {
    16: new Bool(),
    20: new Int32(),
    23: new Int32(),
    701: new Float64(),
    1184: new TimestampMillisecond()
  };
  const values = {
    16: text => text === 't',
    20: Number,
    23: Number,
    701: Number,
    1184: text => new Date(text.replace(/\+00$/, 'Z'))
  };
  const { rows, rowParser } = await client.query(KINDS[kind], [limit], { decode: false });
  const writer = new RecordBatchStreamWriter();
  for (let from = 0; from < rows.length; from += 2000) {
    const some = rows.slice(from, from + 2000);
    const vectors = rowParser.columns.map(({ name, typeOid }, i) => [
      name,
      vectorFromArray(
        some.map(row => (values[typeOid] ?? String)(row[i])),
        types[typeOid] ?? new Utf8()
      )
    ]);
    for (const batch of new Table(Object.fromEntries(vectors)).batches) writer.write(batch);
  }
  writer.finish();
  return writer.toUint8Array();
}

/** The reader of Arrow's own package, as one file. */
function bundleArrow() {
  const esbuild = require(require.resolve('esbuild', { paths: [path.dirname(require.resolve('pg-test-fixtures'))] }));
  const {
    outputFiles: [{ contents }]
  } = esbuild.buildSync({
    stdin: { contents: "export { RecordBatchReader } from 'apache-arrow';", resolveDir: __dirname },
    bundle: true,
    format: 'esm',
    platform: 'browser',
    minify: true,
    write: false
  });
  return contents;
}

/**
 * Starts the server.
 * @param {object} config of the database
 * @param {string} parser the folder of client-parser that the page gets
 * @param {number} rows of Arrow's tables
 * @returns {Promise<{url: string, stop: function}>}
 */
async function serve(config, parser, rows) {
  const client = new Client({ ...config, TimeZone: 'UTC' });
  await client.connect();
  const arrows = {};
  for (const kind in KINDS) arrows[kind] = await makeArrow(client, kind, rows);
  const files = {
    '/': ['text/html', '<!doctype html><meta charset="utf-8"><title>measured</title>'],
    '/page.js': ['text/javascript', fs.readFileSync(path.join(__dirname, 'page.js'))],
    '/arrow.js': ['text/javascript', bundleArrow()]
  };
  for (const name of fs.readdirSync(parser).filter(name => name.endsWith('.js'))) {
    files[`/client-parser/${name}`] = ['text/javascript', fs.readFileSync(path.join(parser, name))];
  }
  const server = http.createServer(async (request, response) => {
    const [, kind, as, count] = /^\/(text|numbers)\.(protocol|ndjson|json|arrow)\?(\d+)$/.exec(request.url) ?? [];
    try {
      if (as === 'arrow') await pipeline([arrows[kind]], response);
      else if (as) await respond(client, request, response, KINDS[kind], [count], { as, compress: false });
      else {
        const [type, body] = files[request.url] ?? ['text/plain', ''];
        response.writeHead(body ? 200 : 404, { 'content-type': type }).end(body);
      }
    } catch (error) {
      response.destroy(error);
    }
  });
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    stop: () => {
      server.closeAllConnections();
      server.close();
      return client.end();
    }
  };
}

module.exports = { KINDS, serve };
