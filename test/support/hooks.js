'use strict';

// Mocha's root hooks. package.json names this file, so that every process has them, whichever test file comes first.

const fs = require('node:fs');
const { availableParallelism, loadavg } = require('node:os');
const { patience } = require('./kit');

// Servers of the tests keep their files in memory if 4 GB are free there: a start takes a fifth of the CPU time.
const MEMORY = '/dev/shm';
if (process.env.TMPDIR === undefined && fs.existsSync(MEMORY)) {
  const { bavail, bsize } = fs.statfsSync(MEMORY);
  if (bavail * bsize > 4e9) process.env.TMPDIR = MEMORY;
}

// Coverage is measured in the processes of the tests alone: a compiler that a test starts takes half as long again with
// V8's counters, and Node.js hands the variable on even if the environment of a child lacks it.
if (process.env.MOCHA_WORKER_ID !== undefined) delete process.env.NODE_V8_COVERAGE;

/** The limit of a test in milliseconds, which package.json sets. A slow one that names none has a minute. */
const DEFAULT = 10000;
const SLOW = 60000;

/**
 * Gives tests and hooks their limits. Where more programs want to run than the machine has cores, each takes as much longer, so that the
 * limits are those of an idle machine.
 */
function limit(suite) {
  const times = Math.max(1, loadavg()[0] / availableParallelism());
  const { tests, suites, _beforeAll, _beforeEach, _afterEach, _afterAll } = suite;
  for (const each of [...tests, ..._beforeAll, ..._beforeEach, ..._afterEach, ..._afterAll]) {
    const isSlow = /\.slow\.test\.js$/.test(each.file) && each.timeout() === DEFAULT;
    each.timeout(Math.round((isSlow ? SLOW : each.timeout()) * times));
  }
  suites.forEach(limit);
}

/** Rejections that nothing has handled so far, by their promises: Mocha ignores them. */
const unhandled = new Map();
const reject = (error, promise) => unhandled.set(promise, error);
process.on('rejectionHandled', told => {
  // Deno tells of the error in place of its promise.
  for (const [promise, error] of unhandled) if (promise === told || error === told) unhandled.delete(promise);
});

const sessions = new Set();
const endings = new Set();

module.exports = {
  /**
   * Ends a client or a pool after the test, or destroys it if the test has failed.
   * @template {{end(): Promise, destroy(): *}} T
   * @param {T} session
   * @returns {T}
   */
  endAfterTest(session) {
    sessions.add(session);
    return session;
  },

  /**
   * Calls a function after the test, when its clients and pools have ended.
   * @param {function(): *} ending
   */
  afterTest(ending) {
    endings.add(ending);
  },

  /**
   * Gives a property another value until the end of the test, for example a time that would be long.
   * @param {object} object
   * @param {string} name
   * @param {*} value
   */
  shorten(object, name, value) {
    if (!(name in object)) throw new Error(`nothing is called ${name} any more`);
    const before = object[name];
    object[name] = value;
    endings.add(() => {
      object[name] = before;
    });
  },

  mochaHooks: {
    beforeAll() {
      limit(this.test.parent);
      process.off('unhandledRejection', reject).on('unhandledRejection', reject); // a worker has taken it away
    },

    beforeEach() {
      patience.limit = 0.9 * (this.currentTest.timeout() || SLOW);
    },

    async afterEach() {
      const failed = this.currentTest.state === 'failed';
      const open = [...sessions];
      sessions.clear();
      await Promise.all(
        open.map(session => (failed ? session.destroy() : session.state === 'closed' ? undefined : session.end()))
      );
      for (const ending of endings) {
        endings.delete(ending);
        await ending();
      }
      const [error] = unhandled.values();
      unhandled.clear();
      if (error !== undefined) throw new Error(`nothing handled a rejection: ${error?.message}`, { cause: error });
    }
  }
};
