'use strict';

// What a machine may have or lack, and what a test does then.

const fs = require('node:fs');
const path = require('node:path');
const { SERVER_VERSION } = require('./binaries.js');

/** Debian's psql is a Perl script, which takes four times as long as the program that it runs, the newest here. */
const DEBIAN = '/usr/lib/postgresql';
const versions = fs.existsSync(DEBIAN) ? fs.readdirSync(DEBIAN).sort((a, b) => b - a) : [];

/**
 * Programs by what tests ask for: names to look for, places before PATH and behind it, variable that names it, package
 * that has it.
 */
const PROGRAMS = {
  pgbouncer: {
    names: ['pgbouncer'],
    places: ['/usr/sbin', '/usr/local/sbin'],
    variable: 'PGBOUNCER_PATH',
    install: 'pgbouncer'
  },
  websockify: { names: ['websockify'], places: ['/usr/bin'], variable: 'WEBSOCKIFY_PATH', install: 'websockify' },
  nginx: { names: ['nginx'], places: ['/usr/sbin'], variable: 'NGINX_PATH', install: 'nginx-light' },
  haproxy: { names: ['haproxy'], places: ['/usr/sbin'], variable: 'HAPROXY_PATH', install: 'haproxy' },
  pgpool: { names: ['pgpool'], places: ['/usr/sbin'], variable: 'PGPOOL_PATH', install: 'pgpool2' },
  psql: {
    names: ['psql'],
    first: versions.map(version => path.join(DEBIAN, version, 'bin')),
    places: [],
    variable: 'PSQL_PATH',
    install: 'postgresql-client'
  },
  cc: { names: ['cc', 'gcc', 'clang'], places: [], variable: 'CC_PATH', install: 'gcc' },
  chromium: {
    names: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
    places: ['/usr/bin'],
    variable: 'CHROMIUM_PATH',
    install: 'chromium'
  }
};

/**
 * Looks for a program.
 * @param {'pgbouncer' | 'websockify' | 'chromium' | 'psql' | 'nginx' | 'haproxy' | 'pgpool' | 'cc'} what
 * @returns {string | undefined} its path, undefined when it isn't installed
 */
function have(what) {
  const program = PROGRAMS[what];
  if (!program) {
    throw new RangeError(`have(${JSON.stringify(what)}): one of ${Object.keys(PROGRAMS).join(', ')}`);
  }
  const named = process.env[program.variable];
  if (named) return fs.existsSync(named) ? named : undefined;
  const { first = [], places: behind } = program;
  const places = [...first, ...(process.env.PATH ?? '').split(path.delimiter).filter(Boolean), ...behind];
  return program.names.flatMap(name => places.map(place => path.join(place, name))).find(file => fs.existsSync(file));
}

/**
 * Says how to get a program.
 * @param {string} what
 * @returns {string}
 */
function missing(what) {
  const { install, variable } = PROGRAMS[what];
  return `${what} is not installed (Debian package ${install}, or its path in ${variable})`;
}

/**
 * Path of a program that must be there.
 * @param {'pgbouncer' | 'websockify' | 'chromium' | 'psql' | 'nginx' | 'haproxy' | 'pgpool' | 'cc'} what
 * @returns {string}
 * @throws {Error} which says how to get it
 */
function need(what) {
  const found = have(what);
  if (!found) throw new Error(missing(what));
  return found;
}

/**
 * Skips a mocha test, or from a hook all its suite's tests, when the machine lacks something; the reason is
 * added to the title. In CI nothing may be lacking: there it fails.
 * @param {Mocha.Context} test the test's or the hook's `this`
 * @param {...('pgbouncer' | 'websockify' | 'chromium' | 'psql' | 'nginx' | 'haproxy' | 'pgpool' | 'cc')} what
 * @throws {Error} when something is missing and the environment variable CI is set
 */
function skipUnless(test, ...what) {
  const lacking = what.filter(name => !have(name));
  if (!lacking.length) return;
  const reason = lacking.map(missing).join('; ');
  if (process.env.CI) throw new Error(reason);
  const runnable = test.currentTest ?? test.test;
  if (runnable?.type === 'hook') console.error(`  skipped: ${reason}`);
  else if (runnable) runnable.title += ` [${reason}]`;
  test.skip();
}

/**
 * Skips a mocha test that rests on what older servers do not have; the reason is added to the title.
 * @param {Mocha.Context} test the test's `this`
 * @param {number} version the first that has it
 * @param {string} what
 */
function skipBefore(test, version, what) {
  if (SERVER_VERSION >= version) return;
  test.test.title += ` [${what}: since PostgreSQL ${version}]`;
  test.skip();
}

module.exports = { have, need, skipUnless, skipBefore };
