'use strict';

const assert = require('node:assert/strict');
const { createHash } = require('node:crypto');
const { once } = require('node:events');
const { Transform } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { connected, sharedServer } = require('../../support');

/** `COPY_ROWS=10000000 npx mocha test/core/stream/copy-from.slow.test.js -g "copy a table"` is the full measure. */
const ROWS = Number(process.env.COPY_ROWS || 200000);

/** Passes bytes on in pieces of odd sizes, so that rows are split anywhere; sums them up. */
class Splitter extends Transform {
  constructor() {
    super();
    this.hash = createHash('md5');
    this.length = 0;
  }

  _transform(chunk, encoding, callback) {
    this.hash.update(chunk);
    for (let off = 0, size = 1; off < chunk.length; off += size, size = (size * 3) % 65537) {
      this.push(chunk.subarray(off, off + size));
    }
    this.length += chunk.length;
    callback();
  }
}

describe(`copyTo and copyFrom copy a table of ${ROWS} rows out and into another through a Transform`, function () {
  this.timeout(60000 + ROWS / 20);
  let source;
  let target;
  before(async () => {
    const server = await sharedServer();
    await server.sql(`CREATE UNLOGGED TABLE big AS SELECT i, md5(i::text) AS hash, i / 3.0::float8 AS third,
      CASE i % 3 WHEN 0 THEN E'back\\\\slash, "quote"\\n\\tline' WHEN 1 THEN '' END AS text, '\\x00ff'::bytea AS bytes
      FROM generate_series(1, ${ROWS}) AS i; GRANT ALL ON big TO PUBLIC; GRANT ALL ON SCHEMA public TO PUBLIC`);
  });
  beforeEach(async () => {
    source = await connected();
    target = await connected();
    await target.query('CREATE TEMP TABLE copy (LIKE big)');
  });
  after(async () => (await sharedServer()).sql('DROP TABLE big'));

  for (const format of ['text', 'csv', 'binary']) {
    it(`as ${format}, byte for byte`, async () => {
      const out = source.copyTo(`COPY big TO STDOUT (FORMAT ${format})`);
      const into = target.copyFrom(`COPY copy FROM STDIN (FORMAT ${format})`);
      const splitter = new Splitter();
      await pipeline(out, splitter, into);
      assert.deepEqual([out.rowCount, into.rowCount], [ROWS, ROWS]);
      assert.deepEqual([out.bytes, into.bytes], [splitter.length, splitter.length]);
      assert.equal(out.format, format === 'binary' ? 1 : 0);
      const again = createHash('md5');
      await pipeline(target.copyTo(`COPY copy TO STDOUT (FORMAT ${format})`), again);
      assert.equal(again.digest('hex'), splitter.hash.digest('hex'));
    });
  }
});

describe('copyFrom', () => {
  let client;
  beforeEach(async () => {
    client = await connected();
    await client.query('CREATE TEMP TABLE numbers (a int)');
  });

  it('takes one chunk of many megabytes without having it twice in memory', async () => {
    const chunk = Buffer.alloc(100e6, '1234567\n');
    const before = process.memoryUsage.rss();
    const stream = client.copyFrom('COPY numbers FROM STDIN');
    let most = 0;
    const timer = setInterval(() => {
      most = Math.max(most, process.memoryUsage.rss() - before);
    }, 5);
    stream.end(chunk);
    await once(stream, 'finish');
    clearInterval(timer);
    assert.equal(stream.rowCount, 12500000);
    assert.ok(most < 50e6, `${most / 1e6} MB`);
  });
});
