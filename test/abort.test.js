'use strict';

const assert = require('node:assert/strict');
const { getEventListeners, once } = require('node:events');
const { connected } = require('./support');

describe('A signal', () => {
  it('for many queries has one listener, and none when they are over', async () => {
    const client = await connected();
    const { signal } = new AbortController();
    const queries = Array.from({ length: 100 }, () => client.query('SELECT 1', [], { signal }));
    assert.equal(getEventListeners(signal, 'abort').length, 1);
    await Promise.all(queries);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
    const again = client.query('SELECT 1', [], { signal });
    assert.equal(getEventListeners(signal, 'abort').length, 1);
    await again;
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  });

  it('cancels all queries that it was given to, and no other', async () => {
    const client = await connected();
    const controller = new AbortController();
    const { signal } = controller;
    const first = client.query("DO $$ BEGIN RAISE NOTICE 'begun'; PERFORM pg_sleep(60); END $$", [], { signal });
    const others = Array.from({ length: 50 }, (_, i) =>
      client.query('SELECT $1::int AS i', [i], i % 2 ? { signal } : {}));
    const results = Promise.allSettled([first, ...others]);
    await once(client, 'notice');
    controller.abort(new Error('why'));
    const [cancelled, ...rest] = await results;
    assert.equal(cancelled.reason.name, 'AbortError');
    assert.equal(cancelled.reason.cause.message, 'why');
    rest.forEach(({ status, value, reason }, i) => {
      assert.equal(status, i % 2 ? 'rejected' : 'fulfilled');
      if (i % 2) assert.equal(reason.name, 'AbortError');
      else assert.equal(value.rows[0].i, String(i));
    });
  });

  it('that has aborted rejects before anything is sent', async () => {
    const client = await connected();
    const signal = AbortSignal.abort(new Error('before'));
    const error = await client.query('SELECT 1', [], { signal }).catch(error => error);
    assert.equal(error.name, 'AbortError');
    assert.equal(error.cause.message, 'before');
    assert.equal((await client.query('SELECT 2')).rows[0][0], '2');
  });
});
