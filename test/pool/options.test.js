'use strict';

const assert = require('node:assert/strict');
const { PassThrough } = require('node:stream');
const { Pool } = require('../../lib/pool');

const STATEMENT = 'format, cache, paramTypes';
const LIMITS = 'signal, statement_timeout';

describe('Options of a pool', () => {
  it('are told by the error for one that there is not', () => {
    const message = (options, expected) =>
      assert.throws(() => new Pool('postgres://localhost/x', options), { name: 'TypeError', message: expected });
    message({ sise: 5 }, 'there is no option sise here; there are size, reserved, acquire_timeout, idle_timeout, max_lifetime, ' +
      'patient, replicas, max_lag');
    message({ toString: 5 }, /^there is no option toString here/);
    message({ size: 0 }, 'size must be an integer from 1, not 0');
    message({ max_lag: 0 }, 'max_lag must be an integer from 1, not 0');
  });

  it('of its methods are told by the error for one that there is not, before a connection is asked for', async () => {
    const pool = new Pool({ host: '127.0.0.1', port: 1 });
    const it = { readonly: true };
    const sink = new PassThrough();
    for (const [ask, list] of [
      [() => pool.query('SELECT 1', [], it), `${STATEMENT}, decode, stream, ${LIMITS}, alone, retry, readOnly`],
      [() => pool.batch(['SELECT 1'], it), `${LIMITS}, alone, retry, readOnly`],
      [() => pool.simpleQuery('SELECT 1', it), `decode, ${LIMITS}, retry, readOnly`],
      [() => pool.transaction(() => {}, it), 'isolation, readOnly, deferrable, signal, retry'],
      [() => pool.connection(() => {}, it), 'reset, signal, readOnly, retry'],
      [() => pool.queryTo(sink, 'SELECT 1', [], it),
        `as, int8, numeric, bytea, separator, end, stall_timeout, ${STATEMENT}, ${LIMITS}, alone, retry, readOnly`],
      [async () => pool.cursor('SELECT 1', [], it), `${STATEMENT}, batchSize, decode, signal, readOnly`],
      [async () => pool.copyTo('COPY t TO STDOUT', it), 'signal, highWaterMark, stall_timeout, alone, readOnly'],
      [async () => pool.copyFrom('COPY t FROM STDIN', it), 'signal, highWaterMark'],
      [async () => pool.listen('news', it), 'signal']
    ]) {
      await assert.rejects(ask, { name: 'TypeError', message: `there is no option readonly here; there are ${list}` });
    }
    await assert.rejects(pool.transaction(() => {}, null), { name: 'TypeError', message: 'options must be an object, not null' });
    assert.deepEqual(pool.stats, { size: 4, connected: 0, idle: 0, owned: 0, pending: 0, waiting: 0 });
    await pool.end();
  });
});
