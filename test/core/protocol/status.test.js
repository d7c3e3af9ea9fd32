'use strict';

// The recipe of lib/core/protocol/README.md: SQLSTATE to HTTP status.

const assert = require('node:assert/strict');
const { Client } = require('../../..');
const { Pool } = require('../../../lib/pool');
const { connected, sharedServer } = require('../../support');
const { examples } = require('../../support/examples');
const { afterTest } = require('../../support/hooks');

const { code } = examples('lib/core/protocol/README.md').find(each => each.code.includes('function statusOf'));
const statusOf = new Function(`${code.slice(0, code.indexOf('const error'))} return statusOf;`)();

const UNREACHABLE = { host: '127.0.0.1', port: 1 };

/** A pool of one connection that its owner does not return. */
async function exhausted() {
  const pool = new Pool((await sharedServer()).config, { size: 1, acquire_timeout: 50 });
  afterTest(() => pool.destroy());
  return pool.connection(() => pool.query('SELECT 1'));
}

const rows = {
  'a value of another type': [400, client => client.query('SELECT $1::int', ['a'])],
  'a null byte': [400, client => client.query('SELECT $1', ['\0'])],
  'an invalid Date': [400, client => client.query('SELECT $1', [new Date(NaN)])],
  'a division by zero': [400, client => client.query('SELECT 1 / 0')],
  'a fault of the program': [500, async () => undefined.property],
  'a wrong number of values': [500, client => client.query('SELECT $1', [])],
  'a wrong text': [500, client => client.query('SELEC 1')],
  'a statement_timeout of a request': [
    504,
    client => client.query('SELECT pg_sleep(60)', [], { statement_timeout: 50 })
  ],
  'a statement_timeout of the server': [
    504,
    client => client.with({ statement_timeout: 50 }).query('SELECT pg_sleep(60)')
  ],
  'a pool whose connections are in use': [503, exhausted],
  'a connection that was ended': [503, client => (client.destroy(), client.query('SELECT 1'))],
  'a connection that is lost': [503, client => client.query('SELECT pg_terminate_backend(pg_backend_pid())')],
  'no server': [503, () => new Pool(UNREACHABLE).query('SELECT 1')],
  'no server at several hosts': [503, () => new Client({ ...UNREACHABLE, host: '127.0.0.1,127.0.0.2' }).connect()],
  'no such socket': [503, () => new Client({ host: '/nowhere' }).connect()],
  'no such host': [503, () => new Client({ host: 'nowhere.invalid' }).connect()]
};

describe('The recipe of statuses', () => {
  for (const [what, [status, fail]] of Object.entries(rows)) {
    it(`answers ${status} for ${what}`, async () => {
      const client = await connected();
      const error = await fail(client).then(
        () => assert.fail('it did not fail'),
        error => error
      );
      assert.equal(statusOf(error), status, `${error.name} ${error.code} ${error.message}`);
    });
  }
});
