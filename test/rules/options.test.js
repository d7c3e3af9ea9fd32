'use strict';

const assert = require('node:assert/strict');
const { PassThrough } = require('node:stream');
const { setImmediate: turn, setTimeout: sleep } = require('node:timers/promises');
const quickgres = require('../..');
const { ResponseCache } = require('../../lib/cache');
const { Pipeline } = require('../../lib/core/pipeline');
const { Steps } = require('../../lib/core/steps');
const http = require('../../lib/http');
const live = require('../../lib/live');
const pool = require('../../lib/pool');
const replication = require('../../lib/replication');
const sockets = require('../../lib/sockets');
const { sql, withoutLiterals } = require('../../lib/sql');
const { connected, sharedServer } = require('../support');
const { endAfterTest, shorten } = require('../support/hooks');
const { ENDS, SESSIONS, covered, table } = require('./kit');

const { Client, RowParser, RowReader } = quickgres;
const { Live } = live;
const { Pool } = pool;
const { PgOutput, changes, formatLsn, parseLsn, replicate } = replication;

/** Values that are no options, wherever options are taken. */
const NO_OPTIONS = [
  ...[5, null, 'x', [], true, () => {}, new AbortController().signal, { nope: 1 }],
  ...[new Map([['signal', null]]), new Set(), new Date(0), Promise.resolve({})]
];

/** Values that an option does not take, by its name. */
const WRONG = {
  acquire_timeout: [-1, '5', null, NaN],
  alone: ['yes', 1, null],
  as: ['xml', 5, null, [], ['xml']],
  batchSize: [0, -1, 1.5, '5', null],
  buffer: [-1, '5', null, NaN],
  bytea: ['raw', 5, null],
  cache: ['yes', 1, null],
  columns: [5, {}, [5], [], null],
  compress: ['gzip', 1, null],
  concurrency: [0, '5', null],
  decode: [5, 'yes', null, [], new Set(), new Date(0), { nope$: 5 }, { int4: 5 }, new Map([['', Number]])],
  deferrable: ['yes', 1],
  emptyStatus: [99, 600, '200', null],
  end: ['yes', 1, null],
  format: [2, '0', null],
  formulas: ['hide', 5, null],
  highWaterMark: [-1, 'x', NaN],
  idempotent: ['yes', 1, null],
  idle_timeout: [-1, '5', null],
  int8: ['bigint', 5, null],
  interval: [-1, '5', null],
  isolation: ['strict', 5, null],
  keepalive: [-1, '5', null],
  max_age: [-1, '5', null, NaN],
  max_answer_bytes: [-1, '5', null],
  max_bytes: [-1, '5', null],
  max_lifetime: [-1, '5', null],
  max_readers: [0, '5', null],
  max_results: [0, '5', null],
  max_rows: [0, '5', null],
  max_total_bytes: [0, '5', null],
  names: ['snake', 5, null],
  now: [5, null],
  numeric: ['float', 5, null],
  paramTypes: [5, ['int4'], [-1], null],
  publication: [5, null, [5]],
  readOnly: ['yes', 1],
  reset: ['yes', 1, null],
  retries: [-1, 1.5, '5'],
  separator: [5, {}, null],
  session: ['yes', 1, null],
  signal: [5, {}, null, 'x', new EventTarget()],
  size: [0, -1, 1.5, '5', null],
  slot: [5, '', 'A', 'a-b', 'x'.repeat(64), null],
  snapshot: [5, {}, null],
  stale_while_revalidate: [-1, '5', null],
  stall_timeout: [-1, '5', null, NaN],
  statement_timeout: [-1, 0, '5', null, NaN],
  status: [99, 600, '200', null],
  statusInterval: [0, -1, '5', null],
  stream: [5, {}, 'x'],
  tags: ['x', 5, [5], null]
};

/** Values that options take which are no flags: what is inherited would be taken otherwise. */
const RIGHT = {
  as: 'json',
  columns: ['id'],
  format: 1,
  isolation: 'serializable',
  names: 'camel',
  paramTypes: [],
  signal: new AbortController().signal,
  statement_timeout: 5000
};

const NO_TEXT = [undefined, null, 5, {}, 'SELECT\0', ['SELECT 1'], { text: 'SELECT 1' }];
const NO_VALUES = [5, null, 'x', {}, [undefined], [new Map()], [() => {}], [Symbol('x')]];

const OUT = 'COPY users TO STDOUT';
const IN = 'COPY users FROM STDIN';
const target = () => new PassThrough();

/** The methods of a session: what takes options, and other wrong calls; whether these throw, or reject. */
const METHODS = {
  query: {
    options: (on, options) => on.query('SELECT 1', [], options),
    wrong: on => [
      ...NO_TEXT.map(text => () => on.query(text)),
      ...NO_VALUES.map(values => () => on.query('SELECT $1', values)),
      () => on.query(sql`SELECT 1`, 5)
    ]
  },
  simpleQuery: {
    options: (on, options) => on.simpleQuery('SELECT 1', options),
    wrong: on => NO_TEXT.map(text => () => on.simpleQuery(text))
  },
  batch: {
    options: (on, options) => on.batch(['SELECT 1'], options),
    wrong: on => [
      ...[undefined, 5, null, 'SELECT 1', {}, [5], [null], [[]]].map(queries => () => on.batch(queries)),
      ...NO_VALUES.map(values => () => on.batch([['SELECT 1'], ['SELECT $1', values]])),
      ...NO_OPTIONS.map(options => () => on.batch(['SELECT 1', ['SELECT 1', [], options]]))
    ]
  },
  transaction: {
    options: (on, options) => on.transaction(async tx => tx.query('SELECT 1'), options),
    wrong: on => [undefined, 5, null, 'x', {}].map(work => () => on.transaction(work))
  },
  commit: {
    options: (on, options) => on.transaction(tx => tx.commit('SELECT 1', [], options)),
    wrong: on =>
      [
        ...NO_TEXT.map(text => [text]),
        ...NO_VALUES.map(values => ['SELECT $1', values]),
        [IN],
        [OUT],
        [sql`SELECT 1`, 5]
      ].map(given => () => on.transaction(tx => tx.commit(...given)))
  },
  with: {
    throws: true,
    wrong: on =>
      [
        undefined,
        5,
        null,
        'x',
        {},
        [],
        { '': 'x' },
        { a: undefined },
        { a: {} },
        { a: NaN },
        { a: 'x\0' },
        { client_encoding: 'latin1' },
        { default_transaction_isolation: 'serializable' },
        Object.assign(Object.create({ role: 'web' }), { work_mem: '1MB' }),
        Object.assign(new Map(), { work_mem: '1MB' })
      ].map(settings => () => on.with(settings))
  },
  cursor: {
    throws: true,
    options: (on, options) => on.cursor('SELECT 1', [], options),
    wrong: on => [
      ...NO_TEXT.map(text => () => on.cursor(text)),
      ...NO_VALUES.map(values => () => on.cursor('SELECT $1', values)),
      () => on.cursor(IN)
    ]
  },
  describe: {
    options: (on, options) => on.describe('SELECT 1', options),
    wrong: on => NO_TEXT.map(text => () => on.describe(text))
  },
  close: {
    wrong: on => [
      ...[undefined, 'X', 5].map(type => () => on.close(type, 'x')),
      ...[undefined, 5, 'x\0'].map(name => () => on.close('S', name))
    ]
  },
  queryTo: {
    options: (on, options) => on.queryTo(target(), 'SELECT 1', [], options),
    wrong: on => [
      ...[undefined, 5, null, {}, 'SELECT 1'].map(stream => () => on.queryTo(stream, 'SELECT 1')),
      ...NO_TEXT.map(text => () => on.queryTo(target(), text)),
      ...NO_VALUES.map(values => () => on.queryTo(target(), 'SELECT $1', values)),
      () => on.queryTo(target(), IN)
    ]
  },
  copyTo: {
    throws: true,
    options: (on, options) => on.copyTo(OUT, options),
    wrong: on => [...NO_TEXT, 'SELECT 1', IN].map(text => () => on.copyTo(text))
  },
  copyFrom: {
    throws: true,
    options: (on, options) => on.copyFrom(IN, options),
    wrong: on => [...NO_TEXT, 'SELECT 1', OUT].map(text => () => on.copyFrom(text))
  },
  listen: {
    throws: true,
    options: (on, options) => on.listen('news', options),
    wrong: on => [undefined, null, 5, '', 'x\0', 'x'.repeat(64)].map(channel => () => on.listen(channel))
  }
};

/** Sessions that do not have a method at all, whatever its arguments are. */
const WITHOUT = Object.fromEntries(
  ['transaction', 'transaction of a pool', 'with', 'with of a pool'].map(name => [
    `listen, ${name}`,
    'listen is a method of a client or a pool'
  ])
);

/** Counts what is sent, in any session. */
function counting() {
  const { send } = Pipeline.prototype;
  const counts = { sent: 0 };
  shorten(Pipeline.prototype, 'send', function (request) {
    send.call(this, request); // a request whose values cannot be encoded leaves no trace
    if (!request.internal && !request.endsScope) counts.sent++;
  });
  return counts;
}

const isPlain = value =>
  value !== null && typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype;

/** @returns {Promise<string|undefined>} what a call did, unless it was refused: it throws, or rejects, if either is to be */
async function acceptance(call, throws) {
  let given;
  try {
    given = call();
    await Promise.race([given, sleep(300)]);
  } catch (error) {
    const isThrown = given === undefined;
    if (throws !== undefined && throws !== isThrown) return `it ${isThrown ? 'throws' : 'rejects'}`;
    if (error instanceof TypeError || error instanceof RangeError) return undefined;
    return `${error?.name}: ${error?.message}`;
  }
  given?.on?.('error', () => {}).destroy?.();
  await given?.return?.().catch(() => {});
  return 'it is taken';
}

/** Makes each wrong call, and names those that are not refused. */
async function refuses(calls, throws) {
  const wrong = [];
  for (const [name, call] of calls) {
    const why = await acceptance(call, throws);
    if (why !== undefined) wrong.push(`${name}: ${why}`);
  }
  assert.ok(wrong.length === 0, wrong.join('\n'));
}

const shown = value => (typeof value === 'object' ? (JSON.stringify(value) ?? String(value)) : String(value));

/** The wrong calls of what takes options: each of its own options by a wrong value. */
async function wrongOptions(call) {
  const calls = NO_OPTIONS.map(options => [`options ${shown(options)}`, () => call(options)]);
  const { message } = await (async () => call({ nope: 1 }))().catch(error => error);
  const [, names] = /the options are (.*)$/.exec(message);
  for (const name of names.split(', ')) {
    assert.ok(name in WRONG, `the test has no wrong value of the option ${name}`);
    for (const value of WRONG[name]) calls.push([`${name}: ${shown(value)}`, () => call({ [name]: value })]);
    const fits = RIGHT[name] ?? true;
    calls.push([`${name}, inherited`, () => call(Object.create({ [name]: fits }))]);
    calls.push([`${name}, hidden`, () => call(Object.defineProperty(Object.create(null), name, { value: fits }))]);
  }
  return calls;
}

table(
  'Wrong input is a TypeError or a RangeError before anything is sent:',
  { method: METHODS, session: SESSIONS },
  async ({ options, wrong, throws = false }, session) => {
    const counts = counting();
    await session(async on => {
      const before = counts.sent;
      const calls = options === undefined ? [] : await wrongOptions(given => options(on, given));
      await refuses([...calls, ...wrong(on).map((call, index) => [`wrong call ${index}`, call])], throws);
      await turn();
      assert.equal(counts.sent, before, 'something was sent');
      assert.equal((await on.query('SELECT 1 AS one')).rows[0].one, 1);
    });
  },
  WITHOUT
);

/** A config whose connections are counted. */
const spied = () => {
  const config = { host: 'localhost', user: 'x', opened: 0 };
  const { opened, ...given } = config;
  given.socket = () => {
    config.opened++;
    throw new Error('no connection');
  };
  return [given, config];
};

/** Configs that are wrong, whatever takes one. */
const WRONG_CONFIGS = {
  number: 5,
  boolean: true,
  list: [],
  function: () => {},
  misspelt: { hots: 'x' },
  port: { port: 'x' },
  sslmode: { sslmode: 'maybe' },
  decode: { decode: 5 },
  'decode of a wrong type': { decode: { nope$: 5 } },
  names: { names: 'snake' },
  url: 'mysql://localhost/x',
  timeout: { connect_timeout: 'x' },
  NUL: { user: 'x\0' },
  socket: { socket: 5 }
};

/** Wrong calls of everything else that is public, by what is wrong in them; `each` gets a config that counts. */
const OTHERS = {
  'new Client': { configs: config => new Client(config).connect(), wrong: () => [() => new Client({}, {})] },
  'Client#connect': {
    wrong: config =>
      [[{}, undefined], [() => {}], [5432, 5], ['x', 'y']].map(given => () => new Client(config).connect(...given))
  },
  'Client#startQuery': {
    wrong: (config, client) => [
      ...NO_TEXT.map(text => () => client.startQuery(text)),
      ...NO_VALUES.map(values => () => client.startQuery('SELECT $1', values)),
      () => client.startQuery('SELECT 1', [], 2),
      () => client.startQuery('SELECT 1', [], 0, 'yes'),
      () => client.startQuery(IN)
    ]
  },
  'Client#getResults': {
    wrong: (config, client) => [-1, 1.5, '5', null].map(count => () => client.getResults(count))
  },
  'Client#sync': { wrong: (config, client) => [5, {}, null].map(reader => () => client.sync(reader)) },
  'new Pool': {
    configs: config => new Pool(config),
    options: (options, config) => new Pool(config, options),
    wrong: config => [() => new Pool(config, {}, {})]
  },
  'Pool#connection': {
    options: (options, config, client, each) => each.connection(async () => {}, options),
    wrong: (config, client, each) => [undefined, 5, {}].map(work => () => each.connection(work))
  },
  'new ResponseCache': {
    options: (options, config) => new ResponseCache(new Client(config), options),
    wrong: config => [
      ...[undefined, 5, {}].map(client => () => new ResponseCache(client)),
      () => new ResponseCache(new Client(config).with({ application_name: 'x' })),
      () => new ResponseCache(new Client(config), {}, {})
    ]
  },
  'ResponseCache#query': {
    options: (options, config) => new ResponseCache(new Client(config)).query('SELECT 1', [], options),
    wrong: config => [
      ...NO_TEXT.map(text => () => new ResponseCache(new Client(config)).query(text)),
      ...NO_VALUES.map(values => () => new ResponseCache(new Client(config)).query('SELECT $1', values))
    ]
  },
  'ResponseCache#queryTo': {
    options: (options, config) => new ResponseCache(new Client(config)).queryTo(target(), 'SELECT 1', [], options),
    wrong: config => [
      ...[undefined, 5, {}].map(stream => () => new ResponseCache(new Client(config)).queryTo(stream, 'SELECT 1')),
      ...NO_TEXT.map(text => () => new ResponseCache(new Client(config)).queryTo(target(), text)),
      ...NO_VALUES.map(values => () => new ResponseCache(new Client(config)).queryTo(target(), 'SELECT $1', values))
    ]
  },
  'ResponseCache#keyOf': {
    wrong: config => [
      ...NO_TEXT.map(text => () => new ResponseCache(new Client(config)).keyOf(text)),
      ...NO_VALUES.map(values => () => new ResponseCache(new Client(config)).keyOf('SELECT $1', values)),
      () => new ResponseCache(new Client(config)).keyOf('SELECT 1', [], { tags: 'x' }),
      () => new ResponseCache(new Client(config)).keyOf('SELECT 1', [], { nope: 1 })
    ]
  },
  'ResponseCache#with': {
    wrong: config => [undefined, {}, 5].map(settings => () => new ResponseCache(new Client(config)).with(settings))
  },
  'ResponseCache#listen': {
    wrong: config =>
      [undefined, 5, '', 'x\0', 'x'.repeat(64)].map(
        channel => () => new ResponseCache(new Client(config)).listen(channel)
      )
  },
  'ResponseCache#invalidate': {
    wrong: config => [undefined, 5, {}].map(key => () => new ResponseCache(new Client(config)).invalidate(key))
  },
  'ResponseCache#invalidateTag': {
    wrong: config => [undefined, 5, {}].map(tag => () => new ResponseCache(new Client(config)).invalidateTag(tag))
  },
  'new Live': {
    options: (options, config, client) => new Live(client, options),
    wrong: () => [undefined, 5, {}].map(session => () => new Live(session))
  },
  'Live#respond': {
    options: (options, config, client) =>
      new Live(client).respond(requestOf('application/x-postgresql-live'), responseOf(), 'SELECT 1', [], options),
    wrong: (config, client) => [
      ...['application/x-postgresql-live', 'application/json'].flatMap(accept => [
        ...NO_TEXT.map(text => () => new Live(client).respond(requestOf(accept), responseOf(), text)),
        ...NO_VALUES.map(values => () => new Live(client).respond(requestOf(accept), responseOf(), 'SELECT 1', values)),
        ...NO_OPTIONS.map(
          options => () => new Live(client).respond(requestOf(accept), responseOf(), 'SELECT 1', [], options)
        ),
        () => new Live(client).respond(new Request('http://x/', { headers: { accept } })),
        () => new Live(client).respond(new Request('http://x/', { headers: { accept } }), 'SELECT 1', [], []),
        () => new Live(client).respond(requestOf(accept), responseOf(), 'SELECT 1', [], { settings: {} }),
        () => new Live(client).respond(requestOf(accept), {}, 'SELECT 1')
      ]),
      () => new Live(client).respond(undefined, responseOf(), 'SELECT 1'),
      () => new Live(client).respond()
    ]
  },
  'Live#changed': { wrong: (config, client) => [5, null, {}].map(tag => () => new Live(client).changed(tag)) },
  'Live#follow': {
    wrong: (config, client) => [undefined, 5, {}, []].map(each => () => new Live(client).follow(each))
  },
  respond: {
    options: (options, config, client) => http.respond(client, requestOf(), responseOf(), 'SELECT 1', [], options),
    wrong: (config, client) => [
      ...[undefined, 5, {}].map(session => () => http.respond(session, requestOf(), responseOf(), 'SELECT 1')),
      ...NO_TEXT.map(text => () => http.respond(client, requestOf(), responseOf(), text)),
      ...NO_VALUES.map(values => () => http.respond(client, requestOf(), responseOf(), 'SELECT $1', values)),
      ...NO_OPTIONS.map(options => () => http.respond(client, new Request('http://x/'), 'SELECT 1', [], options)),
      () => http.respond(client, new Request('http://x/')),
      () => http.respond(client, requestOf(), {}, 'SELECT 1'),
      () => http.respond(client, undefined, responseOf(), 'SELECT 1'),
      () => http.respond(client)
    ]
  },
  changes: {
    configs: config => changes(config, { publication: 'x' }),
    options: (options, config) => changes(config, isPlain(options) ? { publication: 'x', ...options } : options),
    wrong: config => [() => changes(config), () => changes(config, null), () => changes()]
  },
  replicate: {
    options: (options, config, client) => replicate(client, 'START_REPLICATION SLOT x LOGICAL 0/0', options),
    wrong: (config, client, each) => [
      ...[undefined, 5, {}, each].map(session => () => replicate(session, 'START_REPLICATION SLOT x LOGICAL 0/0')),
      ...[...NO_TEXT, 'SELECT 1', 'START_REPLICATION 0/0'].map(text => () => replicate(client, text))
    ]
  },
  'new PgOutput': { options: options => new PgOutput(options), wrong: () => [] },
  'PgOutput#decode': { wrong: () => [undefined, 5, 'x', {}].map(data => () => new PgOutput().decode(data)) },
  formatLsn: { wrong: () => [undefined, 5, 'x', -1n, 2n ** 64n].map(lsn => () => formatLsn(lsn)) },
  parseLsn: { wrong: () => [undefined, 5, 'x', '1', '0/x', '0/123456789'].map(lsn => () => parseLsn(lsn)) },
  webSocket: {
    wrong: () =>
      [undefined, 5, null, 'x', 'http://x', 'ws://user@x', 'ws://x#y'].map(url => () => sockets.webSocket(url))
  },
  'new RowReader': { options: options => new RowReader(options), wrong: () => [] },
  'new RowParser': { wrong: () => [undefined, 5, 'x', {}].map(bytes => () => new RowParser(bytes)) },
  array: { wrong: () => [undefined, 5, 'x', {}, [() => {}]].map(list => () => quickgres.array(list)) },
  withoutLiterals: { wrong: () => [undefined, 5, null, {}, []].map(text => () => withoutLiterals(text)) }
};

const requestOf = (accept = '*/*') => ({ method: 'GET', url: '/', headers: { accept } });
const responseOf = () =>
  Object.assign(target(), {
    statusCode: 200,
    hasHeader: () => false,
    getHeader: () => undefined,
    setHeader: () => {},
    writeHead: () => {}
  });

describe('Wrong input is a TypeError or a RangeError before anything is opened, made or sent:', () => {
  for (const [name, { configs, options, wrong }] of Object.entries(OTHERS)) {
    it(name, async () => {
      const counts = counting();
      const client = await connected();
      const each = endAfterTest(new Pool((await sharedServer()).config));
      const before = counts.sent;
      const [config, spy] = spied();
      const calls = wrong(config, client, each).map((call, index) => [`wrong call ${index}`, call]);
      if (options !== undefined) calls.push(...(await wrongOptions(given => options(given, config, client, each))));
      for (const [what, given] of Object.entries((configs && WRONG_CONFIGS) ?? {})) {
        const withSpy = typeof given === 'object' && given !== null && !Array.isArray(given);
        calls.push([`config ${what}`, () => configs(withSpy ? { ...config, ...given } : given)]);
      }
      await refuses(calls);
      await turn();
      assert.deepEqual([spy.opened, counts.sent - before], [0, 0], 'something was opened or sent');
    });
  }
});

describe('The tables of wrong input', () => {
  /** What takes nothing that could be wrong, or is tested elsewhere, as quickgres/pg is, which takes what pg takes. */
  const OTHERWISE = {
    'Client#copyData, Client#copyDone, Client#copyFail': 'they need an open COPY: test/core/requests/copy-in.test.js',
    'Client#cancel, Client#end, Client#ref, Client#unref, Client#toJSON': 'they take nothing',
    'Client#destroy, Pool#destroy': 'they take any error',
    'Pool#connect': 'it rejects always',
    'Pool#end, Pool#renew, Pool#toJSON, ResponseCache#clear, Live#end, Session#toJSON': 'they take nothing',
    'Cursor, Listener, CopyFrom, CopyTo': 'they are made by methods',
    'PgOutput#value, PgOutput#relation, PgOutput#lacking': 'they are given what decode() has read',
    workersSocket: 'the client calls it',
    'RowParser#forFormat, RowParser#description': 'they are of client-parser',
    'RowReader#one, RowReader#maybeOne, RowReader#toJSON': 'they take nothing',
    'RowReader#start, RowReader#receive, RowReader#receiveData, RowReader#retype, RowReader#write':
      'they are given messages',
    'PostgresError, ConnectionError, AbortError, TimeoutError, UsageError': 'the library makes them',
    'new Session': 'it is for instanceof',
    sql: 'test/sql'
  };
  const LISTED = new Set([
    ...Object.keys(OTHERS),
    ...Object.keys(METHODS).map(name => `Session#${name}`),
    ...Object.keys(OTHERWISE).flatMap(names => names.split(', '))
  ]);

  covered(Object.values(METHODS).flatMap(Object.values), {
    'startQuery, getResults, connection': 'they are in the other table',
    'copyData, copyDone, copyFail': 'they need an open COPY: test/core/requests/copy-in.test.js',
    [ENDS]: 'they take nothing, or are in the other table'
  });

  it('have a row for each public method, function and constructor', () => {
    const modules = [quickgres, pool, http, live, replication, sockets, { sql, withoutLiterals }, { ResponseCache }];
    const isMethod = (prototype, name) =>
      typeof Object.getOwnPropertyDescriptor(prototype, name).value === 'function' && /^[a-z]/.test(name);
    const methodsOf = (each, name) =>
      Object.getOwnPropertyNames(each.prototype)
        .filter(method => method !== 'constructor' && isMethod(each.prototype, method))
        .map(method => `${name}#${method}`);
    const found = modules.flatMap(all =>
      Object.entries(all)
        .filter(([, each]) => typeof each === 'function')
        .flatMap(([name, each]) =>
          /^[A-Z]/.test(name) ? [LISTED.has(name) ? name : `new ${name}`, ...methodsOf(each, name)] : [name]
        )
    );
    found.push(...methodsOf(Steps, 'Client'));
    assert.ok(found.length > 50);
    assert.deepEqual(
      found.filter(name => !LISTED.has(name)),
      []
    );
  });
});
