'use strict';

const assert = require('node:assert/strict');
const { describe, it } = require('node:test');
const { figures, scale, text } = require('../scale');

const table = (name, median) => ({ name, clients: [{ client: 'floor', cpu: { median: 1 } }, { client: 'quickgres', cpu: { median } }] });

/** Results that are easy to reckon with: rows of 100 bytes. */
const results = {
  options: { rows: 1000, wire: 100000 },
  tables: [table('select-pipelined', 4), table('select-batch', 1), table('pass-null', 0.2), table('rows-untouched', 0.4)]
};
const server = { serverSelect: 20, serverBatch: 10, serverBytes: 5000, bytes: 250, pooler: 8 };
const assumed = { cores: 10, replicas: 3, network: 1e9, share: 0.5 };

describe('scale', () => {
  it('reckons a megabyte from rows', () => {
    const f = figures(results, server);
    assert.deepEqual([f.select, f.batch, Math.round(f.pass), Math.round(f.untouched)], [4, 1, 2000, 4000]);
  });

  it('says what the figures come to', () => {
    const s = scale(figures(results, server), assumed);
    assert.deepEqual([s.clientCore, s.clientCoreBatch, s.serverCore], [250000, 1000000, 50000]);
    assert.equal(s.machine, 250000);
    assert.equal(s.clientCoresForMachine, 1);
    assert.equal(s.wire, 4000000);
    assert.equal(s.limit, "the server's processors");
    assert.deepEqual([s.poolerCore, s.poolers, s.replicas], [125000, 2, 750000]);
    assert.equal(Math.round(s.clientCoreBytes), 500);
    assert.equal(scale({ ...figures(results, server), bytes: 1e6 }, assumed).limit, 'the network');
  });

  it('tells what is missing', () => {
    assert.throws(() => figures({ ...results, tables: [] }, server), /have no select-pipelined/);
  });

  it('says it in words, with PgBouncer or without', () => {
    const f = figures(results, server);
    assert.match(text(f, scale(f, assumed), assumed), /250,000 selects a second/);
    assert.match(text(f, scale(f, assumed), assumed), /PgBouncer/);
    const { pooler, ...without } = f;
    assert.equal(pooler, 8);
    assert.doesNotMatch(text(without, scale(without, assumed), assumed), /PgBouncer|undefined|NaN/);
  });
});
