'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { startServer } = require('pg-test-fixtures');
const quickgres = require('..');

const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;
const file = path.join(__dirname, '..', 'README.md');
const text = fs.readFileSync(file, 'utf8');

/** The JavaScript examples of the README, each with the line it begins at. */
function* examples() {
  for (const match of text.matchAll(/^```(?:js|javascript)\n([^]*?)^```$/gm)) {
    yield { code: match[1], line: text.slice(0, match.index).split('\n').length + 1 };
  }
}

describe('README.md', () => {
  let server, port, client;

  before(async () => {
    server = await startServer({
      external: false, sample: 1000, auth: 'scram-sha-256', users: { me: { password: 'secret', attributes: 'SUPERUSER' } },
      settings: { wal_level: 'logical' }
    });
    await server.sql('CREATE DATABASE mydb TEMPLATE postgres');
    ({ port } = server);
  });

  after(() => server.stop());

  beforeEach(async () => {
    // The examples say host, user, database and password; where the test's server listens, the environment says.
    Object.assign(process.env, { PGPORT: String(port), PGHOST: '127.0.0.1', PGUSER: 'me', PGPASSWORD: 'secret', PGDATABASE: 'mydb' });
    client = new quickgres.Client();
    await client.connect();
  });

  afterEach(async () => {
    for (const name of ['PGPORT', 'PGHOST', 'PGUSER', 'PGPASSWORD', 'PGDATABASE']) delete process.env[name];
    client.destroy();
  });

  const quiet = { ...console, log() {} };
  for (const { code, line } of examples()) {
    it(`runs the example at line ${line} as printed`, async () => {
      const imported = code.includes('require(') && /const \{[^}]*\bClient\b[^}]*\} = require\('quickgres'\)/.test(code);
      const ownClient = /(?:const|let) client\b/.test(code);
      const names = { require, assert, console: quiet, ...(imported ? {} : quickgres), ...(ownClient ? {} : { client }) };
      await new AsyncFunction(...Object.keys(names), code)(...Object.values(names));
    });
  }

  it('has examples', () => assert.ok([...examples()].length > 5));
});
