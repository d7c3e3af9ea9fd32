'use strict';

const assert = require('node:assert/strict');
const { Result, resultOf } = require('../../lib/pg/result');
const { TypeOverrides } = require('../../lib/pg/types');

const fields = [
  { name: 'n', dataTypeID: 23 },
  { name: '__proto__', dataTypeID: 25, format: 'text' }
];

describe('A result of quickgres/pg', () => {
  it('is filled message by message, as cursors of pg-cursor do', () => {
    const result = new Result();
    result.addFields(fields);
    const row = result.parseRow(['5', null]);
    assert.deepEqual(Object.entries(row), [
      ['n', 5],
      ['__proto__', null]
    ]);
    assert.equal(Object.getPrototypeOf(row), Object.prototype);
    result.addRow(row);
    assert.deepEqual(result.rows, [row]);
    assert.deepEqual(result.fields, fields);
  });

  it('has rows as arrays, read by the types that it is given', () => {
    const types = new TypeOverrides();
    types.setTypeParser(23, text => `number ${text}`);
    const result = new Result('array', types);
    result.addFields(fields);
    assert.deepEqual(result.parseRow(['5', 'x']), ['number 5', 'x']);
  });

  for (const [tag, command, oid, rowCount] of [
    ['SELECT 3', 'SELECT', null, 3],
    ['INSERT 0 2', 'INSERT', 0, 2],
    ['BEGIN', 'BEGIN', null, null],
    ['', null, null, null]
  ]) {
    it(`reads the tag "${tag}"`, () => {
      for (const message of [{ text: tag }, { command: tag }]) {
        const result = new Result();
        result.addCommandComplete(message);
        assert.deepEqual([result.command, result.oid, result.rowCount], [command, oid, rowCount]);
      }
    });
  }

  it('shows neither its parsers nor its types', () => {
    assert.deepEqual(Object.keys(resultOf({ cmd: 'BEGIN' })), [
      'command',
      'rowCount',
      'oid',
      'rows',
      'fields',
      'rowAsArray'
    ]);
  });
});
