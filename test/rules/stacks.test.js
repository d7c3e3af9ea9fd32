'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { PassThrough, Readable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { promisify } = require('node:util');
const { ResponseCache } = require('../../lib/cache');
const { respond } = require('../../lib/http');
const { Live } = require('../../lib/live');
const pg = require('../../lib/pg');
const { Pool } = require('../../lib/pool');
const { changes } = require('../../lib/replication');
const { sharedServer } = require('../support');
const { afterTest, endAfterTest } = require('../support/hooks');
const { collector } = require('../support/kit');
const { ENDS, SESSIONS, covered, table } = require('./kit');

/** Failures, by the error's name and code, the expression of a query, its values, and its options. */
const FAILURES = {
  'a bad value': { error: 'TypeError', expression: '$1', values: [new Map()] },
  'a bad value deep inside': { error: 'TypeError', expression: '$1', values: [[[[new Map()]]]] },
  'an error of the server': { error: 'PostgresError 22012', expression: '1 / 0' },
  'an unknown column': { error: 'PostgresError 42703', expression: 'nope' },
  'a COMMIT that fails': {
    error: 'PostgresError 23505',
    expression: '1',
    table: 'stacks_once',
    text: 'INSERT INTO stacks_once VALUES (1), (1) RETURNING id'
  },
  'a wrong option': { error: 'TypeError', expression: '1', options: () => ({ nope: 1 }) },
  'the loss of the connection': {
    error: 'ConnectionError 57P01',
    expression: 'pg_terminate_backend(pg_backend_pid())'
  },
  'a signal': {
    error: 'AbortError ABORT_ERR',
    expression: 'pg_sleep(60)',
    options: () => ({ signal: AbortSignal.timeout(20) })
  },
  'a signal from before': {
    error: 'AbortError ABORT_ERR',
    expression: '1',
    options: () => ({ signal: AbortSignal.abort() })
  },
  'a statement_timeout': {
    error: 'TimeoutError 57014',
    expression: 'pg_sleep(60)',
    options: () => ({ statement_timeout: 20 })
  },
  'a signal while it waits': {
    error: 'AbortError ABORT_ERR',
    expression: '1',
    isWaiting: true,
    options: () => ({ signal: AbortSignal.timeout(5) })
  },
  'a statement_timeout while it waits': {
    error: 'TimeoutError 57014',
    expression: '1',
    isWaiting: true,
    options: () => ({ statement_timeout: 5 })
  },
  'the loss of the connection while it waits': {
    error: 'ConnectionError 57P01',
    expression: '1',
    isWaiting: true,
    isLost: true
  },
  acquire_timeout: { error: 'TimeoutError 53300', expression: '1', isWaiting: true }
};

const request = () => new Request('http://localhost/');

const METHODS = {
  query: (on, { text, values, options }) =>
    options === undefined ? on.query(text, values) : on.query(text, values, options),
  'query with an option': (on, { text, values, options }) => on.query(text, values, { alone: true, ...options }),
  'query with a stream': (on, { text, values, options }) => on.query(text, values, { stream: collector(), ...options }),
  batch: (on, { text, values, options }) => on.batch([['SELECT 1'], [text, values]], options),
  simpleQuery: (on, { text, options }) => on.simpleQuery(text, options),
  describe: (on, { text, options }) => on.describe(text, options),
  queryTo: (on, { text, values, options }) => on.queryTo(new PassThrough(), text, values, options),
  'respond with a Request': (on, { text, values, options }) => respond(on, request(), text, values, options),
  transaction: (on, { text, values, options }) =>
    on.transaction(async function readsUsersInside(tx) {
      await tx.query(text, values);
    }, options),
  commit: (on, { text, values, options }) =>
    on.transaction(async function readsUsersInside(tx) {
      await tx.commit(text, values, options);
    }),
  'transaction without await': (on, { text, values, options }) => on.transaction(tx => tx.query(text, values), options),
  connection: (on, { text, values, options }) => on.connection(client => client.query(text, values), options),
  cursor: async (on, { text, values, options }) => on.cursor(text, values, options).next(),
  'loop over a cursor': async (on, { text, values, options }) => {
    for await (const row of on.cursor(text, values, options)) assert.fail(row);
  },
  copyTo: (on, { text, options }) => pipeline(on.copyTo(`COPY (${text}) TO STDOUT`, options), collector()),
  copyFrom: (on, { expression, table: name, options }) =>
    pipeline(['1\n1\n'], on.copyFrom(`COPY ${name} FROM STDIN WHERE (${expression}) IS NOT NULL`, options)),
  'copyFrom with columns': (on, { expression, table: name, values, options }) =>
    pipeline(
      Readable.from([[1], values ?? [1]]),
      on.copyFrom(`COPY ${name} FROM STDIN${values ? '' : ` WHERE (${expression}) IS NOT NULL`}`, {
        columns: ['id'],
        ...options
      })
    )
};

/** A live result of a pool, for a page's part that takes it or for any other HTTP client. */
const shown = accept => config => {
  const live = new Live(endAfterTest(new Pool(config)));
  afterTest(() => live.end());
  return live.respond(new Request('http://localhost/', { headers: { accept } }), 'SELECT nope');
};
const connectedPg = async config => {
  const client = new pg.Client(config);
  afterTest(() => client.end());
  await client.connect();
  return client;
};

/** Other entry points, which are given a config: each fails. */
const ELSEWHERE = {
  'live.respond': shown('application/json'),
  'live.respond, live': shown('application/x-postgresql-live'),
  changes: config => changes(config, { publication: 'nope' }).next(),
  'loop over changes': async config => {
    for await (const change of changes(config, { publication: 'nope' })) assert.fail(change);
  },
  'connect of pg': config => new pg.Client({ ...config, database: 'nowhere' }).connect(),
  'query of a client of pg': async config => (await connectedPg(config)).query('SELECT nope'),
  'query with values of a client of pg': async config => (await connectedPg(config)).query('SELECT $1::nope', [1]),
  'query with a bad value of a client of pg': async config => (await connectedPg(config)).query('SELECT $1', [1n, 2]),
  'query of a pool of pg': config => endAfterTest(new pg.Pool(config)).query('SELECT nope'),
  'connect of a pool of pg': config => endAfterTest(new pg.Pool({ ...config, database: 'nowhere' })).connect()
};

/** Sessions, each with the one that can be occupied. */
const ALL_SESSIONS = {
  client: SESSIONS.client,
  pool: SESSIONS.pool,
  'inside a transaction': SESSIONS['transaction of a pool'],
  with: SESSIONS['with of a pool'],
  cache: (use, ...given) => SESSIONS.pool(pool => use(new ResponseCache(pool), pool), ...given)
};

/** Has the connection of a session for a function. */
async function occupied(owner, isLost, work) {
  let release;
  let begun;
  const over = new Promise(resolve => {
    release = resolve;
  });
  const occupant = owner.transaction(async tx => {
    begun();
    if (isLost) await tx.query('SELECT pg_terminate_backend(pg_backend_pid())');
    await over;
  });
  const first = new Promise(resolve => {
    begun = resolve;
  });
  await Promise.race([first, occupant]); // it rejects where a connection came too late
  await work().finally(release);
  await occupant.catch(error => assert.ok(isLost, error));
}

/** Methods that run a function. */
const RUN_CODE = ['transaction without await', 'connection'];

/** No code in these entries awaits, and no stream shows its call. */
const WITHOUT_AWAIT = Object.fromEntries(
  Object.entries(METHODS).filter(([name]) => !/^(?:transaction|commit|cursor|loop .*|copy.*)$/.test(name))
);

const LIB = `${path.join(__dirname, '../../lib')}${path.sep}`;

const lacking = (method, sessions) => sessions.map(session => [`${method}, ${session}`, `${session} has no ${method}`]);
const others = names => Object.keys(ALL_SESSIONS).filter(name => !names.includes(name));
const OF_CACHE = ['query', 'query with an option', 'queryTo', 'respond with a Request'];

describe('Stacks', () => {
  before(async () => {
    const server = await sharedServer();
    await server.sql('CREATE TABLE IF NOT EXISTS stacks (id int)');
    await server.sql('CREATE TABLE IF NOT EXISTS stacks_once (id int UNIQUE DEFERRABLE INITIALLY DEFERRED)');
  });

  table(
    'A stack names the caller that awaits:',
    { method: METHODS, session: ALL_SESSIONS, failure: FAILURES },
    async (ask, session, { error: expected, options, isWaiting, isLost, ...query }, [, , failure]) => {
      const given = { table: 'stacks', text: `SELECT ${query.expression}`, ...query, options: options?.() };
      async function readsUsers(on) {
        await ask(on, given);
      }
      let error;
      const use = async (on, owner = on) => {
        const fails = () =>
          readsUsers(on).then(
            () => assert.fail('it does not fail'),
            thrown => {
              error = thrown;
            }
          );
        await (isWaiting ? occupied(owner, isLost, fails) : fails());
      };
      const ended = session(use, {}, { size: 1, acquire_timeout: failure === 'acquire_timeout' ? 300 : 1000 });
      await ended.catch(reason => assert.ok(error, reason)); // the transaction has failed as well
      const { name, code } = error;
      assert.equal(code === undefined ? name : `${name} ${code}`, expected);
      // Node.js shows ten frames, Mocha all.
      assert.match(error.stack.split('\n').slice(0, 11).join('\n'), /readsUsers/, error.stack);
      assert.ok(error.stack.startsWith(`${error.name}: ${error.message}`), 'the stack has another message');
    },
    Object.fromEntries([
      ...['a bad value', 'a bad value deep inside'].flatMap(name => [
        [`transaction without await, ${name}`, 'the stack shows the function that was given to transaction()']
      ]),
      ...['a signal while it waits', 'a statement_timeout while it waits'].map(name => [
        `commit, ${name}`,
        'its transaction waits, which has no such limit'
      ]),
      ...lacking('connection', others(['pool'])),
      ...['a signal', 'a statement_timeout'].map(name => [
        `connection, ${name}`,
        'its signal ends the wait for a client alone'
      ]),
      ['connection, a statement_timeout while it waits', 'it has no statement_timeout'],
      ['simpleQuery, with', 'its texts have no settings'],
      ['inside a transaction, a COMMIT that fails', 'it fails later'],
      ['cache, a COMMIT that fails', 'it is read-only'],
      ...['cursor', 'loop over a cursor', 'copyTo', 'copyFrom', 'copyFrom with columns'].flatMap(name => [
        [`${name}, a statement_timeout`, 'it has none'],
        [`${name}, a statement_timeout while it waits`, 'it has none']
      ]),
      ...['simpleQuery', 'describe', 'copyTo', 'copyFrom'].flatMap(name => [
        [`${name}, a bad value`, 'it has no values'],
        [`${name}, a bad value deep inside`, 'it has no values']
      ]),
      ...[
        'an error of the server',
        'a COMMIT that fails',
        'the loss of the connection',
        'a signal',
        'a statement_timeout'
      ].map(name => [`describe, ${name}`, 'it executes nothing']),
      ...Object.keys(METHODS)
        .filter(name => !OF_CACHE.includes(name) && name !== 'connection')
        .flatMap(name => lacking(name, ['cache'])),
      ...lacking('acquire_timeout', ['client', 'inside a transaction']),
      ...lacking('the loss of the connection while it waits', ['pool', 'with', 'cache'])
    ])
  );

  table(
    'A stack that no code awaits has the SQL, and the caller of what runs a function:',
    { method: WITHOUT_AWAIT, session: ALL_SESSIONS },
    (ask, session, [method]) =>
      session(async on => {
        const [error] = await new Promise(resolve => {
          (function forgetsUsers() {
            ask(on, { text: 'SELECT nope' }).then(assert.fail, thrown => resolve([thrown]));
          })();
        });
        assert.match(error.stack, /^ +in a query that no known code awaits: SELECT nope$/m);
        const frame = error.stack.split('\n').find(line => /^ +at /.test(line));
        assert.equal(frame?.includes(LIB) ?? false, false, error.stack);
        if (RUN_CODE.includes(method)) assert.match(error.stack, /forgetsUsers/);
      }).catch(error => assert.equal(error.code, '25P02', error.stack)), // of the transaction around it
    Object.fromEntries([
      ...Object.keys(WITHOUT_AWAIT)
        .filter(name => !OF_CACHE.includes(name) && name !== 'connection')
        .flatMap(name => lacking(name, ['cache'])),
      ...lacking('connection', others(['pool'])),
      ['simpleQuery, with', 'its texts have no settings']
    ])
  );

  table('A stack names the caller that awaits another entry point:', { method: ELSEWHERE }, async ask => {
    const { config } = await sharedServer();
    async function readsUsers() {
      await ask(config);
    }
    const error = await readsUsers().then(
      () => assert.fail('it does not fail'),
      thrown => thrown
    );
    assert.match(error.stack.split('\n').slice(0, 11).join('\n'), /readsUsers/, error.stack);
    assert.ok(error.stack.startsWith(`${error.name}: ${error.message}`), 'the stack has another message');
  });

  covered(METHODS, {
    listen: 'it gives a loop',
    with: 'it makes a session, which is in the table',
    'startQuery, getResults, copyData, copyDone, copyFail': 'steps of kig/quickgres 0.4: test/core/steps.test.js',
    [ENDS]: 'they have no result'
  });

  it('in a bundle, which hides what is code of the program, have the SQL as well', async () => {
    const { build } = require('esbuild');
    const { config } = await sharedServer();
    const { outputFiles } = await build({
      stdin: {
        contents: `const { Pool } = require('./lib/pool');
          const pool = new Pool(${JSON.stringify(config)});
          process.on('unhandledRejection', ({ stack }) => { console.log(stack); pool.end(); });
          async function readsUsers() { await pool.query('SELECT nope'); }
          readsUsers().catch(({ stack }) => { console.log(stack); pool.transaction(tx => tx.query('SELECT neither')); });`,
        resolveDir: path.join(__dirname, '../..')
      },
      bundle: true,
      platform: 'node',
      minify: true,
      write: false
    });
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'stacks-'));
    afterTest(() => fs.rmSync(folder, { recursive: true }));
    fs.writeFileSync(path.join(folder, 'program.js'), outputFiles[0].text);
    const { stdout } = await promisify(execFile)(process.execPath, [path.join(folder, 'program.js')]);
    assert.match(stdout, /"nope" does not exist\n +in a query: SELECT nope\n.*program\.js/);
    assert.match(stdout, /"neither" does not exist\n +in a query[^:]*: SELECT neither/);
  });
});
