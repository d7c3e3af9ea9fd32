'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { figures, moved } = require('../everything');

const TABLE = `## CPU
| | floor | Quickgres |
|---|---:|---:|
| select | 4.39 | **4.70** |
| connect | – | **1,560 (12)** |

a query                                   12.00    1.00 ×
`;

test('Figures have the names of their heading, row and column', () => {
  assert.deepEqual(Object.fromEntries(figures(TABLE, 'x', true)), {
    'x: CPU: select: floor': 4.39,
    'x: CPU: select: Quickgres': 4.7,
    'x: CPU: connect: Quickgres': 1560,
    'x: a query # # ×: 1': 12,
    'x: a query # # ×: 2': 1
  });
});

test('What has moved by more than 5 % is told, the largest first', () => {
  const before = figures(TABLE, 'x');
  const after = figures(TABLE.replace('4.39', '4.60').replace('4.70', '5.00').replace('1,560', '780'), 'x');
  assert.deepEqual(moved(before, after), [
    '0.50 ×  1560 → 780  x: CPU: connect: Quickgres',
    '1.06 ×  4.7 → 5  x: CPU: select: Quickgres'
  ]);
});
