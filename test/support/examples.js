'use strict';

const fs = require('node:fs');
const path = require('node:path');

const root = path.join(__dirname, '../..');

/** What users read: the README, and those of the folders. */
const DOCUMENTS = [
  'README.md',
  'lib/DEPLOYING.md',
  'client-parser/README.md',
  'test/recipes/README.md',
  'test/recipes/POSTGRES.md',
  ...fs
    .readdirSync(path.join(root, 'lib'), { recursive: true })
    .map(name => `lib/${name.replaceAll(path.sep, '/')}`)
    .filter(name => name.endsWith('.md') && name.includes('/', 4))
];

/**
 * The examples of a document in a language, each with the line it begins at.
 * @param {string} document its path in the package
 * @param {string} [language='js']
 * @returns {Array<{code: string, line: number}>}
 */
function examples(document, language = 'js') {
  const text = fs.readFileSync(path.join(root, document), 'utf8');
  const fences = new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm');
  return [...text.matchAll(fences)].map(match => ({
    code: match[1],
    line: text.slice(0, match.index).split('\n').length + 1
  }));
}

/** The recipes that need nothing but this package and a server, with what they print. */
const RECIPES = {
  'csv.mjs': '1 rows\n\nname,born\nAda,1815-12-10\n',
  'import.mjs': '2 rows',
  'jobs.mjs': 'doing a mail',
  'large-objects.mjs': '1000007',
  'migrate.mjs': '',
  'parser-files.mjs': '200 text/javascript',
  'prometheus.mjs': 'db_query_seconds_count 2\ndb_query_errors{code="22012"} 1',
  'reconnect.mjs': '',
  'rolled-back.mjs': '',
  'slow-queries.mjs': "slow SELECT pg_sleep(0.3) { cmd: 'SELECT', rowCount: 1 }",
  'stop.mjs': '',
  'trace-context.mjs': 'true'
};

module.exports = { DOCUMENTS, RECIPES, examples };
