'use strict';

const fs = require('node:fs');
const path = require('node:path');

const text = fs.readFileSync(path.join(__dirname, '..', 'README.md'), 'utf8');

/**
 * The examples of the README in a language, each with the line it begins at.
 * @param {string} [language='js']
 * @returns {Array<{code: string, line: number}>}
 */
function examples(language = 'js') {
  const fences = new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm');
  return [...text.matchAll(fences)].map(match =>
    ({ code: match[1], line: text.slice(0, match.index).split('\n').length + 1 }));
}

module.exports = { examples };
