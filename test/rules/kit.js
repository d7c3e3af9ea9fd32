'use strict';

// Rules that hold on many paths are tables: a test runs in each cell. A new kind, method or place is one entry of an axis.

const assert = require('node:assert/strict');
const { Client, Session } = require('../..');
const { Pool } = require('../../lib/pool');
const { connected, sharedServer } = require('../support');
const { endAfterTest } = require('../support/hooks');

/** All combinations of an entry of each axis, as lists of `[name, entry]`. */
function* combinations([axis, ...axes]) {
  if (axis === undefined) return yield [];
  for (const entry of Object.entries(axis)) for (const more of combinations(axes)) yield [entry, ...more];
}

/**
 * A rule as a table. A test of each entry of the first axis runs in all of its cells, and names each one that fails.
 * @param {string} rule a sentence that holds in each cell
 * @param {Object<string, object>} axes entries by their names, for each axis by its name
 * @param {function(...*): (void|Promise)} test gets an entry of each axis, in their order, then their names
 * @param {Object<string, string>} [except] the reason why a cell cannot be, by the names of its entries with commas between
 *   them; fewer names stand for all cells that have them. A reason without a cell fails.
 */
function table(rule, axes, test, except = {}) {
  const [first, ...others] = Object.values(axes);
  const exceptions = Object.keys(except).map(key => ({ key, names: key.split(', '), cells: 0 }));
  const isExcepted = names => {
    const found = exceptions.filter(exception => exception.names.every(name => names.includes(name)));
    for (const exception of found) exception.cells++;
    return found.length > 0;
  };

  describe(rule, function () {
    this.timeout(60000); // a test has many cells
    for (const [name, entry] of Object.entries(first)) {
      it(name, async () => {
        const wrong = [];
        for (const cell of combinations(others)) {
          const names = [name, ...cell.map(([each]) => each)];
          if (isExcepted(names)) continue;
          try {
            await test(entry, ...cell.map(([, each]) => each), names);
          } catch (error) {
            wrong.push(`${names.slice(1).join(', ')}: ${error?.message ?? error}`);
          }
        }
        assert.ok(wrong.length === 0, `${wrong.length} cells fail:\n${wrong.join('\n')}`);
      });
    }

    it('has a cell for each exception', function () {
      if (this.test.parent.tests.some(each => each !== this.test && each.state !== 'passed')) return; // not all have run
      for (const { key, cells } of exceptions) assert.ok(cells > 0, `no cell is '${key}'`);
    });
  });
}

const isMethod = (prototype, name) =>
  name !== 'constructor' && typeof Object.getOwnPropertyDescriptor(prototype, name).value === 'function';

/**
 * A test that fails when a client, a pool or a transaction has a method that no entry of an axis calls: a new method
 * gets an entry, or a reason.
 * @param {Object<string, function>} axis and functions that its entries call
 * @param {Object<string, string>} except the reason why there is no entry, by names of methods with commas between them
 */
function covered(axis, except) {
  it('has an entry for each method of a session, or a reason', async () => {
    const client = await connected();
    const { prototype } = await client.transaction(tx => tx.constructor);
    const classes = [Session.prototype, Client.prototype, Object.getPrototypeOf(Client.prototype), Pool.prototype];
    const methods = new Set(
      [...classes, prototype].flatMap(each => Object.getOwnPropertyNames(each).filter(name => isMethod(each, name)))
    );
    const text = Object.values(axis).map(String).join();
    const called = name => new RegExp(`\\.${name}\\(`).test(text);
    const excepted = Object.keys(except).flatMap(names => names.split(', '));
    assert.deepEqual(
      [...methods].filter(name => !called(name) && !excepted.includes(name)),
      [],
      'no entry calls these'
    );
    assert.deepEqual(
      excepted.filter(name => !methods.has(name)),
      [],
      'these are no methods'
    );
  });
}

/** Methods of a session that begin and end what others do. */
const ENDS = 'connect, end, destroy, ref, unref, renew, close, sync, toJSON, cancel';

/**
 * The sessions that have the methods of Session: each runs a function with one.
 * @type {Object<string, function(function(Session), object?, object?): Promise>} of a config, and options of a pool
 */
const SESSIONS = {
  client: async (use, config) => use(await connected(config)),
  pool: async (use, config, options) =>
    use(endAfterTest(new Pool({ ...(await sharedServer()).config, ...config }, { size: 2, ...options }))),
  transaction: async (use, config) => (await connected(config)).transaction(use),
  'transaction of a pool': (use, ...given) => SESSIONS.pool(pool => pool.transaction(use), ...given),
  with: async (use, config) => use((await connected(config)).with({ application_name: 'with' })),
  'with of a pool': (use, ...given) => SESSIONS.pool(pool => use(pool.with({ application_name: 'with' })), ...given)
};

module.exports = { ENDS, SESSIONS, covered, table };
