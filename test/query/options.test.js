'use strict';

const assert = require('node:assert/strict');
const { PassThrough } = require('node:stream');
const { checkNames, checkOptions, NAMES, NO_OPTIONS, NO_VALUES } = require('../../lib/query/options');
const { connected } = require('../support');

describe('Options of a query', () => {
  it('may be absent, or what they are meant to be', () => {
    for (const options of [
      NO_OPTIONS, { format: 0 }, { format: 1 }, { cache: false }, { paramTypes: [] }, { paramTypes: [0, 23, 4294967295] },
      { decode: true }, { decode: false }, { decode: {} }, { decode: new Map([[23, Number]]) }, { decode: { 23: [undefined, Number] } }
    ]) assert.doesNotThrow(() => checkOptions(options, NAMES.query), JSON.stringify(options));
  });

  it('are refused by their name where they are anything else', () => {
    for (const [name, values] of Object.entries({
      cache: [0, 1, null, 'true', {}],
      format: [2, -1, '0', null, true, NaN],
      paramTypes: [23, null, '23', [-1], [1.5], ['23'], [4294967296], [null], new Array(65536).fill(0)],
      decode: [null, 1, 'true', { 23: 'number' }, { 23: [1] }, new Map([[23, null]])]
    })) {
      for (const value of values) {
        assert.throws(() => checkOptions({ [name]: value }, NAMES.query), error => error instanceof TypeError && error.message.startsWith(name));
      }
    }
  });

  it('are refused where there are none of their name', () => {
    checkNames(undefined, NAMES.query);
    checkNames({ format: 1, decode: undefined }, NAMES.query);
    assert.throws(() => checkNames({ decod: true }, NAMES.batched), {
      name: 'TypeError', message: 'there is no option decod here; there are format, cache, paramTypes, decode, stream'
    });
    assert.throws(() => checkNames(AbortSignal.timeout(1), NAMES.query), TypeError); // an options' value for all of them
  });

  it('are looked at by whatever takes some, before anything is sent', async () => {
    const client = await connected();
    const target = new PassThrough();
    const wrong = { redaOnly: true };
    const misspelt = { name: 'TypeError', message: /^(queries\[1\]: )?there is no option redaOnly here; / };
    for (const ask of [
      () => client.query('SELECT 1', [], wrong), () => client.simpleQuery('SELECT 1', wrong),
      () => client.batch(['SELECT 1'], wrong), () => client.batch(['SELECT 1', ['SELECT 1', [], wrong]]),
      () => client.transaction(() => {}, wrong), async () => client.cursor('SELECT 1', [], wrong),
      () => client.queryTo(target, 'SELECT 1', [], wrong),
      async () => client.copyTo('COPY users TO STDOUT', wrong), async () => client.copyFrom('COPY users FROM STDIN', wrong),
      async () => client.listen('news', wrong)
    ]) {
      await assert.rejects(ask, misspelt, String(ask));
      assert.equal(client.pending, 0);
    }
  });

  it('have defaults that nobody can change', () => {
    assert.ok(Object.isFrozen(NO_OPTIONS) && Object.isFrozen(NO_VALUES));
  });
});
