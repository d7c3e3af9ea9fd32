import { Client, Session, decoders, exact } from 'quickgres';
import { Pool } from 'quickgres/pool';
import { ResponseCache } from 'quickgres/cache';
import { respond } from 'quickgres/http';
import { Live } from 'quickgres/live';
import { sql } from 'quickgres/sql';
import { PassThrough } from 'node:stream';
import type { IncomingMessage, ServerResponse } from 'node:http';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(..._: Same<A, B> extends true ? [] : ['they differ']): void {}
type Of<R> = R extends { rows: (infer T)[] } ? T : never;

const pool = new Pool(),
  client = new Client({ decode: false }),
  cache = new ResponseCache(new Pool()),
  live = new Live(pool);

// 1–3: literals, constants, templates without substitutions
const one = await pool.query(
  'SELECT id, name, mail, mood, moods, tags, data, visits, balance, seen, born, picture, uid, active FROM people WHERE id = $1',
  [1]
);
same<
  Of<typeof one>,
  {
    id: number;
    name: string;
    mail: string | null;
    mood: 'sad' | 'ok' | 'happy';
    moods: ('sad' | 'ok' | 'happy' | null)[] | null;
    tags: (string | null)[];
    data: unknown;
    visits: number | string;
    balance: string;
    seen: Date | string | null;
    born: string | null;
    picture: Buffer | null;
    uid: string;
    active: boolean;
  }
>();
const TEXT = 'SELECT count(*) AS n FROM people';
const two = await pool.query(TEXT);
same<Of<typeof two>, { n: number | string }>();
const three = await pool.query(
  `
  SELECT name
  FROM people
  WHERE visits > $1 AND seen < $2 AND mood = $3`,
  [5n, new Date(), 'ok']
);
same<Of<typeof three>, { name: string }>();

// 4–12: what is known about NULL
const four = await pool.query('SELECT p.id, t.id AS post FROM people p LEFT JOIN posts t ON t.person = p.id');
same<Of<typeof four>, { id: number; post: number | string | null }>();
const five = await pool.query('SELECT p.id, t.id AS post FROM people p RIGHT JOIN posts t ON t.person = p.id');
same<Of<typeof five>, { id: number | null; post: number | string }>();
const six = await pool.query('SELECT s.id FROM (SELECT t.id FROM people p LEFT JOIN posts t ON t.person = p.id) s');
same<Of<typeof six>, { id: number | string | null }>();
const seven = await pool.query('SELECT id, name, title FROM authors');
same<Of<typeof seven>, { id: number; name: string; title: string | null }>();
const eight = await pool.query('SELECT id FROM people UNION ALL SELECT NULL');
same<Of<typeof eight>, { id: number | null }>();
const nine = await pool.query(
  'SELECT coalesce(mail, $1) AS mail, coalesce(mail, name) AS sure, max(id) AS max, now() AS now, name || $2 AS maybe, lower(name) AS low FROM people GROUP BY id',
  ['x', 'y']
);
same<
  Of<typeof nine>,
  { mail: string | null; sure: string; max: number | null; now: Date | string; maybe: string | null; low: string }
>();
const ten = await pool.query('SELECT p.id, s.name FROM parents p CROSS JOIN generate_series(1, 2) AS s (name)');
same<Of<typeof ten>, { id: number | null; name: number | null }>();
const eleven = await pool.query('SELECT id FROM checked');
same<Of<typeof eleven>, { id: number | null }>();
const twelve = await pool.query(
  'WITH RECURSIVE tree AS (SELECT id, parent, title FROM posts WHERE id = $1 UNION ALL SELECT p.id, p.parent, p.title FROM posts p JOIN tree ON p.parent = tree.id) SELECT * FROM tree',
  [1]
);
same<Of<typeof twelve>, { id: number | string; parent: number | string | null; title: string }>();

// 13–17: changes
const thirteen = await pool.query('INSERT INTO people (id, name, mail) VALUES ($1, $2, $3) RETURNING id, mail', [
  1,
  'x',
  null
]);
same<Of<typeof thirteen>, { id: number; mail: string | null }>();
const fourteen = await pool.query(
  'UPDATE people SET name = $1 WHERE id = $2 RETURNING old.name AS before, new.name AS after',
  ['x', 1]
);
same<Of<typeof fourteen>, { before: string; after: string }>();
const fifteen = await pool.query(
  'INSERT INTO people (id, name) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET name = excluded.name RETURNING old.id, new.name',
  [1, 'x']
);
same<Of<typeof fifteen>, { id: number | null; name: string }>();
await pool.query('INSERT INTO filled (id, name) VALUES ($1, $2)', [1, null]); // a trigger may set it
const seventeen = await pool.query(
  'MERGE INTO people p USING posts t ON p.id = t.person WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED BY SOURCE THEN DELETE RETURNING p.id, t.title'
);
same<Of<typeof seventeen>, { id: number | null; title: string | null }>();

// 18–21: rows of a client, decoders, sessions, transactions
const structs = await client.query('SELECT id, mood, seen, data FROM people WHERE name = $1', ['x']);
same<Of<typeof structs>, { id: string; mood: 'sad' | 'ok' | 'happy'; seen: string | null; data: string | null }>();
const id: string = structs.structs[0]!.id;
const decoded = await client.query('SELECT id FROM people', [], { decode: true });
same<Of<typeof decoded>, { id: number }>();
const own = await client.query('SELECT visits FROM people', [], { decode: { ...decoders, ...exact } });
same<Of<typeof own>, any>();
const inside = await pool.transaction(async tx => (await tx.query('SELECT name FROM people FOR UPDATE')).rows[0]?.name);
same<typeof inside, string | undefined>();
const take = async (session: Session) => (await session.with({ role: 'x' }).query('SELECT id, name FROM people')).rows;
same<Awaited<ReturnType<typeof take>>, { id: number; name: string }[]>();

// 22–25: cursors, batches, streams
for await (const row of pool.cursor('SELECT id, name FROM people WHERE id > $1', [1], { batchSize: 10 }))
  same<typeof row, { id: number; name: string }>();
const [a, b, c] = await pool.batch([
  'SELECT id FROM people',
  ['SELECT name FROM people WHERE id = $1', [1]],
  ['SELECT ' + String(id)]
]);
same<Of<typeof a>, { id: number }>();
same<Of<typeof b>, { name: string }>();
c.rows[0]?.anything;
await pool.queryTo(new PassThrough(), 'SELECT title FROM posts WHERE person = $1', [1], { as: 'json' });
declare const request: IncomingMessage, response: ServerResponse;
await respond(pool, request, response, 'SELECT title FROM posts WHERE id = $1', [1]);

await live.respond(request, response, 'SELECT title FROM posts WHERE id = $1', [1], { tags: ['posts'] });
const cached = await cache.query('SELECT title FROM posts WHERE id = $1', [1], { max_age: 1 });
same<Of<typeof cached>, { title: string }>();
const cachedTexts = await cache.query('SELECT id FROM people', [], { decode: false, max_age: 1 });
same<Of<typeof cachedTexts>, { id: string }>();
const cachedBinary = await cache.query('SELECT id FROM people', [], { format: 1 });
same<Of<typeof cachedBinary>, any>();
const cacheOfTexts = new ResponseCache(new Pool({ decode: false }));
const textsOfIt = await cacheOfTexts.with({ role: 'a' }).query('SELECT id FROM people');
same<Of<typeof textsOfIt>, { id: string }>();
await respond(cacheOfTexts, new Request('x:'), 'SELECT id FROM people', [], { max_age: 1 });
const [strings] = await client.batch(['SELECT id FROM people']);
same<Of<typeof strings>, { id: string }>();
const withStream = await pool.query('SELECT title FROM posts WHERE person = $1', [1], { stream: new PassThrough() });
same<typeof withStream, PassThrough>();
const optioned = await pool.query('SELECT id FROM people', [], { signal: AbortSignal.timeout(1), cache: false });
same<Of<typeof optioned>, { id: number }>();
const undecoded = await pool.query('SELECT id FROM people', undefined, { decode: false });
same<Of<typeof undecoded>, { id: string }>();
const binary = await pool.query('SELECT id FROM people', [], Client.BINARY);
same<Of<typeof binary>, any>();
for await (const row of pool.cursor('SELECT id FROM people', [], { decode: false })) same<typeof row, { id: string }>();

// 26–27: pieces
const piece = await pool.query(sql<'post by id'>`SELECT id, title FROM posts WHERE id = ${5} AND title <> ${'x'}`);
same<Of<typeof piece>, { id: number | string; title: string }>();
const plain = await pool.query(sql`SELECT id FROM posts WHERE id = ${5}`);
plain.rows[0]?.anything;

// 28–30: as before
const dynamic = await pool.query(`SELECT ${String(id)}`, [1, 'x']);
dynamic.rows[0]?.anything;
const given = await pool.query<{ id: number }>('SELECT id FROM posts');
same<Of<typeof given>, { id: number }>();
const lists = await pool.query('SELECT id FROM people WHERE id = ANY($1) AND tags && $2', [[1, 2], ['x']]);
same<Of<typeof lists>, { id: number }>();

// Mistakes
// @ts-expect-error there is no such column
one.rows[0]!.nme;
// @ts-expect-error a string for an integer
await pool.query('SELECT name FROM people WHERE id = $1', ['x']);
// @ts-expect-error no values
await pool.query('SELECT name FROM people WHERE id = $1');
// @ts-expect-error too many values
await pool.query('SELECT name FROM people WHERE id = $1', [1, 2]);
// @ts-expect-error not a label
await pool.query('UPDATE people SET mood = $1 WHERE id = $2', ['angry', 1]);
// @ts-expect-error NULL for a column that is NOT NULL
await pool.query('UPDATE people SET mood = $1 WHERE id = $2', [null, 1]);
// @ts-expect-error may be NULL
const post: number | string = four.rows[0]!.post;
// @ts-expect-error a struct's columns are strings
const number: number = structs.rows[0]!.id;
// @ts-expect-error wrong values in a batch
await pool.batch([['SELECT name FROM people WHERE id = $1', ['x']]]);
// @ts-expect-error no values in a batch
await pool.batch(['SELECT name FROM people WHERE id = $1']);
// @ts-expect-error wrong values of a cursor
pool.cursor('SELECT id, name FROM people WHERE id > $1', ['x']);
// @ts-expect-error wrong values of a stream
await pool.queryTo(new PassThrough(), 'SELECT title FROM posts WHERE person = $1', ['x']);
// @ts-expect-error wrong values of an answer
await respond(pool, request, response, 'SELECT name FROM people WHERE id = $1', ['x']);
// @ts-expect-error wrong values of an answer of a cache
await respond(cache, new Request('x:'), 'SELECT name FROM people WHERE id = $1', ['x']);
// @ts-expect-error wrong values of a live answer
await live.respond(request, response, 'SELECT title FROM posts WHERE id = $1');
// @ts-expect-error wrong values of a cached query
await cache.query('SELECT name FROM people WHERE id = $1', ['x']);
// @ts-expect-error wrong values of a cached stream
await cache.queryTo(new PassThrough(), 'SELECT name FROM people WHERE id = $1', ['x']);
// @ts-expect-error wrong values beside decode
await pool.query('SELECT name FROM people WHERE id = $1', ['x'], { decode: true });
// @ts-expect-error no such column of a cached row
cached.rows[0]!.titel;
// @ts-expect-error no such column of a row of a batch
a.rows[0]!.nme;
// @ts-expect-error wrong values of a piece
await pool.query(sql<'post by id'>`SELECT id, title FROM posts WHERE id = ${5} AND title <> ${6}`);
// @ts-expect-error an unknown option
await pool.query('SELECT name FROM people WHERE id = $1', [1], { singal: 1 });

export { post, number };
