'use strict';

const assert = require('node:assert/strict');
const http = require('node:http');
const { PassThrough, Readable } = require('node:stream');
const { connected, proxied } = require('./support');

const target = () => new PassThrough();

/** What every method that streams makes of input that is wrong. */
const WRONG = [
  ['queryTo', [null, 'SELECT 1'], /target must be a writable stream/], ['queryTo', [{}, 'SELECT 1'], TypeError],
  ['queryTo', [new Readable(), 'SELECT 1'], TypeError], ['queryTo', [target(), 42], TypeError],
  ['queryTo', [target(), 'SELECT 1', [{}]], TypeError], ['queryTo', [target(), 'SELECT 1', [], { as: 'rows' }], TypeError],
  ['queryTo', [target(), 'SELECT 1', [], { separator: 1 }], TypeError], ['queryTo', [target(), 'SELECT 1', [], { format: 3 }], TypeError],
  ['queryTo', [target(), 'COPY t FROM STDIN'], Error], ['queryTo', [target(), 'SELECT 1', [], { signal: {} }], TypeError],
  ['respond', [{}, {}, 'SELECT 1'], TypeError], ['respond', [{}, target(), 'SELECT 1', [], { format: 7 }], TypeError],
  ['copyTo', ['SELECT 1'], TypeError], ['copyTo', ['COPY t FROM STDIN'], TypeError], ['copyTo', [42], TypeError],
  ['copyFrom', ['SELECT 1'], TypeError], ['copyFrom', ['COPY t TO STDOUT'], TypeError], ['copyFrom', [42], TypeError],
  ['copyBoth', [42], TypeError], ['copyBoth', ['START_REPLICATION\0'], Error],
  ['listen', [42], TypeError], ['listen', [''], Error], ['listen', ['a\0'], Error]
];

describe('What a session does by streams', () => {
  it('refuses what is wrong before a byte is sent, and leaves the target alone', async () => {
    const { client, wire } = await proxied();
    await client.query('SELECT 1');
    const { toServer } = wire.stats.bytes;
    for (const [method, args, expected] of WRONG) {
      const name = `${method} of ${args.map(arg => arg === null ? 'null' : typeof arg)}`;
      await assert.rejects(async () => client[method](...args), expected, name);
      if (args[0] instanceof PassThrough) assert.deepEqual([args[0].readableLength, args[0].destroyed, args[0].writableEnded], [0, false, false]);
    }
    assert.deepEqual([wire.stats.bytes.toServer, client.pending], [toServer, 0]);
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, '1');
  });

  it('is refused where the session is over', async () => {
    const client = await connected();
    await client.end();
    const request = new http.IncomingMessage();
    for (const [method, args] of [
      ['queryTo', [target(), 'SELECT 1']], ['respond', [request, new http.ServerResponse(request), 'SELECT 1']],
      ['copyTo', ['COPY t TO STDOUT']], ['copyFrom', ['COPY t FROM STDIN']], ['copyBoth', ['START_REPLICATION']], ['listen', ['a']]
    ]) await assert.rejects(async () => client[method](...args), { code: '08003' }, method);
  });
});
