'use strict';

const assert = require('node:assert/strict');
const { skipUnless } = require('pg-test-fixtures');
const { PARTS, POSTGRES, attempt, told } = require('./application');

/**
 * Tests of what is not PostgreSQL itself: every part of the application works, but for what is known to be lacking. That is tried as
 * well, and has to fail as it is known to.
 * @param {object} server see `attempt`, and
 * @param {string} server.name
 * @param {function(): Promise<{config: object, stop: function(): Promise}>} server.start
 * @param {string} [server.needs] a program that has to be installed, as `have` names it
 * @param {object} [server.options] what the config needs
 * @param {Object<string, RegExp>} [server.lacks] parts, with what their errors say
 * @param {string[]} [server.breaks] of these parts, those after which it has to be started again
 * @param {string[]} [server.parts] those that are tried
 * @param {Object<string, function(Client, object): Promise>} [server.own] in place of those of the application
 */
function stranger({
  name,
  start,
  needs,
  options,
  lacks = {},
  parts = Object.keys(PARTS),
  own = {},
  breaks = [],
  ...server
}) {
  describe(`The application of ${parts.length} parts and ${name}`, function () {
    this.timeout(60000);
    let started;
    const begin = async () => {
      started = await start();
    };
    const end = async () => {
      const stopping = started?.stop();
      started = undefined;
      await Promise.race([
        stopping,
        new Promise(resolve => {
          setTimeout(resolve, 10000).unref();
        })
      ]);
    };
    before(async function () {
      if (needs !== undefined) skipUnless(this, needs);
      await begin();
    });
    after(end);

    for (const part of parts) {
      it(lacks[part] === undefined ? `works: ${part}` : `is refused, or fails as the guide says: ${part}`, async () => {
        const error = await attempt(
          part,
          { ...POSTGRES, ...server, config: { ...started.config, ...options } },
          own[part]
        );
        if (error !== undefined && breaks.includes(part)) await end().then(begin);
        if (lacks[part] === undefined && error !== undefined) throw error;
        if (lacks[part] !== undefined) assert.match(told(error ?? new Error('it works')), lacks[part]);
      });
    }
  });
}

module.exports = { stranger };
