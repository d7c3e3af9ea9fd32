// Real use of every public name. The compiler checks it, and it runs against a server.

import assert from 'node:assert/strict';
import { tracingChannel } from 'node:diagnostics_channel';
import { EventEmitter, once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import quickgres, {
  AbortError,
  Client,
  ConnectionError,
  PostgresError,
  RowParser,
  RowReader,
  UsageError,
  array,
  decoders,
  exact
} from 'quickgres';
import type {
  Abortable,
  AnyColumns,
  AnyRow,
  ArrayValue,
  BatchOptions,
  BatchQuery,
  ByteStream,
  ClientEvents,
  Column,
  ColumnValue,
  Config,
  CopyFrom,
  CopyReader,
  CopyStreamOptions,
  CopyTo,
  Cursor,
  CursorOptions,
  Decode,
  Decoder,
  DecoderPair,
  DescribeOptions,
  Description,
  Format,
  Listener,
  ListenOptions,
  Notification,
  PacketReceiver,
  PasswordRequest,
  QueryOptions,
  QueryToOptions,
  Receiver,
  Row,
  RowMembers,
  ServerAddress,
  ServerFields,
  Session,
  Settings,
  SimpleQueryOptions,
  StatementOptions,
  StreamResult,
  TracedQuery,
  TransactionOptions,
  Value,
  Values
} from 'quickgres';
import { Pool } from 'quickgres/pool';
import type { TracedWait } from 'quickgres/pool';
import { instrument } from 'quickgres/recipes/opentelemetry.mjs';

type Same<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false;
/** Compiles only where a type is exactly another one. */
function same<A, B>(yes: Same<A, B>): void {
  assert.equal(yes, true);
}

interface User {
  id: string;
  name: string;
}
const USER = 'SELECT id, name FROM users ORDER BY name LIMIT 1';

/** What users write around a client. */
async function all<T extends object>(client: Client, text: string): Promise<T[]> {
  const { objects } = await client.query<T>(text, [], { decode: true });
  return objects.map(row => ({ ...row }));
}
async function pluck<T extends object, K extends keyof T>(
  client: Client<true>,
  text: string,
  name: K
): Promise<T[K][]> {
  return (await client.query<T>(text)).structs.map(row => row.get(name));
}

/** A client's result may stand where a session's is expected, whose rows are objects in a pool. */
async function sessions(client: Client, raw: Client<false>): Promise<void> {
  const ofSession: (session: Session) => Promise<RowReader<{ n: number }>> = session => session.query('SELECT 1 AS n');
  const ofClient: RowReader<{ n: number }> = await client.query<{ n: number }>('SELECT 1 AS n');
  for (const result of [ofClient, await ofSession(client), await client.transaction(ofSession)])
    assert.equal(result.rows[0]?.n, 1);
  const modes: [true | object, false] = [client.decode, raw.decode];
  assert.deepEqual(modes, [true, false]);
  const either: Session<boolean>[] = [client, raw, client.with({ 'app.a': '1' })];
  for (const session of either) assert.equal(String((await session.query('SELECT 1 AS n')).rows[0]?.n), '1');
  const { rows } = await client.query<{ n: string | null }>('SELECT 1 AS n', [], { decode: false });
  assert.equal(rows[0]?.n, '1');
  const decoded = await raw.batch<[{ n: number }]>([['SELECT 1 AS n', [], { decode: true }]]);
  assert.equal(decoded[0].rows[0]?.n, 1);
  const some = await client.batch<[{ n: number }, { n: string | null }]>([
    ['SELECT 1 AS n', [], { cache: false }],
    ['SELECT 1 AS n', [], { decode: false }]
  ]);
  assert.deepEqual([some[0].rows[0]?.n, some[1].rows[0]?.n], [1, '1']);
  const limited = { statement_timeout: 60000, cache: false };
  assert.equal((await client.query<{ n: number }>('SELECT 1 AS n', [], limited)).one().n, 1);
}

async function queries(client: Client): Promise<void> {
  same<string[], typeof names>(true);
  const users = await all<User>(client, USER);
  const names = await pluck<User, 'name'>(client, USER, 'name');
  assert.deepEqual(
    users.map(user => user.name),
    names
  );
  const { rows, structs, rowCount, cmd, oid, rowParser } = await client.query(USER);
  same<typeof rows, AnyColumns[]>(true);
  same<typeof structs, Row[]>(true);
  same<Row, AnyRow>(true);
  const [first] = structs;
  assert.ok(first);
  assert.equal(typeof first.name, 'string');
  assert.equal(rows[0]?.toObject().name, first.name);
  assert.equal(first.dataFormat, 0);
  same<typeof first.rowBuffer, Buffer>(true);
  same<[typeof rowCount, typeof cmd, typeof oid], [number, string | undefined, string | undefined]>(true);
  const column: Column | undefined = rowParser?.columns[0];
  assert.equal(column?.typeOid, 2950);

  const typed = await client.query<User>(USER, [], Client.STRING, true);
  same<typeof typed, RowReader<User>>(true);
  same<typeof typed.rows, User[]>(true);
  same<typeof typed.structs, Row<User>[]>(true);
  for (const row of typed) same<typeof row, User>(true);
  const [user] = typed.structs;
  assert.ok(user);
  same<typeof user.name, string>(true);
  const members: RowMembers<User> = user;
  same<ReturnType<typeof members.get<'id'>>, string>(true);
  const { name }: User = members.toObject();
  assert.deepEqual([...user], [user.id, name]);
  assert.deepEqual(user.toArray(), [user[0], user[1]]);
  assert.deepEqual(JSON.parse(JSON.stringify(user)), user.toJSON());
  const again: Values = user;
  await client.query('SELECT $1::uuid, $2::text', again);

  const format: Format = Client.BINARY;
  const raw = await client.query<Record<'name', ColumnValue>>('SELECT name FROM users LIMIT 1', undefined, {
    format,
    decode: false
  });
  assert.ok(Buffer.isBuffer(raw.rows[0]?.name));

  const value: Value = new Uint8Array([1]);
  const list: ArrayValue = [
    [1, 2n],
    [null, 4]
  ];
  const values: Values = ['a', value, 1, 2n, true, null, null, new Date(0), array(list)];
  const back = await client.query<AnyColumns>(
    'SELECT $1::text, $2::bytea AS b, $3::int, $4::int8, $5::bool, $6::text, $7::text, $8::timestamptz, $9::int[]',
    values
  );
  assert.deepEqual(back.rows[0]?.b, Buffer.of(1));
  const owner: User = { id: user.id, name };
  const json = await client.query<AnyColumns>('SELECT $1::jsonb AS data', [{ owner, at: [new Date(0)] }]);
  assert.deepEqual(json.rows[0]?.data, { owner, at: ['1970-01-01T00:00:00.000Z'] });

  const { objects, arrays } = await client.query<User>(USER);
  same<typeof objects, User[]>(true);
  same<typeof arrays, any[][]>(true);
  assert.deepEqual({ ...objects[0] }, user.toObject());
  assert.deepEqual(arrays, [user.toArray()]);

  const decoder: Decoder = (text: string, { name }) => `${name} ${text}`;
  const pair: DecoderPair | undefined = decoders[23];
  assert.ok(pair);
  const decode: Decode = { 25: decoder, 23: pair };
  const options: QueryOptions = { format: Client.STRING, cache: false, paramTypes: [23], decode };
  const reader: Receiver = await client.query('SELECT $1 AS n', [1], options);
  assert.ok(reader instanceof RowReader);
  const decoded = await client.query<{ n: number; t: string }>('SELECT $1 AS n, $2 AS t', [1, 'x'], {
    decode: new Map<number, Decoder | DecoderPair>([
      [25, decoder],
      [23, pair]
    ]),
    paramTypes: [23, 25]
  });
  const { n, t } = { ...decoded.objects[0] };
  assert.deepEqual([n, t], [1, 't x']);

  const packets: Buffer[] = [];
  const receiver: PacketReceiver = { write: packet => packets.push(packet) };
  same<PacketReceiver, Awaited<ReturnType<typeof into>>>(true);
  const into = () => client.query('SELECT 1', [], { stream: receiver });
  assert.equal(await into(), receiver);
  const own = await client.query('SELECT 1 AS one', [], 0, true, new RowReader<{ one: string }>());
  same<typeof own, RowReader<{ one: string }>>(true);
  assert.ok(packets[0]);
  const parser = new RowParser(packets[0]);
  assert.ok(packets[1]);
  assert.equal(new parser[Client.STRING](packets[1]).get(0), '1');
  assert.equal(parser.description(1).length, parser.buffer.length);

  const statement: StatementOptions = { cache: false };
  const batchOptions: BatchOptions = { ...statement, decode: true };
  const query: BatchQuery = ['SELECT 1 AS n', [], batchOptions];
  const typedQuery = ['SELECT 1 AS n', [], { ...statement, decode: true }] as const;
  const abortable: Abortable = { signal: new AbortController().signal, statement_timeout: 10000 };
  const readers = await client.batch([query, 'SELECT 2'], abortable);
  same<typeof readers, RowReader[]>(true);
  const [one, two] = await client.batch<[{ n: number }, User]>([typedQuery, USER]);
  same<typeof two, RowReader<User>>(true);
  assert.equal(one.rows[0]?.n, 1);
  const simpleOptions: SimpleQueryOptions = { ...abortable, decode: { ...decoders, ...exact } };
  const [simple] = await client.simpleQuery('SELECT 1::int8 AS n', simpleOptions);
  assert.equal(simple?.rows[0]?.n, 1n);
  const {
    rows: [day]
  } = await client.query<{ at: Date }>('SELECT now() AS at', [], { decode: true });
  assert.ok(day?.at instanceof Date);
}

async function blocks(client: Client): Promise<void> {
  const options: TransactionOptions = { isolation: 'repeatable read', readOnly: true, deferrable: false, retries: 2 };
  const work = async (tx: Session): Promise<number> => {
    tx.once('drain', () => {});
    return (await tx.query('SELECT 1')).rowCount;
  };
  const result = await client.transaction(tx => tx.transaction(work), options);
  const { rows } = await client.transaction(tx => tx.commit<{ n: number }>('SELECT $1::int AS n', [1]));
  same<typeof rows, { n: number }[]>(true);
  await client.transaction(async tx => {
    const signal = AbortSignal.timeout(10000);
    const committed = await tx.commit<{ n: string }>('SELECT 1 AS n', [], { decode: false, signal });
    return committed.rowCount;
  });
  same<typeof result, number>(true);

  const limited: DescribeOptions = { statement_timeout: 10000 };
  const {
    params,
    columns: [column]
  }: Description = await client.describe('SELECT $1::int AS n', limited);
  assert.deepEqual([params[0]?.oid, column?.name, column?.oid, column?.tableOid, column?.column], [23, 'n', 23, 0, 0]);
  const settings: Settings = { 'app.tenant': 7, 'app.flag': true };
  const mine: Session = client.with(settings).with({ role: 'pg_monitor' });
  assert.equal(
    (await mine.query<{ tenant: string }>("SELECT current_setting('app.tenant') AS tenant")).rows[0]?.tenant,
    '7'
  );
  const error = await client.query('SELECT missing').catch((error: PostgresError) => error);
  assert.ok(error instanceof PostgresError);
  assert.deepEqual([error.query, error.at?.line, error.at?.column], ['SELECT missing', 1, 8]);
  if (Symbol.asyncDispose !== undefined) await client.cursor('SELECT 1')[Symbol.asyncDispose]();

  const some: CursorOptions = { batchSize: 10, format: 0, decode: true };
  const cursor: Cursor<User> = client.cursor<User>('SELECT id, name FROM users', [], some);
  for await (const row of cursor) {
    same<typeof row, User>(true);
    break;
  }
  for await (const row of Readable.from(client.cursor('SELECT 1'))) assert.equal(row[0], 1);
  const { value } = await client.cursor<{ n: number }>('SELECT 1 AS n').next();
  assert.equal(value?.n, 1);

  client.startQuery('SELECT generate_series(1, 3) AS n', []);
  const part = await client.getResults<{ n: number }>(2);
  assert.equal(part.rows[1]?.n, 2);
  assert.equal(client.inQuery, true);
  await client.getResults(1, { write() {} });
  await client.sync();
  await client.close('S', 'none');
}

async function streams(client: Client): Promise<void> {
  const queryTo: QueryToOptions = { as: 'values', separator: '\n', end: true, format: 0 };
  const target = new PassThrough();
  const json: QueryToOptions = { as: 'json', int8: 'string', numeric: 'number', bytea: 'base64' };
  await client.queryTo(new WritableStream<Uint8Array>(), 'SELECT 1', [], { ...json, as: 'ndjson' });
  const result: Promise<StreamResult> = client.queryTo(target, 'SELECT 1 UNION ALL SELECT 2', [], queryTo);
  assert.equal(await textOf(target), '1\n2');
  assert.equal((await result).rowCount, 2);
  let bytes = 0;
  await client.queryTo(
    new WritableStream<Uint8Array>({
      write(chunk) {
        bytes += chunk.length;
      }
    }),
    'SELECT 1'
  );
  assert.ok(bytes > 0);

  await client.query('CREATE TEMP TABLE numbers (n int, t text)');
  const copy: CopyStreamOptions = { highWaterMark: 1000 };
  const copyFrom: CopyFrom = client.copyFrom('COPY numbers FROM STDIN', copy);
  copyFrom.end('1\ta\n2\t\\N\n');
  await once(copyFrom, 'finish');
  assert.equal(copyFrom.rowCount, 2);
  const copyTo: CopyTo = client.copyTo('COPY numbers TO STDOUT');
  assert.equal(await textOf(copyTo), '1\ta\n2\t\\N\n');
  const out: CopyReader = await client.query('COPY numbers TO STDOUT');
  assert.equal(Buffer.concat(out.rows).toString(), '1\ta\n2\t\\N\n');
  await client.query('COPY numbers FROM STDIN');
  if (!client.copyData('3\tc\n')) await once(client, 'drain');
  assert.equal((await client.copyDone()).rowCount, 1);
  await client.query('COPY numbers FROM STDIN');
  await client.copyFail('no');
}

async function events(client: Client): Promise<void> {
  const listening: ListenOptions = { signal: new AbortController().signal, session: false };
  const listener: Listener = client.listen('news', listening);
  await listener.ready;
  const came = new Promise<Notification>(resolve => client.once('notification', resolve));
  client.on('notice', (fields: ServerFields) => assert.ok(fields.severity));
  const onparameter = (...[name, value]: ClientEvents['parameter']) => assert.ok(name + value);
  client.addListener('parameter', onparameter).off('parameter', onparameter);
  const emitter: EventEmitter = client;
  assert.equal(emitter.listenerCount('notice'), 1);
  await client.query("NOTIFY news, 'hello'");
  assert.deepEqual({ ...(await came) }, { processId: client.processId, channel: 'news', payload: 'hello' });
  for await (const { payload } of listener) {
    assert.equal(payload, 'hello');
    break;
  }
  await listener.end();
}

async function errors(client: Client): Promise<void> {
  const traced: Array<string | number | undefined> = [];
  const onend = (message: unknown): void => {
    const { text, batchSize, result, error, host, port, database, user, processId } = message as TracedQuery;
    traced.push(text, batchSize, result?.rowCount, error?.message, processId);
    assert.ok(host !== undefined && database !== undefined && user !== undefined && port !== 0);
  };
  tracingChannel('quickgres:query').asyncEnd.subscribe(onend);
  await client.query('SELECT 1');
  tracingChannel('quickgres:query').asyncEnd.unsubscribe(onend);
  const channel = tracingChannel<unknown, TracedQuery>('quickgres:query');
  const waits = tracingChannel<unknown, TracedWait>('quickgres:pool');
  const ignored = (): void => {};
  const subscribers: Parameters<typeof channel.subscribe>[0] = {
    start: ({ text, waited }) => same<[typeof text, typeof waited], [string, number | undefined]>(true),
    end: ignored,
    asyncStart: ignored,
    asyncEnd: ({ duration }) => same<typeof duration, number | undefined>(true),
    error: ignored
  };
  channel.subscribe(subscribers);
  channel.unsubscribe(subscribers);
  const onwait = (wait: unknown): void => assert.ok((wait as TracedWait).waiting > 0);
  waits.asyncEnd.subscribe(onwait);
  waits.asyncEnd.unsubscribe(onwait);
  const stop: () => void = instrument({ pools: { main: new Pool() }, text: sql => sql.slice(0, 10) });
  stop();
  assert.deepEqual(traced, ['SELECT 1', undefined, 1, undefined, client.processId]);
  const error: unknown = await client.query('SELECT 1 / 0').catch(error => error);
  if (!(error instanceof PostgresError)) throw error;
  same<[typeof error.code, typeof error.position, typeof error.name], [string, number | undefined, 'PostgresError']>(
    true
  );
  assert.equal(new PostgresError({ code: 'XX000', message: 'm', position: '3' }).position, 3);
  const aborted: unknown = await client.query('SELECT 1', [], { signal: AbortSignal.abort() }).catch(error => error);
  assert.ok(aborted instanceof AbortError && aborted.code === 'ABORT_ERR');
  const used: unknown = await client
    .getResults()
    .then(() => client.copyDone())
    .catch(error => error);
  assert.ok((used instanceof UsageError && used.code === '34000') || used instanceof UsageError);
  const lost = new ConnectionError('lost', { code: '08006', cause: used, sent: true });
  assert.equal(lost.sent, true);
}

async function life(config: Config & { host: string; port: number }): Promise<void> {
  const password = async ({ host, port, user, database }: PasswordRequest) => `${host}${port}${user}${database}`;
  const socket: ByteStream = ({ host, port }) => connectSocket(port, host);
  const address: ServerAddress = { host: config.host, port: config.port };
  const client = new Client({
    ...config,
    ...address,
    password,
    socket,
    statement_cache: 10,
    search_path: 'public',
    connect_timeout: '9',
    decode: { 23: Number }
  });
  client.onNotice = message => assert.ok(message.length);
  client.onNotification = undefined;
  await client.connect();
  client.unref();
  client.ref();
  assert.equal((await client.query<{ n: number }>('SELECT 1 AS n')).rows[0]?.n, 1);
  assert.equal(client.transactionStatus, 'I');
  assert.equal(client.state, 'open');
  assert.equal(client.serverParameters.client_encoding, 'UTF8');
  assert.equal(client.backendKey?.length !== 0 && client.pending + client.bufferedBytes, 0);
  await client.cancel();
  await client.end();
  assert.equal(await client.closed, undefined);
  const other = new quickgres.Client(config);
  const connected: Promise<void> = other.connect(config.port, config.host);
  await connected;
  other.destroy(new Error('enough'));
  assert.equal((await other.closed)?.message, 'enough');
  assert.equal(other.toJSON().state, 'closed');
}

export default async function use(config: Config & { host: string; port: number }): Promise<void> {
  const client = new Client(config);
  await client.connect();
  for (const part of [queries, blocks, streams, events, errors]) await part(client);
  const raw = new Client({ ...config, decode: false });
  await raw.connect();
  await sessions(client, raw);
  await raw.end();
  await client.end();
  await life(config);
}
