'use strict';

const assert = require('node:assert/strict');
const { PassThrough, Readable } = require('node:stream');
const { Client } = require('..');
const { connected, proxied } = require('./support');

const target = () => new PassThrough();

/** What every method of a session makes of input that is wrong: the method, its arguments, the error. */
const WRONG = [
  ['query', [42], TypeError], ['query', [null], TypeError], ['query', ['SELECT\0 1'], Error], ['query', ['SELECT 1', 'x'], TypeError],
  ['query', ['SELECT 1', {}], TypeError], ['query', ['SELECT 1', [{}]], TypeError], ['query', ['SELECT 1', [Symbol('x')]], TypeError],
  ['query', ['SELECT 1', [() => 1]], TypeError], ['query', ['SELECT $1', ['\0']], Error], ['query', ['SELECT 1', new Array(65536).fill(1)], RangeError],
  ['query', ['SELECT 1', [], 2], TypeError], ['query', ['SELECT 1', [], { signal: 'x' }], TypeError],
  ['query', ['SELECT 1', [], { statement_timeout: 0 }], TypeError], ['query', ['SELECT 1', [], { stream: {} }], TypeError],
  ['simpleQuery', [42], TypeError], ['simpleQuery', ['SELECT\0 1'], Error], ['simpleQuery', ['SELECT 1', { signal: 1 }], TypeError],
  ['batch', ['SELECT 1'], TypeError], ['batch', [[42]], TypeError], ['batch', [[['SELECT 1', [{}]]]], TypeError],
  ['batch', [[['COPY t FROM STDIN']]], TypeError],
  ['transaction', ['BEGIN'], TypeError], ['transaction', [async () => {}, { isolation: 'none' }], TypeError],
  ['cursor', [42], TypeError], ['cursor', ['SELECT 1', 'x'], TypeError], ['cursor', ['SELECT 1', [], { batchSize: 0 }], TypeError],
  ['startQuery', [42], TypeError], ['startQuery', ['SELECT 1', 'x'], TypeError], ['getResults', [-1], TypeError], ['getResults', [1], /no query is open/],
  ['close', ['X', 'a'], TypeError], ['close', ['S', 42], TypeError],
  ['queryTo', [null, 'SELECT 1'], /target must be a writable stream/], ['queryTo', [{}, 'SELECT 1'], TypeError],
  ['queryTo', [new Readable(), 'SELECT 1'], TypeError], ['queryTo', [target(), 42], TypeError],
  ['queryTo', [target(), 'SELECT 1', [{}]], TypeError], ['queryTo', [target(), 'SELECT 1', [], { as: 'rows' }], TypeError],
  ['queryTo', [target(), 'SELECT 1', [], { separator: 1 }], TypeError], ['queryTo', [target(), 'SELECT 1', [], { format: 3 }], TypeError],
  ['queryTo', [target(), 'COPY t FROM STDIN'], TypeError], ['queryTo', [target(), 'SELECT 1', [], { signal: {} }], TypeError],
  ['copyTo', ['SELECT 1'], TypeError], ['copyTo', ['COPY t FROM STDIN'], TypeError], ['copyTo', [42], TypeError],
  ['copyFrom', ['SELECT 1'], TypeError], ['copyFrom', ['COPY t TO STDOUT'], TypeError], ['copyFrom', [42], TypeError],
  ['listen', [42], TypeError], ['listen', [''], Error], ['listen', ['a\0'], Error],
  ['copyData', ['x'], /no COPY is open/], ['copyDone', [], /no COPY is open/], ['copyFail', ['x'], /no COPY is open/]
];

describe('A session', () => {
  it('refuses what is wrong before a byte is sent, and goes on', async () => {
    const { client, wire } = await proxied();
    await client.query('SELECT 1');
    const { toServer } = wire.stats.bytes;
    for (const [method, args, expected] of WRONG) {
      const name = `${method} of ${args.map(arg => typeof arg)}`;
      await assert.rejects(async () => {
        const result = client[method](...args);
        await (typeof result?.next === 'function' ? result.next() : result);
      }, expected, name);
      if (args[0] instanceof PassThrough) {
        assert.deepEqual([args[0].readableLength, args[0].destroyed, args[0].writableEnded], [0, false, false]);
      }
    }
    assert.deepEqual([wire.stats.bytes.toServer, client.pending, client.inQuery], [toServer, 0, false]);
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, '1');
  });

  it('that is over says so, whatever it is asked', async () => {
    const client = await connected();
    await client.end();
    for (const ask of [
      () => client.query('SELECT 1'), () => client.simpleQuery('SELECT 1'), () => client.batch([['SELECT 1']]),
      () => client.transaction(async () => {}), () => client.cursor('SELECT 1').next(), async () => client.startQuery('SELECT 1'),
      () => client.sync(), () => client.close('S', 'x'), async () => client.copyData('x'),
      () => client.queryTo(target(), 'SELECT 1'), async () => client.copyTo('COPY t TO STDOUT'),
      async () => client.copyFrom('COPY t FROM STDIN'), () => client.listen('a').ready
    ]) await assert.rejects(async () => ask(), error => ['08003', '55000'].includes(error.code), String(ask));
    assert.equal(client.pending, 0);
  });

  it('that was never connected rejects what it is asked, and is none the worse', async () => {
    const client = new Client({ host: 'localhost' });
    await assert.rejects(client.query('SELECT 1'), { code: '08003', message: /connect\(\) was not called/ });
    assert.equal(client.state, 'new');
  });
});
