'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');

const LIB = path.join(__dirname, '../../lib');

/** Lines without their indentation. */
const lines = text => text.split('\n').map(line => line.trim());

describe('lib/READING.md', () => {
  const steps = Array.from(
    fs.readFileSync(path.join(LIB, 'READING.md'), 'utf8').matchAll(/^\[.*\]\((.*)\)\n```js\n([^]*?)\n```$/gm),
    ([, file, code]) => ({ file, parts: code.split(/^\/\/ …$/m).map(part => lines(part.replace(/^\n|\n$/g, ''))) })
  );

  for (const { file, parts } of steps) {
    it(`shows ${file} as it is: ${parts[0][0]}`, () => {
      const source = lines(fs.readFileSync(path.join(LIB, file), 'utf8'));
      let from = 0;
      for (const part of parts) {
        const at = source.findIndex((_, i) => i >= from && part.every((line, j) => source[i + j] === line));
        assert.ok(at >= 0, `the source has no longer:\n${part.join('\n')}`);
        from = at + part.length;
      }
    });
  }

  it('has at most 300 lines of code, in three walks', () => {
    assert.ok(steps.length > 20);
    assert.ok(steps.reduce((sum, { parts }) => sum + parts.flat().length, 0) <= 300);
  });
});
