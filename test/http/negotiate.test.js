'use strict';

const assert = require('node:assert/strict');
const { encodingFor, representationFor } = require('../../lib/http/negotiate');
const { gc } = require('../support/gc');

describe('The compression for a reader', () => {
  for (const [header, expected] of [
    [undefined, undefined],
    ['', undefined],
    ['identity', undefined],
    ['gzip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['gzip, deflate, br', 'br'],
    ['gzip, deflate, br, zstd', 'br'],
    ['GZIP;Q=0.5, deflate', 'deflate'],
    ['br;q=0, gzip;q=0.1', 'gzip'],
    ['br;q=x', undefined],
    ['*', 'br'],
    ['*;q=0.5, br;q=0', 'gzip'],
    ['gzip;q=0.5, identity;q=1', undefined],
    ['identity;q=0.5, gzip;q=0.8', 'gzip'],
    ['identity;q=0.5, gzip;q=0.5', 'gzip'],
    ['zstd', undefined],
    ['*;q=0', undefined],
    ['gzip;q=0, gzip', 'gzip'],
    ['gzip, gzip;q=0', 'gzip'],
    ['gzip, gzip;q=0.1, br;q=0.5', 'gzip']
  ]) {
    it(`is ${expected} where Accept-Encoding is ${header}`, () => assert.equal(encodingFor(header), expected));
  }
});

describe('The representation for a reader', () => {
  const offered = ['protocol', 'json', 'ndjson', 'csv'];
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';
  for (const [header, expected, among = offered] of [
    [undefined, 'protocol'],
    ['', 'protocol'],
    [' ', 'protocol'],
    ['*/*', 'protocol'],
    [browser, 'protocol'],
    [undefined, 'csv', ['csv', 'json']],
    ['*/*', 'ndjson', ['ndjson']],
    ['application/json', 'json'],
    ['application/x-ndjson', 'ndjson'],
    ['text/csv', 'csv'],
    ['application/x-postgresql', 'protocol'],
    ['Application/JSON', 'json'],
    ['application/json, text/plain, */*', 'protocol'],
    ['application/json, text/plain, */*;q=0.5', 'json'],
    ['text/*', 'csv'],
    ['application/*;q=0.5, text/*', 'csv'],
    ['application/json;q=0.2, text/csv;q=0.3', 'csv'],
    ['text/csv, application/json', 'json'],
    ['text/csv, application/json;q=1', 'json'],
    ['text/csv, application/json', 'csv', ['csv', 'json']],
    ['application/*', 'json', ['csv', 'json']],
    ['application/x-postgresql;q=0, */*', 'json'],
    ['application/*;q=0, */*;q=0.1', 'csv'],
    ['*/*;q=0, application/x-ndjson;q=0.001', 'ndjson'],
    ['application/json; charset=utf-8; q=0.9, text/csv;q=0.8', 'json'],
    ['application/json;q=0.5;ext=1, text/csv;q=0.6', 'csv'],
    ['application/json;q=7, text/csv;q=0.9', 'json'],
    ['application/json, application/json;q=0.1, text/csv;q=0.5', 'json'],
    ['application/json;q=0.1, application/json, text/csv;q=0.5', 'json'],
    ['text/html', undefined],
    ['application/json;q=0', undefined],
    ['*/*;q=0', undefined],
    ['json', undefined],
    ['application/json;q=x', undefined],
    ['application/json;q=x, application/json', 'json'],
    ['application/json;q=-1', undefined],
    ['application/json', undefined, ['csv']],
    ['text/csv/*', undefined],
    ['application/json', 'values', ['values']],
    ['__proto__, constructor/*', undefined]
  ]) {
    it(`is ${expected} of ${among} where Accept is ${header}`, () =>
      assert.equal(representationFor(header, among), expected));
  }

  it('is found in time linear in the header', () => {
    for (const part of [',', ';', ' ', 'a/*,', ';q=', '*/*;q=0.1,', '"']) {
      assert.equal(representationFor(part.repeat(1e5 / part.length) + ',text/csv;q=0.5', ['csv']), 'csv');
    }
  });

  it('takes no memory of many headers, nor of long ones', () => {
    const used = () => {
      gc();
      return process.memoryUsage().heapUsed;
    };
    const before = used();
    for (let i = 0; i < 50; i++) representationFor(`text/csv, ${'x'.repeat(200000)}${i}`, ['csv']);
    for (let i = 0; i < 20000; i++) representationFor(`text/csv, x${i}/*`, ['csv']);
    const grown = used() - before;
    assert.ok(grown < 3e6, `${grown} bytes`);
  });
});
