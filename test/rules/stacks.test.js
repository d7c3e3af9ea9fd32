'use strict';

const assert = require('node:assert/strict');
const { PassThrough, Readable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { ResponseCache } = require('../../lib/cache');
const { respond } = require('../../lib/http');
const { sharedServer } = require('../support');
const { collector } = require('../support/kit');
const { ENDS, SESSIONS, covered, table } = require('./kit');

/** Failures, by the expression of a query, its values, and its options. */
const FAILURES = {
  'a bad value': { expression: '$1', values: [new Map()] },
  'a bad value deep inside': { expression: '$1', values: [[[[new Map()]]]] },
  'an error of the server': { expression: '1 / 0' },
  'a wrong option': { expression: '1', options: () => ({ nope: 1 }) },
  'the loss of the connection': { expression: 'pg_terminate_backend(pg_backend_pid())' },
  'a signal': { expression: 'pg_sleep(60)', options: () => ({ signal: AbortSignal.timeout(20) }) },
  'a signal from before': { expression: '1', options: () => ({ signal: AbortSignal.abort() }) },
  'a statement_timeout': { expression: 'pg_sleep(60)', options: () => ({ statement_timeout: 20 }) },
  'a signal while it waits': { expression: '1', isWaiting: true, options: () => ({ signal: AbortSignal.timeout(20) }) },
  'a statement_timeout while it waits': {
    expression: '1',
    isWaiting: true,
    options: () => ({ statement_timeout: 20 })
  },
  'the loss of the connection while it waits': { expression: '1', isWaiting: true, isLost: true },
  acquire_timeout: { expression: '1', isWaiting: true }
};

const request = () => new Request('http://localhost/');

const METHODS = {
  query: (on, { text, values, options }) =>
    options === undefined ? on.query(text, values) : on.query(text, values, options),
  'query with an option': (on, { text, values, options }) => on.query(text, values, { alone: true, ...options }),
  'query with a stream': (on, { text, values, options }) => on.query(text, values, { stream: collector(), ...options }),
  batch: (on, { text, values, options }) => on.batch([['SELECT 1'], [text, values]], options),
  simpleQuery: (on, { text, options }) => on.simpleQuery(text, options),
  describe: (on, { text, options }) => on.describe(`${text}, nope`, options),
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
  copyFrom: (on, { expression, options }) =>
    pipeline(['1\n'], on.copyFrom(`COPY stacks FROM STDIN WHERE (${expression}) IS NOT NULL`, options)),
  'copyFrom with columns': (on, { expression, values, options }) =>
    pipeline(
      Readable.from([[1], values ?? [1]]),
      on.copyFrom(`COPY stacks FROM STDIN${values ? '' : ` WHERE (${expression}) IS NOT NULL`}`, {
        columns: ['id'],
        ...options
      })
    )
};

/** Sessions, each with the one that can be occupied. */
const ALL_SESSIONS = {
  client: SESSIONS.client,
  pool: SESSIONS.pool,
  transaction: SESSIONS['transaction of a pool'],
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
  await new Promise(resolve => {
    begun = resolve;
  });
  await work().finally(release);
  await occupant.catch(error => assert.ok(isLost, error));
}

const lacking = (method, sessions) => sessions.map(session => [`${method}, ${session}`, `${session} has no ${method}`]);
const others = names => Object.keys(ALL_SESSIONS).filter(name => !names.includes(name));
const OF_CACHE = ['query', 'query with an option', 'queryTo', 'respond with a Request'];

describe('Stacks', () => {
  before(async () => {
    const server = await sharedServer();
    await server.sql('CREATE TABLE IF NOT EXISTS stacks (id int)');
  });

  table(
    'A stack names the caller that awaits:',
    { method: METHODS, session: ALL_SESSIONS, failure: FAILURES },
    async (ask, session, { expression, values, options, isWaiting, isLost }, [, , failure]) => {
      const given = { expression, text: `SELECT ${expression}`, values, options: options?.() };
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
      const ended = session(use, {}, { size: 1, acquire_timeout: failure === 'acquire_timeout' ? 100 : 1000 });
      await ended.catch(reason => assert.ok(error, reason)); // the transaction has failed as well
      // Node.js shows ten frames, Mocha all.
      assert.match(error.stack.split('\n').slice(0, 11).join('\n'), /readsUsers/, error.stack);
      assert.ok(error.stack.startsWith(`${error.name}: ${error.message}`), 'the stack has another message');
    },
    Object.fromEntries([
      ...['a bad value', 'a bad value deep inside'].flatMap(name => [
        [`transaction without await, ${name}`, 'the stack shows the function that was given to transaction()'],
        [`respond with a Request, ${name}`, 'ten frames end in respond()']
      ]),
      ...['a signal while it waits', 'a statement_timeout while it waits'].map(name => [
        `commit, ${name}`,
        'its transaction waits, which has no such limit'
      ]),
      ...lacking('connection', others(['pool'])),
      ...['a signal', 'a statement_timeout'].map(name => [
        `connection, ${name}`,
        'they limit the wait for a client alone'
      ]),
      ...Object.keys(METHODS)
        .filter(name => !OF_CACHE.includes(name) && name !== 'connection')
        .flatMap(name => lacking(name, ['cache'])),
      ...lacking('acquire_timeout', ['client', 'transaction']),
      ...lacking('the loss of the connection while it waits', ['pool', 'with', 'cache'])
    ])
  );

  covered(METHODS, {
    listen: 'it gives a loop',
    with: 'it makes a session, which is in the table',
    'startQuery, getResults, copyData, copyDone, copyFail': 'steps of kig/quickgres 0.4: test/core/steps.test.js',
    [ENDS]: 'they have no result'
  });
});

describe('The stack of a COMMIT that fails', () => {
  for (const [name, session] of Object.entries(SESSIONS))
    if (!name.startsWith('transaction'))
      it(`names the caller of transaction(): ${name}`, async () => {
        async function buysTwice(on) {
          await on.transaction(async tx => {
            await tx.query('CREATE TEMP TABLE bought (id int UNIQUE DEFERRABLE INITIALLY DEFERRED) ON COMMIT DROP');
            await tx.query('INSERT INTO bought VALUES (1), (1)');
          });
        }
        await session(on =>
          assert.rejects(buysTwice(on), error => error.code === '23505' && /buysTwice/.test(error.stack))
        );
      });
});
