'use strict';

// Rules that hold on many paths are tables: a test runs in each cell. A new kind, method or place is one entry of an axis.

const assert = require('node:assert/strict');
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

/**
 * The sessions that have the methods of Session: each runs a function with one.
 * @type {Object<string, function(function(Session), object?): Promise>}
 */
const SESSIONS = {
  client: async (use, config) => use(await connected(config)),
  pool: async (use, config) =>
    use(endAfterTest(new Pool({ ...(await sharedServer()).config, ...config }, { size: 2 }))),
  transaction: async (use, config) => (await connected(config)).transaction(use),
  'transaction of a pool': (use, config) => SESSIONS.pool(pool => pool.transaction(use), config),
  with: async (use, config) => use((await connected(config)).with({ application_name: 'with' })),
  'with of a pool': (use, config) => SESSIONS.pool(pool => use(pool.with({ application_name: 'with' })), config)
};

module.exports = { SESSIONS, table };
