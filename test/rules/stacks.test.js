'use strict';

const assert = require('node:assert/strict');
const { PassThrough } = require('node:stream');
const { ENDS, SESSIONS, covered, table } = require('./kit');

/** Failures, by what a text and its values are. */
const FAILURES = {
  'a bad value': ['SELECT $1', [new Map()]],
  'a bad value deep inside': ['SELECT $1', [[[[new Map()]]]]],
  'an error of the server': ['SELECT 1 / 0', []]
};

const METHODS = {
  query: (on, text, values) => on.query(text, values),
  'query with options': (on, text, values) => on.query(text, values, { alone: true }),
  batch: (on, text, values) => on.batch([['SELECT 1'], [text, values]]),
  queryTo: (on, text, values) => on.queryTo(new PassThrough(), text, values),
  transaction: (on, text, values) =>
    on.transaction(async function readsUsersInside(tx) {
      await tx.query(text, values);
    }),
  cursor: async (on, text, values) => on.cursor(text, values).next(),
  'for await': async (on, text, values) => {
    for await (const row of on.cursor(text, values)) assert.ok(row);
  },
  commit: (on, text, values) =>
    on.transaction(async function readsUsersInside(tx) {
      await tx.commit(text, values);
    }),
  with: (on, text, values) => on.with({ application_name: 'with' }).query(text, values)
};

table(
  'A stack names the caller that awaits:',
  { method: METHODS, session: SESSIONS, failure: FAILURES },
  async (ask, session, [text, values]) => {
    async function readsUsers(on) {
      await ask(on, text, values);
    }
    let error;
    await session(on => readsUsers(on).catch(given => (error = given))).catch(() => {}); // the transaction has failed
    assert.ok(error instanceof Error, 'it does not fail');
    // Node.js shows ten frames, Mocha all.
    assert.match(error.stack.split('\n').slice(0, 11).join('\n'), /readsUsers/, error.stack);
    assert.ok(error.stack.startsWith(`${error.name}: ${error.message}`), 'the stack has another message');
  }
);

describe('The table of stacks', () => {
  covered(METHODS, {
    'copyTo, copyFrom, listen': 'they give streams and loops',
    'describe, simpleQuery': 'they take no values',
    connection: 'its function calls the others',
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
