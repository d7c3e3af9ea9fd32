'use strict';

const assert = require('node:assert/strict');
const { RowParser, RowReader } = require('../../lib/rows');
const { gc } = require('../gc');
const { dataRow, rowDescription } = require('../support');

/** The median of three, since what earlier tests have left may be freed at any time. */
const kept = (...rows) => [1, 2, 3].map(() => grown(...rows)).sort((a, b) => a - b)[1];

/** How much the heap has grown for the objects of so many rows of one column, in bytes for each. */
function grown(count, valueOf) {
  const reader = new RowReader();
  reader.start(RowParser.of(rowDescription('a')), 0);
  for (let i = 0; i < count; i += 500) {
    const rows = Array.from({ length: 500 }, (_, j) => dataRow(valueOf(i + j)));
    const memory = Buffer.concat([Buffer.from('before'), ...rows]);
    reader.receiveData(memory, 6, memory.length, 500, true);
  }
  gc();
  const before = process.memoryUsage().heapUsed;
  const { objects } = reader;
  gc();
  const bytes = (process.memoryUsage().heapUsed - before) / count;
  objects.forEach(({ a }, i) => assert.equal(a, valueOf(i)));
  return bytes;
}

describe('Objects of many rows', () => {
  it('keep equal values of a column once', () => {
    const repeated = kept(60000, i => `a repeated value ${i % 100}`);
    const different = kept(60000, i => `a value of its own ${i}`);
    assert.ok(repeated + 35 < different, `${repeated} and ${different} bytes a row`);
  });

  it('keep their values, not the bytes in which these came', () => {
    // An object, a string of its own, and a place in the array; a part of a longer string would keep that.
    const bytes = kept(60000, i => `a value of its own, some forty bytes ${i}`);
    assert.ok(bytes < 116, `${bytes} bytes a row`);
  });
});
