// What a program does with a server, on any runtime that has TCP: it prints what came of it, a line of JSON.
import { tracingChannel } from 'node:diagnostics_channel';
import http from 'node:http';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Client } from 'quickgres';
import { live as statesOf } from 'quickgres/client-parser/live';
import { Live } from 'quickgres/live';
import { Pool } from 'quickgres/pool';

const { ca, ...config } = JSON.parse(process.env.SERVER);
const seen = {};
const codeOf = promise =>
  promise.then(
    () => 'none',
    ({ name, code, sent }) => [name, code, sent].filter(each => each !== undefined).join(' ')
  );

const client = new Client({ ...config, sslmode: 'disable' });
await client.connect();
seen.query = (await client.query('SELECT $1::int + 1 AS n, $2::text AS t', [41, 'ä'])).rows[0].toObject();
seen.pipelined = (
  await Promise.all(Array.from({ length: 100 }, (_, i) => client.query('SELECT $1::int AS i', [i])))
).length;
seen.error = await codeOf(client.query('SELECT 1 / 0'));
seen.refused = await codeOf(client.query('SELECT $1', [new Map()]));

await client.query('CREATE TEMP TABLE people (id int, name text)');
seen.transaction = await client.transaction(async tx => {
  await tx.query("INSERT INTO people VALUES (1, 'Ada')");
  await codeOf(tx.transaction(inner => inner.query('SELECT 1 / 0')));
  return Number((await tx.query('SELECT count(*) AS n FROM people')).rows[0].n);
});
seen.rolledBack = await codeOf(client.transaction(async tx => void (await tx.query('SELECT 1 / 0'))));

const copy = client.copyFrom('COPY people FROM STDIN');
await pipeline(Readable.from(['2\tEdsger\n', '3\tGrace\n']), copy);
const parts = [];
await pipeline(
  client.copyTo('COPY people TO STDOUT'),
  new Writable({ write: (chunk, encoding, callback) => callback(void parts.push(Buffer.from(chunk))) })
);
seen.copy = [copy.rowCount, Buffer.concat(parts).toString()];

let count = 0;
for await (const { i } of client.cursor('SELECT i FROM generate_series(1, 1000) i', [], { batchSize: 100 })) {
  if (Number(i) === 250) break;
  count++;
}
seen.cursor = count;

const news = client.listen('news');
await news.ready;
const first = news[Symbol.asyncIterator]().next();
await client.query("SELECT pg_notify('news', 'hello')");
seen.listen = (await first).value.payload;

const controller = new AbortController();
setTimeout(() => controller.abort(), 50);
seen.abort = await codeOf(client.query('SELECT pg_sleep(60)', [], { signal: controller.signal }));
seen.limit = await codeOf(client.query('SELECT pg_sleep(60)', [], { statement_timeout: 50 }));
seen.after = Number((await client.query('SELECT 1 AS n')).rows[0].n);

seen.traced = [];
const channel = tracingChannel('quickgres:query');
const onend = ({ text, result, error }) => seen.traced.push(`${text}: ${error?.code ?? result.rowCount}`);
channel.asyncEnd.subscribe(onend);
await client.query('SELECT 1');
await codeOf(client.query('SELECT 1 / 0'));
channel.asyncEnd.unsubscribe(onend);
await client.query('SELECT 2');

const pool = new Pool({ ...config, sslmode: 'verify-ca', ssl: { ca } }, { size: 2 });
pool.on('error', () => {});
seen.tls = (await pool.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()')).objects[0].ssl;
const lost = codeOf(client.query('SELECT pg_sleep(60)'));
const SLEEPS = "SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep'";
while ((await pool.query(SLEEPS, [client.processId])).rowCount === 0); // else the server has not carried it out
await pool.query('SELECT pg_terminate_backend($1)', [client.processId]);
seen.loss = await lost;
seen.closed = await codeOf(client.query('SELECT 1'));
seen.pool = (
  await Promise.all(
    [1, 2, 3].map(n => pool.transaction(async tx => Number((await tx.query('SELECT $1::int AS n', [n])).rows[0].n)))
  )
).join();

await pool.query('CREATE TABLE watched AS SELECT generate_series(1, 1000) AS n');
const live = new Live(pool);
const server = http.createServer((request, response) => {
  live
    .respond(request, response, "SELECT n, repeat('x', 300) FROM watched ORDER BY n", [], { tags: ['watched'] })
    .catch(() => {});
});
await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
seen.live = [];
for await (const rows of statesOf(`http://127.0.0.1:${server.address().port}/`)) {
  seen.live.push(rows.length);
  if (seen.live.length === 2) break;
  await pool.query('INSERT INTO watched VALUES (1001)');
  live.changed('watched');
}
await pool.query('DROP TABLE watched');
await live.end();
await pool.end();

console.log(JSON.stringify(seen));
process.exit(0);
