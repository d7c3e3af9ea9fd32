'use strict';

const assert = require('node:assert/strict');
const { skipUnless } = require('pg-test-fixtures');
const { Client } = require('../../..');
const { CAPABILITIES } = require('./capabilities');

/** After so many milliseconds it is not going to come. */
const LIMIT = 15000;

/** @returns {Promise} rejects when the work takes too long */
async function limited(work) {
  let timer;
  const late = new Promise((resolve, reject) => { timer = setTimeout(() => reject(new Error('no answer')), LIMIT); });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Tests of a server that is not PostgreSQL: everything of CAPABILITIES works, but for what is known to be lacking;
 * that is tried, too, and has to fail as it is known to.
 * @param {string} name
 * @param {object} options
 * @param {function(): Promise<{config: object, stop: function(): Promise}>} options.start
 * @param {string} [options.needs] a program that has to be installed, as `have` names it
 * @param {Object<string, RegExp>} options.lacks capabilities, with what their errors say
 * @param {string} options.slow a query of one row that takes some seconds
 * @param {string} [options.series] a query of 100 rows
 * @param {string} [options.table] the columns of a table of numbers
 * @param {Object<string, function(Client, object): Promise>} [options.own] in place of those of CAPABILITIES
 */
function stranger(name, { start, needs, lacks, slow, series = 'SELECT i FROM generate_series(1, 100) i', table = '(n int)', own }) {
  describe(`${name} as the server`, function () {
    this.timeout(2 * LIMIT + 10000);
    let server, client;
    if (needs !== undefined) before(function () { skipUnless(this, needs); });

    // What one test does to it is not to be seen by the next.
    beforeEach(async () => {
      server = await start();
      client = new Client({ connect_timeout: 10, ...server.config });
      client.on('error', () => {});
      await client.connect();
    });
    afterEach(async () => {
      client?.destroy();
      await limited(server.stop()).catch(() => {});
    });

    for (const [what, check] of Object.entries({ ...CAPABILITIES, ...own })) {
      it(lacks[what] === undefined ? `has ${what}` : `lacks ${what}`, async () => {
        const work = limited(check(client, { slow, series, table, config: server.config }));
        if (lacks[what] === undefined) return work;
        await assert.rejects(work, lacks[what]);
      });
    }
  });
}

module.exports = { stranger };
