// What must not compile: each line below a comment.

import { Client, ConnectionError, RowReader, Session, Transaction, UsageError, array, oid } from 'quickgres';
import { ResponseCache } from 'quickgres/cache';
import { rows } from 'quickgres/client-parser';
import { respond } from 'quickgres/http';
import { parseLsn } from 'quickgres/replication';
import { Pool } from 'quickgres/pool';
import { sql } from 'quickgres/sql';
declare const client: Client;
declare const raw: Client<false>;
declare const cache: ResponseCache;
declare const pool: Pool;
declare function inTransaction(tx: Transaction): Promise<void>;
declare function withValues(session: Session): Promise<void>;
interface User {
  id: number;
  is_admin: boolean;
}

// @ts-expect-error a tenant that may be missing
client.with({ 'app.tenant': undefined });
// @ts-expect-error of values
client.with({ 'app.tenant': [1] });
// @ts-expect-error a text is a string
client.query(Buffer.from('SELECT 1'));
// @ts-expect-error values are a list
client.query('SELECT $1', 'one');
// @ts-expect-error there are two formats
client.query('SELECT 1', [], 2);
// @ts-expect-error formats are numbers
client.query('SELECT 1', [], { format: 'binary' });
// @ts-expect-error an option that is none
client.query('SELECT 1', [], { timeout: 5 });
// @ts-expect-error types are OIDs
client.query('SELECT $1', [1], { paramTypes: ['int4'] });
// @ts-expect-error a signal, not a controller
client.query('SELECT 1', [], { signal: new AbortController() });
// @ts-expect-error a function without write
client.query('SELECT 1', [], { stream: () => {} });
// @ts-expect-error a decoder is a function or a pair
client.query('SELECT 1', [], { decode: { 23: 'number' } });
// @ts-expect-error a cache is asked itself
client.query('SELECT 1', [], { response_cache: cache });
// @ts-expect-error an HTTP response is not the session's business
client.respond(null!, null!, 'SELECT 1');
// @ts-expect-error nor is replication
client.copyBoth('START_REPLICATION');
// @ts-expect-error objects are made once
void client.query('SELECT 1').then(result => (result.objects = []));
// @ts-expect-error the server says the status
client.transactionStatus = 'I';
// @ts-expect-error decoders by OID
new Client({ decode: 'x' });
// @ts-expect-error a column that the row does not have
client.query<{ id: string }>('SELECT id').then(({ rows }) => rows[0]!.name);
// @ts-expect-error a struct's column is not writable
void client.query<{ id: string }>('SELECT id').then(({ structs }) => (structs[0]!.id = '1'));
// @ts-expect-error a plain row has no members of a struct
client.query<{ id: string }>('SELECT id').then(({ rows }) => rows[0]!.rowBuffer);
// @ts-expect-error an own stream is what comes back
client.query('SELECT 1', [], { stream: { write() {} } }).then(result => result.rows);
// @ts-expect-error a batch is a list of queries
client.batch('SELECT 1');
// @ts-expect-error a query of a batch has no signal of its own
client.batch([['SELECT 1', [], { signal: AbortSignal.timeout(1) }]]);
// @ts-expect-error as many queries as types
client.batch<[{ a: string }, { b: string }]>(['SELECT 1 AS a']);
// @ts-expect-error parameters are not for simpleQuery
client.simpleQuery('SELECT $1', [1]);
// @ts-expect-error a level that PostgreSQL does not have
client.transaction(async () => {}, { isolation: 'snapshot' });
// @ts-expect-error a transaction is not a client
client.transaction(tx => tx.end());
// @ts-expect-error batchSize is a number
client.cursor('SELECT 1', [], { batchSize: '10' });
// @ts-expect-error a cursor has no stream
client.cursor('SELECT 1', [], { stream: new RowReader() });
// @ts-expect-error a result goes to a stream
client.queryTo({}, 'SELECT 1');
// @ts-expect-error as is one of two
client.queryTo(process.stdout, 'SELECT 1', [], { as: 'rows' });
// @ts-expect-error decoded values are not bytes
client.queryTo(process.stdout, 'SELECT 1', [], { decode: true });
// @ts-expect-error a response is always ended
respond(client, null!, null!, 'SELECT 1', [], { end: false });
// @ts-expect-error a form that there is not
respond(client, new Request('http://localhost/'), 'SELECT 1', [], { as: 'xml' });
// @ts-expect-error a Request has no response beside it
respond(client, new Request('http://localhost/'), null!, 'SELECT 1', []).then(({ status }) => status);
// @ts-expect-error COPY has no values
client.copyTo('COPY users TO STDOUT', []);
// @ts-expect-error COPY FROM is written to
client.copyFrom('COPY users FROM STDIN').read();
// @ts-expect-error the rows of a COPY are Buffers
client.query('COPY users TO STDOUT').then(({ rows }) => rows[0]!.name);
// @ts-expect-error a statement or a portal
client.close('X', 'name');
// @ts-expect-error an event that does not come
client.on('notfication', () => {});
// @ts-expect-error what a notification has
client.on('notification', ({ message }) => message);
// @ts-expect-error notices are not errors
client.on('notice', (error: Error) => error);
// @ts-expect-error a reason is an error
client.destroy('because');
// @ts-expect-error state is read only
client.state = 'open';
// @ts-expect-error a number of statements
new Client({ statement_cache: {} });
// @ts-expect-error a mode that libpq does not have
new Client({ sslmode: 'verify' });
// @ts-expect-error a startup parameter is a scalar
new Client({ search_path: ['public'] });
// @ts-expect-error a startup parameter that is none
new Client({ work_mem1: '8MB' });
// @ts-expect-error one config
new Client('localhost', 5432);
// @ts-expect-error a port comes first
client.connect('localhost', 5432);
// @ts-expect-error columns are names
client.copyFrom('COPY users FROM STDIN', { columns: [1] });
// @ts-expect-error a code is needed
new UsageError('no');
// @ts-expect-error a code is a string
new ConnectionError('no', { code: 8006 });
// @ts-expect-error positions are texts or bigints
parseLsn(12);
// @ts-expect-error tags are a list
cache.query('SELECT 1', [], { tags: 'users' });
// @ts-expect-error seconds are a number
new ResponseCache(client, { max_age: '60' });
// @ts-expect-error a client has no replicas
respond(client, new Request('http://localhost/'), 'SELECT 1', [], { readOnly: true });
// @ts-expect-error a cache owns a client
new ResponseCache({ max_age: 60 });
// @ts-expect-error a number is no source of bytes
rows(5);
// @ts-expect-error decoders by OID
rows(new ArrayBuffer(0), { decode: [] as string[] });
// @ts-expect-error a column that the row does not have
for await (const row of rows<{ id: number }>(new ArrayBuffer(0))) row.name;
// @ts-expect-error an option that is misspelt
new Client({ hots: 'db.example' });
// @ts-expect-error a parameter that PostgreSQL does not have
new Client({ serch_path: 'shop' });
// @ts-expect-error an option of a pool
new Client({ max: 5 });
// @ts-expect-error connectionString, and a pool's options beside the config
new Pool({ conectionString: 'postgres://', hots: 'a', max: 5 });
// @ts-expect-error not in the options of a pool either
new Pool({}, { max: 5 });
// @ts-expect-error two pools
new Pool({}, { replicas: {} });
// @ts-expect-error its steps are a client's
new Pool().startQuery('SELECT 1');
// @ts-expect-error a session is made by Client, Pool and transaction
new Session();
// @ts-expect-error a type that PostgreSQL does not have
client.query('SELECT $1', ['1'], { paramTypes: [oid.int9] });
// @ts-expect-error undefined is no value of a piece
sql`SELECT ${undefined}`;
// @ts-expect-error a function is none either
sql`SELECT ${() => 1}`;
// @ts-expect-error a Map has no one form in PostgreSQL
sql`SELECT ${new Map([['a', 1]])}`;
// @ts-expect-error nor has a Set
sql`SELECT ${new Set([1])}`;
// @ts-expect-error nor has an object of a class
sql`SELECT ${new Error('a')}`;
// @ts-expect-error a symbol is no value
sql`SELECT ${Symbol('a')}`;
// @ts-expect-error a promise is to be awaited
sql`SELECT ${Promise.resolve(1)}`;
// @ts-expect-error an awaited piece is no result: it rejects
(await sql`SELECT 1`).rows;
// @ts-expect-error nor is it a list of rows
for (const row of await sql`SELECT id FROM users`) row.id;
// @ts-expect-error sql is a tag
sql('SELECT 1');
// @ts-expect-error a string is no piece
sql.join(['a', 'b']);
// @ts-expect-error nor is a list that sql has not made
sql.and([['a = $1', [1]]]);
// @ts-expect-error a separator is a piece
sql.join([sql`a`], ', ');
// @ts-expect-error of nothing there is no name
sql.id();
// @ts-expect-error names are strings
sql.id(1);
// @ts-expect-error rows are a list
sql.values({ a: 1 });
// @ts-expect-error a column that the rows do not have
sql.values([{ a: 1 }], ['b']);
// @ts-expect-error a column that is no value
sql.values([{ a: new Map() }]);
// @ts-expect-error nor may it be named
sql.set({ a: 1, b: () => 1 }, ['b']);
// @ts-expect-error nothing is undefined in JSON
sql.json(undefined);
// @ts-expect-error text is a string
sql.raw(1);
// @ts-expect-error query is no tag
client.query`SELECT 1`;
// @ts-expect-error a piece cannot be changed
sql`SELECT 1`[0] = 'SELECT 2';
// @ts-expect-error columns are strings with decode: false
raw.query<User>('SELECT id, is_admin FROM users');
// @ts-expect-error whatever else its options say
raw.query<User>('SELECT id, is_admin FROM users', [], { statement_timeout: 5 });
// @ts-expect-error and with a piece of SQL
raw.query<User>(sql`SELECT id, is_admin FROM users`);
// @ts-expect-error and in batches
raw.cursor<User>('SELECT id, is_admin FROM users');
// @ts-expect-error and in steps
raw.getResults<User>();
// @ts-expect-error and in a transaction
raw.transaction(tx => tx.query<User>('SELECT id, is_admin FROM users'));
// @ts-expect-error and in a pool that does not decode
new Pool({ decode: false }).query<User>('SELECT id, is_admin FROM users');
// @ts-expect-error text columns are no Buffers
raw.query<{ id: Buffer }>('SELECT id FROM users');
// @ts-expect-error a client that gives strings is no session of values
withValues(raw);
// @ts-expect-error nor is such a pool
withValues(new Pool({ decode: false }));
// @ts-expect-error nor its transaction
raw.transaction(tx => withValues(tx));
// @ts-expect-error nor the client that it lends
new Pool({ decode: false }).connection(withValues);
// @ts-expect-error nor a session of it with settings
withValues(raw.with({ 'app.tenant': 1 }));
// @ts-expect-error nor one of which it is not known
withValues(null! as Session<boolean>);
// @ts-expect-error nor is a session of values one of strings
((session: Session<false>) => session)(client);
// @ts-expect-error columns of a query with decode: false are strings
client.query<{ n: number }>('SELECT 1 AS n', [], { decode: false });
// @ts-expect-error and with a piece of SQL
pool.query<{ n: number }>(sql`SELECT 1 AS n`, { decode: false });
// @ts-expect-error and with a time limit
pool.query<{ n: number }>('SELECT 1 AS n', [], { decode: false, statement_timeout: 5 });
// @ts-expect-error and in a transaction
pool.transaction(tx => tx.query<{ n: number }>('SELECT 1 AS n', [], { decode: false }));
// @ts-expect-error and of a cursor
pool.cursor<{ n: number }>('SELECT 1 AS n', [], { decode: false });
// @ts-expect-error and of a cursor of a piece
pool.cursor<{ n: number }>(sql`SELECT 1 AS n`, { decode: false });
// @ts-expect-error and in a batch
pool.batch<[{ n: number }]>([['SELECT 1 AS n', [], { decode: false }]]);
// @ts-expect-error and in a batch of a client that gives strings
raw.batch<[{ n: number }]>(['SELECT 1 AS n']);
// @ts-expect-error a pool is no transaction
inTransaction(pool);
// @ts-expect-error nor is a client
inTransaction(client);
// @ts-expect-error a transaction does not listen
pool.transaction(tx => tx.listen('news'));
// @ts-expect-error nor does it have steps
client.transaction(async tx => tx.startQuery('SELECT 1'));
// @ts-expect-error a property of URL is no option
new Pool({ hostname: 'localhost' });
// @ts-expect-error of a client neither
new Client({ hostname: 'localhost' });
// @ts-expect-error a Map is a list or an object
pool.query('SELECT $1', [new Map()]);
// @ts-expect-error a Set is to be spread
pool.query('SELECT $1', [new Set()]);
// @ts-expect-error a function is to be called
pool.query('SELECT $1', [() => 1]);
// @ts-expect-error a symbol is no value
pool.query('SELECT $1', [Symbol('a')]);
// @ts-expect-error a promise is to be awaited
pool.query('SELECT $1', [Promise.resolve(1)]);
// @ts-expect-error an error is no JSON
pool.query('SELECT $1', [new Error('a')]);
// @ts-expect-error an element is a value
array([new Map()]);
// @ts-expect-error JSON has no bigint
pool.query('SELECT $1', [{ a: [{ b: 1n }] }]);
// @ts-expect-error and no Map
pool.query('SELECT $1', [{ a: { b: new Map() } }]);
// @ts-expect-error a list of text and values is no piece
pool.query(['SELECT 1', []]);
