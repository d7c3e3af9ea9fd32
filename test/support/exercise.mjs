// What a client does on any platform: in Node.js, a page, a Web Worker, a Cloudflare Worker.

/**
 * Uses a client for everything that needs no stream of Node's.
 * @param {Function} Client the class
 * @param {object|string} config
 * @returns {Promise<object>} what was seen, as plain data; as it should be: EXPECTED
 */
export async function exercise(Client, config) {
  const client = new Client(config);
  const connected = client.connect();
  connected.catch(() => {}); // the queries tell it, too
  const seen = {};
  const sums = Array.from({ length: 300 }, async (_, i) => {
    return Number((await client.query('SELECT $1::int + 1 AS n', [i])).rows[0].n);
  });
  seen.sum = (await Promise.all(sums)).reduce((a, b) => a + b);
  await connected;
  const bytes = new Uint8Array([0, 255]);
  const {
    rows: [row]
  } = await client.query("SELECT 'ä€😀' AS text, NULL AS nothing, $1::bytea AS bytes", [bytes]);
  seen.row = { ...row.toObject(), bytes: [...row.bytes] };
  const {
    rows: [binary]
  } = await client.query('SELECT $1::bytea AS bytes', [bytes], { format: 1 });
  seen.binary = [...binary.bytes];
  const typed = 'SELECT $1 + 1 AS one, true AS yes, ARRAY[1, 2] AS list, \'{"a": 1}\'::json AS json';
  const {
    objects: [decoded]
  } = await client.query(typed, [0], { cache: false, paramTypes: [23] });
  seen.decoded = decoded;
  const large = 'x'.repeat(3000000);
  seen.large = (await client.query('SELECT $1::text AS back', [large])).rows[0].back === large;
  const many = await client.query("SELECT i, repeat('y', 50) AS y FROM generate_series(1, 100000) AS i");
  seen.many = many.rows.filter(({ i, y }, index) => Number(i) === index + 1 && y.length === 50).length;

  const error = await client.query('SELECT 1 / 0').catch(error => error);
  seen.error = [error.name, error.code, error.message];
  const failed = await client.batch([['SELECT 1'], ['SELECT 1 / 0']]).catch(error => error);
  seen.batch = [failed.code, failed.index];
  seen.back = await client.transaction(async tx => {
    await tx.query('CREATE TEMP TABLE t (n int)');
    await tx
      .transaction(async inner => {
        await inner.query('INSERT INTO t VALUES (1)');
        throw new Error('not that one');
      })
      .catch(() => {});
    await tx.query('INSERT INTO t VALUES (2)');
    return (await tx.query('SELECT n FROM t')).rows.map(({ n }) => n);
  });

  let count = 0;
  for await (const { id } of client.cursor('SELECT generate_series(1, 1000) AS id', [], { batchSize: 100 })) {
    if (Number(id) !== ++count) throw new Error('the rows are not in order');
    if (count === 250) break;
  }
  seen.cursor = count;
  const news = client.listen('news');
  await news.ready;
  await client.query("NOTIFY news, 'hello'");
  for await (const { payload } of news) {
    seen.news = payload;
    break;
  }

  // A CancelRequest that comes before the query has begun is lost: the notice tells of that.
  const SLEEP = "DO $$ BEGIN RAISE NOTICE 'begun'; PERFORM pg_sleep(600); END $$";
  const begun = () => new Promise(resolve => client.once('notice', resolve));
  const controller = new AbortController();
  let started = begun();
  const sleeping = client.query(SLEEP, [], { signal: controller.signal }).catch(error => error.name);
  await started;
  controller.abort(); // nothing was sent behind it
  const next = client.query('SELECT 1 AS n');
  seen.aborted = [await sleeping, (await next).rows[0].n];
  const limited = client.query('SELECT pg_sleep(600)', [], { statement_timeout: 100 });
  seen.limited = await limited.catch(error => error.code);
  started = begun();
  const other = client.query(SLEEP).catch(error => error.code);
  await started;
  await client.cancel();
  seen.cancelled = await other;

  await client.end();
  seen.closed = (await client.closed) === undefined;
  return seen;
}

export const EXPECTED = {
  sum: 45150,
  row: { text: 'ä€😀', nothing: null, bytes: [0, 255] },
  binary: [0, 255],
  decoded: { one: 1, yes: true, list: [1, 2], json: { a: 1 } },
  large: true,
  many: 100000,
  error: ['PostgresError', '22012', 'division by zero'],
  batch: ['22012', 1],
  back: [2],
  cursor: 250,
  news: 'hello',
  aborted: ['AbortError', 1],
  limited: '57014',
  cancelled: '57014',
  closed: true
};
