'use strict';

const assert = require('node:assert/strict');
const pg = require('../../lib/pg');

describe('The files of pg/lib', () => {
  for (const [name, thing] of Object.entries({
    client: pg.Client,
    connection: pg.Connection,
    defaults: pg.defaults,
    pool: pg.Pool,
    query: pg.Query,
    result: pg.Result,
    'type-overrides': pg.TypeOverrides,
    types: pg.types,
    utils: pg.utils
  }))
    it(`${name}.js is what quickgres/pg has`, () => assert.equal(require(`../../lib/pg/lib/${name}`), thing));

  it('connection-parameters.js reads a config as a client does', () => {
    const Parameters = require('../../lib/pg/lib/connection-parameters');
    const { host, port, user, database } = new Parameters('postgres://me@there:7/db');
    assert.deepEqual({ host, port, user, database }, { host: 'there', port: 7, user: 'me', database: 'db' });
    assert.ok(new Parameters({}) instanceof Parameters);
  });

  it('connection.js makes no connection by itself', () => {
    assert.throws(() => new pg.Connection(), {
      name: 'TypeError',
      message: /has no Connection to be made: use Client/
    });
  });
});
