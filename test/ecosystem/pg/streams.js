'use strict';

// pg-cursor, pg-query-stream and pg-copy-streams as they are.

const Cursor = require('pg-cursor');
const QueryStream = require('pg-query-stream');
const { from, to } = require('pg-copy-streams');
const { once } = require('node:events');
const { PassThrough, Readable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { setTimeout } = require('node:timers/promises');

module.exports = async ({ pg, config, tell, errorOf }) => {
  const client = new pg.Client(config);
  await client.connect();
  const cursor = client.query(
    new Cursor("SELECT n, now() > '2000-01-01' AS late FROM generate_series(1, $1::int) n", [7])
  );
  tell(await cursor.read(3), await cursor.read(100), await cursor.read(1));
  await cursor.close();
  const early = client.query(new Cursor('SELECT n FROM generate_series(1, 1000000) n', [], { rowMode: 'array' }));
  tell(await early.read(2));
  await early.close();
  const broken = client.query(new Cursor('SELECT 1 / (3 - n) AS x FROM generate_series(1, 5) n'));
  tell(await broken.read(10).catch(errorOf));
  let sum = 0;
  for await (const { n } of client.query(
    new QueryStream('SELECT n FROM generate_series(1, $1::int) n', [5000], { batchSize: 70 })
  ))
    sum += n;
  tell(sum);
  for await (const { n } of client.query(new QueryStream('SELECT n FROM generate_series(1, 1000000) n')))
    if (n === 150) break;
  tell((await client.query('SELECT 1 AS after')).rows);
  const failing = client.query(new QueryStream('SELECT nothing'));
  await new Promise(resolve =>
    failing
      .on('error', error => {
        tell(errorOf(error));
        resolve();
      })
      .resume()
  );
  await client.query('BEGIN');
  const inside = client.query(new Cursor('SELECT 1 AS a'));
  tell(await inside.read(5));
  await inside.close();
  await client.query('COMMIT');
  await client.query('CREATE TEMP TABLE copied (a int, b text)');
  const copy = (text, ...pieces) => pipeline(Readable.from(pieces), client.query(from(text)));
  await copy(
    'COPY copied FROM STDIN',
    Buffer.from('1\tx\n2'),
    Buffer.from('\ty\n'),
    Buffer.from(`3\t${'z'.repeat(1e6)}\n`)
  );
  tell((await client.query('SELECT a, length(b) AS b FROM copied ORDER BY a')).rows);
  tell(
    await copy('COPY copied FROM STDIN', Buffer.from('one\tx\n')).catch(errorOf),
    await copy('COPY nothing FROM STDIN', Buffer.from('1\n')).catch(errorOf)
  );
  const left = client.query(from('COPY copied FROM STDIN'));
  left.write('4\tx\n');
  left.destroy(new Error('enough'));
  tell((await once(left, 'error').catch(error => [error]))[0].message);
  const out = client.query(to('COPY (SELECT a, left(b, 2) FROM copied ORDER BY a) TO STDOUT'));
  tell(String(Buffer.concat(await out.toArray())), out.rowCount);
  let length = 0;
  for await (const piece of client.query(to("COPY (SELECT repeat('x', 100) FROM generate_series(1, 20000)) TO STDOUT")))
    length += piece.length;
  tell(length);
  tell(await client.query(to('COPY nothing TO STDOUT')).toArray().catch(errorOf));
  pg.types.setTypeParser(20, Number);
  client.setTypeParser(25, text => `${text}!`);
  const parsed = client.query(new Cursor("SELECT 5::int8 AS n, 'a' AS text", [], { rowMode: 'array' }));
  tell(await parsed.read(5));
  await client.end();
  for (const milliseconds of [0, 50]) {
    const other = new pg.Client(config);
    await other.connect();
    const abandoned = other
      .query(new QueryStream('SELECT n FROM generate_series(1, 100) n'))
      .on('error', error => tell(errorOf(error)));
    abandoned.pipe(new PassThrough({ objectMode: true })).destroy();
    await setTimeout(milliseconds);
    await other.end();
  }
  await setTimeout(50);
};
