'use strict';

const { run } = require('./guardian.js');
const { need } = require('./have.js');

/**
 * Runs SQL with psql.
 * @param {string} url
 * @param {string} text one or more statements
 * @param {object} [options]
 * @param {string[]} [options.args] psql's arguments; unless given, those that print rows unaligned, without
 *   headings
 * @param {object} [options.env] further environment variables
 * @returns {Promise<string>} what psql prints
 * @throws {Error} when psql is missing, or with what it complains about
 */
async function psql(url, text, { args = ['-A', '-t'], env = {} } = {}) {
  // The password goes by the environment: a command line can be seen by everybody.
  const bare = new URL(url);
  const password = decodeURIComponent(bare.password);
  bare.password = '';
  const secret = password ? { PGPASSWORD: password } : {};
  return run(need('psql'), ['-X', '-q', '-v', 'ON_ERROR_STOP=1', ...args, '-d', bare.href, '-c', text], {
    env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8', ...secret, ...env }
  });
}

module.exports = { psql };
