'use strict';

const assert = require('node:assert/strict');
const { PassThrough } = require('node:stream');
const { Pool } = require('../../lib/pool');

const STATEMENT = 'format, cache, paramTypes';
const LIMITS = 'signal, statement_timeout';

describe('A pool', () => {
  it('refuses a wrong config at once', () => {
    for (const [config, message] of [
      [{ pasword: 'x' }, /pasword is not an option: did you mean password/],
      [5, /config must be/],
      [{ sslmode: 'yes' }, /sslmode must be/],
      ['postgres://h/?sslmdoe=require', /sslmdoe/],
      [{ user: 'a\0b' }, /^user has a null byte at 1/],
      [{ decode: 5 }, /decode must be/]
    ]) {
      assert.throws(() => new Pool(config), { name: 'TypeError', message });
    }
  });
});

describe('Options of a pool', () => {
  it('are told by the error for one that there is not', () => {
    const message = (options, expected) =>
      assert.throws(() => new Pool('postgres://localhost/x', options), { name: 'TypeError', message: expected });
    message(
      { sise: 5 },
      'there is no option sise here; the options are size, acquire_timeout, idle_timeout, max_lifetime'
    );
    message({ toString: 5 }, /^there is no option toString here/);
    message({ size: 0 }, 'size must be an integer from 1, not 0');
    message({ replicas: {} }, /^there is no option replicas here; the options are size, acquire_timeout/);
  });

  it('of its methods are told by the error for one that there is not, before a connection is asked for', async () => {
    const pool = new Pool({ host: '127.0.0.1', port: 1 });
    const it = { readonly: true };
    const sink = new PassThrough();
    for (const [ask, list] of [
      [
        () => pool.query('SELECT 1', [], it),
        `${STATEMENT}, decode, names, stream, buffer, ${LIMITS}, alone, idempotent`
      ],
      [() => pool.batch(['SELECT 1'], it), `${LIMITS}, alone, idempotent`],
      [() => pool.simpleQuery('SELECT 1', it), `decode, names, ${LIMITS}, idempotent`],
      [
        () => pool.transaction(() => {}, it),
        'isolation, readOnly, deferrable, signal, statement_timeout, idempotent, retries'
      ],
      [() => pool.connection(() => {}, it), 'reset, signal, idempotent'],
      [
        () => pool.queryTo(sink, 'SELECT 1', [], it),
        `as, int8, numeric, bytea, separator, end, stall_timeout, buffer, ${STATEMENT}, ${LIMITS}, alone, idempotent`
      ],
      [async () => pool.cursor('SELECT 1', [], it), `${STATEMENT}, decode, names, batchSize, signal`],
      [async () => pool.copyTo('COPY t TO STDOUT', it), 'signal, highWaterMark, stall_timeout, buffer, alone'],
      [async () => pool.copyFrom('COPY t FROM STDIN', it), 'signal, highWaterMark, columns, stall_timeout'],
      [async () => pool.listen('news', it), 'session, keepalive, signal']
    ]) {
      await assert.rejects(ask, {
        name: 'TypeError',
        message: `there is no option readonly here; the options are ${list}`
      });
    }
    await assert.rejects(
      pool.transaction(() => {}, null),
      { name: 'TypeError', message: 'options must be an object, not null' }
    );
    assert.deepEqual(pool.stats, { size: 10, connected: 0, idle: 0, owned: 0, pending: 0, waiting: 0, holders: [] });
    await pool.end();
  });
});
