'use strict';

// Mocha's root hooks. package.json names this file, so that every process has them, whichever test file comes first.

/** The limit of a test in milliseconds, which package.json sets. A slow one that names none has a minute. */
const DEFAULT = 10000;

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
    const before = object[name];
    object[name] = value;
    endings.add(() => {
      object[name] = before;
    });
  },

  mochaHooks: {
    beforeEach() {
      const test = this.currentTest;
      if (/\.slow\.test\.js$/.test(test.file) && test.timeout() === DEFAULT) test.timeout(60000);
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
    }
  }
};
